import fc from 'fast-check'
import { expect, test } from 'vitest'
import { amountPlaces } from '../../../server/api/http/document.ts'
import { parseJson } from '../../../server/api/http/json.ts'
import { failureOf } from '../../support/failure.ts'
import { createRelayer } from '../../support/resources.ts'
import { startTestService } from '../../support/service.ts'

const amount = { $ref: '#/components/schemas/AmountInput' }
const limits = { items: { properties: { max: { anyOf: [amount, {}] } } } }
const places = amountPlaces([{ properties: { value: amount, limits, other: {} } }], { AmountInput: {} })

/** The parsed value, or the path and the reason of the error. */
function read(text: string) {
  try {
    return parseJson(text, places)
  } catch (error) {
    const { code: _, ...detail } = failureOf(error).details?.[0] ?? { code: '' }
    return detail
  }
}

test('reads valid JSON as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.json({ stringUnit: 'grapheme' }), (text) => {
      // fast-check may write a name twice.
      const once = JSON.stringify(JSON.parse(text))
      expect(parseJson(once, undefined)).toEqual(JSON.parse(once))
      expect(parseJson(JSON.stringify(JSON.parse(text), null, '\t\r\n '), undefined)).toEqual(JSON.parse(text))
    }),
    { numRuns: 2_000 },
  )
})

const notJson = {
  path: '/body',
  message: expect.stringMatching(/^must be valid JSON; unexpected (character|end) at position \d+$/),
}

test('rejects malformed JSON whenever JSON.parse does, and states the position', () => {
  const texts = [
    '',
    ' ',
    '{',
    '[',
    '[1',
    '[1,',
    '[1,]',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,}',
    '{a:1}',
    "{'a':1}",
    '01',
    '+1',
    '.5',
  ]
  texts.push(
    '1.',
    '1e',
    '-',
    '0x10',
    'NaN',
    'Infinity',
    'tru',
    'truex',
    'nul',
    '"',
    '"a',
    '"\\x"',
    '"\\u12"',
    '"\n"',
    '"\\"',
  )
  texts.push('[1 2]', '{"a" 1}', '1 2', '{}{}', '\ufeff1', '\u00a01', '//1', '[1]]', '{"a":1]', '"\u0000"', '\v1')
  for (const text of texts) {
    expect(() => JSON.parse(text), text).toThrow()
    expect(read(text), text).toEqual(notJson)
  }
  expect(read('{"a":x}')).toEqual({ path: '/body', message: 'must be valid JSON; unexpected character at position 5' })
  expect(read('{"a":')).toEqual({ path: '/body', message: 'must be valid JSON; unexpected end at position 5' })
})

test('rejects a text with one changed character, or reads it as JSON.parse does', () => {
  const text = '{"a":[1,-2.5e3,"x\\n\\u00e9",true,false,null,{"b":{}}],"c":"","d":[[]]}'
  const characters = [...'{}[]":,\\0159.eE+-tfn ux\n']
  for (let at = 0; at < text.length; at += 1) {
    for (const character of characters) {
      const changed = text.slice(0, at) + character + text.slice(at + 1)
      let wanted: unknown = notJson
      try {
        wanted = JSON.parse(changed)
      } catch {}
      const found = read(changed)
      // A name may come twice now, or a number not fit.
      if (JSON.stringify(found)?.includes('duplicate key') || JSON.stringify(found)?.includes('exactly')) continue
      expect(found, changed).toEqual(wanted)
    }
  }
})

test('rejects duplicate names in an object', () => {
  const twice = (path: string) => ({ path, message: 'is a duplicate key; each key must occur once' })
  expect(read('{"a":1,"a":1}')).toEqual(twice('/body/a'))
  expect(read('{"a":[{"b":1},{"b":1,"c":2,"\\u0062":1}]}')).toEqual(twice('/body/a/1/b'))
  expect(read('{"__proto__":1,"__proto__":2}')).toEqual(twice('/body/__proto__'))
  expect(read('{"":1,"":1}')).toMatchObject({ message: 'is a duplicate key; each key must occur once' })
  expect(Object.keys(read('{"__proto__":{"a":1},"toString":1,"constructor":2}') as object)).toEqual([
    '__proto__',
    'toString',
    'constructor',
  ])
})

test('reads a number exactly, or rejects it', () => {
  const exact = [
    '0',
    '-0',
    '1',
    '1.0',
    '1e3',
    '1E+3',
    '0.1',
    '1.5e-7',
    '9007199254740992',
    '1e16',
    '123456789012345680000',
    '5e-324',
    '0e999',
  ]
  for (const text of exact) expect(read(text), text).toBe(JSON.parse(text))
  const inexact = [
    '9007199254740993',
    '9007199254740991.4',
    '255.00000000000000000001',
    '1e400',
    '-1e400',
    '1e-400',
    '12345678901234567890',
  ]
  for (const text of inexact) {
    expect(read(`{"other":[${text}]}`), text).toEqual({
      path: '/body/other/0',
      message: expect.stringContaining('represents exactly'),
    })
  }
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(read(String(value))).toBe(Object.is(value, -0) ? 0 : value)
    }),
  )
})

test('accepts amounts of digits only, without loss; the same name elsewhere is a number', () => {
  const long = '9'.repeat(78)
  expect(read(`{"value":${long}}`)).toEqual({ value: long })
  expect(read('{"value":0,"limits":[{"max":12}],"other":{"value":7}}')).toEqual({
    value: '0',
    limits: [{ max: '12' }],
    other: { value: 7 },
  })
  for (const text of ['1.0', '1e15', '1e16', '-1', '-0', '1.5', '1e400']) {
    const refused = { message: expect.stringContaining('digits only') }
    expect(read(`{"value":${text}}`), text).toEqual({ ...refused, path: '/body/value' })
    // Digits elsewhere in the body have no effect.
    expect(read(`{"other":"1234567890123456","limits":[{"max":${text}}]}`), text).toEqual({
      ...refused,
      path: '/body/limits/0/max',
    })
  }
})

test('signs typed data exactly as written, or rejects it', async () => {
  const { client, raw } = await startTestService()
  const { id } = await createRelayer(client)
  const sign = async (type: string, value: string, domain = '{}') => {
    const types = JSON.stringify({ A: [{ name: 'value', type }] })
    const body = `{"types":${types},"primaryType":"A","domain":${domain},"message":{"value":${value}}}`
    const answer = await raw(`/api/v1/relayers/${id}/sign-typed-data/full`, { method: 'POST', body })
    const { details } = (await answer.json()) as { details?: { path: string }[] }
    return [answer.status, details?.[0]?.path]
  }
  expect(await sign('string', '"12345678901234567890"')).toEqual([200, undefined])
  expect(await sign('string', '12345678901234567890')).toEqual([400, '/body/message/value'])
  expect(await sign('string', '123')).toEqual([400, '/body/message/value'])
  expect(await sign('uint256', '9007199254740991.4')).toEqual([400, '/body/message/value'])
  expect(await sign('uint8', '255.00000000000000000001')).toEqual([400, '/body/message/value'])
  expect(await sign('uint256', '1,"value":2')).toEqual([400, '/body/message/value'])
  expect(await sign('uint256', '1', '{"chainId":1e400}')).toEqual([400, '/body/domain/chainId'])
  expect(await sign('uint256', '1', '{"chainId":31337.0}')).toEqual([400, '/body/domain/chainId'])
  expect(await sign('uint256', '1', '{"chainId":31337}')).toEqual([200, undefined])
  expect(await sign('uint256', '1', '{"chainId":"31337"}')).toEqual([200, undefined])
})
