import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { createRelayerClient } from '../../client/index.ts'
import { Vault } from '../../server/keys/secret-encryption.ts'
import { makeToken } from '../../server/lib/ids.ts'
import { runCommand } from '../support/command.ts'
import { startReceiver } from '../support/receiver.ts'
import { createRelayer, createSigner } from '../support/resources.ts'
import { startTestService, type TestService } from '../support/service.ts'

const MasterKey = '5e'.repeat(32)
const signPath = '/api/v1/relayers/{relayer_id}/sign'
const relayerPath = '/api/v1/relayers/{relayer_id}'

/** What somebody does who can write the database, and has no master key. Every process is told that its caches are stale. */
function tamper({ data_dir }: Pick<TestService, 'data_dir'>, work: string | ((db: Database.Database) => void)) {
  const db = new Database(join(data_dir, 'relayer.sqlite'))
  db.pragma('foreign_keys = OFF')
  if (typeof work === 'string') db.exec(work)
  else work(db)
  db.exec('UPDATE generation SET value = value + 1')
  db.close()
}

const start = (settings: Record<string, string> = {}) =>
  startTestService({ MASTER_KEY: MasterKey, METRICS_PORT: '0', ...settings })

const sign = ({ client }: Pick<TestService, 'client'>, relayerId: string) =>
  client.post(signPath, { path: { relayer_id: relayerId }, body: { message: 'Hello' } })
const status = (promise: Promise<unknown>): Promise<number> =>
  promise.then(
    () => 200,
    (error) => error.status,
  )
const refused = ({ logged }: TestService) =>
  logged
    .filter((line) => line.includes('row refused'))
    .map((line) => JSON.parse(line))
    .map(({ level, table, id, reason }) => `${level} ${table} ${id}: ${reason}`)

/** A service with a strict relayer, another one, a limited key of it, and a webhook. */
async function scene() {
  const service = await start()
  const { client } = service
  await createRelayer(client, { id: 'strict', policies: { allow_messages: false } })
  await createRelayer(client, { id: 'other' })
  const { data } = await client.post('/api/v1/api-keys', {
    body: { name: 'limited', scopes: ['sign', 'read'], relayer_ids: ['strict'] },
  })
  const limited = { client: createRelayerClient({ baseUrl: service.url, token: data.token }) }
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: 'https://hooks.example.com' } })
  return { service, limited, api_key_id: data.api_key.id, token: data.token }
}

describe('rows that another program changed', () => {
  test('refuses and reports a forged API key, and accepts the others', async () => {
    const { service, limited } = await scene()
    const id = '0198c0de-0000-7000-8000-000000000000'
    const { token, secret_hash } = makeToken(id)
    tamper(service, (db) => {
      const forge = `INSERT INTO api_keys (id, name, secret_hash, scopes, is_limited, pool_ids, created_at, rights_version, rights_mac)
        SELECT ?, 'forged', ?, '["sign","send","read","notifications","manage"]', 0, '[]', created_at, rights_version, rights_mac FROM api_keys`
      db.prepare(forge).run(id, secret_hash)
    })
    const forged = { client: createRelayerClient({ baseUrl: service.url, token }) }
    expect(await status(sign(forged, 'other'))).toBe(401)
    expect(await status(limited.client.get(relayerPath, { path: { relayer_id: 'strict' } }))).toBe(200)
    expect(refused(service)).toEqual([`50 api_keys ${id}: changed`])
    const metrics = await (await fetch(service.metrics_url as string)).text()
    expect(metrics).toContain('relayer_rows_refused_total{table="api_keys"} 1')
    // It can be deleted, and then all is well.
    await service.client.delete('/api/v1/api-keys/{api_key_id}', { path: { api_key_id: id } })
    const again = await restarted(service)
    expect(refused(again)).toEqual([])
  })

  test.each([
    ['more scopes', `UPDATE api_keys SET scopes = '["sign","send","read","notifications","manage"]'`],
    ['no limit', 'UPDATE api_keys SET is_limited = 0'],
    [
      'another relayer',
      `INSERT INTO api_key_relayers SELECT api_keys.row_id, relayers.row_id FROM api_keys, relayers WHERE relayers.id = 'other'`,
    ],
    ['no expiry', `UPDATE api_keys SET expires_at = '2999-01-01T00:00:00.000Z'`],
  ])('refuses an API key with %s', async (_, statement) => {
    const { service, limited, api_key_id } = await scene()
    const get = () => status(limited.client.get(relayerPath, { path: { relayer_id: 'strict' } }))
    expect(await get()).toBe(200)
    tamper(service, statement)
    expect(await get()).toBe(401)
    expect(refused(service)).toEqual([`50 api_keys ${api_key_id}: changed`])
  })

  test.each([
    ['policies', `UPDATE relayers SET policies = '{}' WHERE id = 'strict'`, 'relayers strict'],
    ['pause', `UPDATE relayers SET paused = 0, chain_id = 5 WHERE id = 'strict'`, 'relayers strict'],
    ['signer', `UPDATE relayers SET signer_id = 'demo' WHERE id = 'strict'`, 'relayers strict'],
    [
      'secret',
      `UPDATE signers SET secret = (SELECT secret FROM signers WHERE id = 'demo')
       WHERE id = (SELECT signer_id FROM relayers WHERE id = 'strict')`,
      'signers',
    ],
  ])('signs nothing with a relayer with another %s, and signs with the others', async (_, statement, name) => {
    const { service } = await scene()
    expect(await status(sign(service, 'strict'))).toBe(403)
    tamper(service, statement)
    await expect(sign(service, 'strict')).rejects.toMatchObject({ status: 503, details: [{ path: 'store' }] })
    expect(await status(sign(service, 'other'))).toBe(200)
    expect(refused(service)).toEqual([expect.stringContaining(`50 ${name}`)])
    const again = await restarted(service)
    expect(await status(sign(again, 'strict'))).toBe(503)
    expect(await status(sign(again, 'other'))).toBe(200)
    expect(refused(again)).toEqual([expect.stringContaining(`50 ${name}`)])
  })

  test('refuses a change of it by the API, so that it gets no valid MAC', async () => {
    const { service } = await scene()
    tamper(service, `UPDATE relayers SET policies = '{}' WHERE id = 'strict'`)
    const path = { relayer_id: 'strict' }
    expect(await status(service.client.patch(relayerPath, { path, body: { name: 'Harmless' } }))).toBe(503)
    await service.client.delete(relayerPath, { path })
    await createRelayer(service.client, { id: 'strict' })
    expect(await status(sign(service, 'strict'))).toBe(200)
    expect(refused(await restarted(service))).toEqual([])
  })

  test('does not use a changed node of a network or a changed target of a notification', async () => {
    const receiver = await startReceiver()
    const { service } = await scene()
    await service.client.patch(relayerPath, { path: { relayer_id: 'other' }, body: { notification_id: 'hook' } })
    tamper(service, (db) => {
      db.prepare(`UPDATE notifications SET url = ? WHERE id = 'hook'`).run(receiver.url)
      db.prepare(`UPDATE networks SET rpc_urls = ?`).run(JSON.stringify([{ url: receiver.url, weight: 100 }]))
    })
    await service.client.patch(relayerPath, { path: { relayer_id: 'other' }, body: { paused: true } })
    const balance = service.client.get('/api/v1/relayers/{relayer_id}/balance', { path: { relayer_id: 'other' } })
    expect(await status(balance)).toBe(503)
    await expect
      .poll(() => refused(service).sort())
      .toEqual(['50 networks evm:local: changed', '50 notifications hook: changed'])
    expect(receiver.got).toEqual([])
  })

  test('does not use the key of another row through a swapped id', async () => {
    const { service } = await scene()
    // As if the index on ids led from one to the other.
    tamper(
      service,
      `UPDATE relayers SET id = 'swap' WHERE id = 'other'; UPDATE relayers SET id = 'other' WHERE id = 'demo'`,
    )
    expect(await status(sign(service, 'other'))).toBe(503)
  })
})

describe('older states', () => {
  test.each([true, false])('refuses an older state of one row in a running service: %s', async (runs) => {
    const { service } = await scene()
    const path = { relayer_id: 'other' }
    const older = rowOf(service, 'other')
    await service.client.patch(relayerPath, { path, body: { policies: { allow_messages: false } } })
    expect(await status(sign(service, 'other'))).toBe(403)
    if (!runs) await service.close()
    tamper(service, (db) => {
      const columns = Object.keys(older)
      db.prepare(
        `UPDATE relayers SET ${columns.map((name) => `${name} = $${name}`).join(', ')} WHERE id = 'other'`,
      ).run(older)
    })
    const now = runs ? service : await start({ DATA_DIR: service.data_dir })
    expect(await status(sign(now, 'other'))).toBe(503)
    expect(refused(now)).toContain('50 relayers null: rows are missing or rolled back')
    if (runs) expect(refused(now)).toContain('50 relayers other: rolled back')
  })

  test('signs nothing for the laxer relayer on an address after a database edit removed the strict one', async () => {
    const service = await start()
    const { id: signerId } = await createSigner(service.client)
    await service.client.post('/api/v1/networks', {
      body: { name: 'mainnet', network_type: 'evm', chain_id: 1, rpc_urls: ['http://127.0.0.1:9'] },
    })
    const policies = { allow_messages: false }
    await createRelayer(service.client, { id: 'strict', signer_id: signerId, network: 'mainnet', policies })
    await createRelayer(service.client, { id: 'lax', signer_id: signerId })
    expect(await status(sign(service, 'lax'))).toBe(403)
    tamper(service, `DELETE FROM relayers WHERE id = 'strict'`)
    expect(await status(sign(service, 'lax'))).toBe(503)
  })

  test('accepts a whole backup, because rows and manifest belong together', async () => {
    const { service } = await scene()
    const copy = join(service.data_dir, 'copy')
    expect((await runCommand('backup', [copy], { DATA_DIR: service.data_dir })).code).toBe(0)
    await service.client.patch(relayerPath, { path: { relayer_id: 'other' }, body: { paused: true } })
    await service.close()
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(service.data_dir, `relayer.sqlite${suffix}`), { force: true })
    copyFileSync(copy, join(service.data_dir, 'relayer.sqlite'))
    const restored = await start({ DATA_DIR: service.data_dir })
    expect(await status(sign(restored, 'other'))).toBe(200)
    expect(refused(restored)).toEqual([])
  })
})

describe('the protection', () => {
  test('trusts no rows without the manifest, or with an older one', async () => {
    const { service } = await scene()
    const older = withDatabase(service, (db) => db.prepare('SELECT sealed FROM rights_manifest').pluck().get())
    await createRelayer(service.client, { id: 'later' })
    await service.close()
    tamper(service, (db) => db.prepare('UPDATE rights_manifest SET sealed = ?').run(older))
    const first = await start({ DATA_DIR: service.data_dir })
    expect(await status(sign(first, 'other'))).toBe(503)
    await first.close()
    tamper(service, 'DELETE FROM rights_manifest; UPDATE relayers SET rights_mac = NULL, rights_version = 0')
    expect(await status(sign(await start({ DATA_DIR: service.data_dir }), 'other'))).toBe(503)
  })

  test('does not start without the proof of the master key while rows exist', async () => {
    const { service } = await scene()
    await service.close()
    tamper(service, 'DELETE FROM vault_check; DELETE FROM rights_manifest')
    await expect(start({ DATA_DIR: service.data_dir })).rejects.toThrow(/proof of its master key.*is missing/)
  })

  test('refuses a trigger in the database at the start and at writes', async () => {
    const { service } = await scene()
    tamper(
      service,
      `CREATE TRIGGER planted AFTER INSERT ON notifications BEGIN UPDATE relayers SET policies = '{}'; END`,
    )
    const made = service.client.post('/api/v1/notifications', { body: { url: 'https://hooks.example.com' } })
    expect(await status(made)).toBe(500)
    expect(await status(sign(service, 'strict'))).toBe(403)
    await service.close()
    await expect(start({ DATA_DIR: service.data_dir })).rejects.toThrow(/triggers or views.*planted/)
  })

  test('adds MACs to an older database at the first start, once, and logs this', async () => {
    const { service } = await scene()
    await service.close()
    const unprotect = (db: Database.Database) => {
      for (const table of ['api_keys', 'relayers', 'networks', 'notifications', 'signers']) {
        db.exec(`UPDATE ${table} SET rights_version = 0, rights_mac = NULL`)
      }
      db.exec('DELETE FROM rights_manifest')
      const before = new Vault(Buffer.from(MasterKey, 'hex')).seal(Buffer.from('relayer'), 'vault_check')
      db.prepare('UPDATE vault_check SET sealed = ?').run(before)
    }
    tamper(service, unprotect)
    const said = ({ logged }: TestService) => logged.filter((line) => line.includes('now carry a MAC'))
    const first = await start({ DATA_DIR: service.data_dir })
    expect(said(first)).toHaveLength(1)
    expect(await status(sign(first, 'other'))).toBe(200)
    const again = await restarted(first)
    expect([said(again), refused(again)]).toEqual([[], []])
    tamper(again, `UPDATE relayers SET policies = '{}' WHERE id = 'strict'`)
    expect(await status(sign(again, 'strict'))).toBe(503)
  })

  test('names changed rows with `verify`, refuses a rotation, and accepts the rows as they are with `accept`', async () => {
    const { service } = await scene()
    await service.close()
    const settings = { DATA_DIR: service.data_dir, MASTER_KEY: MasterKey }
    const run = (...words: string[]) => runCommand('rights', words, settings)
    expect(await run('verify')).toMatchObject({ code: 0, out: expect.stringContaining('are unchanged') })
    tamper(service, `UPDATE relayers SET policies = '{}' WHERE id = 'strict'; DELETE FROM notifications`)
    const found = await run('verify')
    expect(found.code).toBe(1)
    expect(found.err).toContain('relayers "strict": changed')
    expect(found.err).toContain('notifications: rows are missing')
    const rotation = await runCommand('rotate-master-key', [], { ...settings, NEW_MASTER_KEY: '6f'.repeat(32) })
    expect([rotation.code, rotation.err]).toEqual([1, expect.stringContaining('relayers:strict')])
    expect(await run('accept')).toMatchObject({ code: 0 })
    expect(await run('verify')).toMatchObject({ code: 0 })
    const now = await start({ DATA_DIR: service.data_dir })
    expect(await status(sign(now, 'strict'))).toBe(200)
    const { data } = await now.client.get('/api/v1/audit', { query: { operation: 'acceptRights' } })
    expect(data).toHaveLength(1)
  })

  test('trusts changes of another process of the service on the same database', async () => {
    const one = await start()
    const other = await start({ DATA_DIR: one.data_dir })
    await createRelayer(one.client, { id: 'a' })
    for (const [by, at] of [
      [one, other],
      [other, one],
      [one, other],
    ] as const) {
      for (const allowMessages of [false, true]) {
        await by.client.patch(relayerPath, {
          path: { relayer_id: 'a' },
          body: { policies: { allow_messages: allowMessages } },
        })
        expect(await status(sign(at, 'a'))).toBe(allowMessages ? 200 : 403)
      }
    }
    await one.client.delete(relayerPath, { path: { relayer_id: 'a' } })
    expect(await status(sign(other, 'a'))).toBe(404)
    expect(await status(sign(other, 'demo'))).toBe(200)
    expect([refused(one), refused(other)]).toEqual([[], []])
  })
})

async function restarted(service: TestService): Promise<TestService> {
  await service.close()
  return start({ DATA_DIR: service.data_dir, API_KEY: service.api_key })
}

function withDatabase<T>({ data_dir }: TestService, work: (db: Database.Database) => T): T {
  const db = new Database(join(data_dir, 'relayer.sqlite'), { readonly: true })
  try {
    return work(db)
  } finally {
    db.close()
  }
}

const rowOf = (service: TestService, id: string) =>
  withDatabase(service, (db) => db.prepare('SELECT * FROM relayers WHERE id = ?').get(id) as Record<string, unknown>)
