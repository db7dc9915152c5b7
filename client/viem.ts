import { type CustomTransport, custom, type JsonRpcAccount } from 'viem'
import type { RelayerClient } from './index.ts'
import { createRelayerProvider } from './provider.ts'

/**
 * A transport of viem for a relayer: it signs, sends and reads through the relayer. Each transaction is sent under an Idempotency-Key
 * of its own. The retries of viem are off, because they would use another key.
 */
export const relayerTransport = (client: RelayerClient, relayer_id: string): CustomTransport =>
  custom(createRelayerProvider(client, relayer_id), { key: 'relayer', name: 'Relayer', retryCount: 0 })

/** The relayer's account, for `createWalletClient` with `relayerTransport`. */
export async function relayerAccount(client: RelayerClient, relayer_id: string): Promise<JsonRpcAccount> {
  const { data } = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id } })
  return { address: data.address, type: 'json-rpc' }
}
