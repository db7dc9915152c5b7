import type Database from 'better-sqlite3'
import type { Listing, Slice } from '../rows.ts'

/**
 * Lists a small table in order of creation. COUNT and OFFSET cost as much as the table's size, which is acceptable for tables that
 * people fill by hand. Transactions use blocks.ts.
 */
export function lister<Row, T>(
  db: Database.Database,
  table: 'networks' | 'signers' | 'relayers' | 'notifications' | 'api_keys',
  columns: string,
  read: (row: Row) => T,
): (slice: Slice) => Promise<Listing<T>> {
  const count = db.prepare<[], number>(`SELECT COUNT(*) FROM ${table}`).pluck()
  const select = db.prepare<[number, number], Row>(`SELECT ${columns} FROM ${table} ORDER BY key LIMIT +? OFFSET +?`)
  const slice = db.transaction(({ limit, offset }: Slice) => {
    const total_items = count.get() as number
    return { items: offset < total_items ? select.all(limit, offset).map(read) : [], total_items }
  })
  return async (wanted) => slice(wanted)
}
