import { join } from 'node:path'
import type { Client, QueryConfig } from 'pg'
import { migrationFiles } from '../migration-files.ts'
import { StoreError } from '../store-errors.ts'

export const migrationsFolder = join(import.meta.dirname, 'migrations')
/** The advisory lock of the schema: any number that nothing else uses. */
const schema_lock = 7_243_001
/** The time of all migrations, and of the wait for those of another server. The limits of other statements do not apply. */
const migration_ms = 3_600_000

/**
 * Brings the database to the newest schema, in one database transaction. Servers that start at the same time wait for each other.
 * Throws StoreError when the schema is newer than this server and no longer supports it.
 */
export async function migrate(client: Pick<Client, 'query'>): Promise<void> {
  const files = migrationFiles(migrationsFolder)
  const newest = files.length
  const run = (text: string, values: unknown[] = []) => {
    const config: QueryConfig & { query_timeout: number } = { text, values, query_timeout: migration_ms }
    return client.query<{ version: number; oldest_server: number }>(config)
  }
  await run(`BEGIN; SET LOCAL statement_timeout = ${migration_ms}; SET LOCAL lock_timeout = 0`)
  try {
    await run('SELECT pg_advisory_xact_lock($1)', [schema_lock])
    // `oldest_server`: the newest schema that a server must know at least.
    await run(`CREATE TABLE IF NOT EXISTS schema_version (
      id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, oldest_server INTEGER NOT NULL)`)
    const { rows } = await run('SELECT version, oldest_server FROM schema_version')
    const { version, oldest_server } = rows[0] ?? { version: 0, oldest_server: 0 }
    if (version > newest && oldest_server > newest) {
      throw new StoreError(
        `The database has schema ${version} and this service knows ${newest}: it was written by a newer version`,
      )
    }
    let oldest = oldest_server
    for (const { text } of files.slice(version)) {
      await run(text)
      oldest = Number(/^-- oldest server: (\d+)$/m.exec(text)?.[1] ?? oldest)
    }
    if (version < newest) {
      await run(
        `INSERT INTO schema_version (id, version, oldest_server) VALUES (1, $1, $2)
         ON CONFLICT (id) DO UPDATE SET version = excluded.version, oldest_server = excluded.oldest_server`,
        [newest, oldest],
      )
    }
    await run('COMMIT')
  } catch (error) {
    // The first error is the reason, whatever becomes of the connection.
    await run('ROLLBACK').catch(() => undefined)
    throw error
  }
}
