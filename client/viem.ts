import {
  type CustomTransport,
  custom,
  type JsonRpcAccount,
  type LocalAccount,
  serializeTransaction,
  serializeTypedData,
  toHex,
} from 'viem'
import { toAccount } from 'viem/accounts'
import type { SignTypedDataRequest } from '../generated/client.ts'
import type { RelayerClient } from './index.ts'
import { createRelayerProvider } from './provider.ts'

/**
 * A transport of viem for a relayer: it signs, sends and reads through the relayer. Each transaction is sent under an Idempotency-Key
 * of its own. The retries of viem are off, because they would use another key.
 */
export const relayerTransport = (client: RelayerClient, relayerId: string): CustomTransport =>
  custom(createRelayerProvider(client, relayerId), { key: 'relayer', name: 'Relayer', retryCount: 0 })

/** The relayer's account, for `createWalletClient` with `relayerTransport`. */
export async function relayerAccount(client: RelayerClient, relayerId: string): Promise<JsonRpcAccount> {
  const { data } = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayerId } })
  return { address: data.address, type: 'json-rpc' }
}

/**
 * The relayer's key as a LocalAccount of viem, for whatever needs signatures: smart accounts, permits, sign-in. It works with any
 * transport, and signs by the relayer's policies. A transaction that is sent with it takes its nonce from the chain and competes with
 * those of the service: send with `relayerAccount` and `relayerTransport`.
 */
export async function relayerLocalAccount(client: RelayerClient, relayerId: string): Promise<LocalAccount> {
  const path = { relayer_id: relayerId }
  const { data: relayer } = await client.get('/api/v1/relayers/{relayer_id}', { path })
  return toAccount({
    address: relayer.address,
    async signMessage({ message }) {
      const bytes = typeof message === 'string' ? undefined : message.raw
      const messageHex = typeof bytes === 'string' || bytes === undefined ? bytes : toHex(bytes)
      const body = messageHex === undefined ? { message: message as string } : { message_hex: messageHex }
      return (await client.post('/api/v1/relayers/{relayer_id}/sign', { path, body })).data.sig
    },
    async signTypedData(document) {
      const body = JSON.parse(serializeTypedData(document)) as SignTypedDataRequest
      return (await client.post('/api/v1/relayers/{relayer_id}/sign-typed-data/full', { path, body })).data.sig
    },
    async signTransaction(transaction, { serializer = serializeTransaction } = {}) {
      const body = { unsigned_transaction: (await serializer(transaction)) as string }
      const { data } = await client.post('/api/v1/relayers/{relayer_id}/sign-transaction', { path, body })
      return data.signed_transaction
    },
  })
}
