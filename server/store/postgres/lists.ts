import type { Listing, Slice } from '../../core/rows.ts'
import type { Snapshot } from './snapshot.ts'
import { sql } from './statement.ts'

/** Lists a table in order of creation. Counting costs as much as the table's size: for tables that people fill by hand. */
export function lister<Row extends object, T>(
  snapshot: Snapshot,
  table: 'networks' | 'signers' | 'relayers' | 'notifications' | 'api_keys',
  columns: string,
  read: (row: Row) => T,
): (slice: Slice) => Promise<Listing<T>> {
  const select = sql<Row>(`SELECT ${columns} FROM ${table} ORDER BY row_id LIMIT $limit OFFSET $offset`)
  const count = sql<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)
  return ({ limit, offset }) =>
    snapshot(async (session) => {
      const items = (await session.all(select, { limit, offset })).map(read)
      return { items, total_items: (await session.one(count))?.count ?? 0 }
    })
}
