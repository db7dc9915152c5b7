import { Transaction, verifyMessage, verifyTypedData } from 'ethers'
import { expect } from 'vitest'
import type { RelayerClient } from '../../client/index.ts'

const types = { Mail: [{ name: 'text', type: 'string' }] }
const domain = { name: 'Test', chainId: 31_337 }

/** Signs a message, typed data and a transaction, and expects that each signature is by the address, with a low s. */
export async function expectEverySignature(
  client: RelayerClient,
  { id: relayerId, address }: { id: string; address: string },
): Promise<void> {
  const path = { relayer_id: relayerId }
  const { data: message } = await client.post('/api/v1/relayers/{relayer_id}/sign', {
    path,
    body: { message: 'Hello' },
  })
  expect(verifyMessage('Hello', message.sig).toLowerCase()).toBe(address)
  expect(BigInt(message.s)).toBeLessThan(2n ** 255n)
  const { data: typed } = await client.post('/api/v1/relayers/{relayer_id}/sign-typed-data/full', {
    path,
    body: { domain, types, primaryType: 'Mail', message: { text: 'Hi' } },
  })
  expect(verifyTypedData(domain, types, { text: 'Hi' }, typed.sig).toLowerCase()).toBe(address)
  for (const type of [0, 2]) {
    const unsignedTransaction = Transaction.from({ type, chainId: 31_337, gasLimit: 21_000, to: address })
      .unsignedSerialized as `0x${string}`
    const { data: signed } = await client.post('/api/v1/relayers/{relayer_id}/sign-transaction', {
      path,
      body: { unsigned_transaction: unsignedTransaction },
    })
    expect(Transaction.from(signed.signed_transaction).from?.toLowerCase()).toBe(address)
  }
}
