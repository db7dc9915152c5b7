import type { Unfinished } from '../room.ts'
import { type Session, sql } from './connection.ts'

const select = sql<Unfinished>(`
  SELECT coalesce(sum(unfinished), 0) AS count, coalesce(sum(unfinished_bytes), 0) AS bytes
  FROM transaction_blocks WHERE relayer_row_id = $relayer_row_id AND level = 1`)

/** The number and size of a relayer's unfinished transactions, from the counts per block. */
export const unfinishedOf = async (session: Session, relayer_row_id: number): Promise<Unfinished> =>
  (await session.one(select, { relayer_row_id })) ?? { count: 0, bytes: 0 }
