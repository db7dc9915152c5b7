/** The tables whose rows grant rights, and the columns that the MAC of a row covers. */
export const rightsColumns = {
  api_keys: [
    ...['id', 'secret_hash', 'former_hash', 'former_valid_until', 'scopes', 'is_limited'],
    ...['allowed_cidrs', 'rate_limit', 'expires_at', 'pool_ids'],
  ],
  relayers: [
    ...['id', 'network', 'chain_id', 'address', 'signer_id', 'notification_id', 'paused', 'policies'],
    ...['custom_rpc_urls', 'system_disabled', 'other_notification_ids', 'funding'],
  ],
  networks: [
    ...['id', 'name', 'chain_id', 'rpc_urls', 'required_confirmations', 'private_rpc_urls', 'submission'],
    ...['min_priority_fee_per_gas', 'min_gas_price', 'coin_token'],
  ],
  notifications: ['id', 'url', 'signing_key', 'former_key', 'former_until', 'created_by', 'filter'],
  signers: ['id', 'type', 'address', 'secret'],
  pools: ['id', 'network', 'policies', 'funding'],
  sponsorships: [
    ...['id', 'network', 'chain_id', 'relayer_id', 'relayer_row_id', 'pool_id', 'pool_row_id'],
    ...['rules', 'paused', 'api_key_id'],
  ],
} as const

/** The tables that list relayers of a row; the MAC of the row covers the list. */
export const listsOfRelayers = {
  api_keys: { table: 'api_key_relayers', owner: 'api_key_row_id' },
  pools: { table: 'pool_relayers', owner: 'pool_row_id' },
} as const

export type RightsTable = keyof typeof rightsColumns

export const rightsTables = Object.keys(rightsColumns) as RightsTable[]

/** Columns of bytes, which are hex in the content: upper case, and the empty string for NULL. */
export const bytesOfRights = new Set<string>(['secret_hash', 'former_hash', 'signing_key', 'former_key', 'secret'])

/**
 * A row with its MAC and the content that the MAC covers: a JSON array of the row id, the columns in the order of the list and, for
 * a row with a list of relayers, their row ids as the text of a JSON array. All stores build the same text, so that a row can move
 * between them.
 */
export interface SealedRow {
  row_id: number
  rights_version: number
  rights_mac: Uint8Array | null
  rights_content: string
}
