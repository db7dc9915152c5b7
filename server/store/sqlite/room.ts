import type { Unfinished } from '../room.ts'
import type { Connection } from './connection.ts'

/** The number and size of a relayer's unfinished transactions, from the counts per block. */
export function createUnfinished({ db }: Pick<Connection, 'db'>): (relayer_row_id: number) => Unfinished {
  const select = db.prepare<[number], Unfinished>(`
    SELECT coalesce(sum(unfinished), 0) AS count, coalesce(sum(unfinished_bytes), 0) AS bytes
    FROM transaction_blocks WHERE relayer_row_id = ? AND level = 1`)
  return (relayer_row_id) => select.get(relayer_row_id) as Unfinished
}
