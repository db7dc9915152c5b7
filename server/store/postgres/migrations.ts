import type { Client, QueryConfig } from 'pg'
import { type AppliedMigration, missingMigrations, readMigrations, writtenByVersion0 } from '../migrations.ts'

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
