import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCommand } from '../support/command.ts'
import { encryptionServices } from '../support/key-encryption-services.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'

const { services, credentials, rotate, opens } = encryptionServices()
const sign = { path: { relayer_id: 'demo' }, body: { message: 'Hello' } }

/** Each costs some seconds: every one with EVERY_STEP=1, else one of four. */
const stride = process.env.EVERY_STEP ? 1 : 4

test.each([
  ['to a key service', () => ({}), () => ({ NEW_MASTER_KEY: services.aws.addKey() })],
  [
    'from a key service to a setting',
    () => ({ MASTER_KEY: services.aws.addKey() }),
    () => ({ NEW_MASTER_KEY: 'c3'.repeat(32) }),
  ],
])(
  'keeps the old or the new key usable after a kill before any step of a rotation %s, and completes it at the next run',
  async (_, before, after) => {
    const old: { MASTER_KEY?: string } = before()
    const service = await startTestService({ ...credentials, ...old })
    await service.client.post('/api/v1/relayers/{relayer_id}/sign', sign)
    await service.close()
    const { NEW_MASTER_KEY } = after()
    const rotateCopy = async (environment: Record<string, string>) => {
      const DataDir = join(temporaryFolder(), 'data')
      cpSync(service.data_dir, DataDir, { recursive: true })
      const settings = { DATA_DIR: DataDir, ...old, NEW_MASTER_KEY }
      const preload = ['--import', './test/support/kill-at.ts']
      const end = await runCommand('rotate-master-key', [], { ...credentials, ...settings, ...environment }, preload)
      return { end, settings, DATA_DIR: DataDir }
    }
    const isRotated = async (DataDir: string) => {
      expect(await opens({ DATA_DIR: DataDir, MASTER_KEY: NEW_MASTER_KEY })).toBe(true)
      expect(existsSync(join(DataDir, 'master-key'))).toBe(false)
    }

    const StepsFile = join(temporaryFolder(), 'steps')
    const { end, DATA_DIR } = await rotateCopy({ STEPS_FILE: StepsFile })
    expect(end).toMatchObject({ err: '', out: expect.stringContaining('are encrypted under the new master key') })
    await isRotated(DATA_DIR)
    const { client } = await startTestService({ ...credentials, DATA_DIR, MASTER_KEY: NEW_MASTER_KEY })
    await client.post('/api/v1/relayers/{relayer_id}/sign', sign)

    const seen = { old: 0, new: 0 }
    // The last one comes after the commit.
    for (let step = Number(readFileSync(StepsFile, 'utf8')); step >= 1; step -= stride) {
      const { end, settings, DATA_DIR } = await rotateCopy({ KILL_AT: `${step}` })
      expect(end.code).toBe('SIGKILL')
      const [byOld, byNew] = [await opens({ DATA_DIR, ...old }), await opens({ DATA_DIR, MASTER_KEY: NEW_MASTER_KEY })]
      expect([byOld, byNew], `killed before step ${step}`).toEqual(byOld ? [true, false] : [false, true])
      seen[byOld ? 'old' : 'new'] += 1
      await rotate(settings)
      await isRotated(DATA_DIR)
    }
    expect(seen.old).toBeGreaterThan(0)
    expect(seen.new).toBeGreaterThan(0)
  },
)
