import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { migrationFiles } from '../migration-files.ts'
import { StoreError } from '../store-errors.ts'

export const migrationsFolder = join(import.meta.dirname, '..', 'migrations')
/** What the migrations lead to, in one file: a new database is made in 3 ms, and not in 50. */
export const schemaFile = join(import.meta.dirname, '..', '..', '..', 'generated', 'schema.sql')

/** Brings the database to the newest schema. Throws StoreError when a newer version of the service wrote it. */
export function migrate(db: Database.Database): void {
  const files = migrationFiles(migrationsFolder)
  const newest = files.length
  const versionOf = () => db.pragma('user_version', { simple: true }) as number
  const bringUp = db.transaction(() => {
    if (versionOf() === 0) db.exec(readFileSync(schemaFile, 'utf8'))
    const version = versionOf()
    if (version > newest) {
      throw new StoreError(
        `The database has schema ${version} and this service knows ${newest}: it was written by a newer version`,
      )
    }
    for (const { text } of files.slice(version)) db.exec(text)
    db.pragma(`user_version = ${newest}`)
  })
  bringUp.immediate()
}

const busy_timeout_ms = 5_000
/**
 * The page cache of a connection. better-sqlite3's default of 16 MB fills up with the rows of large transactions. A page outside the
 * cache is read from the operating system's: a random row of a file of 300 MB takes 9 us with 2 MB as with 16 MB, and a commit does
 * not take longer.
 */
const cache_kib = 4_000

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
    db = new Database(file, { timeout: busy_timeout_ms })
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

const limitCache = (db: Database.Database) => db.pragma(`cache_size = -${cache_kib}`)

function assertPragma(db: Database.Database, name: string, wanted: string | number) {
  const value = db.pragma(name, { simple: true })
  if (value !== wanted) throw new Error(`The database does not accept ${name} = ${wanted} (it reports ${value})`)
}
