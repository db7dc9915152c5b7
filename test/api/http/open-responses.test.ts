import { expect, test } from 'vitest'
import { mountContract, readContract } from '../../../server/api/http/contract.ts'
import { compiledCheck } from '../../../server/api/http/schema-check.ts'
import { closeObjects } from '../../../server/api/http/validator-document.ts'
import { contract } from '../../support/contract.ts'
import { startTestService } from '../../support/service.ts'

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const object = { type: 'object', properties: { a: { type: 'string' } } }

test.each([
  ['an object', object, { additionalProperties: false, ...object }],
  [
    'an object that permits others',
    { ...object, additionalProperties: true },
    { ...object, additionalProperties: true },
  ],
  ['a value of any form', { description: 'any' }, { description: 'any' }],
  [
    'an object in an object',
    { properties: { properties: object } },
    { additionalProperties: false, properties: { properties: { additionalProperties: false, ...object } } },
  ],
  ['values', { type: 'string', 'x-extensible-enum': ['a'] }, { type: 'string', enum: ['a'] }],
  ['an example', { example: object }, { example: object }],
])('closes %s', (_, schema, closed) => {
  expect(closeObjects({ Whole: schema })).toEqual({ Whole: closed })
})

test('refuses an object of several parts, because a part has to stay open', () => {
  expect(() => closeObjects({ Whole: { allOf: [ref('Part'), object] } })).toThrow('A schema of the contract has allOf')
})

test('sends no member that the contract does not declare, at any depth', async () => {
  const { url, api_key } = await startTestService()
  const { operations, document } = await mountContract(readContract(), { warn() {} })
  const check = operations.find(({ id }) => id === 'getRelayer')?.checkResponse as (body: unknown) => void
  const response = await fetch(`${url}/api/v1/relayers/demo`, { headers: { Authorization: `Bearer ${api_key}` } })
  const body = await response.json()
  check(body)
  const leaks: [string, (body: never) => object][] = [
    ['the envelope', (its) => its],
    ['data', ({ data }) => data],
    ['policies', ({ data }: { data: { policies: object } }) => data.policies],
  ]
  for (const [place, at] of leaks) {
    const leaking = structuredClone(body)
    Object.assign(at(leaking as never), { private_key: '0x1' })
    expect(() => check(leaking), place).toThrow('must NOT have additional properties')
  }
  const failure = {
    success: false,
    data: null,
    code: 'internal',
    message: 'Internal Server Error',
    doc_url: '/docs#/section/errors/internal',
    request_id: 'a',
  }
  const checkFailure = compiledCheck(document, 'Failure')
  expect(checkFailure(failure)).toBeUndefined()
  expect(checkFailure({ ...failure, stack: 'Error' })).toContain('must NOT have additional properties')
  const payload = { payload_type: 'test', notification_id: 'ops' }
  const event = { id: 'a', event: 'test', payload, timestamp: '2026-11-26T00:00:00.000Z', sequence: 0 }
  const checkEvent = compiledCheck(document, 'WebhookEvent')
  expect(checkEvent(event)).toBeUndefined()
  expect(checkEvent({ ...event, signing_key: 'b' })).toContain('must NOT have additional properties')
  expect(checkEvent({ ...event, payload: { ...payload, signing_key: 'b' } })).toContain('must NOT have additional')
  expect(checkEvent({ ...event, event: 'relayer_disabled' })).toContain(
    "/payload must have required property 'relayer'",
  )
})

/** The lists of values below a part of the contract, with their keyword. */
function valuesBelow(part: unknown, keyword: string, known = new Set<string>()): string[] {
  if (typeof part !== 'object' || part === null) return []
  const { $ref } = part as { $ref?: string }
  if ($ref !== undefined) {
    if (known.has($ref)) return []
    const names = $ref.split('/').slice(1)
    const target = names.reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], contract)
    return valuesBelow(target, keyword, known.add($ref))
  }
  const own = Array.isArray((part as Record<string, unknown>)[keyword]) ? [JSON.stringify(part)] : []
  const others = Object.entries(part).filter(([key]) => key !== 'example' && key !== 'examples')
  return [...own, ...others.flatMap(([, child]) => valuesBelow(child, keyword, known))]
}

test('publishes open lists of values in answers and events, so that generated clients read later ones', () => {
  const operations = Object.values(contract.paths).flatMap((item) =>
    Object.values(item as Record<string, { parameters?: unknown; requestBody?: unknown; responses?: unknown }>),
  )
  const answers = [operations.map(({ responses }) => responses), contract.webhooks]
  const requests = operations.map(({ parameters, requestBody }) => [parameters, requestBody])
  expect(valuesBelow(answers, 'x-extensible-enum').length).toBeGreaterThan(25)
  expect(valuesBelow(answers, 'enum')).toEqual([])
  expect(valuesBelow(requests, 'enum').length).toBeGreaterThan(10)
  expect(valuesBelow(requests, 'x-extensible-enum')).toEqual([])
})

test('names the same values where a request takes those of an answer', () => {
  const { schemas } = (contract as unknown as { components: object }).components as {
    schemas: Record<string, Record<string, unknown>>
  }
  const values = (name: string) => schemas[name]?.enum ?? schemas[name]?.['x-extensible-enum']
  const pairs = Object.keys(schemas).filter((name) => schemas[name]?.enum && values(name.replace(/Input$/, '')))
  expect(pairs.length).toBeGreaterThan(5)
  for (const name of pairs) expect.soft([name, values(name)]).toEqual([name, values(name.replace(/Input$/, ''))])
  expect(values('TransactionExplanationWaitReason')).toEqual(expect.arrayContaining(values('WaitReason') as string[]))
})

/** The schemas with keywords of objects below a part of the contract, by pointer. */
function objectsBelow(part: unknown, pointer: string, found = new Map<string, Record<string, unknown>>()) {
  if (typeof part !== 'object' || part === null || found.has(pointer)) return found
  const { $ref, ...others } = part as { $ref?: string }
  if ($ref !== undefined) {
    const names = $ref.split('/').slice(1)
    objectsBelow(
      names.reduce<unknown>((node, name) => (node as Record<string, unknown>)[name], contract),
      $ref,
      found,
    )
  }
  const { additionalProperties, properties } = others as Record<string, unknown>
  const isOpen = additionalProperties === undefined
  if (!isOpen || (typeof properties === 'object' && !pointer.endsWith('/properties'))) found.set(pointer, others)
  for (const [key, child] of Object.entries(others))
    if (key !== 'example' && key !== 'examples') objectsBelow(child, `${pointer}/${key}`, found)
  return found
}

test('publishes open schemas of answers and events, and closed ones of requests', () => {
  const items = Object.entries(contract.paths).flatMap(([path, item]) =>
    Object.entries<object>(item).map(([method, its]) => ({
      at: `${path}/${method}`,
      operation: its as { requestBody?: unknown; responses?: unknown },
    })),
  )
  const asked = new Map(
    items.flatMap(({ at, operation }) => [...objectsBelow(operation.requestBody, `${at}/requestBody`)]),
  )
  const answered = new Map(
    items.flatMap(({ at, operation }) => [...objectsBelow(operation.responses, `${at}/responses`)]),
  )
  const events = objectsBelow(contract.webhooks, '/webhooks')
  expect(asked.size).toBeGreaterThan(50)
  expect(answered.size).toBeGreaterThan(150)
  const isClosed = (schema: Record<string, unknown>) => schema.additionalProperties === false
  expect([...answered, ...events].filter(([, schema]) => isClosed(schema)).map(([pointer]) => pointer)).toEqual([])
  const isOpen = ([, { additionalProperties }]: [string, Record<string, unknown>]) => additionalProperties === undefined
  expect([...asked].filter(isOpen).map(([pointer]) => pointer)).toEqual([])
})
