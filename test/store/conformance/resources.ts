import type { Network } from '../../../generated/openapi.ts'
import type { NewApiKey, NewRelayer, NotificationRow, RelayerRow, SignerRow } from '../../../server/domain/rows.ts'
import type { OpenedStore } from './stores.ts'

let made = 0

/** A name that no other case uses. */
export function unique(word: string): string {
  made += 1
  return `${word}-${made}`
}

type NewNetwork = Omit<Network, 'revision' | 'created_at'>

export const networkOf = (name: string, changes: Partial<NewNetwork> = {}): NewNetwork => ({
  id: `evm:${name}`,
  name,
  network_type: 'evm',
  chain_id: 1,
  rpc_urls: [{ url: 'https://node.example.com/"ключ"', weight: 100 }],
  symbol: 'ETH',
  required_confirmations: 12,
  average_blocktime_ms: null,
  is_testnet: false,
  explorer_urls: [],
  features: ['eip1559'],
  tags: [],
  private_rpc_urls: [],
  submission: { mode: 'public', after_blocks: null },
  min_priority_fee_per_gas: null,
  min_gas_price: null,
  coin_token: null,
  ...changes,
})

export function signerOf(id: string): SignerRow {
  made += 1
  return { id, type: 'local', address: `0x${String(made).padStart(40, '0')}`, secret: Buffer.from(`secret of ${id}`) }
}

export const relayerOf = (id: string, network: string, signerId: string): NewRelayer => ({
  id,
  name: 'Name',
  network,
  network_type: 'evm',
  paused: false,
  signer_id: signerId,
  notification_ids: [],
  policies: { allow_messages: false },
  custom_rpc_urls: [],
  system_disabled: false,
  disabled_reason: null,
})

export const notificationOf = (id: string, changes: Partial<NotificationRow> = {}): NotificationRow => ({
  id,
  type: 'webhook',
  url: 'https://hooks.example.com/a',
  signing_key: null,
  created_by: 'environment',
  filter: null,
  ...changes,
})

export const apiKeyOf = (id: string, changes: Partial<NewApiKey> = {}): NewApiKey => ({
  id,
  name: `Key ${id}`,
  scopes: ['sign', 'read'],
  relayer_ids: null,
  pool_ids: [],
  allowed_cidrs: null,
  rate_limit: null,
  budget: null,
  expires_at: null,
  previous_token_expires_at: null,
  created_at: '2026-01-01T00:00:00.000Z',
  last_used_at: null,
  secret_hash: Buffer.alloc(32, 7),
  former_tokens: null,
  ...changes,
})

/** Adds a relayer with a new network and a new signer. */
export async function addRelayer(
  { store }: Pick<OpenedStore, 'store'>,
  changes: Partial<NewRelayer> = {},
): Promise<RelayerRow> {
  const id = unique('relayer')
  await store.createNetwork(networkOf(id))
  await store.createSigner(signerOf(id))
  const made = await store.createRelayer({ ...relayerOf(id, id, id), ...changes })
  if (typeof made === 'string') throw new Error(made)
  return made
}
