import type { Session } from './session.ts'
import { sql } from './statement.ts'

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

export async function readData(session: Session, data_row_id: number | null): Promise<string | null> {
  if (data_row_id === null) return null
  return hexOf((await session.one(select, { data_row_id }))?.data ?? null)
}
