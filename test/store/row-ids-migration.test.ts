import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { createRelayerClient } from '../../client/index.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'

const folder = join(import.meta.dirname, '..', '..', 'server', 'store', 'migrations')
const migrations = readdirSync(folder)
  .sort()
  .map((name) => readFileSync(join(folder, name), 'utf8'))
const at = migrations.findIndex((text) => text.includes('RENAME COLUMN key TO row_id'))
const MASTER_KEY = '5e'.repeat(32)

/** Gives the columns and triggers of a database the form that they had before the migration. */
function restoreFormer(file: string): void {
  const former = new Database(':memory:')
  for (const text of migrations.slice(0, at)) former.exec(text)
  const db = new Database(file)
  const namesIn = (database: Database.Database, type: 'table' | 'trigger' | 'index') =>
    database.prepare<[string], string>('SELECT name FROM sqlite_schema WHERE type = ?').pluck().all(type)
  for (const name of namesIn(db, 'trigger')) db.exec(`DROP TRIGGER ${name}`)
  // Of later migrations.
  const known = namesIn(former, 'table')
  for (const name of namesIn(db, 'table').filter((table) => !known.includes(table))) db.exec(`DROP TABLE ${name}`)
  const indexes = namesIn(former, 'index')
  for (const name of namesIn(db, 'index').filter((index) => !indexes.includes(index))) db.exec(`DROP INDEX ${name}`)
  const added = migrations.slice(at + 1).flatMap((text) => [...text.matchAll(/ALTER TABLE (\w+) ADD COLUMN (\w+)/g)])
  for (const [, table = '', column] of added.reverse()) {
    if (known.includes(table)) db.exec(`ALTER TABLE ${table} DROP COLUMN ${column}`)
  }
  const renames = migrations[at]?.matchAll(/ALTER TABLE (\w+) RENAME COLUMN (\w+) TO (\w+)/g) ?? []
  for (const [, table, from, to] of renames) db.exec(`ALTER TABLE ${table} RENAME COLUMN ${to} TO ${from}`)
  const triggers = former.prepare<[], string>("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").pluck().all()
  for (const sql of triggers) db.exec(sql)
  db.pragma(`user_version = ${at}`)
  const columns = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
  expect(db.prepare(columns).all()).toEqual(former.prepare(columns).all())
  db.close()
}

test('keeps rows and their MACs in a database with the former names of row ids', async () => {
  const before = await startTestService({ MASTER_KEY })
  const { client } = before
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: 'https://hooks.example.com' } })
  await createRelayer(client, { id: 'known', notification_id: 'hook' })
  const key = { name: 'limited', scopes: ['sign' as const, 'read' as const], relayer_ids: ['known'] }
  const { data } = await client.post('/api/v1/api-keys', { body: key })
  await before.close()
  restoreFormer(join(before.data_dir, 'relayer.sqlite'))

  const after = await startTestService({ MASTER_KEY, DATA_DIR: before.data_dir, API_KEY: before.api_key })
  const limited = createRelayerClient({ baseUrl: after.url, token: data.token })
  const { data: signature } = await limited.post('/api/v1/relayers/{relayer_id}/sign', {
    path: { relayer_id: 'known' },
    body: { message: 'Hello' },
  })
  expect(signature.sig).toMatch(/^0x[0-9a-f]{130}$/)
  const { data: relayers } = await limited.get('/api/v1/relayers', {})
  expect(relayers.map(({ id, notification_id }) => [id, notification_id])).toEqual([['known', 'hook']])
  expect(after.logged.filter((line) => line.includes('row refused'))).toEqual([])
})
