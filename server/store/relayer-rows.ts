import type { NewRelayer, RelayerRow } from '../core/rows.ts'

export type Row = Omit<RelayerRow, 'paused' | 'system_disabled' | 'policies' | 'custom_rpc_urls'> & {
  paused: 0 | 1
  system_disabled: 0 | 1
  policies: string
  custom_rpc_urls: string
}

export const columns = `row_id, id, name, network, network_type, paused, address, signer_id, notification_id, policies,
  custom_rpc_urls, system_disabled, disabled_reason, chain_id`

export const read = (row: Row): RelayerRow => ({
  ...row,
  paused: row.paused === 1,
  system_disabled: row.system_disabled === 1,
  policies: JSON.parse(row.policies),
  custom_rpc_urls: JSON.parse(row.custom_rpc_urls),
})

/** The columns whose stored form differs from the contract's. */
export const encode = (relayer: NewRelayer) => ({
  paused: relayer.paused ? (1 as const) : (0 as const),
  system_disabled: relayer.system_disabled ? (1 as const) : (0 as const),
  policies: JSON.stringify(relayer.policies),
  custom_rpc_urls: JSON.stringify(relayer.custom_rpc_urls),
})
