import type Database from 'better-sqlite3'
import type { ClientBase } from 'pg'
import type { RightsGuard } from '../../domain/rows.ts'
import { connectClient } from '../postgres/pool.ts'
import { durabilitySettings, prepareDatabase } from '../postgres/prepare-database.ts'
import { createSession } from '../postgres/session.ts'
import { checkTrail } from '../queries/audit.ts'
import { type Session, StoreError, sql, UnknownOutcome } from '../queries/database.ts'
import { scanRights } from '../queries/sealed-rows.ts'
import { sealedColumns } from '../queries/secrets.ts'
import { RowMac } from '../row-mac.ts'
import { copyRows, type MovedTable, movedTables, seeded } from './copy.ts'

interface MovedRows {
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

interface Counter {
  chain_id: number
  address: string
  next_nonce: number
  used_below: number
}

const counters = 'SELECT chain_id, address, next_nonce, used_below FROM accounts'
const selectCounters = sql<Counter>(counters)

/** Checks the copy before its commit. Throws StoreError. */
async function checkCopy(
  source: Database.Database,
  target: Session,
  tables: MovedTable[],
  guard: RightsGuard,
): Promise<{ audit_entries: number; secrets: number }> {
  await checkCounts(source, target, tables)
  await checkNonces(source, target)
  const auditEntries = await checkAuditChain(target)
  const { faults } = await scanRights(target, new RowMac(guard))
  if (faults.length > 0) throw failed(`${faults.length} rows that grant rights do not have the right MAC`)
  return { audit_entries: auditEntries, secrets: await openSecrets(target, guard) }
}

async function checkCounts(source: Database.Database, target: Session, tables: MovedTable[]): Promise<void> {
  for (const { name } of tables) {
    const from = source.prepare<[], number>(`SELECT count(*) FROM "${name}"`).pluck().get()
    const to = (await target.one(sql<{ count: number }>(`SELECT count(*) AS count FROM "${name}"`)))?.count
    if (from !== to) throw failed(`the table ${name} has ${to} of ${from} rows`)
  }
}

async function checkNonces(source: Database.Database, target: Session): Promise<void> {
  const text = ({ chain_id, address, next_nonce, used_below }: Counter) =>
    `${chain_id} ${address} ${next_nonce} ${used_below}`
  const moved = new Set((await target.all(selectCounters)).map(text))
  const missing = source
    .prepare<[], Counter>(counters)
    .all()
    .find((counter) => !moved.has(text(counter)))
  if (missing) throw failed(`the nonce counter of ${missing.address} on chain ${missing.chain_id} differs`)
}

/** Returns the number of the last entry. */
async function checkAuditChain(target: Session): Promise<number> {
  const { heads, fault } = await checkTrail(target)
  if (fault !== undefined) throw failed(`audit trail: ${fault}`)
  return heads.at(-1)?.up_to ?? 0
}

/** Opens every secret. Returns their number. */
async function openSecrets(target: Session, guard: RightsGuard): Promise<number> {
  let count = 0
  for (const [table, column] of sealedColumns) {
    const rows = await target.all(
      sql<{ id: string; sealed: Uint8Array }>(
        `SELECT id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL`,
      ),
    )
    for (const { id, sealed } of rows) {
      try {
        guard.open(sealed, `${table}:${id}`)
      } catch {
        throw failed(`the secret of ${table}:${id} cannot be decrypted`)
      }
    }
    count += rows.length
  }
  return count
}

const failed = (fault: string) => new StoreError(`The check of the copy failed: ${fault}`)
