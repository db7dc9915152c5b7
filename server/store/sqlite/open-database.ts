import Database from 'better-sqlite3'
import { type AppliedMigration, missingMigrations, readMigrations, writtenByVersion0 } from '../migrations.ts'
import { StoreError } from '../queries/database.ts'

export const migrations = readMigrations(import.meta.dirname)

/** Brings the database to the newest schema. Throws StoreError when another version of the service wrote it. */
export function migrate(db: Database.Database): void {
  const bringUp = db.transaction(() => {
    if (db.pragma('user_version', { simple: true }) !== 0) throw writtenByVersion0()
    db.exec(`CREATE TABLE IF NOT EXISTS schema_migrations (
      number INTEGER PRIMARY KEY, checksum TEXT NOT NULL, oldest_server INTEGER NOT NULL) STRICT`)
    const applied = db.prepare<[], AppliedMigration>('SELECT * FROM schema_migrations ORDER BY number').all()
    const add = db.prepare('INSERT INTO schema_migrations (number, checksum, oldest_server) VALUES (?, ?, ?)')
    for (const { text, number, checksum, oldest_server } of missingMigrations(migrations, applied, false)) {
      db.exec(text)
      add.run(number, checksum, oldest_server)
    }
  })
  bringUp.immediate()
}

const busyTimeoutMs = 5_000
/**
 * The page cache of a connection. better-sqlite3's default of 16 MB fills up with the rows of large transactions. A page outside the
 * cache is read from the operating system's: a random row of a file of 300 MB takes 9 us with 2 MB as with 16 MB, and a commit does
 * not take longer.
 */
const cacheKib = 4_000

/** Opens the file in WAL mode, with every commit on the disk before it is acknowledged. `alone`: see `connect`. */
export function openDatabase(file: string, alone: boolean): Database.Database {
  const db = openFile(file, alone)
  // better-sqlite3 defaults to NORMAL in WAL mode; with NORMAL a power failure can lose acknowledged commits.
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  limitCache(db)
  assertPragma(db, 'journal_mode', 'wal')
  assertPragma(db, 'synchronous', 2)
  assertPragma(db, 'foreign_keys', 1)
  return db
}

function openFile(file: string, alone: boolean): Database.Database {
  let db: Database.Database | undefined
  try {
    db = new Database(file, { timeout: busyTimeoutMs })
    // Every process that has a WAL file open, even idle, holds a lock that conflicts with this one.
    if (alone) db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('journal_mode = WAL')
    if (alone) db.exec('BEGIN IMMEDIATE; COMMIT')
    return db
  } catch (error) {
    // An open file would hold its lock.
    db?.close()
    throw new StoreError(`The database ${file} cannot be opened: ${(error as Error).message}`)
  }
}

/** A connection that only reads. */
export function openReader(file: string): Database.Database {
  const reader = new Database(file, { readonly: true })
  limitCache(reader)
  return reader
}

const limitCache = (db: Database.Database) => db.pragma(`cache_size = -${cacheKib}`)

function assertPragma(db: Database.Database, name: string, wanted: string | number) {
  const value = db.pragma(name, { simple: true })
  if (value !== wanted) throw new Error(`The database does not accept ${name} = ${wanted} (it reports ${value})`)
}
