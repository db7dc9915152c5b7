import type Database from 'better-sqlite3'
import { ApiError } from '../../core/errors.ts'
import type { Observer } from '../../core/observer.ts'
import type { AuditEntry, PendingAuditEntry } from '../../core/rows.ts'
import type { AuditHead } from '../audit-batches.ts'
import { UnknownOutcome } from '../unknown-outcome.ts'
import { createTrail } from './audit.ts'
import { startCheckpoints } from './checkpoints.ts'
import { migrate, migrationsText } from './migrations.ts'
import { openDatabase } from './open-database.ts'
import { createRights, type Rights } from './rights.ts'

export interface ConnectionWorld {
  observer?: Observer
  /** Checkpoints run in a thread of their own: for a connection that serves requests. */
  checkpointsApart?: boolean
  /** Called when the disk has failed: this process must not write any more. */
  broken?(error: unknown): void
}

export interface Connection {
  /**
   * With ORDER BY, LIMIT, min() and max(), write parameters as `+?`. For a bare parameter, SQLite's planner depends on the bound value
   * and compiles the statement for every execution (5 to 8 us; a seek takes 1 us). A test checks all statements.
   */
  db: Database.Database
  /** Runs `work` in one database transaction that takes the write lock at once; an error rolls it back. */
  write<T>(work: () => T): T
  /** Commits the audit entry with the changes that `work` makes before it returns. */
  withAudit<T>(auditEntry: PendingAuditEntry, work: () => T): T
  /** The audit entry of the current `withAudit`. */
  currentAuditEntry(): PendingAuditEntry | undefined
  /** Assigns the changes of `work`, inside the current database transaction, to this audit entry. */
  attributed<T>(its: PendingAuditEntry | undefined, work: () => T): T
  /** Adds an entry to the audit trail, inside the current database transaction. */
  record(entry: AuditEntry): void
  auditHead(): AuditHead
  /** The MACs of rows that grant rights. */
  rights: Rights
  /** Like `write`, and invalidates the caches of every process by a new generation. */
  writeCached<T>(work: () => T): T
  /** The generation of cached rows. */
  generation(): number
  /** Changes when another connection commits. */
  version(): number
  close(): void
}

/**
 * Opens the file in WAL mode, with every commit on the disk before it is acknowledged, and migrates it to the newest schema.
 * Throws StoreError when a newer version of the service wrote the file. `alone`: takes an exclusive lock until the file is closed;
 * throws StoreError (locked) when another process has the file open.
 */
export function connect(file: string, dependencies: ConnectionWorld = {}, alone = false): Connection {
  const { observer = {}, broken = () => {}, checkpointsApart = false } = dependencies
  const db = openDatabase(file, alone)
  // A deferred transaction that turns into a write fails at once under another writer; an immediate one waits its turn.
  const immediately = db.transaction((work: () => unknown) => work())
  migrate(db, (work) => immediately.immediate(work))
  const trail = createTrail(db)
  const totalChanges = db.prepare<[], number>('SELECT total_changes()').pluck()
  let auditEntry: PendingAuditEntry | undefined
  let entries: (AuditEntry | PendingAuditEntry)[] = []

  const attributed = <T>(its: PendingAuditEntry | undefined, work: () => T): T => {
    const before = its && totalChanges.get()
    const done = work()
    // A refused change has no effect, so it gets no audit entry.
    if (its && totalChanges.get() !== before) entries.push(its)
    return done
  }

  /** The error that a failed database transaction is reported by. `atCommit`: COMMIT itself has failed. */
  function failureOf(error: unknown, atCommit: boolean): unknown {
    const { code = '' } = error as { code?: string }
    if (untrustworthy.test(code)) {
      broken(error)
      if (atCommit) return unknownOutcome()
    }
    return code === 'SQLITE_FULL' ? diskFull() : error
  }

  const checkpoints = checkpointsApart ? startCheckpoints(file, checkpointsFailed) : undefined
  if (checkpoints) db.pragma(`wal_autocheckpoint = ${max_log_pages}`)

  function checkpointsFailed(error: unknown): void {
    // The thread of a service that is closed at once may still report that it could not open the file.
    if (!db.open) return
    db.pragma('wal_autocheckpoint = 1000')
    if (untrustworthy.test((error as { code?: string }).code ?? '')) broken(error)
  }

  const commit = <T>(work: () => T): T => {
    if (db.inTransaction) throw new Error('Writes cannot be nested')
    const currentAuditEntry = auditEntry
    entries = []
    let atCommit = false
    let committed = false
    let result: unknown
    try {
      result = immediately.immediate(() => {
        const done = attributed(currentAuditEntry, work)
        rights.seal()
        trail.append(entries)
        atCommit = true
        return done
      })
      committed = true
    } catch (error) {
      throw failureOf(error, atCommit)
    } finally {
      rights.ended(committed)
    }
    for (const entry of entries) if ('recorded' in entry) entry.recorded = true
    checkpoints?.committed()
    return result as T
  }
  const write = observer.committed ? timed(commit, observer.committed) : commit

  // data_version changes when another connection commits; only then is the row read again.
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck()
  const rights = createRights(db, file, () => dataVersion.get() as number, migrationsText)
  const readGeneration = db.prepare<[], number>('SELECT value FROM generation').pluck()
  const bumpGeneration = db.prepare<[], number>('UPDATE generation SET value = value + 1 RETURNING value').pluck()
  let seenVersion: number | undefined
  let current = 0

  return {
    db,
    write,
    withAudit(its, work) {
      auditEntry = its
      try {
        return work()
      } finally {
        auditEntry = undefined
      }
    },
    currentAuditEntry: () => auditEntry,
    attributed,
    record(entry) {
      if (!db.inTransaction) throw new Error('An audit entry must be added inside a write')
      entries.push(entry)
    },
    auditHead: trail.head,
    rights,
    writeCached(work) {
      let bumped: number | undefined
      const result = write(() => {
        const before = totalChanges.get()
        const done = work()
        // A refused change has no effect, so caches stay valid.
        if (totalChanges.get() !== before) bumped = bumpGeneration.get() as number
        return done
      })
      if (bumped !== undefined) current = bumped
      return result
    },
    version: () => dataVersion.get() as number,
    generation() {
      const version = dataVersion.get()
      if (version !== seenVersion) {
        seenVersion = version
        current = readGeneration.get() as number
      }
      return current
    },
    close() {
      rights.close()
      checkpoints?.close()
      db.close()
    },
  }
}

type Write = Connection['write']

const timed =
  (write: Write, took: (duration_ms: number) => void): Write =>
  (work) => {
    const started = performance.now()
    try {
      return write(work)
    } finally {
      took(performance.now() - started)
    }
  }

/** The length of the log at which a commit does the checkpoint itself, because the thread does not keep up: 64 MB. */
const max_log_pages = 16_000

/**
 * After a failed fsync the kernel may drop the pages that it could not write, and SQLite would continue to commit on top of them.
 * After that only data that is read again from the disk is correct.
 */
const untrustworthy = /^SQLITE_(?:IOERR|CORRUPT|NOTADB)/

/** With Retry-After, because SQLite has undone the database transaction. */
const diskFull = () =>
  new ApiError('unavailable', 'Service Unavailable', [{ path: 'store', message: 'The disk is full' }], {
    'Retry-After': '1',
  })

/** The log may have all pages of the database transaction. Then the next process that opens the file finds it committed. */
const unknownOutcome = () =>
  new UnknownOutcome(
    'The disk failed during the commit, so whether this request took effect is unknown; repeat a transaction only with its Idempotency-Key',
  )
