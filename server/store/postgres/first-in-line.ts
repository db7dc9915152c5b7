import type { TransactionRow } from '../../core/sending-rows.ts'
import { columns, type Row, read } from '../transaction-rows.ts'
import type { Session } from './session.ts'
import { sql } from './statement.ts'

const lowest = (status: string) => `(
  SELECT ${columns} FROM transactions WHERE relayer_row_id = wanted.row_id AND ${status} AND nonce >= 0
  ORDER BY nonce LIMIT 1)`

const select = sql<Row>(`
  SELECT its.* FROM unnest($relayer_row_ids::bigint[]) AS wanted (row_id), LATERAL (
    SELECT * FROM (${lowest(`status = 'pending'`)} UNION ALL ${lowest(`status IN ('sent', 'submitted')`)}) AS unmined
    ORDER BY nonce LIMIT 1
  ) AS its`)

/** The unfinished transaction of each relayer with the lowest nonce that is in no block; the nonces of all others come after it. */
export const firstsInLine = async (session: Session, relayer_row_ids: number[]): Promise<TransactionRow[]> =>
  (await session.all(select, { relayer_row_ids })).map(read)
