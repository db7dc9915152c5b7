/**
 * Writes test/store/fixtures/VERSION: a copy of a filled database of this version for SQLite and for PostgreSQL, with the master key of
 * both. test/store/upgrade.test.ts opens it with each later version. Run `npm run fixture` with each release, and until 1.0.0 after each
 * change of a schema.sql; a fixture of a release is not changed later.
 */

import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import pg from 'pg'
import pino from 'pino'
import { createRelayerClient } from '../../client/index.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { startService } from '../../server/app.ts'
import { moveDatabase } from '../../server/cli/move-database.ts'
import { readConfig } from '../../server/config.ts'
import { migrations } from '../../server/store/postgres/prepare-database.ts'
import { makeEveryRow } from '../cli/every-row.ts'
import { compiledContract } from '../support/compiled-contract.ts'
import { startPostgres, stopPostgres, urlOf } from '../support/postgres-server.ts'

const fixture = join(import.meta.dirname, 'fixtures', packageJson.version)
const folder = mkdtempSync(join(tmpdir(), 'relayer-fixture-'))
const server = mkdtempSync(join(tmpdir(), 'relayer-postgres-'))
const file = join(folder, 'relayer.sqlite')
const url = urlOf(server, 'postgres')
try {
  await makeEveryRow(folder)
  mkdirSync(fixture, { recursive: true })
  copyFileSync(join(folder, 'master-key'), join(fixture, 'master-key'))
  writeFileSync(join(fixture, 'relayer.sqlite.gz'), gzipSync(sqliteFile(), { level: 9 }))
  await startPostgres(server)
  await moveDatabase(
    {
      ...{ database: { type: 'sqlite', file }, data_dir: folder },
      ...{ master_key: undefined, key_encryption_key: undefined, vault: undefined },
    },
    url,
  )
  await serve()
  writeFileSync(join(fixture, 'postgres.sql.gz'), gzipSync(await postgresText(), { level: 9 }))
} finally {
  await stopPostgres(server).catch(() => undefined)
  for (const made of [folder, server]) rmSync(made, { recursive: true, force: true })
}

function sqliteFile(): Buffer {
  const db = new Database(file)
  try {
    // The name of the machine.
    db.exec("UPDATE incidents SET server = 'server'; VACUUM")
    return db.serialize()
  } finally {
    db.close()
  }
}

/** Fills the tables that only PostgreSQL has. */
async function serve(): Promise<void> {
  const config = readConfig({ PORT: '0', DATA_DIR: folder, DATABASE_URL: url, API_KEY: 'fixture'.repeat(5) })
  const service = await startService(config, {
    logger: pino({ level: 'silent' }),
    contract: await compiledContract(),
  })
  const client = createRelayerClient({ baseUrl: service.url, token: service.api_key })
  await client.post('/api/v1/relayers/{relayer_id}/sign', { path: { relayer_id: 'demo' }, body: { message: 'Hello' } })
  await service.close()
}

/** Statements that make the database, its schema included. */
async function postgresText(): Promise<string> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    // The name of the machine.
    await client.query("UPDATE servers SET name = 'server'; UPDATE incidents SET server = 'server'")
    const { rows: tables } = await client.query<{ name: string }>(
      'SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename',
    )
    const { rows: sequences } = await client.query<{ name: string; last: string }>(
      `SELECT sequencename AS name, last_value AS last FROM pg_sequences
       WHERE schemaname = current_schema() AND last_value IS NOT NULL ORDER BY sequencename`,
    )
    const inserts: string[] = []
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(`SELECT row_to_json(its)::text AS row FROM "${name}" AS its`)
      if (rows.length === 0) continue
      const lines = rows.map(({ row }) => row).sort()
      inserts.push(
        `INSERT INTO "${name}" SELECT * FROM json_populate_recordset(NULL::"${name}", $rows$[\n${lines.join(',\n')}\n]$rows$);`,
      )
    }
    return [
      // Without triggers and checks of references: the rows that triggers made are among these.
      'SET session_replication_role = replica;',
      'CREATE TABLE schema_migrations (number INTEGER PRIMARY KEY, checksum TEXT NOT NULL, oldest_server INTEGER NOT NULL);',
      ...migrations.map(({ text }) => text),
      `TRUNCATE ${tables.map(({ name }) => `"${name}"`).join(', ')};`,
      ...inserts,
      ...sequences.map(({ name, last }) => `SELECT setval('${name}', ${last});`),
      'RESET session_replication_role;\n',
    ].join('\n')
  } finally {
    await client.end()
  }
}
