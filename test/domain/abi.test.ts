import { AbiCoder, Interface, ParamType } from 'ethers'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeAbi, encodeAbi, readAbiEntry } from '../../server/domain/decoding/abi.ts'
import { readAccountBatch, readForwardRequest } from '../../server/domain/decoding/sponsored-data.ts'
import { failureOf } from '../support/failure.ts'

const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(toHex)
const toHex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`
/** A type, and its values as a request gives them. */
type Typed = { type: string; values: fc.Arbitrary<unknown> }
const plain: Typed[] = [
  { type: 'uint8', values: fc.integer({ min: 0, max: 255 }).map(String) },
  { type: 'int16', values: fc.integer({ min: -32_768, max: 32_767 }).map(String) },
  { type: 'uint256', values: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(String) },
  { type: 'bool', values: fc.boolean() },
  { type: 'address', values: hex(20) },
  { type: 'bytes5', values: hex(5) },
  { type: 'bytes', values: fc.uint8Array({ maxLength: 70 }).map(toHex) },
  { type: 'string', values: fc.string({ maxLength: 40, unit: 'binary' }) },
]
const { typed } = fc.letrec<{ typed: Typed }>((tie) => ({
  typed: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(...plain),
    tie('typed').map(({ type, values }) => ({ type: `${type}[]`, values: fc.array(values, { maxLength: 3 }) })),
    tie('typed').map(({ type, values }) => ({ type: `${type}[2]`, values: fc.tuple(values, values) })),
    fc.array(tie('typed'), { minLength: 1, maxLength: 3 }).map((parts) => ({
      type: `tuple(${parts.map(({ type }) => type)})`,
      values: fc.tuple(...parts.map(({ values }) => values)),
    })),
  ),
}))

test('encodes and decodes as ethers does', () => {
  const cases = fc
    .array(typed, { maxLength: 4 })
    .chain((all) => fc.tuple(fc.constant(all.map(({ type }) => type)), fc.tuple(...all.map(({ values }) => values))))
  fc.assert(
    fc.property(cases, ([names, values]) => {
      const types = names.map((name) => ParamType.from(name))
      const encoded = encodeAbi(types, values)
      expect(`0x${encoded}`).toBe(AbiCoder.defaultAbiCoder().encode(names, values))
      expect(decodeAbi(types, encoded)).toEqual(values)
    }),
  )
})

const word = (value: number) => value.toString(16).padStart(64, '0')

test.each<[string, string[], string]>([
  ['pointers to the same bytes', ['bytes', 'bytes'], word(64) + word(64) + word(0)],
  ['pointers to bytes that overlap', ['bytes', 'bytes'], word(64) + word(96) + word(64) + word(0) + word(0)],
  ['a pointer behind the end', ['bytes'], word(64)],
  ['a length behind the end', ['bytes'], word(32) + word(33) + word(0)],
  ['more members than words', ['uint8[]'], word(32) + word(2) + word(1)],
  ['a huge length', ['uint8[]'], word(32) + 'f'.repeat(64)],
  ['a dirty address', ['address'], 'f'.repeat(64)],
  ['a dirty number', ['uint8'], word(256)],
  ['a dirty boolean', ['bool'], word(2)],
  ['dirty fixed bytes', ['bytes1'], word(1)],
  ['text that is no UTF-8', ['string'], `${word(32)}${word(1)}ff${'0'.repeat(62)}`],
  ['half a word', ['uint8'], word(1).slice(2)],
])('does not decode %s', (_, names, data) => {
  expect(() =>
    decodeAbi(
      names.map((name) => ParamType.from(name)),
      data,
    ),
  ).toThrow()
})

test('reads no calls of a sponsorship whose pointers share bytes, and any other encoding of the same', () => {
  const execute = new Interface([
    'function execute(bytes32 mode, bytes executionData)',
    'function execute((address, address, uint256, uint256, uint48, bytes, bytes) request)',
  ])
  const coder = AbiCoder.defaultAbiCoder()
  const mode = `0x${'01'.padEnd(64, '0')}`
  const account = (content: string) => execute.encodeFunctionData('execute(bytes32,bytes)', [mode, content])
  const to = `0x${'12'.repeat(20)}`
  const calls = coder.encode(['tuple(address, uint256, bytes)[]'], [[[to, 7n, '0xabcd']]])
  const batch = { calls: [{ to, value: 7n, data: '0xabcd' }], op_data: undefined }
  expect(readAccountBatch(account(calls))).toEqual(batch)
  expect(readAccountBatch(account(`${calls}${word(0)}`))).toBe(undefined)
  // 4,000 calls in 130 KB: each has the same bytes.
  const call = `${word(0x12)}${word(0)}${word(96)}${word(0)}`
  const shared = `0x${word(32)}${word(4_000)}${word(32 * 4_000).repeat(4_000)}${call}`
  expect(readAccountBatch(account(shared))).toBe(undefined)
  const request = [to, to, 0n, 21_000n, 5, '0xabcd', `0x${'11'.repeat(65)}`]
  const forward = execute.encodeFunctionData(
    execute.getFunction('execute((address,address,uint256,uint256,uint48,bytes,bytes))') ?? '',
    [request],
  )
  const read = { from: to, to, value: 0n, gas: 21_000n, deadline: 5n, data: '0xabcd' }
  expect(readForwardRequest(forward)).toEqual(read)
  expect(readForwardRequest(`${forward}00`)).toBe(undefined)
})

const nested = (depth: number) => `${'('.repeat(depth)}uint256${')'.repeat(depth)}`

test.each<[string, string | Record<string, unknown>, string | undefined]>([
  ['a usual function', 'function transfer(address to, uint256 amount) returns (bool)', undefined],
  ['tuples eight levels deep', `function f(${nested(8)})`, undefined],
  ['nine', `function f(${nested(9)})`, 'has tuples nested more than 8 levels deep'],
  ['nested tuples of 994 bytes', `function f(${nested(490)})`, 'has more than 256 types'],
  ['256 types', `function f(${Array(256).fill('int')})`, undefined],
  ['257 types', `function f(${Array(257).fill('int')})`, 'has more than 256 types'],
  ['a long text', `function f(int ${'x'.repeat(2_000)})`, 'has a text of more than 2000 characters'],
  [
    'one type of 450 KB',
    { type: 'function', name: 'f', inputs: [{ type: `int${'[]'.repeat(225_000)}` }] },
    'has a text of more than 256',
  ],
  [
    'many arrays',
    { type: 'function', name: 'f', inputs: Array(20).fill({ type: `int${'[1]'.repeat(20)}` }) },
    'has more than 256 types',
  ],
  [
    'a long number of gas',
    { type: 'function', name: 'f', inputs: [], gas: '9'.repeat(400_000) },
    'has a text of more than 256',
  ],
  ['no members', 'function f(uint8[0][])', 'has a tuple or an array of a fixed number of 0 members'],
])('bounds the text of an ABI before it is parsed: %s', (_, entry, message) => {
  const read = () => {
    try {
      readAbiEntry(entry, [])
      return undefined
    } catch (error) {
      return failureOf(error).details?.[0]?.message
    }
  }
  if (message === undefined) expect(read()).toBe(undefined)
  else expect(read()).toContain(message)
})
