import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { StoreError } from './queries/database.ts'

/** A text that is applied once to a database: `schema.sql` has the number 0, the files of `migrations/` have 1, 2 and so on. */
interface Migration {
  number: number
  text: string
  /** SHA-256 of the text, in hex. */
  checksum: string
  /** The last migration that a server must know to run on this schema, as the line `-- oldest server: N` says; 0 without that line. */
  oldest_server: number
}

/** A row of the table `schema_migrations`. */
export type AppliedMigration = Pick<Migration, 'number' | 'checksum' | 'oldest_server'>

/** `schema.sql` of a store's folder and its migrations, in order. Throws when their numbers have a gap. */
export function readMigrations(folder: string): Migration[] {
  const later = join(folder, 'migrations')
  const names = existsSync(later)
    ? readdirSync(later)
        .filter((name) => name.endsWith('.sql'))
        .sort()
    : []
  names.forEach((name, index) => {
    const expected = `${String(index + 1).padStart(4, '0')}.sql`
    if (name !== expected) throw new Error(`The migration ${name} must have the name ${expected}`)
  })
  return [join(folder, 'schema.sql'), ...names.map((name) => join(later, name))].map((file, number) => {
    const text = readFileSync(file, 'utf8')
    const checksum = createHash('sha256').update(text).digest('hex')
    return { number, text, checksum, oldest_server: Number(/^-- oldest server: (\d+)$/m.exec(text)?.[1] ?? 0) }
  })
}

/**
 * The migrations that a database lacks. Throws StoreError when another version of the service wrote the database and this one cannot use
 * it. `shared`: servers of several versions may use it at once (a rolling upgrade).
 */
export function missingMigrations(known: Migration[], applied: AppliedMigration[], shared: boolean): Migration[] {
  const newest = known.length - 1
  for (const { number, checksum, oldest_server } of applied) {
    const own = known[number]
    if (own && own.checksum !== checksum) {
      const name = number === 0 ? 'schema.sql' : `migration ${number}`
      throw new StoreError(
        `The database was written by another version of the service: its ${name} has another text than this version's`,
      )
    }
    if (!own && !(shared && oldest_server <= newest)) {
      throw new StoreError(
        `The database has migration ${number} and this service knows ${newest}: it was written by a newer version`,
      )
    }
  }
  return known.slice(applied.length)
}

export const writtenByVersion0 = () =>
  new StoreError('Version 0 wrote the database, and later versions do not read it: start with an empty database')
