import type { Unfinished } from '../../core/capacity.ts'
import type { Session } from './session.ts'
import { sql } from './statement.ts'

const select = sql<Unfinished & { relayer_row_id: number }>(`
  SELECT relayer_row_id, sum(unfinished) AS count, sum(unfinished_bytes) AS bytes
  FROM transaction_blocks WHERE relayer_row_id = ANY ($relayer_row_ids::bigint[]) AND level = 1 GROUP BY relayer_row_id`)

export const nothing: Unfinished = { count: 0, bytes: 0 }

/** The number and size of each relayer's unfinished transactions, from the counts per block. */
export async function unfinishedOfAll(session: Session, relayer_row_ids: number[]): Promise<Map<number, Unfinished>> {
  const rows = await session.all(select, { relayer_row_ids })
  return new Map(rows.map(({ relayer_row_id, ...unfinished }) => [relayer_row_id, unfinished]))
}

export const unfinishedOf = async (session: Session, relayer_row_id: number): Promise<Unfinished> =>
  (await unfinishedOfAll(session, [relayer_row_id])).get(relayer_row_id) ?? nothing
