import { realpathSync } from 'node:fs'
import type Sqlite from 'better-sqlite3'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import { SerialQueue } from '../../lib/in-order.ts'
import type { AuditHead } from '../queries/audit.ts'
import {
  commandDependencies,
  type Database,
  type DatabaseTransaction,
  madeOnce,
  type Session,
  type StoreDependencies,
  type TableList,
} from '../queries/database.ts'
import { auditHeadOf, Trail } from './audit.ts'
import { type Progress, startCheckpoints } from './checkpoints.ts'
import { createCommit, GroupCommit, isUntrustworthy } from './commit.ts'
import { migrate, openDatabase, openReader } from './open-database.ts'
import { SqliteRights } from './rights.ts'
import { createSession, lister } from './session.ts'

export interface Connection extends Database {
  /** The connection that writes. Outside of `write` it may show what is not committed yet. */
  db: Sqlite.Database
  /** A connection that only reads: it shows what is committed. */
  reader: Sqlite.Database
  /**
   * Runs `work` in one database transaction that takes the write lock at once; an error rolls it back. Database transactions run one after
   * the other.
   */
  write<T>(work: (dbTransaction: DatabaseTransaction) => T | Promise<T>, auditEntry?: PendingAuditEntry): Promise<T>
  auditHead(): AuditHead
  /** The MACs of rows that grant rights. */
  rights: SqliteRights
  /** The generation of cached rows. */
  generation(): number
  /** Changes when another connection commits. */
  version(): number
  /** Resolves when all database transactions that were requested have ended. */
  idle(): Promise<void>
  close(): void
}

/**
 * Opens the file in WAL mode, with every commit on the disk before it is acknowledged, and migrates it to the newest schema.
 * Throws StoreError when another version of the service wrote the file. `alone`: takes an exclusive lock until the file is closed;
 * throws StoreError (locked) when another process has the file open.
 */
export function connect(file: string, dependencies: Partial<StoreDependencies> = {}, alone = false): Connection {
  const effects = { ...commandDependencies, ...dependencies }
  const { observer = {}, broken = () => {}, checkpointsApart = false } = effects
  const db = openDatabase(file, alone)
  migrate(db)
  // The exclusive lock keeps out a connection of this process too. Then nothing but one command uses the database.
  const reader = alone ? db : openReader(file)
  const trail = new Trail(db)
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck()
  const version = () => dataVersion.get() as number
  const rights = new SqliteRights(db, file, { version, write: (work) => write(work) })
  const logProgress = db.prepare<[], Progress>('PRAGMA wal_checkpoint(NOOP)')
  const checkpoints = checkpointsApart
    ? startCheckpoints(file, {
        progress: () => logProgress.get() as Progress,
        // The service may have been closed at once.
        started: () => void (db.open && db.pragma(`wal_autocheckpoint = ${maxLogPages}`)),
        failed(error) {
          if (!db.open) return
          db.pragma('wal_autocheckpoint = 1000')
          if (isUntrustworthy(error)) broken(error)
        },
      })
    : undefined

  const commit = createCommit(db, { effects, trail, rights, broken, committed: observer.committed })
  const ordered = writersOf(file)
  const write: Connection['write'] = async (work, auditEntry) => {
    const done = await ordered.run(async () => {
      await checkpoints?.keptUp()
      return commit(auditEntry, work)
    })
    checkpoints?.committed()
    return done
  }
  const bumpGeneration = db.prepare('UPDATE generation SET value = value + 1')
  const group = new GroupCommit(write)
  const listerOf = madeOnce((list: TableList<object, unknown>) => lister(reader, list))
  const [generationOf, committedGeneration] = [db, reader].map((its) =>
    its.prepare<[], number>('SELECT value FROM generation').pluck(),
  )

  const connection: Connection = {
    effects,
    db,
    reader,
    read: committedSession(db, reader),
    write,
    writeAlone: write,
    writeCached: (work, auditEntry) =>
      write(async (dbTransaction) => {
        const before = dbTransaction.changes()
        const done = await work(dbTransaction)
        // A refused change has no effect, so caches stay valid.
        if (dbTransaction.changes() !== before) bumpGeneration.run()
        return done
      }, auditEntry),
    groupCommit: (change, input, auditEntry) => group.change(change, input, auditEntry),
    groupCommitOfDeliveries: (change, input) => group.change(change, input),
    // A read of one row takes some microseconds.
    readTogether: async ({ nameOf, readAll }, key) => (await readAll(connection, [key])).get(nameOf(key)),
    list: (table, slice) => listerOf(table)(slice) as never,
    auditHead: auditHeadOf(reader),
    rights,
    version,
    generation: () => (db.inTransaction ? committedGeneration : generationOf)?.get() as number,
    idle: () => ordered.run(async () => {}),
    close() {
      rights.close()
      checkpoints?.close()
      if (reader !== db) reader.close()
      db.close()
    },
  }
  return connection
}

/**
 * Reads what is committed: by the connection that writes, whose cache has the pages that it wrote, and by the other one while a database
 * transaction is open.
 */
function committedSession(db: Sqlite.Database, reader: Sqlite.Database): Session {
  const [own, other] = [createSession(db), createSession(reader)]
  const its = () => (db.inTransaction ? other : own)
  return {
    all: (statement, values) => its().all(statement, values),
    one: (statement, values) => its().one(statement, values),
    run: (statement, values) => its().run(statement, values),
    allOf: (statement, records, values) => its().allOf(statement, records, values),
    runOf: (statement, records, values) => its().runOf(statement, records, values),
  }
}

/**
 * The writers of one file in this process wait for each other here: a writer that waited for SQLite's lock would stop the thread, and the
 * one that has the lock with it.
 */
function writersOf(file: string): SerialQueue {
  const path = realpathSync(file)
  const ordered = writers.get(path) ?? new SerialQueue()
  writers.set(path, ordered)
  return ordered
}

/** By file: a service has one. */
const writers = new Map<string, SerialQueue>()

/** The length of the log at which a commit does the checkpoint itself, because the thread has not kept up for a second: 256 MB. */
const maxLogPages = 64_000
