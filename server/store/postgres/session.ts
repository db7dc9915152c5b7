import pg, { type ClientBase, type Pool } from 'pg'
import type { AuditEntry, PendingAuditEntry } from '../../core/rows.ts'
import { repeated } from './repeated.ts'
import { bind, type Statement, type Values } from './statement.ts'

/** Runs statements: each by itself, or all in one database transaction. */
export interface Session {
  all<Row extends object>(statement: Statement<Row>, values?: Values): Promise<Row[]>
  one<Row extends object>(statement: Statement<Row>, values?: Values): Promise<Row | undefined>
  /** The number of rows that it inserted, changed or removed. */
  run(statement: Statement<object>, values?: Values): Promise<number>
}

export interface Transaction extends Session {
  /** Commits an audit entry with this database transaction. */
  record(entry: AuditEntry | PendingAuditEntry): void
  /** Records the entry if `work` changes a row. */
  attributed<T>(entry: PendingAuditEntry | undefined, work: () => Promise<T>): Promise<T>
  /** Runs before the commit, in the order of registration. */
  beforeCommit(work: () => Promise<void>): void
  /** Runs after the commit; not after a rollback, and once when the database transaction was repeated. */
  afterCommit(work: () => void): void
  /** How many rows were changed so far. */
  changes(): number
}

const changing = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])

/** `changed`: called with the number of rows that a statement has changed. */
export function createSession(client: ClientBase | Pool, changed: (rows: number) => void = () => {}): Session {
  async function query<Row extends object>(statement: Statement<Row>, values: Values) {
    const { command, rowCount, rows } = await client
      .query<Row>({ name: statement.name, text: statement.text, values: bind(statement, values) })
      .catch(withoutValues)
    if (changing.has(command) && rowCount) changed(rowCount)
    return { rows, count: rowCount ?? 0 }
  }

  return {
    all: async (statement, values = {}) => (await query(statement, values)).rows,
    one: async (statement, values = {}) => (await query(statement, values)).rows[0],
    run: async (statement, values = {}) => (await query(statement, values)).count,
  }
}

/** PostgreSQL quotes the row that violates a constraint, with its secrets, and unexpected errors are logged. */
function withoutValues(error: unknown): never {
  if (error instanceof pg.DatabaseError) error.detail = undefined
  throw error
}

/** A session outside of database transactions, whose failures are those of the API. `check`: throws while the database is down. */
export function createReader(pool: Pool, check: () => void): Session {
  const session = createSession(pool)
  return {
    all: (statement, values) => repeated(check, () => session.all(statement, values)),
    one: (statement, values) => repeated(check, () => session.one(statement, values)),
    run: (statement, values) => repeated(check, () => session.run(statement, values)),
  }
}
