import type { Store } from '../store.ts'
import { columns, type Row, read } from '../transaction-rows.ts'
import type { Connection } from './connection.ts'

/** How many of a relayer's newest transactions are checked after a reorganization. */
const max_looked_through = 2_000
const ended = ['confirmed', 'failed', 'canceled', 'expired']

/** Transactions that ended in a block which a deep reorganization may still replace. */
export function watches({
  db,
  write,
}: Connection): Pick<Store, 'watch' | 'unwatch' | 'newestEnded' | 'endedSince' | 'failedUnmined' | 'newestRowId'> {
  const insert = db.prepare<[number]>(
    'INSERT OR IGNORE INTO watches (relayer_row_id) SELECT row_id FROM relayers WHERE row_id = ?',
  )
  const exists = db.prepare<[number]>('SELECT 1 FROM watches WHERE relayer_row_id = ?')
  const remove = db.prepare<[number]>('DELETE FROM watches WHERE relayer_row_id = ?')
  // One query for each status, so that the index of status and sequence gives the newest without a sort.
  const newest = ended.map((status) =>
    db.prepare<[number], { block_number: number | null; block_hash: string | null }>(`
      SELECT block_number, block_hash FROM transactions
      WHERE relayer_row_id = +? AND status = '${status}' ORDER BY sequence DESC LIMIT 1`),
  )
  const since = ended.map((status) =>
    db.prepare<[number, number], Row>(`
      SELECT ${columns} FROM (
        SELECT * FROM transactions WHERE relayer_row_id = +? AND status = '${status}'
        ORDER BY sequence DESC LIMIT ${max_looked_through}
      ) WHERE block_number >= +?`),
  )
  const failedUnmined = db.prepare<[number, number], Row>(`
    SELECT ${columns} FROM (
      SELECT * FROM transactions WHERE relayer_row_id = +? AND status = 'failed' ORDER BY sequence DESC LIMIT +?
    ) WHERE block_hash IS NULL AND hash IS NOT NULL AND nonce IS NOT NULL`)
  const newestRowId = db.prepare<[], number>('SELECT coalesce(max(row_id), 0) FROM transactions').pluck()

  return {
    watch: async (relayer_row_id) => {
      if (!exists.get(relayer_row_id)) write(() => void insert.run(relayer_row_id))
    },
    unwatch: async (relayer_row_id) => write(() => void remove.run(relayer_row_id)),
    newestEnded: async (relayer_row_id) => {
      const blocks = newest.flatMap((select) => {
        const { block_number = null, block_hash = null } = select.get(relayer_row_id) ?? {}
        return block_number === null || block_hash === null ? [] : [{ number: block_number, hash: block_hash }]
      })
      return blocks.sort((a, b) => b.number - a.number)[0]
    },
    endedSince: async (relayer_row_id, block_number) =>
      since.flatMap((select) => select.all(relayer_row_id, block_number).map(read)),
    failedUnmined: async (relayer_row_id, limit) => failedUnmined.all(relayer_row_id, limit).map(read),
    newestRowId: async () => newestRowId.get() as number,
  }
}
