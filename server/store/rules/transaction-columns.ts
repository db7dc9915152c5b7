import type { AcceptedRow } from '../acceptance.ts'

/** The columns of `transactions` with their types in the records of a statement. A column that is missing here does not compile. */
export const columnTypes: Record<keyof AcceptedRow, string> = {
  row_id: 'bigint',
  id: 'text',
  relayer_row_id: 'bigint',
  relayer_id: 'text',
  sequence: 'bigint',
  chain_id: 'bigint',
  hash: 'text',
  from: 'text',
  to: 'text',
  value: 'text',
  data_bytes: 'bigint',
  data_row_id: 'bigint',
  nonce: 'bigint',
  gas_limit: 'bigint',
  gas_price: 'text',
  max_fee_per_gas: 'text',
  max_priority_fee_per_gas: 'text',
  status: 'text',
  status_reason: 'text',
  created_at: 'text',
  caller: 'text',
  pool_row_id: 'bigint',
  sent_at: 'text',
  confirmed_at: 'text',
  signature: 'text',
  speed: 'text',
  receipt: 'text',
  error: 'text',
  reference: 'text',
  fragments: 'text',
  metadata: 'text',
  submission: 'text',
  access_list: 'text',
  authorization_list: 'text',
  valid_until: 'text',
  intent: 'text',
  resign: 'integer',
  type: 'integer',
  fee_ceiling: 'text',
  tip_ceiling: 'text',
  data_fee: 'text',
  replaces_foreign: 'integer',
  gas_is_given: 'integer',
  is_sweep: 'integer',
  block_number: 'bigint',
  block_hash: 'text',
  waiting_for: 'text',
  wait_text: 'text',
  waits_told: 'text',
  spent: 'text',
  reserved: 'text',
  sponsored: 'text',
  sponsored_lane: 'text',
  changed_at: 'text',
  reprice_at: 'bigint',
  revision: 'bigint',
}

export type Column = keyof typeof columnTypes

export const allColumns = Object.keys(columnTypes) as Column[]

/** For the FROM clause: the parameter `rows` as records with these columns, and `more`. */
export const recordsOf = (columns: readonly Column[], ...more: string[]): string =>
  `json_to_recordset($rows::json) AS new (${[...columns.map((name) => `"${name}" ${columnTypes[name]}`), ...more].join(', ')})`
