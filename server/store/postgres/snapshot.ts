import type { Pool } from 'pg'
import { StoreUnavailable } from '../../domain/errors.ts'
import type { Listing, PageRequest } from '../../domain/rows.ts'
import type { ListedTable } from '../queries/database.ts'
import { type Session, sql } from '../queries/session.ts'
import { isUnavailable } from './failures.ts'
import { createSession } from './session.ts'

/** No other transaction waits for the locks of one that reads, so a server may stall in it for longer than in one that writes. */
const stallMs = 30_000
const begin = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = ${stallMs}`

export type Snapshot = <T>(work: (session: Session) => Promise<T>) => Promise<T>

/**
 * Reads in one database transaction, in which all statements see the same state. `check`: throws while the database is down.
 */
export const createSnapshot =
  (pool: Pool, check: () => void): Snapshot =>
  async (work) => {
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

/** `Database.lister`. */
export function lister<Row extends object, T>(
  snapshot: Snapshot,
  table: ListedTable,
  columns: string,
  read: (row: Row) => T,
): (slice: PageRequest) => Promise<Listing<T>> {
  const select = sql<Row>(`SELECT ${columns} FROM ${table} ORDER BY row_id LIMIT $limit OFFSET $offset`)
  const count = sql<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)
  return ({ limit, offset }) =>
    snapshot(async (session) => {
      const items = (await session.all(select, { limit, offset })).map(read)
      return { items, total_items: (await session.one(count))?.count ?? 0 }
    })
}
