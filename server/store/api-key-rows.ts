import type { ApiKeyRow } from '../core/rows.ts'

export interface Row {
  id: string
  name: string
  secret_hash: Uint8Array
  former_hash: Uint8Array | null
  former_valid_until: string | null
  scopes: string
  relayer_ids: string | null
  allowed_cidrs: string | null
  rate_limit: string | null
  expires_at: string | null
  created_at: string
  last_used_at: string | null
}

/** Limited, because every process keeps all API keys in memory. */
export const max_api_keys = 1_000

const parse = (text: string | null) => (text === null ? null : JSON.parse(text))

export const read = (row: Row): ApiKeyRow => ({
  ...row,
  scopes: JSON.parse(row.scopes),
  relayer_ids: parse(row.relayer_ids),
  allowed_cidrs: parse(row.allowed_cidrs),
  rate_limit: parse(row.rate_limit),
})

export const encode = (api_key: ApiKeyRow) => ({
  ...api_key,
  scopes: JSON.stringify(api_key.scopes),
  is_limited: api_key.relayer_ids === null ? 0 : 1,
  allowed_cidrs: api_key.allowed_cidrs && JSON.stringify(api_key.allowed_cidrs),
  rate_limit: api_key.rate_limit && JSON.stringify(api_key.rate_limit),
})
