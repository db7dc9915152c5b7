import { Interface } from 'ethers'
import { expect, test } from 'vitest'
import { readTokenCall, selectorOf } from '../../server/domain/policies/token-calls.ts'

const someone = `0x${'12'.repeat(20)}`
const token = new Interface([
  'function transfer(address, uint256)',
  'function transferFrom(address, address, uint256)',
  'function approve(address, uint256)',
  'function increaseAllowance(address, uint256)',
  'function decreaseAllowance(address, uint256)',
  'function permit(address, address, uint256, uint256, uint8, bytes32, bytes32)',
  'function burn(uint256)',
])
const greatest = 2n ** 256n - 1n
const transfer = token.encodeFunctionData('transfer', [someone, 7n])

test('recognizes token transfers and allowances', () => {
  const rows: [name: string, args: unknown[], amount: bigint][] = [
    ['transfer', [someone, 7n], 7n],
    ['transfer', [someone, 0n], 0n],
    ['transferFrom', [someone, someone, 2n ** 64n], 2n ** 64n],
    ['approve', [someone, greatest], greatest],
    ['increaseAllowance', [someone, 9n], 9n],
  ]
  for (const [name, args, amount] of rows) {
    const data = token.encodeFunctionData(name, args)
    expect.soft(readTokenCall(data), name).toEqual({ kind: 'counted', amount, receiver: someone })
  }
})

test('treats arguments that do not match the function exactly as malformed', () => {
  const dirty = (at: number) => `${transfer.slice(0, at)}1${transfer.slice(at + 1)}`
  const rows = [transfer.slice(0, 10), transfer.slice(0, -2), `${transfer}00`, `${transfer}${'00'.repeat(32)}`]
  for (const data of [
    ...rows,
    dirty(10),
    dirty(33),
    token.encodeFunctionData('transferFrom', [someone, someone, 1n]).slice(0, 138),
  ]) {
    expect.soft(readTokenCall(data), data).toEqual({ kind: 'malformed' })
  }
  // The first digit that belongs to the address.
  expect(readTokenCall(dirty(34))).toEqual({ kind: 'counted', amount: 7n, receiver: someone })
})

test('treats everything else as another call', () => {
  const burn = token.encodeFunctionData('burn', [1n])
  const decrease = token.encodeFunctionData('decreaseAllowance', [someone, 1n])
  for (const data of [null, '0x', '0xa9', '0xa9059c', '0xa9059cbc', burn, decrease]) {
    expect.soft(readTokenCall(data), String(data)).toEqual({ kind: 'other' })
  }
})

test('reads a selector of four bytes, or none without data', () => {
  expect([null, '0x', '0xa9', '0xa9059c', '0xa9059cbb', transfer].map(selectorOf)).toEqual([
    ...['0x', '0x', undefined, undefined],
    ...['0xa9059cbb', '0xa9059cbb'],
  ])
})
