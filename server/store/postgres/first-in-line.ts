import type { TransactionRow } from '../sending-rows.ts'
import { columns, type Row, read } from '../transaction-rows.ts'
import { type Session, sql } from './connection.ts'

const lowest = (status: string) => `(
  SELECT ${columns} FROM transactions WHERE relayer_row_id = $relayer_row_id AND ${status} AND nonce >= 0
  ORDER BY nonce LIMIT 1)`

const select = sql<Row>(`
  SELECT * FROM (${lowest(`status = 'pending'`)} UNION ALL ${lowest(`status IN ('sent', 'submitted')`)}) AS unmined
  ORDER BY nonce LIMIT 1`)

/** The unfinished transaction of a relayer with the lowest nonce that is in no block; the nonces of all others come after it. */
export async function firstInLine(session: Session, relayer_row_id: number): Promise<TransactionRow | undefined> {
  const row = await session.one(select, { relayer_row_id })
  return row && read(row)
}
