import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Vault } from '../../server/keys/secret-encryption.ts'
import { bindQueries } from '../../server/store/queries/store-queries.ts'
import { connect } from '../../server/store/sqlite/connection.ts'
import { migrations } from '../../server/store/sqlite/open-database.ts'
import { translated } from '../../server/store/sqlite/session.ts'
import type { Store } from '../../server/store/store.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'
import { addRelayer, apiKeyOf } from './conformance/resources.ts'

function connectForTest(file: string) {
  const connection = connect(file)
  onTestFinished(connection.close)
  return connection
}

test('writes through to the disk, in WAL mode, with foreign keys, on every connection', () => {
  const file = join(temporaryFolder(), 'a.sqlite')
  for (const opening of ['the first', 'a later']) {
    const { db } = connectForTest(file)
    const value = (name: string) => db.pragma(name, { simple: true })
    expect.soft(value('journal_mode'), opening).toBe('wal')
    // 2 is FULL: with NORMAL (1) a power cut takes back commits that were answered.
    expect.soft(value('synchronous'), opening).toBe(2)
    expect.soft(value('foreign_keys'), opening).toBe(1)
    expect.soft(value('busy_timeout'), opening).toBeGreaterThan(0)
    // In KiB, negated. The default is 16 MB for each connection, a fourth of the memory growth that the tests allow under attack.
    expect.soft(value('cache_size'), opening).toBe(-4_000)
  }
})

test('refuses a database that cannot use WAL mode', () => {
  expect(() => connect(':memory:')).toThrow(/journal_mode/)
})

test('makes every table STRICT', () => {
  const { db } = connectForTest(join(temporaryFolder(), 'a.sqlite'))
  const tables = db.pragma('table_list') as { name: string; schema: string; strict: number }[]
  const lax = tables.filter(({ name, schema, strict }) => schema === 'main' && !name.startsWith('sqlite_') && !strict)
  expect(lax).toEqual([])
})

describe('refuses, and leaves unchanged, a database', () => {
  const checksum = '0'.repeat(64)
  test.each([
    ['of version 0', 'PRAGMA user_version = 34', /Version 0 wrote the database/],
    [
      'of a newer version',
      `INSERT INTO schema_migrations VALUES (${migrations.length}, '${checksum}', 0)`,
      /has migration \d+ and this service knows \d+: it was written by a newer version/,
    ],
    [
      'whose migration has another text now',
      `UPDATE schema_migrations SET checksum = '${checksum}' WHERE number = 0`,
      /its schema\.sql has another text/,
    ],
  ])('%s', async (_, change, message) => {
    const { data_dir, close } = await startTestService()
    await close()
    const db = new Database(join(data_dir, 'relayer.sqlite'))
    onTestFinished(() => void db.close())
    db.exec(change)
    const content = () => [db.pragma('user_version'), db.prepare('SELECT * FROM schema_migrations').all()]
    const before = content()
    await expect(startTestService({ DATA_DIR: data_dir })).rejects.toThrow(message)
    expect(content()).toEqual(before)
  })
})

test('searches rows of any number, in steps', async () => {
  const { client, data_dir } = await startTestService()
  const create = (id: string) => client.post('/api/v1/notifications', { body: { id, url: 'https://example.com' } })
  await create('early')
  const db = new Database(join(data_dir, 'relayer.sqlite'))
  db.exec("UPDATE sqlite_sequence SET seq = 60000 WHERE name = 'notifications'")
  db.close()
  await create('late')
  const { data } = await client.get('/api/v1/search', { query: { q: 'l' } })
  expect(data.filter(({ kind }) => kind === 'notification').map(({ id }) => id)).toEqual(['early', 'late'])
})

test('compiles no statement at every execution: with ORDER BY and the like, parameters have a +', () => {
  expect(translated('WHERE a = $a::text AND b = ANY ($b::bigint[]) ORDER BY c LIMIT $limit FOR UPDATE')).toEqual({
    text: 'WHERE a = +$a AND b IN (SELECT value FROM json_each(+$b)) ORDER BY c LIMIT +$limit',
    lists: ['b'],
  })
  const folder = join(import.meta.dirname, '..', '..', 'server', 'store', 'sqlite')
  const statements = readdirSync(folder).flatMap((name) =>
    [...readFileSync(join(folder, name), 'utf8').matchAll(/`[^`]*`|'[^'\n]*'/g)].map(([text]) => text),
  )
  const ordered = statements.filter((text) => /^\W*(?:SELECT|WITH).*(?:ORDER BY|LIMIT|\bmin\(|\bmax\()/s.test(text))
  expect(ordered.length).toBeGreaterThan(2)
  expect(ordered.filter((text) => /(?:[=<>]|LIMIT|OFFSET) [?$](?!\{)/.test(text))).toEqual([])
})

test('rolls back after an error inside a write, and keeps the generation', async () => {
  const { db, writeCached, generation } = connectForTest(join(temporaryFolder(), 'a.sqlite'))
  const before = generation()
  const failing = () =>
    writeCached(async () => {
      db.exec("INSERT INTO notifications (id, type, url) VALUES ('a', 'webhook', 'https://example.com')")
      throw new Error('after the insert')
    })
  await expect(failing()).rejects.toThrow('after the insert')
  expect(db.prepare('SELECT count(*) FROM notifications').pluck().get()).toBe(0)
  expect(generation()).toBe(before)
})

test('moves the generation in every connection when one of them changes cached rows, and only then', async () => {
  const file = join(temporaryFolder(), 'a.sqlite')
  const one = connectForTest(file)
  const other = connectForTest(file)
  const start = one.generation()
  expect(other.generation()).toBe(start)
  await one.write(() => undefined)
  expect([one.generation(), other.generation()]).toEqual([start, start])
  await one.writeCached(async () => undefined)
  expect([one.generation(), other.generation()], 'nothing was written').toEqual([start, start])
  const rename = (connection: typeof one) =>
    connection.writeCached(async () =>
      connection.db.exec(
        "UPDATE vault_check SET sealed = x'00'; INSERT OR REPLACE INTO vault_check (id, sealed) VALUES (1, x'01')",
      ),
    )
  await rename(one)
  expect([one.generation(), other.generation()]).toEqual([start + 1, start + 1])
  await rename(other)
  await rename(one)
  expect([one.generation(), other.generation()]).toEqual([start + 3, start + 3])
})

test('takes no lock from another connection of the process when one ends', () => {
  const file = join(temporaryFolder(), 'a.sqlite')
  const first = connect(file)
  const second = connectForTest(file)
  const inode = `:${statSync(`${file}-shm`).ino} `
  // Without its lock, the next process that connects treats the index as unused and truncates it.
  // Other systems than Linux list no locks; there the generation below is all that is compared.
  const locks = () =>
    (existsSync('/proc/locks') ? readFileSync('/proc/locks', 'utf8') : inode)
      .split('\n')
      .filter((line) => line.includes(inode)).length
  expect(locks()).toBe(1)
  first.close()
  expect(locks()).toBe(1)
  expect(second.generation()).toBe(second.db.prepare('SELECT value FROM generation').pluck().get())
})

test('starts two services at once on an empty folder, on one database with one demo relayer', async () => {
  const DataDir = temporaryFolder()
  const services = await Promise.all([startTestService({ DATA_DIR: DataDir }), startTestService({ DATA_DIR: DataDir })])
  const [one, other] = await Promise.all(services.map(({ client }) => client.get('/api/v1/relayers')))
  expect(one?.pagination.total_items).toBe(1)
  expect(other).toEqual(one)
})

test('reads the relayers of an API key some times when it is created, replaced and deleted, and not for each of them', async () => {
  const connection = connectForTest(join(temporaryFolder(), 'a.sqlite'))
  const guard = new Vault(Buffer.alloc(32, 1))
  const sealed = guard.seal(Buffer.from('proof'), 'vault_check')
  const store = bindQueries(connection) as Store
  await store.protect(
    () => ({ guard, is_protected: false, sealed, wrapped: null }),
    () => expect.unreachable(),
  )
  const relayerIds: string[] = []
  for (let count = 0; count < 50; count += 1) relayerIds.push((await addRelayer({ store })).id)
  let read = 0
  connection.db.aggregate('json_group_array', {
    start: () => [] as unknown[],
    step: (list: unknown[], value: unknown) => {
      read += 1
      list.push(value)
    },
    result: JSON.stringify,
  })
  const countOf = async (work: () => Promise<unknown>) => {
    read = 0
    await work()
    return read / relayerIds.length
  }
  expect(await countOf(() => store.createApiKey(apiKeyOf('key', { relayer_ids: relayerIds })))).toBeLessThan(5)
  expect(await countOf(() => store.updateApiKey('key', { relayer_ids: relayerIds.toReversed() }))).toBeLessThan(5)
  expect(await store.apiKeys()).toMatchObject([{ id: 'key', relayer_ids: relayerIds }])
  expect(await countOf(() => store.deleteApiKey('key'))).toBeLessThan(5)
})
