import { execFileSync } from 'node:child_process'
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Failure } from '../../generated/openapi.ts'
import { expectEverySignature } from '../support/every-signature.ts'
import { expectNothingReaches } from '../support/refused-signatures.ts'
import { createRelayer } from '../support/resources.ts'
import { expectKept } from '../support/secrets.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { createSoftHsm, pin, softhsmModule } from './softhsm.ts'

const folder = mkdtempSync(join(tmpdir(), 'relayer-hsm-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const hsm = createSoftHsm(folder)
hsm.addKey('mainnet', '01')
hsm.addKey('twin', '02')
hsm.addKey('twin', '03')
hsm.addKey('p256', '04', 'EC:prime256v1')

const pinFile = join(folder, 'pin')
writeFileSync(pinFile, `${pin}\n`, { mode: 0o600 })
const settings = { PKCS11_MODULES: softhsmModule, PKCS11_PIN_FILE: pinFile }
const { token_label } = hsm
const create = ({ raw }: TestService, config: object) =>
  raw('/api/v1/signers', { method: 'POST', body: JSON.stringify({ type: 'pkcs11', config }) })

const sign = ({ raw }: TestService, relayerId: string) =>
  raw(`/api/v1/relayers/${relayerId}/sign`, { method: 'POST', body: '{"message":"Hello"}' })

/** The variables of OpenSC's spy. */
const spied = { PKCS11_ENVIRONMENT: 'PKCS11SPY,PKCS11SPY_OUTPUT' }

/** The processes of tokens that this process has started. */
const tokenProcesses = () =>
  execFileSync('ps', ['-o', 'pid=,args=', '--ppid', `${process.pid}`], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes('pkcs11-process'))
    .map((line) => Number.parseInt(line, 10))

function killProcesses(): void {
  for (const processId of tokenProcesses()) process.kill(processId, 'SIGKILL')
}

test('signs messages, typed data and transactions with a key in a token, and stores the PIN encrypted', async () => {
  const service = await startTestService(settings)
  for (const config of [
    { token_label, key_label: 'mainnet' },
    { token_label, key_id: '02', key_label: 'twin', module: softhsmModule, pin },
    { token_label, key_id: '03' },
  ]) {
    const { data } = await service.client.post('/api/v1/signers', { body: { type: 'pkcs11', config } })
    expect(data).toMatchObject({ type: 'pkcs11', address: expect.stringMatching(/^0x[0-9a-f]{40}$/) })
    const relayer = await createRelayer(service.client, { signer_id: data.id })
    await expectEverySignature(service.client, relayer)
    await expectKept(service, Buffer.from(pin), relayer.address)
  }
  const [processId = 0, ...more] = tokenProcesses()
  expect(more).toEqual([])
  const user = execFileSync('ps', ['-o', 'uid=', '-p', `${processId}`], { encoding: 'utf8' })
  expect(Number(user)).toBe(process.getuid?.() === 0 ? 65_534 : process.getuid?.())
})

test('rejects a wrong module, token, key, curve or PIN with the reason', async () => {
  const service = await startTestService(settings)
  const good = { token_label, key_label: 'mainnet' }
  const cases: [object, number, RegExp][] = [
    [{ ...good, module: '/usr/lib/other.so' }, 422, /must be listed in the setting PKCS11_MODULES/],
    [{ ...good, token_label: 'none' }, 422, /no token has this label/],
    [{ ...good, key_label: 'none' }, 422, /no private EC key has this label and id/],
    [{ ...good, key_id: '09' }, 422, /no private EC key has this label and id/],
    [{ token_label, key_label: 'twin' }, 422, /more than one private EC key/],
    [{ token_label, key_label: 'p256' }, 422, /not on the curve secp256k1/],
    [{ ...good, pin: '0000' }, 422, /CKR_PIN_INCORRECT/],
    [{ token_label }, 400, /must be given, or key_id/],
  ]
  for (const [config, status, reason] of cases) {
    const response = await create(service, config)
    const text = await response.text()
    expect.soft(response.status, text).toBe(status)
    expect.soft(text).toMatch(reason)
  }
  expect((await create(service, good)).status).toBe(201)
  const unset = await startTestService()
  expect(((await (await create(unset, good)).json()) as Failure).details?.[0]?.message).toMatch(/PKCS11_MODULES/)
})

test('tries one wrong PIN of callers who may manage, in all processes together, until an administrator’s PIN is accepted', async () => {
  const [spy = ''] = globSync('/usr/lib/*/pkcs11-spy.so')
  const callsFile = join(folder, 'logins')
  writeFileSync(callsFile, '')
  chmodSync(callsFile, 0o666)
  Object.assign(process.env, { PKCS11SPY: softhsmModule, PKCS11SPY_OUTPUT: callsFile })
  const logins = () => readFileSync(callsFile, 'utf8').match(/^\d+: C_Login$/gm)?.length ?? 0
  const modules = { ...spied, PKCS11_MODULES: spy }
  const service = await startTestService(modules)
  const { data } = await service.client.post('/api/v1/api-keys', { body: { name: 'tenant', scopes: ['manage'] } })
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  await service.client.patch('/api/v1/api-keys/{api_key_id}', {
    path: { api_key_id: data.api_key.id },
    body: { expires_at: expiresAt },
  })
  const answer = async (its: TestService, token: string, given: string) => {
    const config = { token_label, key_label: 'mainnet', pin: given }
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const body = JSON.stringify({ type: 'pkcs11', config })
    return (await its.raw('/api/v1/signers', { method: 'POST', headers, body })).text()
  }
  // A token that is not there has not seen the PIN.
  hsm.remove()
  expect(await answer(service, data.token, pin)).toContain('CKR_GENERAL_ERROR')
  hsm.insert()
  expect(await answer(service, data.token, '0000')).toContain('CKR_PIN_INCORRECT')
  for (const wrong of ['0001', '0002', '0003', '0004', '0005']) {
    expect(await answer(service, data.token, wrong)).toContain('the token refused a PIN, so no other one is tried')
  }
  const again = await startTestService({ ...modules, DATA_DIR: service.data_dir })
  expect(await answer(again, data.token, pin)).toContain('the token refused a PIN, so no other one is tried')
  expect(logins()).toBe(1)
  expect(await answer(again, again.api_key, pin)).toContain('"success":true')
  expect(await answer(again, data.token, pin)).toContain('"success":true')
})

test('signs again after a token was removed and inserted, and after its process was killed', async () => {
  const service = await startTestService(settings)
  const { data } = await service.client.post('/api/v1/signers', {
    body: { type: 'pkcs11', config: { token_label, key_label: 'mainnet' } },
  })
  const relayer = await createRelayer(service.client, { signer_id: data.id })
  hsm.remove()
  // SoftHSM caches the objects that a process has read.
  killProcesses()
  try {
    expect((await sign(service, relayer.id)).status).toBe(503)
    expect((await sign(service, 'demo')).status).toBe(200)
  } finally {
    hsm.insert()
  }
  await expect.poll(async () => (await sign(service, relayer.id)).status, { timeout: 20_000 }).toBe(200)
  killProcesses()
  await expect.poll(async () => (await sign(service, relayer.id)).status, { timeout: 20_000 }).toBe(200)
  await service.close()
  await expect.poll(tokenProcesses).toEqual([])
})

test('replaces a module that hangs, without blocking the service', async () => {
  const service = await startTestService(settings)
  const { data } = await service.client.post('/api/v1/signers', {
    body: { type: 'pkcs11', config: { token_label, key_label: 'mainnet' } },
  })
  const relayer = await createRelayer(service.client, { signer_id: data.id })
  for (const processId of tokenProcesses()) process.kill(processId, 'SIGSTOP')
  const waiting = sign(service, relayer.id)
  expect((await sign(service, 'demo')).status).toBe(200)
  // The call is repeated after its time limit, by a process that does not hang.
  expect((await waiting).status).toBe(200)
})

test('does not pass a refused signature to the token', async () => {
  // OpenSC's module passes each call on to the real one, and writes it into a file.
  const [spy = ''] = globSync('/usr/lib/*/pkcs11-spy.so')
  const callsFile = join(folder, 'calls')
  writeFileSync(callsFile, '')
  chmodSync(callsFile, 0o666)
  Object.assign(process.env, { PKCS11SPY: softhsmModule, PKCS11SPY_OUTPUT: callsFile })
  const service = await startTestService({ ...settings, ...spied, PKCS11_MODULES: spy }, { elapsed: () => 0 })
  const calls = () => readFileSync(callsFile, 'utf8').match(/^\d+: C_Sign$/gm)?.length ?? 0
  await expectNothingReaches(service, { type: 'pkcs11', config: { token_label, key_label: 'mainnet' } }, calls)
})
