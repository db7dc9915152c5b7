import { Interface } from 'ethers'
import { describe, expect, test } from 'vitest'
import type { ContractCall } from '../../generated/openapi.ts'
import { encodeCall } from '../../server/domain/decoding/contract-call.ts'
import { decodeCall, decodeError } from '../../server/domain/decoding/decoded-call.ts'
import { failureOf } from '../support/failure.ts'

const account = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const checksummed = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const most = (2n ** 256n - 1n).toString()
const by = (signature: string, args: unknown[]) =>
  new Interface([`function ${signature}`]).encodeFunctionData(signature, args)

const order = 'fill((address maker, (uint256 price, bytes note)[] parts) order, bool now)'
const overloads = ['function mint(address to)', 'function mint(address to, uint256 count)', 'event Minted(address to)']
const artifact = [
  { type: 'constructor', inputs: [] },
  { type: 'function', name: 'pay', stateMutability: 'payable', inputs: [], outputs: [] },
  { type: 'function', name: 'set', stateMutability: 'nonpayable', inputs: [{ name: 'x', type: 'int8' }], outputs: [] },
  { type: 'error', name: 'Late', inputs: [{ name: 'by', type: 'uint256' }] },
]

test.each<[string, ContractCall, string]>([
  ['decimal text', { function: 'f(uint256)', args: [most] }, by('f(uint256)', [most])],
  ['hexadecimal text', { function: 'f(uint256)', args: ['0xff'] }, by('f(uint256)', [255])],
  ['a safe number', { function: 'f(uint64)', args: [2 ** 53 - 1] }, by('f(uint64)', [2 ** 53 - 1])],
  ['the lowest int8', { function: 'f(int8)', args: ['-128'] }, by('f(int8)', [-128])],
  ['no arguments', { function: 'f()' }, by('f()', [])],
  ['the keyword', { function: 'function f()' }, by('f()', [])],
  ['names of arguments', { function: 'f(address to)', args: [account] }, by('f(address)', [account])],
  ['a checksum', { function: 'f(address)', args: [checksummed] }, by('f(address)', [account])],
  ['false', { function: 'f(bool)', args: [false] }, by('f(bool)', [false])],
  ['text', { function: 'f(string)', args: ['\u{1f600}'] }, by('f(string)', ['\u{1f600}'])],
  ['fixed bytes', { function: 'f(bytes4)', args: ['0xABcdef01'] }, by('f(bytes4)', ['0xabcdef01'])],
  ['no bytes', { function: 'f(bytes)', args: ['0x'] }, by('f(bytes)', ['0x'])],
  ['nested arrays', { function: 'f(uint8[2][])', args: [[[1, '2']]] }, by('f(uint8[2][])', [[[1, 2]]])],
  [
    'tuples by order and by name',
    { function: order, args: [[account, [{ note: '0x01', price: '5' }]], true] },
    by(order, [[account, [[5, '0x01']]], true]),
  ],
  [
    'an overload',
    { function: 'mint(address,uint256)', abi: overloads, args: [account, 1] },
    by('mint(address,uint256)', [account, 1]),
  ],
  ['a name of the ABI', { function: 'set', abi: artifact, args: ['-1'] }, by('set(int8)', [-1])],
  ['a name that the ABI has twice', { function: 'f', abi: ['function f()', 'function f()'] }, by('f()', [])],
])('encodes %s', (_, call, data) => expect(encodeCall(call, '0').data).toBe(data))

const refusal = (call: ContractCall, value = '0') => {
  try {
    return encodeCall(call, value).data
  } catch (error) {
    return failureOf(error)
      .details?.map(({ path, message }) => `${path} ${message}`)
      .join()
  }
}

test.each<[ContractCall, string]>([
  [{ function: 'f(uint256)', args: [2 ** 53] }, '/body/call/args/0 must be uint256: a whole number as a string'],
  [{ function: 'f(uint256)', args: [1.5] }, '/body/call/args/0 must be uint256: a whole number as a string'],
  [{ function: 'f(uint256)', args: ['1e18'] }, '/body/call/args/0 must be uint256: a whole number as a string'],
  [{ function: 'f(uint256)', args: [''] }, '/body/call/args/0 must be uint256: a whole number as a string'],
  [{ function: 'f(uint256)', args: [true] }, '/body/call/args/0 must be uint256: a whole number as a string'],
  [{ function: 'f(uint8)', args: ['256'] }, '/body/call/args/0 must be uint8: from 0 to 255'],
  [{ function: 'f(int8)', args: [-129] }, '/body/call/args/0 must be int8: from -128 to 127'],
  [{ function: 'f(bool)', args: ['false'] }, '/body/call/args/0 must be true or false'],
  [{ function: 'f(string)', args: [7] }, '/body/call/args/0 must be a string'],
  [
    { function: 'f(address)', args: ['vitalik.eth'] },
    '/body/call/args/0 must be an address: 0x and 40 hexadecimal digits',
  ],
  [
    { function: 'f(address)', args: [checksummed.replace('C51', 'c51')] },
    '/body/call/args/0 must have a correct EIP-55 checksum',
  ],
  [{ function: 'f(address[])', args: [[account, null]] }, '/body/call/args/0/1 must be an address'],
  [{ function: 'f(bytes4)', args: ['0x01'] }, '/body/call/args/0 must be bytes4: 0x and 8 hexadecimal digits'],
  [{ function: 'f(bytes)', args: ['0x1'] }, '/body/call/args/0 must be bytes: 0x and whole bytes of hex'],
  [{ function: 'f(uint8[2])', args: [[1]] }, '/body/call/args/0 must have 2 members for uint8[2]; it has 1'],
  [
    { function: order, args: [{ maker: account, parts: [], more: 1 }, true] },
    '/body/call/args/0 must be an array of 2 members, or an object with the members maker, parts',
  ],
  [{ function: 'f(uint256)', args: [1, 2] }, '/body/call/args must have 1 members for f(uint256); 2 are given'],
  [{ function: 'transfer' }, '/body/call/function must have the types of its arguments'],
  [
    { function: 'f(uint257)', args: [1] },
    '/body/call/function must be a function, an error or an event by the contract ABI specification',
  ],
  [
    { function: 'f(uint256', args: [1] },
    '/body/call/function must be a function, an error or an event by the contract ABI specification',
  ],
  [{ function: 'mint', abi: overloads }, '/body/call/function must be one of mint(address), mint(address,uint256)'],
  [{ function: 'burn', abi: overloads }, '/body/call/function is not in the ABI: it has no function burn'],
  [
    { function: 'f(uint8[4294967295])', args: [[]] },
    '/body/call/function has arrays of more than 4096 members of fixed number',
  ],
  [
    { function: 'f', abi: ['function f()', 'error E(uint8[100][100])'] },
    '/body/call/abi/1 has arrays of more than 4096',
  ],
  [{ function: 'f', abi: ['function f(uint'] }, '/body/call/abi/0 must be a function, an error or an event'],
])('refuses %j', (call, message) => expect(refusal(call)).toContain(message))

test('refuses value for a function that the ABI does not call payable', () => {
  expect(refusal({ function: 'set', abi: artifact, args: [1] }, '1')).toBe(
    '/body/value must be 0: set(int8) is not payable',
  )
  expect(refusal({ function: 'pay', abi: artifact }, '1')).toBe(by('pay()', []))
  // Without an ABI it is not known.
  expect(refusal({ function: 'pay()' }, '1')).toBe(by('pay()', []))
})

describe('decoding', () => {
  test('shows the arguments as a request gives them', () => {
    const args = [[account, [['5', '0x01']]], true]
    const { data, fragments } = encodeCall({ function: order, args }, '0')
    expect(decodeCall(fragments, data)).toEqual({ function: 'fill((address,(uint256,bytes)[]),bool)', args })
  })

  test('shows nothing for data that the ABI does not describe, and for long data', () => {
    const { data, fragments } = encodeCall({ function: 'f(bytes)', args: [`0x${'00'.repeat(5_000)}`] }, '0')
    expect([decodeCall(fragments, data), decodeCall(fragments, '0x12345678'), decodeCall(fragments, '0x')]).toEqual(
      Array(3).fill(undefined),
    )
    expect(decodeCall(['no abi'], '0x12345678')).toBe(undefined)
  })

  test('does not decode data that has the same bytes many times', () => {
    const { fragments } = encodeCall({ function: 'f(uint8[][][][])', args: [[]] }, '0')
    const word = (value: number) => value.toString(16).padStart(64, '0')
    // Each of 30 members of each of three levels has the same offset, relative to the first member: 27,000 arrays of one level.
    const level = (members: number) => word(members) + word(32 * members).repeat(members)
    const bytes = `${word(32)}${level(30)}${level(30)}${level(30)}${word(0)}`
    expect(
      decodeCall(
        fragments,
        `${encodeCall({ function: 'f(uint8[][][][])', args: [[]] }, '0').data.slice(0, 10)}${bytes}`,
      ),
    ).toBe(undefined)
  })

  test('names a custom error and its arguments, and nothing else', () => {
    const { fragments } = encodeCall({ function: 'pay', abi: artifact }, '0')
    const late = new Interface(['error Late(uint256 by)']).encodeErrorResult('Late', [7])
    expect(decodeError(fragments, late)).toBe('Late(by: 7)')
    const abi = [{ type: 'error', name: 'Long', inputs: [{ name: 'why', type: 'string' }] }]
    const long = encodeCall({ function: 'pay', abi: [...artifact, ...abi] }, '0').fragments
    for (const before of [488, 489]) {
      const why = `${'x'.repeat(before)}${'😀'.repeat(9)}`
      const data = new Interface(['error Long(string why)']).encodeErrorResult('Long', [why])
      expect(decodeError(long, data)).toSatisfy((text: string) => text.length > 490 && text.isWellFormed())
    }
    expect([decodeError(fragments, '0x12345678'), decodeError(fragments, late.slice(0, 20))]).toEqual([
      undefined,
      undefined,
    ])
  })
})
