import type { RelayerClient } from '../../client/index.ts'

const path = '/api/v1/relayers/{relayer_id}/external-transactions'

/** Acknowledges what is listed now. */
export async function acknowledgeExternal(client: RelayerClient, relayerId: string): Promise<void> {
  const { data } = await client.get(path, { path: { relayer_id: relayerId }, query: { per_page: 1_000 } })
  if (data.length === 0) return
  const transactions = data.map(({ nonce, hash }) => ({ nonce, hash }))
  await client.relayers.acknowledgeExternalTransactions(relayerId, { transactions })
}
