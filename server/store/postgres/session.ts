import { createHash } from 'node:crypto'
import pg, { type ClientBase, type Pool } from 'pg'
import { StoreUnavailable } from '../../domain/errors.ts'
import type { Listing, PageRequest } from '../../domain/rows.ts'
import { type Session, type Statement, sql, type TableList, type Value, type Values } from '../queries/database.ts'
import { isUnavailable, repeated } from './failures.ts'

const changing = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])

/**
 * `changed`: called with the number of rows that a statement has changed. `check`: of a session outside of database transactions, whose
 * failures are those of the API; throws while the database is down.
 */
export function createSession(
  client: ClientBase | Pool,
  { changed = () => {}, check }: { changed?(rows: number): void; check?(): void } = {},
): Session {
  async function query<Row extends object>(statement: Statement<Row>, values: Values) {
    const run = () => client.query<Row>(queryOf(statement, values)).catch(withoutValues)
    const { command, rowCount, rows } = await (check ? repeated(check, run) : run())
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

/** A statement as pg takes it. It is prepared once on each connection, by its name. */
interface Numbered {
  name: string
  /** With parameters of the form `$1`. */
  text: string
  parameters: readonly string[]
}

const known = new WeakMap<Statement<object>, Numbered>()

function numbered(statement: Statement<object>): Numbered {
  const its = known.get(statement) ?? numberParameters(statement.text.postgres)
  known.set(statement, its)
  return its
}

function numberParameters(text: string): Numbered {
  const parameters: string[] = []
  const numbers = text.replace(/\$([a-z]\w*)/g, (_, name: string) => {
    if (!parameters.includes(name)) parameters.push(name)
    return `$${parameters.indexOf(name) + 1}`
  })
  const name = createHash('sha256').update(numbers).digest('base64url').slice(0, 32)
  return { name, text: numbers, parameters }
}

/** The query of pg, with the values in the order of the parameters. */
export function queryOf(statement: Statement<object>, values: Values): { name: string; text: string; values: Value[] } {
  const { name, text, parameters } = numbered(statement)
  return {
    name,
    text,
    values: parameters.map((parameter) => {
      const value = values[parameter]
      // PostgreSQL stores no U+0000. The contract takes it nowhere; a message of a node may have it.
      if (typeof value === 'string') return value.replaceAll('\u0000', '\ufffd')
      if (value === undefined)
        throw new Error(`The parameter ${parameter} has no value in: ${text.trim().slice(0, 200)}`)
      return value
    }),
  }
}

/**
 * A parameter for json_to_recordset. Bytes are hex. PostgreSQL takes neither U+0000 nor half of a surrogate pair in JSON; texts of nodes
 * may have them.
 */
function records(rows: readonly object[]): string {
  const text = JSON.stringify(rows.map(withHex))
  return unstorable.test(text) ? JSON.stringify(JSON.parse(text), storable) : text
}

function withHex(row: object): object {
  const names = Object.keys(row) as (keyof typeof row)[]
  if (!names.some((name) => (row[name] as unknown) instanceof Uint8Array)) return row
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    ]),
  )
}

const unstorable = /\\u(?:0000|d[89a-f])/
const storable = (_name: string, value: unknown) =>
  typeof value === 'string' ? value.replaceAll('\u0000', '\ufffd').toWellFormed() : value

/** No other transaction waits for the locks of one that reads, so a server may stall in it for longer than in one that writes. */
const stallMs = 30_000
const begin = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = ${stallMs}`

export type Snapshot = <T>(work: (session: Session) => Promise<T>) => Promise<T>

/** Reads in one database transaction, in which all statements see the same state. `check`: throws while the database is down. */
export async function readSnapshot<T>(
  { pool, check }: { pool: Pool; check(): void },
  work: (session: Session) => Promise<T>,
): Promise<T> {
  check()
  let lost: Error | undefined
  try {
    const client = await pool.connect()
    try {
      await client.query(begin)
      const result = await work(createSession(client))
      await client.query('COMMIT')
      return result
    } catch (error) {
      await client.query('ROLLBACK').catch((failure: Error) => {
        lost = failure
      })
      throw error
    } finally {
      client.release(lost)
    }
  } catch (error) {
    throw isUnavailable(error) ? new StoreUnavailable() : error
  }
}

/** `Database.list`. */
export function lister<Row extends object, T>(
  snapshot: Snapshot,
  { table, columns, read }: TableList<Row, T>,
): (slice: PageRequest) => Promise<Listing<T>> {
  const shown = typeof columns === 'string' ? columns : columns.postgres
  const select = sql<Row>(`SELECT ${shown} FROM ${table} ORDER BY row_id LIMIT $limit OFFSET $offset`)
  const count = sql<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)
  return ({ limit, offset }) =>
    snapshot(async (session) => {
      const items = (await session.all(select, { limit, offset })).map(read)
      return { items, total_items: (await session.one(count))?.count ?? 0 }
    })
}
