import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ConfigError } from '../../server/domain/errors.ts'
import { fileFault, folderFault } from '../../server/keys/private-files.ts'
import { createFile, lineOf } from '../../server/lib/durable-file.ts'
import { nodeEnvironment } from '../support/node-environment.ts'
import { production } from '../support/resources.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

/** The output of a start that must fail. */
async function refusal(settings: Record<string, string>): Promise<string> {
  const error = await startTestService(settings).then(
    () => expect.fail('The service starts'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ConfigError)
  return (error as Error).message
}

/** A data folder in which a service ran and ended. */
async function usedFolder(settings: Record<string, string> = {}): Promise<string> {
  const service = await startTestService(settings)
  await service.close()
  return service.data_dir
}

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

const sign = { path: { relayer_id: 'demo' }, body: { message: 'Hello' } }

test('signs with the same key and accepts the same API key after a restart', async () => {
  const first = await startTestService()
  const before = await first.client.post('/api/v1/relayers/{relayer_id}/sign', sign)
  await first.close()
  const second = await startTestService({ DATA_DIR: first.data_dir })
  expect(second.api_key).toBe(first.api_key)
  expect(await second.client.post('/api/v1/relayers/{relayer_id}/sign', sign)).toEqual(before)
})

test('does not start on a database whose master key is missing, gives the reason, and generates no new key', async () => {
  const DataDir = await usedFolder()
  rmSync(join(DataDir, 'master-key'))
  for (const attempt of [1, 2]) {
    const message = await refusal({ DATA_DIR: DataDir })
    expect(message, `attempt ${attempt}`).toContain('MASTER_KEY')
    expect(message).toContain(join(DataDir, 'relayer.sqlite'))
  }
  expect(readdirSync(DataDir)).not.toContain('master-key')
})

test('does not start on a database under another master key, wherever the key comes from, and gives the reason', async () => {
  const DataDir = await usedFolder()
  const another = 'ab'.repeat(32)
  expect(await refusal({ DATA_DIR: DataDir, MASTER_KEY: another })).toMatch(/another master key/)
  writeFileSync(join(DataDir, 'master-key'), another)
  const message = await refusal({ DATA_DIR: DataDir })
  expect(message).toMatch(/another master key/)
  expect(message).not.toContain(another)
})

test('starts with the MASTER_KEY that the database was created with, in hex or base64, and not without it', async () => {
  const MasterKey = 'cd'.repeat(32)
  const DataDir = await usedFolder({ MASTER_KEY: MasterKey })
  expect(await refusal({ DATA_DIR: DataDir })).toContain('MASTER_KEY')
  const again = await startTestService({
    DATA_DIR: DataDir,
    MASTER_KEY: Buffer.from(MasterKey, 'hex').toString('base64'),
  })
  await again.client.post('/api/v1/relayers/{relayer_id}/sign', sign)
})

test.each(['', 'not a key\n'])('names a key file that contains %j without its content', async (content) => {
  for (const name of ['master-key', 'api-key']) {
    const DataDir = temporaryFolder()
    writeFileSync(join(DataDir, name), content)
    const message = await refusal({ DATA_DIR: DataDir })
    expect(message).toContain(join(DataDir, name))
    expect(message).not.toContain('not a key')
  }
})

test('stores no key on the disk and creates no demo relayer in production', async () => {
  const service = await startTestService(production)
  expect(readdirSync(service.data_dir).filter((name) => !name.startsWith('relayer.sqlite'))).toEqual([])
  expect(service.demo).toBe(false)
  const { data } = await service.client.get('/api/v1/relayers')
  expect(data).toEqual([])
})

test('creates keys and databases that only their user can read', async () => {
  const { data_dir } = await startTestService()
  for (const name of ['master-key', 'api-key', 'relayer.sqlite', 'relayer.sqlite-wal', 'relayer.sqlite-shm']) {
    expect(modeOf(join(data_dir, name)), name).toBe('600')
  }
})

test('creates files that only the user can read at the first start, even with a lax umask', async () => {
  const DataDir = join(temporaryFolder(), 'data')
  const main = join(import.meta.dirname, '..', '..', 'server', 'main.ts')
  const script = `umask 000; exec "$0" "$1"`
  const env = { ...nodeEnvironment, PORT: '0', DATA_DIR: DataDir }
  const child = spawn('sh', ['-c', script, process.execPath, main], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  // The greeting comes when all is written.
  await once(child.stdout, 'data')
  const modes = readdirSync(DataDir).map((name) => [name, (statSync(join(DataDir, name)).mode & 0o777).toString(8)])
  expect(Object.fromEntries(modes)).toEqual({
    'api-key': '600',
    'master-key': '600',
    'relayer.sqlite': '600',
    'relayer.sqlite-shm': '600',
    'relayer.sqlite-wal': '600',
  })
  expect((statSync(DataDir).mode & 0o777).toString(8)).toBe('700')
  child.kill('SIGTERM')
  expect((await once(child, 'exit'))[0]).toBe(0)
})

test('does not use a draft or a link that somebody else made as the key file', () => {
  const folder = temporaryFolder()
  const file = join(folder, 'master-key')
  const planted = join(folder, 'planted')
  // The name that a draft had once; now nobody knows it.
  writeFileSync(`${file}.${process.pid}`, '')
  chmodSync(`${file}.${process.pid}`, 0o666)
  createFile(file, lineOf('secret'))
  expect(modeOf(file)).toBe('600')

  writeFileSync(planted, '')
  symlinkSync(planted, join(folder, 'api-key'))
  expect(() => createFile(join(folder, 'api-key'), lineOf('secret'))).toThrow(/EEXIST/)
  expect(statSync(planted).size).toBe(0)
})

test('refuses folders that others can write to and files that others can read in production', async () => {
  const settings = { ...production, DATA_DIR: await usedFolder(production) }
  const database = join(settings.DATA_DIR, 'relayer.sqlite')
  for (const mode of [0o770, 0o702, 0o1777]) {
    chmodSync(settings.DATA_DIR, mode)
    expect(await refusal(settings)).toBe(
      `The folder ${settings.DATA_DIR} is writable by other users (mode ${mode.toString(8)}): run chmod go-w on it`,
    )
  }
  chmodSync(settings.DATA_DIR, 0o755)
  chmodSync(database, 0o640)
  expect(await refusal(settings)).toMatch(/relayer.sqlite is readable or writable by other users \(mode 640\)/)
  expect(modeOf(database)).toBe('640')
  chmodSync(database, 0o600)
  await startTestService(settings)
})

test('refuses in production what others can replace on the way to a file, through symbolic links, and key files that they can read', async () => {
  const root = temporaryFolder()
  const open = join(root, 'open')
  const data = join(open, 'data')
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const link = join(root, 'link')
  symlinkSync(data, link)
  const close = async (settings: Record<string, string>) => (await startTestService(settings)).close()
  await close({ ...production, DATA_DIR: link })
  chmodSync(open, 0o777)
  for (const DataDir of [data, link]) {
    expect(await refusal({ ...production, DATA_DIR: DataDir })).toBe(
      `The folder ${open} is writable by other users (mode 777): run chmod go-w on it`,
    )
  }
  // A link in a folder that others can write to, to a safe folder.
  const planted = join(open, 'planted')
  const safe = join(root, 'safe')
  mkdirSync(safe, { mode: 0o700 })
  symlinkSync(safe, planted)
  expect(await refusal({ ...production, DATA_DIR: planted })).toMatch(/open is writable by other users/)
  chmodSync(open, 0o755)

  const journal = join(data, 'relayer.sqlite-journal')
  writeFileSync(journal, '', { mode: 0o600 })
  chmodSync(journal, 0o666)
  expect(await refusal({ ...production, DATA_DIR: data })).toMatch(
    /sqlite-journal is readable or writable by other users/,
  )
  unlinkSync(journal)

  const { MASTER_KEY, ...others } = production
  const MasterKeyFile = join(root, 'key')
  writeFileSync(MasterKeyFile, MASTER_KEY, { mode: 0o600 })
  const settings = { ...others, MASTER_KEY_FILE: MasterKeyFile, DATA_DIR: data }
  for (const mode of [0o666, 0o644, 0o620]) {
    chmodSync(MasterKeyFile, mode)
    expect(await refusal(settings)).toMatch(/key is readable or writable by other users/)
  }
  chmodSync(MasterKeyFile, 0o600)
  await close(settings)
})

test('logs them outside production, and corrects the mode of the user’s own files', async () => {
  const DataDir = await usedFolder()
  const files = ['master-key', 'api-key', 'relayer.sqlite'].map((name) => join(DataDir, name))
  chmodSync(DataDir, 0o777)
  for (const file of files) chmodSync(file, 0o666)
  const { logged } = await startTestService({ DATA_DIR: DataDir })
  for (const path of [DataDir, ...files]) {
    const lines = logged.filter((line) => line.includes('files are not private') && line.includes(`${path} is `))
    expect(lines, path).toHaveLength(1)
    expect(JSON.parse(lines[0] as string)).toMatchObject({ level: 40 })
  }
  expect(files.map(modeOf)).toEqual(['600', '600', '600'])
})

test('refuses a folder or a file of another user, except a folder of root', () => {
  const [own, other, root] = [1000, 1001, 0]
  const faults = [
    folderFault({ uid: own, mode: 0o755 }, own),
    folderFault({ uid: root, mode: 0o755 }, own),
    folderFault({ uid: other, mode: 0o700 }, own),
    folderFault({ uid: other, mode: 0o700 }, root),
    fileFault({ uid: own, mode: 0o600 }, own),
    fileFault({ uid: own, mode: 0o400 }, own),
    fileFault({ uid: root, mode: 0o600 }, own),
    fileFault({ uid: own, mode: 0o604 }, own),
  ]
  expect(faults.map((fault) => fault?.slice(0, 14))).toEqual([
    ...[undefined, undefined, 'belongs to use', 'belongs to use'],
    ...[undefined, undefined, 'belongs to use', 'is readable or'],
  ])
})
