import type { Listing, Slice } from '../../core/rows.ts'
import type { ListedTable } from '../rules/database.ts'
import { sql } from '../rules/statement.ts'
import type { Snapshot } from './snapshot.ts'

/** `Database.lister`. */
export function lister<Row extends object, T>(
  snapshot: Snapshot,
  table: ListedTable,
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
