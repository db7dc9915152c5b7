import type { Network } from '../../generated/openapi.ts'

export type Row = Omit<Network, 'rpc_urls' | 'explorer_urls' | 'features' | 'tags' | 'is_testnet'> & {
  rpc_urls: string
  explorer_urls: string
  features: string
  tags: string
  is_testnet: 0 | 1
}

export const columns = `id, name, network_type, chain_id, rpc_urls, symbol, required_confirmations, average_blocktime_ms,
  is_testnet, explorer_urls, features, tags`

export const read = (row: Row): Network => ({
  ...row,
  rpc_urls: JSON.parse(row.rpc_urls),
  explorer_urls: JSON.parse(row.explorer_urls),
  features: JSON.parse(row.features),
  tags: JSON.parse(row.tags),
  is_testnet: row.is_testnet === 1,
})

export const encode = (network: Network): Row => ({
  ...network,
  rpc_urls: JSON.stringify(network.rpc_urls),
  explorer_urls: JSON.stringify(network.explorer_urls),
  features: JSON.stringify(network.features),
  tags: JSON.stringify(network.tags),
  is_testnet: network.is_testnet ? 1 : 0,
})
