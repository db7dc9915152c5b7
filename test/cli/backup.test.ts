import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { runCommand } from '../support/command.ts'
import { createSigner } from '../support/resources.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

test('contains every acknowledged row in a backup under load, and a service starts on the backup', async () => {
  const service = await startTestService()
  const { client, data_dir } = service
  const acknowledged: string[] = []
  const load = { on: true }
  const clients = Array.from({ length: 4 }, async () => {
    while (load.on) acknowledged.push((await createSigner(client)).id)
  })
  await expect.poll(() => acknowledged.length).toBeGreaterThan(10)

  const before = [...acknowledged]
  const folder = temporaryFolder()
  const file = join(folder, 'relayer.sqlite')
  const end = await runCommand('backup', [file], { DATA_DIR: data_dir })
  expect(end).toMatchObject({ code: 0, err: '' })
  expect(end.out).toContain(file)
  await expect.poll(() => acknowledged.length, { message: 'the service goes on' }).toBeGreaterThan(before.length)
  load.on = false
  await Promise.all(clients)
  expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
  expect(readdirSync(folder)).toEqual(['relayer.sqlite'])

  copyFileSync(join(data_dir, 'master-key'), join(folder, 'master-key'))
  const restored = await startTestService({ DATA_DIR: folder })
  const all = await Array.fromAsync(restored.client.all('/api/v1/signers', { query: { per_page: 1_000 } }))
  const ids = new Set(all.map(({ id }) => id))
  expect(before.filter((id) => !ids.has(id))).toEqual([])
  const sign = { path: { relayer_id: 'demo' }, body: { message: 'Hello' } }
  const signed = await restored.client.post('/api/v1/relayers/{relayer_id}/sign', sign)
  expect(signed).toEqual(await client.post('/api/v1/relayers/{relayer_id}/sign', sign))
})

test('backs up a service that is stopped, and a database of another name', async () => {
  const DataDir = temporaryFolder()
  const DatabaseUrl = join(DataDir, 'other.sqlite')
  await (await startTestService({ DATA_DIR: DataDir, DATABASE_URL: DatabaseUrl })).close()
  const file = join(temporaryFolder(), 'copy.sqlite')
  expect((await runCommand('backup', [file], { DATABASE_URL: DatabaseUrl })).code).toBe(0)
  expect(existsSync(file)).toBe(true)
})

test('keeps an existing file, and reports an impossible path in one line', async () => {
  const { data_dir } = await startTestService()
  const file = join(temporaryFolder(), 'precious')
  writeFileSync(file, 'precious')
  const refused = async (parameters: string[], DataDir: string) => {
    const { code, out, err } = await runCommand('backup', parameters, { DATA_DIR: DataDir })
    expect({ code, out, stack: /\n\s+at /.test(err) }).toEqual({ code: 1, out: '', stack: false })
    return err
  }
  expect(await refused([file], data_dir)).toContain('never overwrites')
  expect(readFileSync(file, 'utf8')).toBe('precious')
  expect(await refused([join(temporaryFolder(), 'nowhere', 'copy')], data_dir)).toContain('nowhere')
  expect(await refused([join(temporaryFolder(), 'copy')], temporaryFolder())).toContain('There is no database')
  expect(await refused([], data_dir)).toContain('npm run backup -- FILE')
})

test('does not back up a database with missing rows', async () => {
  const service = await startTestService()
  await service.close()
  const db = new Database(join(service.data_dir, 'relayer.sqlite'))
  db.pragma('foreign_keys = OFF')
  db.exec('DELETE FROM signers')
  db.close()
  const folder = temporaryFolder()
  const end = await runCommand('backup', [join(folder, 'copy')], { DATA_DIR: service.data_dir })
  expect([end.code, end.err]).toEqual([1, expect.stringContaining('foreign key check')])
  expect(readdirSync(folder)).toEqual([])
})

test('does not back up a damaged database', async () => {
  const service = await startTestService()
  for (let index = 0; index < 50; index += 1) await createSigner(service.client)
  await service.close()
  const database = join(service.data_dir, 'relayer.sqlite')
  const bytes = readFileSync(database)
  bytes.fill(0xff, 8_192, bytes.length - 4_096)
  writeFileSync(database, bytes)
  const folder = temporaryFolder()
  expect((await runCommand('backup', [join(folder, 'copy')], { DATA_DIR: service.data_dir })).code).toBe(1)
  expect(readdirSync(folder)).toEqual([])
})
