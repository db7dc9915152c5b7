import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Observer } from '../../observer.ts'

const migrationsFolder = join(import.meta.dirname, '..', 'migrations')
const busy_timeout_ms = 5_000

/** The file cannot serve; the message says why, for the one who runs the service. */
export class StoreError extends Error {}

export interface Connection {
  db: Database.Database
  /** Runs `work` in one database transaction that takes the write lock at once; what it throws rolls it back. */
  write<T>(work: () => T): T
  /** As `write`, and tells every process that what it caches is stale. */
  writeCached<T>(work: () => T): T
  /** The version of all that may be cached. */
  generation(): number
  /** Moves when another connection commits. */
  version(): number
}

/**
 * Opens the file in WAL mode with every commit on the disk before it is answered, and brings it to the newest schema.
 * Throws when the file is of a newer service than this one. `alone`: nobody else may have the file open, now or until it is
 * closed; throws StoreError (locked) when somebody has.
 */
export function connect(file: string, observer: Observer = {}, alone = false): Connection {
  const db = open(file, alone)
  // better-sqlite3 falls back to NORMAL in WAL mode; with NORMAL a power cut takes back commits that were answered.
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  assertPragma(db, 'journal_mode', 'wal')
  assertPragma(db, 'synchronous', 2)
  assertPragma(db, 'foreign_keys', 1)

  // A deferred transaction that turns into a write fails at once under another writer; an immediate one waits its turn.
  const commit = <T>(work: () => T): T => db.transaction(work).immediate()
  const write = observer.committed ? timed(commit, observer.committed) : commit
  migrate(db, write)

  // data_version moves when another connection commits; only then is the row read again.
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck()
  const readGeneration = db.prepare<[], number>('SELECT value FROM generation').pluck()
  const bumpGeneration = db.prepare<[], number>('UPDATE generation SET value = value + 1 RETURNING value').pluck()
  const totalChanges = db.prepare<[], number>('SELECT total_changes()').pluck()
  let seenVersion: number | undefined
  let current = 0

  return {
    db,
    write,
    writeCached(work) {
      let bumped: number | undefined
      const result = write(() => {
        const before = totalChanges.get()
        const done = work()
        // What was refused has changed nothing, and empties no cache.
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
  }
}

function open(file: string, alone: boolean): Database.Database {
  try {
    const db = new Database(file, { timeout: busy_timeout_ms })
    // Whoever has a file in WAL mode open, even idle, keeps a lock on it that stands against this one.
    if (alone) db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('journal_mode = WAL')
    if (alone) db.exec('BEGIN IMMEDIATE; COMMIT')
    return db
  } catch (error) {
    throw new StoreError(`The database ${file} cannot be opened: ${(error as Error).message}`)
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

function assertPragma(db: Database.Database, name: string, wanted: string | number) {
  const value = db.pragma(name, { simple: true })
  if (value !== wanted) throw new Error(`The database does not take ${name} = ${wanted} (it says ${value})`)
}

function migrate(db: Database.Database, write: Write) {
  const files = readdirSync(migrationsFolder)
    .filter((name) => /^\d{4}\.sql$/.test(name))
    .sort()
  const newest = files.length
  write(() => {
    const version = db.pragma('user_version', { simple: true }) as number
    if (version > newest) {
      throw new StoreError(
        `The database has schema ${version} and this service knows ${newest}: it was written by a newer version`,
      )
    }
    for (const file of files.slice(version)) db.exec(readFileSync(join(migrationsFolder, file), 'utf8'))
    db.pragma(`user_version = ${newest}`)
  })
}
