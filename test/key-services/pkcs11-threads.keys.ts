import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'
import { createSoftHsm, pin } from './softhsm.ts'
import { compileWatchedModule } from './watched-module.ts'

const folder = mkdtempSync(join(tmpdir(), 'relayer-hsm-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const { token_label, addKey } = createSoftHsm(folder)
addKey('mainnet', '01')

const callers = 32
const rounds = 20

async function signByManyCallers(module: string): Promise<number[]> {
  const service = await startTestService({ PKCS11_MODULES: module, PKCS11_PIN: pin })
  const config = { token_label, key_label: 'mainnet' }
  const { data } = await service.client.post('/api/v1/signers', { body: { type: 'pkcs11', config } })
  const { id } = await createRelayer(service.client, { signer_id: data.id })
  const statuses = await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const ofCaller: number[] = []
      for (let round = 0; round < rounds; round += 1) {
        const body = JSON.stringify({ message: `${caller} ${round}` })
        ofCaller.push((await service.raw(`/api/v1/relayers/${id}/sign`, { method: 'POST', body })).status)
      }
      return ofCaller
    }),
  )
  await service.close()
  return statuses.flat()
}

test('lets a module lock, so that many callers sign in threads of one process', async () => {
  const { module, calls } = compileWatchedModule(folder, { locks: true })
  expect(new Set(await signByManyCallers(module))).toEqual(new Set([200]))
  expect(calls().filter((call) => call.startsWith('initialize'))).toEqual(['initialize with locks'])
  expect(calls().filter((call) => call === 'sign in a thread')).toHaveLength(callers * rounds + 1)
})

test('uses a module that cannot lock in one thread', async () => {
  const { module, calls } = compileWatchedModule(folder, { locks: false })
  expect(new Set(await signByManyCallers(module))).toEqual(new Set([200]))
  expect(calls().filter((call) => call.startsWith('initialize'))).toEqual(['initialize without locks'])
  expect(calls().filter((call) => call.startsWith('sign'))).toEqual(
    Array.from({ length: callers * rounds + 1 }, () => 'sign in the main thread'),
  )
})

test('gives a module no secret of the service, and only the variables that the operator names', async () => {
  const { module, calls } = compileWatchedModule(folder, { locks: true })
  Object.assign(process.env, { AWS_SECRET_ACCESS_KEY: 'secret-of-aws', PGPASSWORD: 'secret-of-pg', VENDOR_CONF: '/a' })
  const service = await startTestService({
    PKCS11_MODULES: module,
    PKCS11_PIN: pin,
    PKCS11_ENVIRONMENT: 'VENDOR_CONF',
  })
  const config = { token_label, key_label: 'mainnet' }
  await service.client.post('/api/v1/signers', { body: { type: 'pkcs11', config } })
  const own = calls().filter((call) => call.startsWith('own '))
  expect(own).toContain('own VENDOR_CONF=/a')
  expect(own.join('\n')).not.toContain('secret-of-')
})
