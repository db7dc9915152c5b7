import { verifyMessage } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import { type FakeVault, startFakeVault } from '../support/fake-vault.ts'
import { cow, createRelayer } from '../support/resources.ts'
import { expectKept } from '../support/secrets.ts'
import { startTestService, type TestService } from '../support/service.ts'

const path = '/api/v1/signers'
const cowAddress = '0xcd2a3d9f938e13cd947ec05abc7fe734df8dd826'

async function startVault(): Promise<FakeVault> {
  const vault = await startFakeVault()
  onTestFinished(() => vault.stop())
  vault.secrets['relayers/cow'] = { key: cow, other: cow.slice(2), short: '0x12', number: 5, zero: '00'.repeat(32) }
  return vault
}

const create = ({ raw }: TestService, config: object) =>
  raw(path, { method: 'POST', body: JSON.stringify({ type: 'vault', config }) })

const sign = ({ raw }: TestService, relayerId: string) =>
  raw(`/api/v1/relayers/${relayerId}/sign`, { method: 'POST', body: '{"message":"Hello"}' })

/** A relayer whose key is read from Vault with an AppRole. */
async function relayerByAppRole() {
  const vault = await startVault()
  const service = await startTestService()
  const { url, role_id, secret_id } = vault
  const config = { url, path: 'relayers/cow', role_id, secret_id }
  const { data } = await service.client.post(path, { body: { type: 'vault', config } })
  const { id } = await createRelayer(service.client, { signer_id: data.id })
  return { vault, service, id }
}

const signatureOf = async (response: Response) => ((await response.json()) as { data: { sig: string } }).data.sig

test('signs with a key in Vault, reads it once, and neither shows nor stores it or the credentials in plain text', async () => {
  const vault = await startVault()
  const service = await startTestService()
  const { url, token, role_id, secret_id } = vault
  const logins = [{ token }, { token, field: 'other' }, { role_id, secret_id }]
  for (const [index, login] of logins.entries()) {
    const body = { type: 'vault' as const, config: { url, path: 'relayers/cow', ...login } }
    const { data } = await service.client.post(path, { body })
    expect(data).toEqual({ id: data.id, type: 'vault', address: cowAddress, created_at: expect.any(String) })
    if (index === 2) {
      const relayer = await createRelayer(service.client, { signer_id: data.id })
      const before = vault.requests.length
      for (let time = 0; time < 5; time += 1) {
        const response = await sign(service, relayer.id)
        expect(verifyMessage('Hello', await signatureOf(response)).toLowerCase()).toBe(cowAddress)
      }
      expect(vault.requests.slice(before)).toEqual(['POST /v1/auth/approle/login', 'GET /v1/secret/data/relayers/cow'])
    }
  }
  for (const secret of [token, role_id, secret_id]) await expectKept(service, Buffer.from(secret), cowAddress)
  await expectKept(service, Buffer.from(cow.slice(2), 'hex'), cowAddress)
})

test('rejects wrong credentials, a missing secret and an invalid key with the reason, and stores nothing', async () => {
  const vault = await startVault()
  const service = await startTestService()
  const { url, token, role_id, secret_id } = vault
  const good = { url, path: 'relayers/cow', token }
  const before = (await service.client.get(path)).pagination.total_items
  const cases: [object, number, RegExp][] = [
    [{ ...good, token: 'hvs.wrong' }, 422, /403: permission denied/],
    [{ ...good, path: 'relayers/none' }, 422, /404/],
    [{ ...good, mount: 'kv' }, 422, /404/],
    [{ ...good, field: 'short' }, 422, /must be a private key/],
    [{ ...good, field: 'number' }, 422, /must be a private key/],
    [{ ...good, field: 'zero' }, 422, /must be a private key/],
    [{ url, path: 'relayers/cow', role_id, secret_id: 'x' }, 422, /invalid role or secret/],
    [{ ...good, path: '../sys/health' }, 400, /./],
    [{ ...good, secret_id, role_id }, 400, /./],
    [{ url, path: 'relayers/cow', role_id }, 400, /./],
  ]
  for (const [config, status, reason] of cases) {
    const response = await create(service, config)
    const text = await response.text()
    expect.soft(response.status, text).toBe(status)
    expect.soft(text).toMatch(reason)
    expect.soft(text).not.toContain(secret_id)
  }
  vault.sealed = true
  expect((await create(service, good)).status).toBe(503)
  const guarded = await startTestService({ ALLOW_PRIVATE_TARGETS: 'false' })
  const calls = vault.requests.length
  expect((await create(guarded, good)).status).toBe(400)
  expect(vault.requests).toHaveLength(calls)
  expect((await service.client.get(path)).pagination.total_items).toBe(before)
})

test('returns 503 after a start with a sealed Vault, and signs once it is unsealed, with no further read', async () => {
  const vault = await startVault()
  const service = await startTestService()
  const config = { url: vault.url, path: 'relayers/cow', token: vault.token }
  const { data } = await service.client.post(path, { body: { type: 'vault', config } })
  const { id } = await createRelayer(service.client, { signer_id: data.id })
  await service.close()
  vault.sealed = true
  const again = await startTestService({ DATA_DIR: service.data_dir })
  const refused = await sign(again, id)
  expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([503, 1])
  vault.sealed = false
  await expect.poll(async () => (await sign(again, id)).status).toBe(200)
  await vault.stop()
  expect((await sign(again, id)).status).toBe(200)
})

test('rejects a secret that was replaced by another key, and signs with the right one again without a restart', async () => {
  const { vault, service, id } = await relayerByAppRole()
  vault.secrets['relayers/cow'] = { key: '11'.repeat(32) }
  const response = await sign(service, id)
  expect([response.status, await response.text()]).toEqual([503, expect.stringMatching(/the key of another address/)])
  vault.secrets['relayers/cow'] = { key: cow }
  await expect.poll(async () => (await sign(service, id)).status).toBe(200)
})

test('shares one login and one read among concurrent signatures', async () => {
  const { vault, service, id } = await relayerByAppRole()
  const before = vault.requests.length
  const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await sign(service, id)).status))
  expect(statuses).toEqual(Array(10).fill(200))
  expect(vault.requests.slice(before)).toEqual(['POST /v1/auth/approle/login', 'GET /v1/secret/data/relayers/cow'])
})
