import { hexOf } from '../transaction-data.ts'
import type { Session } from './session.ts'
import { sql } from './statement.ts'

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
