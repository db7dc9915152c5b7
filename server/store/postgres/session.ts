import pg, { type ClientBase, type Pool } from 'pg'
import type { Session } from '../rules/session.ts'
import type { Statement, Values } from '../rules/statement.ts'
import { repeated } from './failures.ts'
import { queryOf, records } from './statement.ts'

const changing = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])

/** `changed`: called with the number of rows that a statement has changed. */
export function createSession(client: ClientBase | Pool, changed: (rows: number) => void = () => {}): Session {
  async function query<Row extends object>(statement: Statement<Row>, values: Values) {
    const { command, rowCount, rows } = await client.query<Row>(queryOf(statement, values)).catch(withoutValues)
    if (changing.has(command) && rowCount) changed(rowCount)
    return { rows, count: rowCount ?? 0 }
  }

  return {
    all: async (statement, values = {}) => (await query(statement, values)).rows,
    one: async (statement, values = {}) => (await query(statement, values)).rows[0],
    run: async (statement, values = {}) => (await query(statement, values)).count,
    allOf: async (statement, its, values) => (await query(statement, { ...values, rows: records(its) })).rows,
    runOf: async (statement, its, values) => (await query(statement, { ...values, rows: records(its) })).count,
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
    allOf: (statement, its, values) => repeated(check, () => session.allOf(statement, its, values)),
    runOf: (statement, its, values) => repeated(check, () => session.runOf(statement, its, values)),
  }
}
