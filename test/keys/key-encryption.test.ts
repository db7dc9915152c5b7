import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../server/domain/errors.ts'
import { runCommand } from '../support/command.ts'
import type { Encrypted } from '../support/envelope.ts'
import { encryptionServices } from '../support/key-encryption-services.ts'
import { expectKept } from '../support/secrets.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

const { services, credentials, fakes, rotate, opens } = encryptionServices()
const sign = { path: { relayer_id: 'demo' }, body: { message: 'Hello' } }

const start = (MasterKey: string, settings: Record<string, string> = {}) =>
  startTestService({ ...credentials, MASTER_KEY: MasterKey, ...settings })

/** The signature of the relayer `demo` of a service that starts in this folder, and ends. */
async function signedIn(DataDir: string, settings: Record<string, string>) {
  const service = await startTestService({ ...credentials, ...settings, DATA_DIR: DataDir })
  const { data } = await service.client.post('/api/v1/relayers/{relayer_id}/sign', sign)
  await service.close()
  return data.sig
}

/** A folder in which a service ran and signed. */
async function usedFolder(settings: Record<string, string>) {
  const service = await startTestService({ ...credentials, ...settings })
  const { data } = await service.client.post('/api/v1/relayers/{relayer_id}/sign', sign)
  await service.close()
  return { data_dir: service.data_dir, sig: data.sig }
}

/** The message of a start that must not succeed. */
async function refusal(DataDir: string, MasterKey?: string): Promise<string> {
  const error = await startTestService({
    ...credentials,
    DATA_DIR: DataDir,
    ...(MasterKey && { MASTER_KEY: MasterKey }),
  }).then(
    () => expect.fail('The service starts'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ConfigError)
  return (error as Error).message
}

const nameOf = (setting: string) => setting.split('?')[0] as string

function change(dataDir: string, statement: string, ...values: unknown[]): void {
  const db = new Database(join(dataDir, 'relayer.sqlite'))
  db.prepare(statement).run(...values)
  db.close()
}

describe.each(['aws', 'google', 'vault'] as const)('%s', (kind) => {
  test('generates a master key at the first start that only the key service can decrypt, and uses it at later starts', async () => {
    const service = services[kind]
    const MasterKey = service.addKey()
    const before = service.encrypted.length
    const running = await start(MasterKey)
    expect(service.encrypted).toHaveLength(before + 1)
    const { plain: key, bound_to } = service.encrypted.at(-1) as Encrypted
    expect(bound_to).toMatch(/evm-relayer-service.*master-key/)
    expect(key).toHaveLength(32)
    expect(readdirSync(running.data_dir)).not.toContain('master-key')
    const { data } = await running.client.post('/api/v1/relayers/{relayer_id}/sign', sign)
    expectKept(running, key, nameOf(MasterKey))
    await running.close()
    expect(await signedIn(running.data_dir, { MASTER_KEY: MasterKey })).toBe(data.sig)
    // The master key is what all else is encrypted under.
    change(running.data_dir, 'UPDATE vault_check SET wrapped_by = NULL, wrapped_key = NULL')
    expect(await signedIn(running.data_dir, { MASTER_KEY: key.toString('hex') })).toBe(data.sig)
    expect(service.encrypted).toHaveLength(before + 1)
  })

  test('fails the start with the reason when the key service is down, forbids the call or has another key, and when the ciphertext was changed', async () => {
    const service = services[kind]
    const MasterKey = service.addKey()
    const { data_dir, sig } = await usedFolder({ MASTER_KEY: MasterKey })
    const name = nameOf(MasterKey)
    const undecrypted = `${name} does not decrypt the master key`

    service.deny('decrypt')
    const denied = await refusal(data_dir, MasterKey)
    service.permit()
    expect(denied).toContain(`${undecrypted}: `)
    expect(denied).toMatch(service.words.denied)

    await service.stop()
    const away = await refusal(data_dir, MasterKey).finally(() => service.start())
    expect(away).toContain(undecrypted)
    expect(away).toMatch(service.words.away)

    const other = service.addKey()
    const wrong = await refusal(data_dir, other)
    expect(wrong).toContain(`${nameOf(other)} does not decrypt the master key (${name} encrypted it)`)
    expect(wrong).toMatch(service.words.other_key)
    expect(await signedIn(data_dir, { MASTER_KEY: MasterKey })).toBe(sig)

    // The last byte of the ciphertext belongs to its tag.
    const db = new Database(join(data_dir, 'relayer.sqlite'))
    const wrapped = Buffer.from(db.prepare<[], Buffer>('SELECT wrapped_key FROM vault_check').pluck().get() as Buffer)
    db.close()
    const at = wrapped.length - 3
    wrapped[at] = (wrapped[at] as number) ^ 1
    change(data_dir, 'UPDATE vault_check SET wrapped_key = ?', wrapped)
    expect(await refusal(data_dir, MasterKey)).toMatch(service.words.damaged)
  })

  test('rejects a key that may encrypt and not decrypt before anything is encrypted under it', async () => {
    const service = services[kind]
    const folder = temporaryFolder()
    for (const operation of ['encrypt', 'decrypt'] as const) {
      service.deny(operation)
      const message = await refusal(folder, service.addKey()).finally(() => service.permit())
      expect(message).toMatch(service.words.denied)
    }
    // Another key can be set for the same folder, because nothing was stored.
    await signedIn(folder, { MASTER_KEY: service.addKey() })
  })

  test('rotates the master key from a file to the key service, to another key there, and to a setting', async () => {
    const service = services[kind]
    const { data_dir: DataDir, sig } = await usedFolder({})
    const [first, second] = [service.addKey(), service.addKey()]
    const count = service.encrypted.length
    const toService = await rotate({ DATA_DIR: DataDir, NEW_MASTER_KEY: first })
    expect(toService).toContain(`${nameOf(first)} encrypts it: start the service with this key as MASTER_KEY`)
    expect(existsSync(join(DataDir, 'master-key'))).toBe(false)
    expect(await opens({ DATA_DIR: DataDir, MASTER_KEY: first })).toBe(true)
    // A new key under the same key of the service.
    await rotate({ DATA_DIR: DataDir, MASTER_KEY: first })
    await rotate({ DATA_DIR: DataDir, MASTER_KEY: first, NEW_MASTER_KEY: second })
    expect(await opens({ DATA_DIR: DataDir, MASTER_KEY: first })).toBe(false)
    expect(await opens({ DATA_DIR: DataDir, MASTER_KEY: second })).toBe(true)
    const again = await rotate({ DATA_DIR: DataDir, MASTER_KEY: first, NEW_MASTER_KEY: second })
    expect(again).toContain('under NEW_MASTER_KEY already')
    const local = 'c3'.repeat(32)
    await rotate({ DATA_DIR: DataDir, MASTER_KEY: second, NEW_MASTER_KEY: local })
    expect(await opens({ DATA_DIR: DataDir, MASTER_KEY: second })).toBe(false)
    expect(await signedIn(DataDir, { MASTER_KEY: local })).toBe(sig)
    const keys = service.encrypted.slice(count).map(({ plain }) => plain.toString('hex'))
    expect(new Set(keys).size).toBe(3)
    for (const key of keys) expect(toService + again).not.toContain(key)
  })
})

test('rejects a setting that does not match the database, and names the setting that does', async () => {
  const MasterKey = services.aws.addKey()
  const { data_dir } = await usedFolder({ MASTER_KEY: MasterKey })
  const set = `is encrypted by ${nameOf(MasterKey)}: set MASTER_KEY to it`
  expect(await refusal(data_dir, 'ab'.repeat(32))).toContain(set)
  expect(await refusal(data_dir)).toContain('set MASTER_KEY')
  const command = await runCommand('rights', ['verify'], { DATA_DIR: data_dir, MASTER_KEY: 'ab'.repeat(32) })
  expect(command).toMatchObject({ code: 1, err: expect.stringContaining(set) })

  const local = await usedFolder({})
  const message = await refusal(local.data_dir, MasterKey)
  expect(message).toContain(`NEW_MASTER_KEY=${nameOf(MasterKey)}`)
  expect(message).toContain('rotate-master-key')

  const { VAULT_ADDR: _, ...incomplete } = credentials
  await expect(startTestService({ ...incomplete, MASTER_KEY: services.vault.addKey() })).rejects.toThrow(
    /needs VAULT_ADDR, and VAULT_TOKEN or VAULT_ROLE_ID/,
  )
})

test('decrypts the master key by the key service in commands too', async () => {
  const MasterKey = services.aws.addKey()
  const { data_dir: DataDir, sig } = await usedFolder({ MASTER_KEY: MasterKey })
  const settings = { ...credentials, DATA_DIR: DataDir, MASTER_KEY: MasterKey }
  expect(await runCommand('rights', ['verify'], settings)).toMatchObject({ code: 0, err: '' })
  const made = await runCommand('api-key', ['create', '--name', 'a', '--scope', 'sign'], settings)
  expect(made.out, made.err).toMatch(/^relayer_/)
  expect(await signedIn(DataDir, { MASTER_KEY: MasterKey })).toBe(sig)
})

test('uses one master key in two services that start at once in a new folder', async () => {
  const MasterKey = services.aws.addKey()
  const DataDir = temporaryFolder()
  const both = await Promise.all([1, 2].map(() => start(MasterKey, { DATA_DIR: DataDir })))
  const sigs = await Promise.all(
    both.map(async ({ client }) => (await client.post('/api/v1/relayers/{relayer_id}/sign', sign)).data.sig),
  )
  expect(sigs[0]).toBe(sigs[1])
})

test('starts although the key service fails once', async () => {
  const MasterKey = services.vault.addKey()
  const { data_dir: DataDir, sig } = await usedFolder({ MASTER_KEY: MasterKey })
  fakes.vault.sealed = true
  const asked = fakes.vault.requests.length
  const signed = signedIn(DataDir, { MASTER_KEY: MasterKey })
  await expect.poll(() => fakes.vault.requests.length, { interval: 5 }).toBeGreaterThan(asked)
  fakes.vault.sealed = false
  expect(await signed).toBe(sig)
})
