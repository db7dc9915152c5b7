import type { ShownColumns } from '../../domain/show.ts'
import type { TransactionRow, WholeTransactionRow } from '../../domain/transaction-rows.ts'
import { type DatabaseTransaction, type Session, sql } from './database.ts'

/** In a column list: the data that the row of a table names. */
export const dataColumn = (table: string): string =>
  `(SELECT data FROM transaction_data WHERE row_id = ${table}.data_row_id) AS data`

/** SQL: whether a row has one of the statuses. */
export const statusIn = (statuses: readonly TransactionRow['status'][]): string =>
  `status IN (${statuses.map((status) => `'${status}'`).join(', ')})`

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

const insertDataRow = sql<{ row_id: number }>('INSERT INTO transaction_data (data) VALUES ($data) RETURNING row_id')
const selectData = sql<{ data: Uint8Array }>('SELECT data FROM transaction_data WHERE row_id = $data_row_id')

/** Stores a version of data, and resolves to its row id. */
export async function addData(session: Session, data: string | null): Promise<number | null> {
  if (data === null) return null
  return (await session.one(insertDataRow, { data: Buffer.from(data.slice(2), 'hex') }))?.row_id ?? null
}

export async function readData(session: Session, dataRowId: number | null): Promise<string | null> {
  if (dataRowId === null) return null
  return hexOf((await session.one(selectData, { data_row_id: dataRowId }))?.data ?? null)
}

/** A transaction with what is read apart from it: its place among the relayer's, and what of the spending is its own. */
type Columns = TransactionRow & { sequence: number; spent: string | null }

type KindOf<Value> = [Value] extends [boolean]
  ? 'boolean'
  : [Value] extends [number | null]
    ? 'bigint' | 'integer'
    : [Value] extends [string | null]
      ? 'text'
      : 'json'

interface Column<Value> {
  kind: KindOf<Value>
  /** Of a new transaction that has no other value; absent: the acceptance gives it. */
  initial?: Value
  /** The contract shows it, and lists read it. */
  shown?: true
  /** It never changes, or has a statement of its own (daily-limits.ts). */
  fixed?: true
  /** It is not read with the row. */
  apart?: true
}

/** The columns of the table `transactions`: what inserts, changes, reads and shows a row is derived from them. */
const table = {
  row_id: { kind: 'bigint', fixed: true },
  id: { kind: 'text', shown: true, fixed: true },
  relayer_row_id: { kind: 'bigint', fixed: true },
  network: { kind: 'text', shown: true, fixed: true },
  relayer_id: { kind: 'text', shown: true, fixed: true },
  sequence: { kind: 'bigint', fixed: true, apart: true },
  chain_id: { kind: 'bigint', fixed: true },
  hash: { kind: 'text', shown: true, initial: null },
  from: { kind: 'text', shown: true, fixed: true },
  to: { kind: 'text', shown: true },
  value: { kind: 'text', shown: true },
  data_bytes: { kind: 'bigint' },
  data_row_id: { kind: 'bigint' },
  nonce: { kind: 'bigint', shown: true },
  gas_limit: { kind: 'bigint', shown: true },
  gas_price: { kind: 'text', shown: true },
  max_fee_per_gas: { kind: 'text', shown: true },
  max_priority_fee_per_gas: { kind: 'text', shown: true },
  status: { kind: 'text', shown: true, initial: 'pending' },
  status_reason: { kind: 'text', shown: true },
  created_at: { kind: 'text', shown: true, fixed: true },
  caller: { kind: 'text', fixed: true },
  pool_row_id: { kind: 'bigint', fixed: true },
  pool_id: { kind: 'text', shown: true, fixed: true },
  sent_at: { kind: 'text', shown: true, initial: null },
  confirmed_at: { kind: 'text', shown: true, initial: null },
  signature: { kind: 'json', shown: true, initial: null },
  speed: { kind: 'text', shown: true },
  receipt: { kind: 'json', shown: true, initial: null },
  error: { kind: 'json', shown: true, initial: null },
  reference: { kind: 'text', shown: true, initial: null },
  deduplication_id: { kind: 'text', shown: true, initial: null, fixed: true },
  ordering_key: { kind: 'text', shown: true, initial: null, fixed: true },
  fragments: { kind: 'json', shown: true, initial: null },
  call: { kind: 'json', shown: true, initial: null },
  metadata: { kind: 'json', shown: true, initial: null },
  submission: { kind: 'json', shown: true, initial: null },
  access_list: { kind: 'json', shown: true, initial: null },
  authorization_list: { kind: 'json', shown: true, initial: null },
  valid_until: { kind: 'text', shown: true },
  moved_to_transaction_id: { kind: 'text', shown: true, initial: null },
  intent: { kind: 'text', shown: true },
  resign: { kind: 'boolean', initial: false },
  type: { kind: 'integer', shown: true },
  fee_ceiling: { kind: 'text', initial: null },
  tip_ceiling: { kind: 'text', initial: null },
  data_fee: { kind: 'text', initial: null },
  coin_spent: { kind: 'text', initial: null },
  replaces_external: { kind: 'boolean', initial: false },
  replacements: { kind: 'bigint', shown: true, initial: 0 },
  gas_is_given: { kind: 'boolean', initial: false },
  is_sweep: { kind: 'boolean', initial: false },
  block_number: { kind: 'bigint', shown: true, initial: null },
  block_hash: { kind: 'text', shown: true, initial: null },
  wait_reason: { kind: 'text', shown: true, initial: null },
  wait_text: { kind: 'text', shown: true, initial: null },
  waits_told: { kind: 'json', initial: [] },
  spent: { kind: 'text', fixed: true, apart: true },
  reserved: { kind: 'text' },
  sponsored: { kind: 'json' },
  exclusive_key: { kind: 'text', fixed: true },
  history: { kind: 'json', initial: null },
  changed_at: { kind: 'text', shown: true },
  reprice_at: { kind: 'bigint', initial: 0 },
  revision: { kind: 'bigint', initial: 0 },
} satisfies { [Name in keyof Columns]: Column<Columns[Name]> }

type Table = typeof table
type ColumnName = keyof Table
type NamesWith<Property> = { [Name in ColumnName]: Table[Name] extends Property ? Name : never }[ColumnName]
type JsonName = NamesWith<{ kind: 'json' }>
type BooleanName = NamesWith<{ kind: 'boolean' }>

/** A row as the database has it. */
export type InsertedRow = Omit<Columns, JsonName | BooleanName> & { [Name in BooleanName]: 0 | 1 } & {
  [Name in JsonName]: string | Extract<Columns[Name], null>
}
/** What of a row is read. */
export type StoredTransaction = Omit<InsertedRow, NamesWith<{ apart: true }>>
export type WholeRow = StoredTransaction & { data: Uint8Array | null }
export type ShownRow = Pick<StoredTransaction, NamesWith<{ shown: true }>>

interface AnyColumn extends Omit<Column<unknown>, 'kind'> {
  kind: Table[ColumnName]['kind']
}
const anyColumn: Record<ColumnName, AnyColumn> = table
export const columnNames = Object.keys(table) as ColumnName[]
const namesWhere = (is: (column: AnyColumn) => boolean) => columnNames.filter((name) => is(anyColumn[name]))
const jsonNames = namesWhere(({ kind }) => kind === 'json')
const shownJsonNames = namesWhere(({ kind, shown }) => kind === 'json' && shown === true)
const booleanNames = namesWhere(({ kind }) => kind === 'boolean')

/** The columns that an update may set. */
export type ChangingName = Exclude<ColumnName, NamesWith<{ fixed: true }>>
export const changingNames = namesWhere(({ fixed }) => !fixed) as ChangingName[]

export const quoted = (names: readonly ColumnName[]): string => names.map((name) => `"${name}"`).join(', ')
/** The columns that the contract shows, without the data. */
const shownNames = namesWhere(({ shown }) => shown === true) as (keyof ShownRow)[]
export const shownColumns = quoted(shownNames)
export const transactionColumns = quoted(namesWhere(({ apart }) => !apart))
export const wholeColumns = `${transactionColumns}, ${dataColumn('transactions')}`

const databaseTypes = { text: 'text', json: 'text', bigint: 'bigint', integer: 'integer', boolean: 'integer' }

/** For the FROM clause: the parameter `rows` as records with these columns, and `more`. */
export const recordsOf = (names: readonly ColumnName[], ...more: string[]): string =>
  `json_to_recordset($rows::json) AS new (${[...names.map((name) => `"${name}" ${databaseTypes[table[name].kind]}`), ...more].join(', ')})`

/** A copy with the JSON of these columns parsed. */
function parsed(row: object, names: readonly ColumnName[]) {
  const copy: Record<string, unknown> = { ...row }
  for (const name of names) {
    const text = copy[name]
    if (text !== null) copy[name] = JSON.parse(text as string)
  }
  return copy
}

/** The values of the columns that the contract shows. */
export const readShown = (row: ShownRow, data: string | null): ShownColumns =>
  ({ ...parsed(row, shownJsonNames), data }) as Pick<TransactionRow, keyof ShownRow> & { data: string | null }

export function readTransaction(row: StoredTransaction): TransactionRow {
  const copy = parsed(row, jsonNames)
  for (const name of booleanNames) copy[name] = copy[name] === 1
  return copy as unknown as TransactionRow
}

export const readWholeTransaction = (row: WholeRow): WholeTransactionRow => ({
  ...readTransaction(row),
  data: hexOf(row.data),
})

function encoded(copy: Record<string, unknown>): Record<string, unknown> {
  for (const name of jsonNames) if (copy[name] !== null) copy[name] = JSON.stringify(copy[name])
  for (const name of booleanNames) copy[name] = copy[name] ? 1 : 0
  return copy
}

export const encodeTransaction = (row: TransactionRow): StoredTransaction =>
  encoded({ ...row }) as unknown as StoredTransaction

type InitialName = NamesWith<{ initial: unknown }>
type NewRow = Omit<Columns, InitialName> & Partial<Pick<Columns, InitialName>>

const initialRow: Record<string, unknown> = Object.fromEntries(
  columnNames.map((name) => [name, anyColumn[name].initial ?? null]),
)

/** The row of a new transaction. A column that is not given has its initial value. */
export const newRow = (given: NewRow): InsertedRow => encoded({ ...initialRow, ...given }) as unknown as InsertedRow

/**
 * What distinguishes a new row, in the columns that the contract shows. The answer to a repeated request is made from it again: a column
 * that a later version adds has its initial value, and one that it drops is left out.
 */
export const rememberRow = (row: ShownRow): Partial<ShownRow> =>
  Object.fromEntries(shownNames.flatMap((name) => (row[name] === initialRow[name] ? [] : [[name, row[name]]])))

export const recallRow = (known: Partial<ShownRow>): ShownRow =>
  Object.fromEntries(shownNames.map((name) => [name, name in known ? known[name] : initialRow[name]])) as ShownRow

/** The number of bytes of data in hex. */
export const bytesOf = (data: string | null): number => (data === null ? 0 : (data.length - 2) / 2)

const deleteMetadata = sql('DELETE FROM transaction_metadata WHERE transaction_row_id = ANY ($row_ids::bigint[])')
const insertTransactionMetadata = sql(
  (engine) => `
  INSERT INTO transaction_metadata (relayer_row_id, name, value, sequence, transaction_row_id, pool_row_id)
  SELECT relayer_row_id, its.key, its.value, sequence, transactions.row_id, pool_row_id
  FROM transactions, ${engine === 'sqlite' ? 'json_each(metadata)' : 'json_each_text(metadata::json)'} AS its
  WHERE transactions.row_id = ANY ($row_ids::bigint[])`,
)

/** Makes new transactions findable by their metadata. */
export const indexMetadata = (dbTransaction: DatabaseTransaction, rowIds: number[]): Promise<number> =>
  rowIds.length === 0 ? Promise.resolve(0) : dbTransaction.run(insertTransactionMetadata, { row_ids: rowIds })

/** Does so again for transactions whose metadata has changed. */
export async function indexMetadataAgain(dbTransaction: DatabaseTransaction, rowIds: number[]): Promise<void> {
  if (rowIds.length === 0) return
  await dbTransaction.run(deleteMetadata, { row_ids: rowIds })
  await dbTransaction.run(insertTransactionMetadata, { row_ids: rowIds })
}
