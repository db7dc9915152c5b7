import type { default as Database, default as Sqlite } from 'better-sqlite3'
import type { Listing, PageRequest } from '../../domain/rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import type { Session, Statement, TableList, Values } from '../queries/database.ts'

interface Prepared {
  its: Sqlite.Statement<[object]>
  /** The names of the parameters that are lists. */
  lists: string[]
}

/**
 * Runs the statements of the rules. Each is prepared once, at its first use. The work is done when the method returns; the promise is
 * resolved already.
 */
export function createSession(db: Sqlite.Database): Session {
  const known = new Map<Statement<object>, Prepared>()

  function prepare(statement: Statement<object>): Prepared {
    const { text, lists } = translated(statement.text.sqlite)
    const prepared = { its: db.prepare<[object]>(text), lists }
    known.set(statement, prepared)
    return prepared
  }
  const prepared = (statement: Statement<object>) => known.get(statement) ?? prepare(statement)

  return {
    async all<Row extends object>(statement: Statement<Row>, values: Values = {}) {
      const { its, lists } = prepared(statement)
      return its.all(bound(values, lists)) as Row[]
    },
    async one<Row extends object>(statement: Statement<Row>, values: Values = {}) {
      const { its, lists } = prepared(statement)
      return its.get(bound(values, lists)) as Row | undefined
    },
    async run(statement, values = {}) {
      const { its, lists } = prepared(statement)
      return its.run(bound(values, lists)).changes
    },
    async allOf<Row extends object>(statement: Statement<Row>, records: readonly object[], values?: Values) {
      const { its } = prepared(statement)
      return records.flatMap((record) => its.all(values ? { ...values, ...record } : record) as Row[])
    },
    async runOf(statement, records, values) {
      const { its } = prepared(statement)
      return records.reduce(
        (sum: number, record) => sum + its.run(values ? { ...values, ...record } : record).changes,
        0,
      )
    },
  }
}

function bound(values: Values, lists: string[]): Values {
  if (lists.length === 0) return values
  const encoded = lists.map((name) => [name, values[name] && JSON.stringify(values[name])])
  return { ...values, ...Object.fromEntries(encoded) }
}

/**
 * The text for SQLite. Parameters are written as `+$name`: for a bare parameter beside ORDER BY, LIMIT, min() or max(), the planner of
 * SQLite depends on the bound value and compiles the statement for every execution (5 to 8 us; a seek takes 1 us).
 */
export function translated(text: string): { text: string; lists: string[] } {
  const lists = [...text.matchAll(/\$([a-z]\w*)::\w+\[\]/g)].map(([, name]) => name as string)
  return {
    lists: [...new Set(lists)],
    text: text
      .replace(/= ANY \((\$[a-z]\w*)::\w+\[\]\)/g, 'IN (SELECT value FROM json_each($1))')
      .replace(/(\$[a-z]\w*)(?:::\w+(?:\[\])?)?/g, '+$1')
      .replace(/ FOR (?:NO KEY UPDATE|UPDATE|KEY SHARE)$/, ''),
  }
}

/** Rows that one step counts, which takes a millisecond. A table of fewer rows is listed as of one moment. */
const stepRows = 10_000
/** The longest time that counting blocks the event loop. */
const turnMs = 5

/**
 * `Database.list`. The rows are counted in steps, between which other work runs. Transactions use blocks.ts.
 */
export function lister<Row extends object, T>(
  db: Database.Database,
  { table, columns, read }: TableList<Row, T>,
): (slice: PageRequest) => Promise<Listing<T>> {
  const count = db.prepare<[number], { count: number; last: number | null }>(`
    SELECT COUNT(*) AS count, max(row_id) AS last
    FROM (SELECT row_id FROM ${table} WHERE row_id > +? ORDER BY row_id LIMIT ${stepRows})`)
  const select = db.prepare<[number, number, number], Row>(
    `SELECT ${typeof columns === 'string' ? columns : columns.sqlite} FROM ${table} WHERE row_id > +? ORDER BY row_id LIMIT +? OFFSET +?`,
  )
  /** `skip`: how many rows after `after` are before the page. */
  const step = db.transaction((after: number, limit: number, skip: number) => {
    const counted = count.get(after) as { count: number; last: number | null }
    const isHere = skip >= 0 && skip < counted.count
    return { ...counted, items: isHere ? select.all(after, limit, skip).map(read) : [] }
  })

  return async ({ limit, offset }) => {
    let items: T[] = []
    let totalItems = 0
    let after = 0
    let began = performance.now()
    for (;;) {
      const found = step(after, limit, offset - totalItems)
      if (found.items.length > 0) items = found.items
      totalItems += found.count
      if (found.last === null || found.count < stepRows) return { items, total_items: totalItems }
      after = found.last
      if (performance.now() - began < turnMs) continue
      await yieldToEventLoop()
      began = performance.now()
    }
  }
}
