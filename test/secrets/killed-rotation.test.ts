import { cpSync, existsSync } from 'node:fs'
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
    const seen = { old: 0, new: 0 }
    for (let step = 1; ; step += stride) {
      const DATA_DIR = join(temporaryFolder(), 'data')
      cpSync(service.data_dir, DATA_DIR, { recursive: true })
      const settings = { DATA_DIR, ...old, NEW_MASTER_KEY }
      const killed = { ...credentials, ...settings, KILL_AT: `${step}` }
      const end = await runCommand('rotate-master-key', [], killed, ['--import', './test/support/kill-at.ts'])
      if (end.code !== 0) {
        expect(end.code).toBe('SIGKILL')
        const [by_old, by_new] = [
          await opens({ DATA_DIR, ...old }),
          await opens({ DATA_DIR, MASTER_KEY: NEW_MASTER_KEY }),
        ]
        expect([by_old, by_new], `killed before step ${step}`).toEqual(by_old ? [true, false] : [false, true])
        seen[by_old ? 'old' : 'new'] += 1
        await rotate(settings)
      }
      expect(await opens({ DATA_DIR, MASTER_KEY: NEW_MASTER_KEY })).toBe(true)
      expect(existsSync(join(DATA_DIR, 'master-key'))).toBe(false)
      if (end.code !== 0) continue
      expect(end).toMatchObject({ err: '', out: expect.stringContaining('are encrypted under the new master key') })
      const { client } = await startTestService({ ...credentials, DATA_DIR, MASTER_KEY: NEW_MASTER_KEY })
      await client.post('/api/v1/relayers/{relayer_id}/sign', sign)
      break
    }
    expect(seen.old).toBeGreaterThan(0)
    expect(seen.new).toBeGreaterThan(0)
  },
)
