import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { openPostgresStore } from '../../server/store/postgres.ts'
import type { StoreDependencies } from '../../server/store/queries/database.ts'
import { openSqliteStore } from '../../server/store/sqlite.ts'
import type { Store } from '../../server/store/store.ts'
import type { TestDatabase } from './postgres.ts'

/**
 * The database of the services that tests start: an SQLite file in their data folder, and with TEST_DATABASE=postgres a PostgreSQL
 * database for each data folder.
 */
export const onPostgres = process.env.TEST_DATABASE === 'postgres'

const databases = new Map<string, Promise<TestDatabase>>()
/** Far above the time that a busy machine needs. */
const patience = { DATABASE_TIMEOUT_MS: '10000' }

/** The settings of a service on the data folder. `made`: called before the first one, when there is something to drop. */
export async function databaseSettings(dataDir: string, made = () => {}): Promise<Record<string, string>> {
  if (!onPostgres) return {}
  if (!databases.has(dataDir)) made()
  const known = databases.get(dataDir) ?? import('./postgres.ts').then(({ newDatabase }) => newDatabase())
  databases.set(dataDir, known)
  return { DATABASE_URL: (await known).url, ...patience }
}

/** Removes the database of a data folder. SQLite's file is removed with the folder. */
export async function dropDatabase(dataDir: string): Promise<void> {
  const known = databases.get(dataDir)
  databases.delete(dataDir)
  await (await known)?.drop()
}

/** A folder with the database of a service. */
export interface Stored {
  data_dir: string
}

/** Runs a statement of the test's own, which both databases understand, on the database of a service that may be running. */
export async function rowsOf<Row extends object>({ data_dir }: Stored, statement: string): Promise<Row[]> {
  const known = await databases.get(data_dir)
  if (known) return known.query<Row>(statement)
  const db = new Database(join(data_dir, 'relayer.sqlite'), { timeout: 60_000 })
  try {
    const prepared = db.prepare<[], Row>(statement)
    if (prepared.reader) return prepared.all()
    prepared.run()
    return []
  } finally {
    db.close()
  }
}

/** All that is stored: the files of the data folder, and the tables of PostgreSQL as text, with bytes as hex. */
export async function storedBytes({ data_dir }: Stored): Promise<[name: string, bytes: Buffer][]> {
  const files = readdirSync(data_dir).map((name): [string, Buffer] => [name, readFileSync(join(data_dir, name))])
  const known = await databases.get(data_dir)
  if (!known) return files
  const tables = await known.query<{ name: string }>(
    'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()',
  )
  for (const { name } of tables) {
    const rows = await known.query<{ row: string }>(`SELECT its::text AS row FROM ${name} AS its`)
    files.push([name, Buffer.from(rows.map(({ row }) => row).join('\n'))])
  }
  return files
}

/** Keeps a copy of the database of a service that is stopped, for `restore`. */
export async function backUp({ data_dir }: Stored): Promise<void> {
  const known = await databases.get(data_dir)
  if (known) return known.backUp()
  copyFileSync(join(data_dir, 'relayer.sqlite'), join(data_dir, 'relayer.sqlite.backup'))
}

export async function restore({ data_dir }: Stored): Promise<void> {
  const known = await databases.get(data_dir)
  if (known) return known.restore()
  copyFileSync(join(data_dir, 'relayer.sqlite.backup'), join(data_dir, 'relayer.sqlite'))
}

/** A store on the same database, with separate connections. */
export async function openStoreOf({ data_dir }: Stored, world: StoreDependencies): Promise<Store> {
  const known = await databases.get(data_dir)
  if (!known) return openSqliteStore(join(data_dir, 'relayer.sqlite'), world)
  return openPostgresStore({ url: known.url, max_connections: 4, timeout_ms: 10_000, allow_weak: [] }, world)
}

/** So many bytes of 0, as an expression of SQL. */
export const zeroBytes = (count: number) =>
  onPostgres ? `decode(repeat('00', ${count}), 'hex')` : `zeroblob(${count})`

/** The values of the only column. */
export async function columnOf<Value>(stored: Stored, statement: string): Promise<Value[]> {
  const rows = await rowsOf<Record<string, Value>>(stored, statement)
  return rows.map((row) => Object.values(row)[0] as Value)
}
