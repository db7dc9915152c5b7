import type Database from 'better-sqlite3'
import type { Listing, Slice } from '../../core/rows.ts'
import { nextTurn } from '../../next-turn.ts'
import type { ListedTable } from '../rules/database.ts'

/** Rows that one step counts, which takes a millisecond. A table of fewer rows is listed as of one moment. */
const step_rows = 10_000
/** The longest time that counting blocks the event loop. */
const turn_ms = 5

/**
 * `Database.lister`. The rows are counted in steps, between which other work runs. Transactions use blocks.ts.
 */
export function lister<Row extends object, T>(
  db: Database.Database,
  table: ListedTable,
  columns: string,
  read: (row: Row) => T,
): (slice: Slice) => Promise<Listing<T>> {
  const count = db.prepare<[number], { count: number; last: number | null }>(`
    SELECT COUNT(*) AS count, max(row_id) AS last
    FROM (SELECT row_id FROM ${table} WHERE row_id > +? ORDER BY row_id LIMIT ${step_rows})`)
  const select = db.prepare<[number, number, number], Row>(
    `SELECT ${columns} FROM ${table} WHERE row_id > +? ORDER BY row_id LIMIT +? OFFSET +?`,
  )
  /** `skip`: how many rows after `after` are before the page. */
  const step = db.transaction((after: number, limit: number, skip: number) => {
    const counted = count.get(after) as { count: number; last: number | null }
    const isHere = skip >= 0 && skip < counted.count
    return { ...counted, items: isHere ? select.all(after, limit, skip).map(read) : [] }
  })

  return async ({ limit, offset }) => {
    let items: T[] = []
    let total_items = 0
    let after = 0
    let began = performance.now()
    for (;;) {
      const found = step(after, limit, offset - total_items)
      if (found.items.length > 0) items = found.items
      total_items += found.count
      if (found.last === null || found.count < step_rows) return { items, total_items }
      after = found.last
      if (performance.now() - began < turn_ms) continue
      await nextTurn()
      began = performance.now()
    }
  }
}
