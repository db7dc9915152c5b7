import type { Transaction } from '../../../generated/openapi.ts'
import type { TransactionRow, WholeTransactionRow } from '../sending-rows.ts'

/** A row as SQLite has it. */
export type Row = Omit<TransactionRow, 'signature' | 'speed' | 'resign' | 'waits_told'> & {
  signature: string | null
  speed: string | null
  resign: 0 | 1
  waits_told: string
}

export type WholeRow = Row & Pick<WholeTransactionRow, 'data'>

/** The columns that the contract shows, without the data. */
export const shownColumns = `id, relayer_id, hash, "from", "to", value, nonce, gas_limit, gas_price,
  max_fee_per_gas, max_priority_fee_per_gas, status, status_reason, created_at, sent_at, confirmed_at, signature, speed`

export const columns = `${shownColumns}, key, relayer_key, chain_id, valid_until, intent, resign, block_number,
  block_hash, waiting_for, waits_told, reserved, reprice_at, revision, data_bytes`

/** Of the transaction that the statement is about. */
export const dataColumn = '(SELECT data FROM transaction_data WHERE transaction_key = transactions.key) AS data'

export const wholeColumns = `${columns}, ${dataColumn}`

const decode = <R extends { signature: string | null; speed: string | null }>(row: R) => ({
  ...row,
  signature: row.signature === null ? null : JSON.parse(row.signature),
  speed: row.speed === null ? null : JSON.parse(row.speed),
})

/** What stands in the columns that the contract shows. */
export const show = (row: Pick<WholeRow, keyof Transaction>): Transaction => decode(row)

export const read = (row: Row): TransactionRow => ({
  ...decode(row),
  resign: row.resign === 1,
  waits_told: row.waits_told === '[]' ? [] : JSON.parse(row.waits_told),
})

export const readWhole = (row: WholeRow): WholeTransactionRow => ({ ...read(row), data: row.data })

export const encode = (row: TransactionRow) => ({
  ...row,
  signature: row.signature && JSON.stringify(row.signature),
  speed: row.speed && JSON.stringify(row.speed),
  resign: row.resign ? 1 : 0,
  waits_told: JSON.stringify(row.waits_told),
})

/** The size of data in hex. */
export const bytesOf = (data: string | null): number => (data === null ? 0 : (data.length - 2) / 2)

/** What the contract shows of a row. */
export const shownOf = (row: WholeTransactionRow): Transaction => ({
  id: row.id,
  relayer_id: row.relayer_id,
  hash: row.hash,
  from: row.from,
  to: row.to,
  value: row.value,
  data: row.data,
  nonce: row.nonce,
  gas_limit: row.gas_limit,
  gas_price: row.gas_price,
  max_fee_per_gas: row.max_fee_per_gas,
  max_priority_fee_per_gas: row.max_priority_fee_per_gas,
  status: row.status,
  status_reason: row.status_reason,
  created_at: row.created_at,
  sent_at: row.sent_at,
  confirmed_at: row.confirmed_at,
  signature: row.signature,
  speed: row.speed,
})
