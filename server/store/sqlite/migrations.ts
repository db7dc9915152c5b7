import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import { StoreError } from '../store-error.ts'

const folder = join(import.meta.dirname, '..', 'migrations')

const migrationFiles = () =>
  readdirSync(folder)
    .filter((name) => /^\d{4}\.sql$/.test(name))
    .sort()

/** The text of all migrations. */
export const migrationsText = () =>
  migrationFiles()
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n')

/** Brings the database to the newest schema. Throws StoreError when a newer version of the service wrote it. */
export function migrate(db: Database.Database): void {
  const files = migrationFiles()
  const newest = files.length
  const bringUp = db.transaction(() => {
    const version = db.pragma('user_version', { simple: true }) as number
    if (version > newest) {
      throw new StoreError(
        `The database has schema ${version} and this service knows ${newest}: it was written by a newer version`,
      )
    }
    for (const file of files.slice(version)) db.exec(readFileSync(join(folder, file), 'utf8'))
    db.pragma(`user_version = ${newest}`)
  })
  bringUp.immediate()
}
