import type Database from 'better-sqlite3'
import type { ClientBase } from 'pg'
import type { RightsGuard } from '../../domain/rows.ts'
import { connectClient } from '../postgres/pool.ts'
import { durabilitySettings, prepareDatabase } from '../postgres/prepare-database.ts'
import { createSession } from '../postgres/session.ts'
import { type Session, sql } from '../queries/session.ts'
import { StoreError, UnknownOutcome } from '../store-errors.ts'
import { checkCopy } from './checks.ts'
import { copyRows } from './copy.ts'
import { type MovedTable, movedTables, seeded } from './tables.ts'

export interface MovedRows {
  tables: number
  rows: number
  audit_entries: number
  secrets: number
}

/** The name of the connections of a server, and that of this one. */
const serverName = 'evm-relayer-service'
const ownName = `${serverName} move-database`
/** The database transaction of a run that was killed ends at its next statement. */
const lockMs = 30_000

/**
 * Copies all rows of a SQLite database to an empty PostgreSQL database, in one database transaction, and checks them before the commit.
 * `source`: opened with exclusive access. Resolves to `already` when an earlier run has moved these rows. Throws StoreError.
 */
export async function moveRows(
  source: Database.Database,
  url: string,
  guard: RightsGuard,
): Promise<MovedRows | 'already'> {
  // Each start of the service checks the durability of the server.
  await prepareDatabase({ url, allow_weak: durabilitySettings })
  const ownUrl = url.replace(/(?<=[?&])application_name=[^&]*&?/, '')
  const target = await connectClient({ url: ownUrl }, { application_name: ownName, query_timeout: 0 })
  try {
    await target.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0')
    await target.query(`BEGIN; SET LOCAL lock_timeout = ${lockMs}`)
    const session = createSession(target)
    await refuseServers(session)
    const tables = await movedTables(source, session)
    await lock(target, tables)
    // A server that connected before the lock.
    await refuseServers(session)
    const full = await tablesWithRows(session, tables)
    if (full.length > 0) {
      if (await hasMoved(source, session)) return 'already'
      throw new StoreError(`The PostgreSQL database is not empty: it has rows in ${full.join(', ')}`)
    }
    const rows = await copyRows(source, target, tables)
    const checked = await checkCopy(source, session, tables, guard)
    await commit(target)
    // Without statistics, the first queries would have bad plans.
    await target.query('ANALYZE')
    return { tables: tables.length, rows, ...checked }
  } finally {
    // Rolls back uncommitted changes.
    await target.end()
  }
}

/** Any session of this user may be that of a server: its name may be another one, by the URL. */
const otherServers = sql<{ count: number }>(`
  SELECT count(*) AS count FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    AND (usename = current_user OR application_name = $server_name) AND application_name <> $own_name`)

async function refuseServers(session: Session): Promise<void> {
  const others = await session.one(otherServers, { server_name: serverName, own_name: ownName })
  if (others?.count === 0) return
  throw new StoreError('A service or another session is connected to the PostgreSQL database; stop it first')
}

/** Nobody reads or writes the tables until the commit. */
async function lock(target: ClientBase, tables: MovedTable[]): Promise<void> {
  try {
    await target.query(`LOCK TABLE ${tables.map(({ name }) => `"${name}"`).join(', ')} IN ACCESS EXCLUSIVE MODE`)
  } catch (error) {
    const isLocked = (error as { code?: string }).code === '55P03'
    throw isLocked ? new StoreError('The PostgreSQL database is in use; stop every service on it first') : error
  }
}

async function tablesWithRows(session: Session, tables: MovedTable[]): Promise<string[]> {
  const full: string[] = []
  for (const { name } of tables) {
    if (seeded.has(name)) continue
    if (await session.one(sql(`SELECT 1 FROM "${name}" LIMIT 1`))) full.push(name)
  }
  return full
}

const sameProof = sql('SELECT 1 FROM vault_check WHERE sealed = $sealed')
const sameBatch = sql('SELECT 1 FROM audit WHERE up_to = $up_to AND hash = $hash')

/** Whether an earlier run has moved these rows: both databases have one proof of the master key, and no later audit entry is here. */
async function hasMoved(source: Database.Database, session: Session): Promise<boolean> {
  const sealed = source.prepare<[], Uint8Array>('SELECT sealed FROM vault_check').pluck().get()
  const last = source
    .prepare<[], { up_to: number; hash: Uint8Array }>('SELECT up_to, hash FROM audit ORDER BY up_to DESC LIMIT 1')
    .get()
  if (sealed === undefined || !(await session.one(sameProof, { sealed }))) return false
  return last === undefined || (await session.one(sameBatch, { up_to: last.up_to, hash: last.hash })) !== undefined
}

async function commit(target: ClientBase): Promise<void> {
  try {
    await target.query('COMMIT')
  } catch (error) {
    throw new UnknownOutcome(
      `The connection was lost at the commit (${(error as Error).message}). Run the command again: it tells whether the rows were moved`,
    )
  }
}
