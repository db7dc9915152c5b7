import type { Client, QueryConfig } from 'pg'
import { type AppliedMigration, missingMigrations, readMigrations, writtenByVersion0 } from '../migrations.ts'
import { StoreError } from '../queries/database.ts'
import { connectClient, pooled, startMs } from './pool.ts'

/** The settings of PostgreSQL that an acknowledged commit relies on, and their values with which it survives a power failure. */
const durable = {
  fsync: ['on'],
  full_page_writes: ['on'],
  synchronous_commit: ['on', 'remote_apply'],
} as const

export type DurabilitySetting = keyof typeof durable

export const durabilitySettings = Object.keys(durable) as DurabilitySetting[]

/**
 * The settings that weaken durability, in the form `fsync = off`. Throws StoreError for those that are not allowed.
 * `allowed`: the settings that may be weaker.
 */
async function checkDurability(
  client: Pick<Client, 'query'>,
  allowed: readonly DurabilitySetting[],
): Promise<string[]> {
  const weak: { name: DurabilitySetting; value: string }[] = []
  for (const name of durabilitySettings) {
    const { rows } = await client.query<{ value: string }>('SELECT current_setting($1) AS value', [name])
    const { value } = rows[0] as { value: string }
    if (!(durable[name] as readonly string[]).includes(value)) weak.push({ name, value })
  }
  const refused = weak.filter(({ name }) => !allowed.includes(name))
  if (refused.length > 0) {
    const faults = refused.map(({ name, value }) => `${name} = ${value} (needed: ${durable[name].join(' or ')})`)
    throw new StoreError(
      `PostgreSQL may lose acknowledged commits: ${faults.join(', ')}. Change its settings, or name them in DATABASE_ALLOW_WEAK`,
    )
  }
  return weak.map(({ name, value }) => `${name} = ${value}`)
}

interface PreparationSettings {
  url: string
  /** The settings of PostgreSQL that may weaken durability. */
  allow_weak: readonly DurabilitySetting[]
}

/** The oldest supported version, as `server_version_num`. */
const oldestVersion = 150_000

/**
 * Checks the server, and migrates the database to the newest schema. Returns the settings that weaken durability and are allowed.
 * Throws StoreError when the server cannot be used.
 */
export async function prepareDatabase({ url, allow_weak }: PreparationSettings): Promise<string[]> {
  const client = await connectClient({ url }, { connectionTimeoutMillis: startMs })
  try {
    const { rows } = await client.query<{ version: string; encoding: string; is_replica: boolean; seqscan: string }>(
      `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
        pg_is_in_recovery() AS is_replica, current_setting('enable_seqscan') AS seqscan`,
    )
    const { version, encoding, is_replica, seqscan } = rows[0] as (typeof rows)[0]
    // The service sets it when it connects (pool.ts).
    if (seqscan !== 'off') throw pooled()
    if (Number(version) < oldestVersion) throw new StoreError('PostgreSQL must be version 15 or newer')
    if (encoding !== 'UTF8') throw new StoreError(`The encoding of the database must be UTF8; it is ${encoding}`)
    if (is_replica)
      throw new StoreError('PostgreSQL is a standby, which is read-only: DATABASE_URL must name the primary')
    const weak = await checkDurability(client, allow_weak)
    await migrate(client)
    return weak
  } finally {
    await client.end()
  }
}

/** The advisory lock of the schema: any number that nothing else uses. */
const schemaLock = 7_243_001
/** The time of all migrations, and of the wait for those of another server. The limits of other statements do not apply. */
const migrationMs = 3_600_000

export const migrations = readMigrations(import.meta.dirname)

/**
 * Brings the database to the newest schema, in one database transaction. Servers that start at the same time wait for each other.
 * Throws StoreError when another version wrote the database and this server cannot use it.
 *
 * During a rolling upgrade, servers of the release before run on the new schema. So a migration adds tables, indexes, and columns with a
 * default that is right for rows that the release before writes; what nothing uses any more is dropped by a release after the next one.
 * A migration that cannot follow this has the line `-- oldest server: N`: the last migration that a server must know to run on it.
 */
export async function migrate(client: Pick<Client, 'query'>): Promise<void> {
  const run = (text: string, values: unknown[] = []) => {
    const config: QueryConfig & { query_timeout: number } = { text, values, query_timeout: migrationMs }
    return client.query(config)
  }
  await run(`BEGIN; SET LOCAL statement_timeout = ${migrationMs}; SET LOCAL lock_timeout = 0`)
  try {
    await run('SELECT pg_advisory_xact_lock($1)', [schemaLock])
    const { rows: former } = await run("SELECT 1 WHERE to_regclass('schema_version') IS NOT NULL")
    if (former.length > 0) throw writtenByVersion0()
    await run(`CREATE TABLE IF NOT EXISTS schema_migrations (
      number INTEGER PRIMARY KEY, checksum TEXT NOT NULL, oldest_server INTEGER NOT NULL)`)
    const { rows } = await run('SELECT number, checksum, oldest_server FROM schema_migrations ORDER BY number')
    for (const { text, number, checksum, oldest_server } of missingMigrations(
      migrations,
      rows as AppliedMigration[],
      true,
    )) {
      await run(text)
      await run('INSERT INTO schema_migrations (number, checksum, oldest_server) VALUES ($1, $2, $3)', [
        number,
        checksum,
        oldest_server,
      ])
    }
    await run('COMMIT')
  } catch (error) {
    // The first error is the reason, whatever becomes of the connection.
    await run('ROLLBACK').catch(() => undefined)
    throw error
  }
}
