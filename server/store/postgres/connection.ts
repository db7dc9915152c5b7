import type { Observer } from '../../telemetry/observer.ts'
import type { AuditEntry, PendingAuditEntry } from '../rows.ts'
import { StoreError } from '../store-error.ts'
import { type AuditHead, createTrail } from './audit.ts'
import { checkDurability, type DurabilitySetting } from './durability.ts'
import { inOrder } from './in-order.ts'
import { migrate } from './migrations.ts'
import { connectClient, createPool, type PoolSettings } from './pool.ts'
import { createRights, type Rights } from './rights.ts'
import { createReader, type Session, type Transaction } from './session.ts'
import { createSnapshot, type Snapshot } from './snapshot.ts'
import { becomeSoleServer, ServerReplaced } from './sole-server.ts'
import { sql } from './statement.ts'
import { createWrite } from './write.ts'

export type { Session, Transaction } from './session.ts'
export { type Statement, sql } from './statement.ts'

export interface ConnectionWorld {
  observer?: Observer
  /** Called when another server has taken the database over: this process must not continue. */
  broken?(error: unknown): void
}

export interface ConnectionSettings extends PoolSettings {
  /** The settings of PostgreSQL that may weaken durability. */
  allow_weak: readonly DurabilitySetting[]
}

/**
 * Locks. A database transaction takes its locks in this order, each kind by ascending row id, so that two of them never wait for each
 * other: the row of `generation` (changes of configuration, by `writeCached`), rows of `relayers` (all that a relayer's transactions,
 * events, nonces, spending and reservations depend on), rows of `notifications` (FOR SHARE to add deliveries, FOR NO KEY UPDATE to
 * change them together), the manifest of the rights, the head of the audit chain (last). It reads what it decides on after it has the
 * lock: with READ COMMITTED, each statement sees all that was committed before it.
 */
export interface Connection {
  /** Each statement by itself. */
  read: Session
  /**
   * Runs `work` in one database transaction; what it throws rolls it back. The audit entry of the current `withAudit` is committed with
   * its changes: must be called before the first `await`.
   */
  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** Like `write`, for changes of configuration: one at a time. */
  writeAlone<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** Like `writeAlone`, for changes of rows that servers cache: with a new generation if it changes a row. */
  writeCached<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** Statements that see the same state. */
  snapshot: Snapshot
  /** The MACs of rows that grant rights. */
  rights: Rights
  withAudit<T>(auditEntry: PendingAuditEntry, work: () => Promise<T>): Promise<T>
  /** The audit entry of the current `withAudit`. */
  currentAuditEntry(): PendingAuditEntry | undefined
  /** A database transaction with an audit entry that was captured earlier: for group commits. */
  writeFor<T>(auditEntry: PendingAuditEntry | undefined, work: (transaction: Transaction) => Promise<T>): Promise<T>
  appendAudit(entries: AuditEntry[]): Promise<void>
  auditHead(): Promise<AuditHead>
  generation(): Promise<number>
  /** Weak settings of durability that are allowed. */
  warnings: string[]
  close(): Promise<void>
}

/** The oldest supported version, as `server_version_num`. */
const oldest_version = 150_000

/**
 * Connects to the database, migrates it to the newest schema, and makes this server its only one. Throws StoreError when it cannot be
 * used: its message has nothing of the URL.
 */
export async function connect(settings: ConnectionSettings, world: ConnectionWorld = {}): Promise<Connection> {
  const { observer = {}, broken = () => {} } = world
  const warnings = await prepare(settings)
  const soleServer = await becomeSoleServer(settings, broken)
  const pool = createPool(settings)
  const read = createReader(pool)
  const trail = createTrail()
  const write = createWrite({ pool, begin: soleServer.begin, append: trail.append, committed: observer.committed })
  const { epoch } = soleServer
  const snapshot = createSnapshot(pool)
  // They would wait for the lock of the generation anyway, and each would hold a connection meanwhile.
  const ordered = inOrder()
  let auditEntry: PendingAuditEntry | undefined
  let [seenGeneration, ownGenerations] = [0, 0]
  const rights = createRights(snapshot, () => seenGeneration - ownGenerations)

  return {
    read,
    snapshot,
    rights,
    write: (work) => write(auditEntry, work),
    writeAlone(work) {
      const its = auditEntry
      return ordered(() =>
        write(its, async (transaction) => {
          await transaction.one(lockGeneration)
          return work(transaction)
        }),
      )
    },
    writeCached(work) {
      const its = auditEntry
      return ordered(() =>
        write(its, async (transaction) => {
          await transaction.one(lockGeneration)
          const before = transaction.changes()
          const done = await work(transaction)
          // A refused change has no effect, so caches stay valid.
          if (transaction.changes() !== before) {
            await transaction.run(bumpGeneration)
            transaction.afterCommit(() => {
              ownGenerations += 1
            })
          }
          return done
        }),
      )
    },
    // `work` calls one method before its first await, which takes the entry.
    withAudit(its, work) {
      auditEntry = its
      try {
        return work()
      } finally {
        auditEntry = undefined
      }
    },
    currentAuditEntry: () => auditEntry,
    writeFor: write,
    appendAudit: (entries) =>
      write(undefined, async (transaction) => {
        for (const entry of entries) transaction.record(entry)
      }),
    auditHead: () => trail.head(read),
    async generation() {
      const row = await read.one(readGeneration, { epoch })
      if (row) {
        seenGeneration = Math.max(seenGeneration, row.value)
        return row.value
      }
      const error = new ServerReplaced('Another server has taken this PostgreSQL database over')
      broken(error)
      throw error
    },
    warnings,
    async close() {
      await rights.close()
      await pool.end()
      await soleServer.close()
    },
  }
}

const lockGeneration = sql<{ value: number }>('SELECT value FROM generation FOR NO KEY UPDATE')
const bumpGeneration = sql('UPDATE generation SET value = value + 1')
/** No row: another server has taken the database over, and this one signs nothing any more. */
const readGeneration = sql<{ value: number }>(
  'SELECT value FROM generation WHERE EXISTS (SELECT 1 FROM server_epoch WHERE epoch = $epoch)',
)

/** Checks the server, and migrates the database. Returns warnings. */
async function prepare(settings: ConnectionSettings): Promise<string[]> {
  const client = await connectClient(settings)
  try {
    const { rows } = await client.query<{ version: string; encoding: string; is_replica: boolean }>(
      `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
        pg_is_in_recovery() AS is_replica`,
    )
    const { version, encoding, is_replica } = rows[0] as (typeof rows)[0]
    if (Number(version) < oldest_version) throw new StoreError('PostgreSQL 15 or newer is needed')
    if (encoding !== 'UTF8') throw new StoreError(`The encoding of the database must be UTF8; it is ${encoding}`)
    if (is_replica)
      throw new StoreError('PostgreSQL is a standby, which is read-only: DATABASE_URL must name the primary')
    const weak = await checkDurability(client, settings.allow_weak)
    await migrate(client)
    return weak
  } finally {
    await client.end()
  }
}
