import type { Transaction } from '../../../generated/openapi.ts'
import type { ShownColumns } from '../../domain/show-transaction.ts'
import type { TransactionRow, WholeTransactionRow } from '../../domain/transaction-rows.ts'
import { type Session, sql } from './session.ts'

/** In a column list: the data that the row of a table names. */
export const dataColumn = (table: string): string =>
  `(SELECT data FROM transaction_data WHERE row_id = ${table}.data_row_id) AS data`

export const hexOf = (data: Uint8Array | null): string | null =>
  data === null ? null : `0x${Buffer.from(data.buffer, data.byteOffset, data.length).toString('hex')}`

/** The member `data` in JSON without it. A text inside a string cannot be taken for it, because its quotes are escaped there. */
const absent = '"data":null'

/** Completes JSON that was stored without its data. */
export function withData(json: string, data: Uint8Array | null): string {
  if (data === null) return json
  const at = json.indexOf(absent)
  if (at < 0) throw new Error('Stored JSON has no place for its data')
  return `${json.slice(0, at)}"data":"${hexOf(data)}"${json.slice(at + absent.length)}`
}

const insert = sql<{ row_id: number }>('INSERT INTO transaction_data (data) VALUES ($data) RETURNING row_id')
const select = sql<{ data: Uint8Array }>('SELECT data FROM transaction_data WHERE row_id = $data_row_id')

/** Stores a version of data, and resolves to its row id. */
export async function addData(session: Session, data: string | null): Promise<number | null> {
  if (data === null) return null
  return (await session.one(insert, { data: Buffer.from(data.slice(2), 'hex') }))?.row_id ?? null
}

export async function readData(session: Session, dataRowId: number | null): Promise<string | null> {
  if (dataRowId === null) return null
  return hexOf((await session.one(select, { data_row_id: dataRowId }))?.data ?? null)
}

/** Columns that hold JSON. */
const jsonColumns = [
  'signature',
  'speed',
  'receipt',
  'error',
  'fragments',
  'call',
  'metadata',
  'submission',
  'access_list',
  'authorization_list',
  'sponsored',
] as const

/** A row of the table `transactions`. */
type JsonColumn = (typeof jsonColumns)[number]

export type Row = Omit<
  TransactionRow,
  JsonColumn | 'resign' | 'replaces_foreign' | 'gas_is_given' | 'is_sweep' | 'waits_told'
> &
  Record<JsonColumn, string | null> & {
    resign: 0 | 1
    replaces_foreign: 0 | 1
    gas_is_given: 0 | 1
    is_sweep: 0 | 1
    waits_told: string
  }

export type WholeRow = Row & { data: Uint8Array | null }

/** The columns that the contract shows, without the data. */
export const shownColumns = `id, relayer_id, hash, "from", "to", value, nonce, gas_limit, gas_price,
  max_fee_per_gas, max_priority_fee_per_gas, status, status_reason, created_at, sent_at, confirmed_at, signature, speed, receipt, error, reference,
  fragments, call, metadata, submission, access_list, authorization_list,
  block_number, block_hash, waiting_for, wait_text, changed_at, intent`

export const columns = `${shownColumns}, row_id, relayer_row_id, chain_id, valid_until, resign, type, fee_ceiling, tip_ceiling, data_fee, coin_spent, replaces_foreign, gas_is_given, is_sweep, waits_told, reserved, sponsored, sponsored_lane, pool_row_id, reprice_at, revision, data_bytes,
  data_row_id`

export const wholeColumns = `${columns}, ${dataColumn('transactions')}`

const parsed = (text: string | null) => (text === null ? null : JSON.parse(text))

function decode<R extends Pick<Row, Exclude<JsonColumn, 'sponsored'>>>(row: R) {
  return {
    ...row,
    signature: parsed(row.signature),
    speed: parsed(row.speed),
    receipt: parsed(row.receipt),
    error: parsed(row.error),
    fragments: parsed(row.fragments),
    call: parsed(row.call),
    metadata: parsed(row.metadata),
    submission: parsed(row.submission),
    access_list: parsed(row.access_list),
    authorization_list: parsed(row.authorization_list),
  }
}

export type ShownRow = Pick<
  Row,
  | Exclude<keyof Transaction, 'data' | 'call' | 'ended_at' | 'is_canceling'>
  | 'intent'
  | 'changed_at'
  | 'fragments'
  | 'call'
  | 'block_number'
  | 'block_hash'
  | 'waiting_for'
  | 'wait_text'
>

/** The values of the columns that the contract shows. */
export const show = (row: ShownRow, data: string | null): ShownColumns => ({ ...decode(row), data })

export const read = (row: Row): TransactionRow => ({
  ...decode(row),
  sponsored: parsed(row.sponsored),
  resign: row.resign === 1,
  replaces_foreign: row.replaces_foreign === 1,
  gas_is_given: row.gas_is_given === 1,
  is_sweep: row.is_sweep === 1,
  waits_told: row.waits_told === '[]' ? [] : JSON.parse(row.waits_told),
})

export const readWhole = (row: WholeRow): WholeTransactionRow => ({ ...read(row), data: hexOf(row.data) })

export const encode = (row: TransactionRow) => ({
  ...row,
  signature: row.signature && JSON.stringify(row.signature),
  speed: row.speed && JSON.stringify(row.speed),
  receipt: row.receipt && JSON.stringify(row.receipt),
  error: row.error && JSON.stringify(row.error),
  fragments: row.fragments && JSON.stringify(row.fragments),
  call: row.call && JSON.stringify(row.call),
  metadata: row.metadata && JSON.stringify(row.metadata),
  submission: row.submission && JSON.stringify(row.submission),
  access_list: row.access_list && JSON.stringify(row.access_list),
  authorization_list: row.authorization_list && JSON.stringify(row.authorization_list),
  sponsored: row.sponsored && JSON.stringify(row.sponsored),
  resign: row.resign ? 1 : 0,
  replaces_foreign: row.replaces_foreign ? 1 : 0,
  gas_is_given: row.gas_is_given ? 1 : 0,
  is_sweep: row.is_sweep ? 1 : 0,
  waits_told: JSON.stringify(row.waits_told),
})

/** The number of bytes of data in hex. */
export const bytesOf = (data: string | null): number => (data === null ? 0 : (data.length - 2) / 2)
