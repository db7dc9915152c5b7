import { Wallet } from 'ethers'
import { expect, test } from 'vitest'
import { contradictionOf, flawOf } from '../../server/core/encoding/flaws.ts'

const wallet = new Wallet(`0x${'42'.repeat(32)}`)
const to = `0x${'7e'.repeat(20)}`
const prices = { type: 2, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, nonce: 0 }

const signed = async (fields: object) => {
  const raw = await wallet.signTransaction({ ...prices, chainId: 1, to, gasLimit: 21_000n, ...fields })
  return Buffer.from(raw.slice(2), 'hex')
}
const bytes = (count: number, byte = 'ff') => `0x${byte.repeat(count)}`

test.each([
  ['a transfer with too little gas', { gasLimit: 20_999n }, /below its intrinsic gas \(21000\)/],
  ['data with too little gas', { data: '0x00ff', gasLimit: 21_019n }, /intrinsic gas \(21020\)/],
  ['a creation with too little gas', { to: null, data: '0xff', gasLimit: 53_015n }, /intrinsic gas \(53016\)/],
  [
    'an access list with too little gas',
    { accessList: [{ address: to, storageKeys: [`0x${'00'.repeat(32)}`] }], gasLimit: 25_299n },
    /intrinsic gas \(25300\)/,
  ],
  ['data below the floor of EIP-7623', { data: bytes(100), gasLimit: 24_999n }, /gas floor of its data \(25000\)/],
  ['more gas than EIP-7825 allows', { gasLimit: 2n ** 24n + 1n }, /above the limit of a transaction \(16777216\)/],
  ['too much initcode', { to: null, data: bytes(49_153, '00'), gasLimit: 10_000_000n }, /49153 bytes/],
  ['more bytes than nodes accept', { data: bytes(131_072), gasLimit: 10_000_000n }, /at most 131072/],
])('detects a transaction that no node can accept: %s', async (_, fields, text) => {
  expect(flawOf(await signed(fields))).toMatch(text)
})

test.each([
  ['a transfer', {}],
  ['exactly the intrinsic gas', { data: '0x00ff', gasLimit: 21_050n }],
  ['exactly the intrinsic gas of a creation', { to: null, data: '0xff', gasLimit: 53_016n }],
  ['the most gas of EIP-7825', { gasLimit: 2n ** 24n }],
  ['more gas, on a chain with rules of its own', { chainId: 42_161, gasLimit: 2n ** 25n }],
  [
    'more initcode, on a chain with rules of its own',
    { chainId: 143, to: null, data: bytes(60_000), gasLimit: 2n ** 25n },
  ],
])('accepts %s', async (_, fields) => {
  expect(flawOf(await signed(fields))).toBeUndefined()
})

test('answers a rejected signature or chain id with the signer or chain that the bytes show', async () => {
  const raw = await signed({})
  expect(contradictionOf('invalid sender', raw)).toBe(`the signature recovers to ${wallet.address.toLowerCase()}`)
  expect(contradictionOf('invalid chain id for signer', raw)).toBe('it is signed for chain 1')
  expect(contradictionOf('exceeds block gas limit', raw)).toBeUndefined()
})
