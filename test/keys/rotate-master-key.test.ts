import { cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { verifyWebhook } from '../../client/webhook.ts'
import { runCommand } from '../support/command.ts'
import { startReceiver } from '../support/receiver.ts'
import { createSigner } from '../support/resources.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

const sign = { path: { relayer_id: 'demo' }, body: { message: 'Hello' } }
const demo = { path: { relayer_id: 'demo' } }

/** A folder in which a service ran, with keys and signing keys, and what its relayer signs. */
async function usedFolder(settings: Record<string, string> = {}, hookUrl = 'http://127.0.0.1:9/') {
  const service = await startTestService(settings)
  const { client, data_dir } = service
  for (let index = 0; index < 3; index += 1) await createSigner(client)
  const path = { notification_id: 'hook' }
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: hookUrl, signing_key: 'first' } })
  await client.patch('/api/v1/notifications/{notification_id}', { path, body: { signing_key: 'second' } })
  const signed = await client.post('/api/v1/relayers/{relayer_id}/sign', sign)
  await service.close()
  return { data_dir, signed }
}

async function signedIn(DataDir: string, settings: Record<string, string> = {}) {
  const service = await startTestService({ DATA_DIR: DataDir, ...settings })
  const signed = await service.client.post('/api/v1/relayers/{relayer_id}/sign', sign)
  await service.close()
  return signed
}

const keyIn = (folder: string) => readFileSync(join(folder, 'master-key'), 'utf8').trim()

test('opens everything with the new key and nothing with the old one after a rotation', async () => {
  const receiver = await startReceiver()
  const { data_dir, signed } = await usedFolder({}, receiver.url)
  const old = keyIn(data_dir)
  const sealed = () => {
    const db = new Database(join(data_dir, 'relayer.sqlite'), { readonly: true })
    const all = db
      .prepare<[], Buffer>(`
        SELECT secret FROM signers UNION ALL SELECT signing_key FROM notifications
        UNION ALL SELECT former_key FROM notifications UNION ALL SELECT sealed FROM vault_check`)
      .pluck()
      .all()
    db.close()
    return all
  }
  const sealedBefore = sealed()
  // One that is deleted is nobody's, and in the file still.
  const first = await startTestService({ DATA_DIR: data_dir })
  const { id } = (await first.client.get('/api/v1/signers')).data.at(-1) as { id: string }
  await first.client.delete('/api/v1/signers/{signer_id}', { path: { signer_id: id } })
  await first.close()
  expect(sealedBefore).toHaveLength(7)
  const tail = (bytes: Buffer) => bytes.subarray(8)
  const before = readFileSync(join(data_dir, 'relayer.sqlite'))
  expect(sealedBefore.every((bytes) => before.includes(tail(bytes)))).toBe(true)

  const end = await runCommand('rotate-master-key', [], { DATA_DIR: data_dir })
  expect(end).toMatchObject({ code: 0, err: '' })
  const key = keyIn(data_dir)
  expect(key).not.toBe(old)
  expect(end.out).not.toContain(key)
  // Backups that were made before need the old key.
  const former = /which is in (\S+) now/.exec(end.out)?.[1] as string
  expect(readFileSync(former, 'utf8').trim()).toBe(old)
  expect((statSync(former).mode & 0o777).toString(8)).toBe('600')
  expect((statSync(join(data_dir, 'master-key')).mode & 0o777).toString(8)).toBe('600')
  expect(existsSync(join(data_dir, 'master-key.next'))).toBe(false)
  // The file contains no bytes that were sealed under the old key.
  const after = readFileSync(join(data_dir, 'relayer.sqlite'))
  expect(sealedBefore.filter((bytes) => after.includes(tail(bytes)))).toEqual([])

  expect(await signedIn(data_dir)).toEqual(signed)
  await expect(startTestService({ DATA_DIR: data_dir, MASTER_KEY: old })).rejects.toThrow(/another master key/)
  const { client } = await startTestService({ DATA_DIR: data_dir })
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_id: 'hook' } })
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { paused: true } })
  await expect.poll(() => receiver.got.length).toBe(1)
  const { headers, body, event } = receiver.got[0] as (typeof receiver.got)[0]
  for (const signingKey of ['first', 'second']) {
    expect(await verifyWebhook(signingKey, headers, body), signingKey).toEqual(event)
  }
})

test('rotates between keys in settings, stores and shows neither, and may be repeated', async () => {
  const [MasterKey, NewMasterKey] = ['a1'.repeat(32), 'b2'.repeat(32)]
  const { data_dir, signed } = await usedFolder({ MASTER_KEY: MasterKey })
  const settings = { DATA_DIR: data_dir, NODE_ENV: 'production', MASTER_KEY: MasterKey }
  const missing = await runCommand('rotate-master-key', [], settings)
  expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('NEW_MASTER_KEY must be set')])
  for (const what of ['encrypted under the new', 'under NEW_MASTER_KEY already']) {
    const end = await runCommand('rotate-master-key', [], { ...settings, NEW_MASTER_KEY: NewMasterKey })
    expect(end).toMatchObject({ code: 0, err: '', out: expect.stringContaining(what) })
    expect(end.out).not.toMatch(/a1a1|b2b2/)
  }
  expect(existsSync(join(data_dir, 'master-key'))).toBe(false)
  expect(await signedIn(data_dir, { MASTER_KEY: NewMasterKey })).toEqual(signed)
})

test('refuses a rotation, and changes nothing, while a service has the database open, even an idle one', async () => {
  const service = await startTestService()
  const before = keyIn(service.data_dir)
  const { code, out, err } = await runCommand('rotate-master-key', [], { DATA_DIR: service.data_dir })
  expect([code, out, err]).toEqual([1, '', expect.stringContaining('stop every service')])
  expect(keyIn(service.data_dir)).toBe(before)
  await service.client.post('/api/v1/relayers/{relayer_id}/sign', sign)
})

test('rejects a wrong key, an argument, and a secret that does not open', async () => {
  const { data_dir: DataDir, signed } = await usedFolder()
  const refused = async (parameters: string[], settings: Record<string, string>) => {
    const end = await runCommand('rotate-master-key', parameters, { DATA_DIR: DataDir, ...settings })
    expect([end.code, end.out, /\n\s+at |cdcd/.test(end.err)]).toEqual([1, '', false])
    return end.err
  }
  const another = 'cd'.repeat(32)
  expect(await refused([another], {})).toContain('command line')
  expect(await refused([], { MASTER_KEY: another, NEW_MASTER_KEY: 'ef'.repeat(32) })).toContain('another master key')
  expect(await refused([], { NEW_MASTER_KEY: 'cdcd' })).toContain('NEW_MASTER_KEY must be')
  expect(await signedIn(DataDir)).toEqual(signed)

  const db = new Database(join(DataDir, 'relayer.sqlite'))
  db.exec(`UPDATE notifications SET signing_key = x'00'`)
  db.close()
  expect(await refused([], {})).toContain('notifications:hook')
  expect(await signedIn(DataDir)).toEqual(signed)
})

/** Each costs some seconds: every one with EVERY_STEP=1, else one of three. */
const stride = process.env.EVERY_STEP ? 1 : 3

test('leaves a service that signs as before after a kill before any step of a rotation, and succeeds at the next run', async () => {
  const { data_dir, signed } = await usedFolder()
  const old = keyIn(data_dir)
  const seen = { old: 0, new: 0 }
  for (let step = 1; ; step += stride) {
    const folder = join(temporaryFolder(), 'data')
    cpSync(data_dir, folder, { recursive: true })
    const settings = { DATA_DIR: folder, KILL_AT: String(step) }
    const { code } = await runCommand('rotate-master-key', [], settings, ['--import', './test/support/kill-at.ts'])
    if (code === 0) break
    expect(code).toBe('SIGKILL')
    // As it was left, once for a service, and once for the next run.
    const again = join(temporaryFolder(), 'data')
    cpSync(folder, again, { recursive: true })
    expect(await signedIn(folder), `killed before step ${step}`).toEqual(signed)
    seen[keyIn(folder) === old ? 'old' : 'new'] += 1
    expect((await runCommand('rotate-master-key', [], { DATA_DIR: again })).code).toBe(0)
    expect(keyIn(again)).not.toBe(old)
    expect(await signedIn(again)).toEqual(signed)
    for (const done of [folder, again]) rmSync(done, { recursive: true })
  }
  // Before its commit the old key works, and after it the new one.
  expect(seen.old).toBeGreaterThan(5 / stride)
  expect(seen.new).toBeGreaterThan(0)
})

test('lists every column of bytes as sealed and rotated, or as not secret', async () => {
  const { data_dir } = await startTestService()
  const db = new Database(join(data_dir, 'relayer.sqlite'), { readonly: true })
  const columns = db
    .prepare<[], string>(`
      SELECT tables.name || '.' || columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
      WHERE tables.type = 'table' AND columns.type = 'BLOB' ORDER BY 1`)
    .pluck()
    .all()
  db.close()
  const sealed = ['notifications.former_key', 'notifications.signing_key', 'signers.secret', 'vault_check.sealed']
  const macs = [
    'api_keys',
    'facilitators',
    'networks',
    'notifications',
    'pools',
    'relayers',
    'signers',
    'sponsorships',
  ].map((table) => `${table}.rights_mac`)
  const open = [
    'attempts.raw',
    'transaction_data.data',
    // Encrypted by a key service.
    'vault_check.wrapped_key',
    'api_keys.former_tokens',
    'api_keys.secret_hash',
    'audit.hash',
    'audit_checkpoints.hash',
    // MACs, which a rotation deletes.
    'token_logins.accepted',
    'token_logins.tried',
    ...macs,
  ]
  expect(columns).toEqual([...sealed, ...open, 'rights_manifest.sealed'].sort())
})

test('ignores a leftover new key that opens nothing', async () => {
  const { data_dir, signed } = await usedFolder()
  writeFileSync(join(data_dir, 'master-key.next'), 'ef'.repeat(32))
  expect(await signedIn(data_dir)).toEqual(signed)
  expect((await runCommand('rotate-master-key', [], { DATA_DIR: data_dir })).code).toBe(0)
  expect(await signedIn(data_dir)).toEqual(signed)
})
