import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCommand } from '../support/command.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

const commands: [string, string[]][] = [
  ['api-key', ['list']],
  ['api-key', ['create', '--name', 'first', '--scope', 'sign']],
  ['audit', ['verify']],
  ['backup', [join(tmpdir(), 'never-written.sqlite')]],
  ['rotate-master-key', []],
  ['rights', ['verify']],
  ['rights', ['accept']],
]

test.each(commands)(
  '%s %j with a wrong DATA_DIR names the database it looked for and creates nothing',
  async (name, parameters) => {
    const folder = temporaryFolder()
    for (const DataDir of [folder, join(folder, 'missing')]) {
      const end = await runCommand(name, parameters, { DATA_DIR: DataDir })
      expect.soft(end).toMatchObject({ code: 1, out: '' })
      expect
        .soft(end.err)
        .toContain(`There is no database ${join(DataDir, 'relayer.sqlite')}: check DATA_DIR and DATABASE_URL\n`)
      expect.soft(end.err).not.toMatch(/\n\s+at /)
    }
    expect(readdirSync(folder)).toEqual([])
  },
)

const helped = ['api-key', 'audit', 'backup', 'move-database', 'rotate-master-key', 'rights']

test.each(helped)('%s --help prints the usage and does nothing else', async (name) => {
  const folder = temporaryFolder()
  for (const word of ['--help', '-h']) {
    const end = await runCommand(name, [word], { DATA_DIR: folder, INIT_CWD: folder })
    expect(end).toMatchObject({ code: 0, out: expect.stringContaining(`npm run ${name}`), err: '' })
  }
  const unknown = await runCommand(name, ['--unknown=a-secret'], { DATA_DIR: folder, INIT_CWD: folder })
  expect(unknown).toMatchObject({ code: 1, out: '', err: expect.stringContaining(`npm run ${name}`) })
  expect(unknown.err).not.toContain('a-secret')
  expect(readdirSync(folder)).toEqual([])
})

test('the service starts with no argument', async () => {
  const folder = temporaryFolder()
  expect(await runCommand('../main', ['--help'], { DATA_DIR: folder })).toMatchObject({
    ...{ code: 0, out: expect.stringContaining('Usage: npm start'), err: '' },
  })
  expect(await runCommand('../main', ['--port=1'], { DATA_DIR: folder })).toMatchObject({ code: 1 })
  expect(readdirSync(folder)).toEqual([])
})

test('refuses api-key without the master key, creates no key file, and needs no API key', async () => {
  const service = await startTestService()
  await service.close()
  const DataDir = service.data_dir
  rmSync(join(DataDir, 'api-key'))
  expect(await runCommand('api-key', ['list'], { DATA_DIR: DataDir })).toMatchObject({ code: 0 })
  rmSync(join(DataDir, 'master-key'))
  const refused = await runCommand('api-key', ['list'], { DATA_DIR: DataDir })
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('set MASTER_KEY') })
  expect(readdirSync(DataDir).filter((file) => file.endsWith('-key'))).toEqual([])
})

test('reads the secret settings of commands from files', async () => {
  const secrets = temporaryFolder()
  const secret = (name: string, value: string) => {
    const file = join(secrets, name)
    writeFileSync(file, `${value}\n`)
    return file
  }
  const MasterKey = 'a1'.repeat(32)
  const service = await startTestService({ MASTER_KEY: MasterKey })
  await service.close()
  const settings = {
    DATABASE_URL_FILE: secret('database', join(service.data_dir, 'relayer.sqlite')),
    MASTER_KEY_FILE: secret('old', MasterKey),
  }
  const NewMasterKeyFile = secret('new', 'b2'.repeat(32))
  expect(await runCommand('api-key', ['list'], settings)).toMatchObject({ code: 0 })
  const both = await runCommand('rotate-master-key', [], {
    ...settings,
    NEW_MASTER_KEY_FILE: NewMasterKeyFile,
    NEW_MASTER_KEY: 'c3'.repeat(32),
  })
  expect(both).toMatchObject({ code: 1, err: expect.stringContaining('NEW_MASTER_KEY and NEW_MASTER_KEY_FILE') })
  expect(
    await runCommand('rotate-master-key', [], { ...settings, NEW_MASTER_KEY_FILE: NewMasterKeyFile }),
  ).toMatchObject({ code: 0 })
  const after = { ...settings, MASTER_KEY_FILE: NewMasterKeyFile }
  expect(await runCommand('rights', ['verify'], after)).toMatchObject({ code: 0 })
  expect(await runCommand('audit', ['verify'], after)).toMatchObject({ code: 0 })
})
