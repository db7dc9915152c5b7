import { Wallet } from 'ethers'
import { expect, test } from 'vitest'
import { contradictionOf, flawOf } from '../../server/domain/decoding/transaction.ts'

const wallet = new Wallet(`0x${'42'.repeat(32)}`)
const to = `0x${'7e'.repeat(20)}`
const prices = { type: 2, maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, nonce: 0 }

const signed = async (fields: object) => {
  const raw = await wallet.signTransaction({ ...prices, chainId: 1, to, gasLimit: 21_000n, ...fields })
  return Buffer.from(raw.slice(2), 'hex')
}
const bytes = (count: number, byte = 'ff') => `0x${byte.repeat(count)}`

test('detects a transaction with more bytes than nodes accept, and knows no rule of a chain', async () => {
  expect(flawOf(await signed({ data: bytes(131_072), gasLimit: 10_000_000n }))).toMatch(/at most 131072/)
  for (const fields of [{}, { gasLimit: 1n }, { gasLimit: 2n ** 25n }, { to: null, data: bytes(60_000) }])
    expect(flawOf(await signed(fields))).toBeUndefined()
})

test('answers a rejected signature or chain id with the signer or chain that the bytes show', async () => {
  const raw = await signed({})
  expect(contradictionOf('invalid sender', raw)).toBe(`the signature recovers to ${wallet.address.toLowerCase()}`)
  expect(contradictionOf('invalid chain id for signer', raw)).toBe('it is signed for chain 1')
  expect(contradictionOf('exceeds block gas limit', raw)).toBeUndefined()
})
