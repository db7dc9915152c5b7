import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { expectEverySignature } from '../support/every-signature.ts'
import { type FakeAzure, startFakeAzure } from '../support/fake-azure.ts'
import { tls } from '../support/listener.ts'
import { createRelayer } from '../support/resources.ts'
import { expectKept } from '../support/secrets.ts'
import { startTestService, type TestService, temporaryFolder } from '../support/service.ts'

const path = '/api/v1/signers'
const authorities = getCACertificates('default')
let azure: FakeAzure

beforeAll(async () => {
  // The identity platform is reached over HTTPS only.
  setDefaultCACertificates([...authorities, tls.cert])
  azure = await startFakeAzure()
})
afterAll(async () => {
  setDefaultCACertificates(authorities)
  await azure.close()
})
beforeEach(() => {
  const before = { ...process.env }
  onTestFinished(() => {
    process.env = before
  })
  process.env.AZURE_AUTHORITY_HOST = azure.authority_url
  Object.assign(azure.faults, { per_second: Number.POSITIVE_INFINITY, signature: 'right', error: undefined })
  azure.permissions = new Set(['get', 'sign'])
})

const application = () => ({
  tenant_id: azure.tenant_id,
  client_id: azure.client_id,
  client_secret: azure.client_secret,
})

const configOf = (keyName = azure.addKey().name) => ({ vault_url: azure.url, key_name: keyName, ...application() })

const create = ({ raw }: TestService, config: object) =>
  raw(path, { method: 'POST', body: JSON.stringify({ type: 'azure_key_vault', config }) })

const sign = ({ raw }: TestService, relayerId: string) =>
  raw(`/api/v1/relayers/${relayerId}/sign`, { method: 'POST', body: '{"message":"Hello"}' })

test('signs messages, typed data and transactions with a key in Azure Key Vault, by the requests of the REST reference', async () => {
  const service = await startTestService()
  const { name, version } = azure.addKey()
  const [before, tokensBefore] = [azure.requests.length, azure.token_requests.length]
  const { data: signer } = await service.client.post(path, {
    body: { type: 'azure_key_vault', config: configOf(name) },
  })
  expect(signer).toEqual({
    id: signer.id,
    type: 'azure_key_vault',
    address: expect.stringMatching(/^0x[0-9a-f]{40}$/),
    created_at: expect.any(String),
  })
  const relayer = await createRelayer(service.client, { signer_id: signer.id })
  // A newer version has another address. The signer keeps its own.
  azure.addKey({ name })
  await expectEverySignature(service.client, relayer)
  const [found, probe, ...signatures] = azure.requests.slice(before)
  expect(found).toEqual({ method: 'GET', path: `/keys/${name}?api-version=7.4`, body: undefined })
  expect([probe, ...signatures]).toHaveLength(5)
  for (const request of [probe, ...signatures]) {
    expect(request).toEqual({
      method: 'POST',
      path: `/keys/${name}/${version}/sign?api-version=7.4`,
      body: { alg: 'ES256K', value: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/) },
    })
  }
  // One token serves them all.
  expect(azure.token_requests.slice(tokensBefore)).toEqual([
    expect.objectContaining({
      grant_type: 'client_credentials',
      client_id: azure.client_id,
      scope: expect.stringContaining('https://vault.azure.net/.default'),
    }),
  ])
  await expectKept(service, Buffer.from(azure.client_secret), relayer.address)

  // Without a client secret, the workload identity of the environment.
  const file = join(temporaryFolder(), 'token')
  writeFileSync(file, 'federated token\n')
  const { tenant_id: AzureTenantId, client_id: AzureClientId } = azure
  Object.assign(process.env, {
    AZURE_TENANT_ID: AzureTenantId,
    AZURE_CLIENT_ID: AzureClientId,
    AZURE_FEDERATED_TOKEN_FILE: file,
  })
  const config = { vault_url: azure.url, key_name: azure.addKey().name }
  const { data } = await service.client.post(path, { body: { type: 'azure_key_vault', config } })
  expect((await sign(service, (await createRelayer(service.client, { signer_id: data.id })).id)).status).toBe(200)
})

test('shares one access token among concurrent requests', async () => {
  const service = await startTestService()
  const before = azure.token_requests.length
  const configs = Array.from({ length: 5 }, () => configOf())
  const statuses = await Promise.all(configs.map(async (config) => (await create(service, config)).status))
  expect(statuses).toEqual(Array(5).fill(201))
  expect(azure.token_requests).toHaveLength(before + 1)
})

test('rejects a key that cannot sign and an identity without permission with the reason, and stores nothing', async () => {
  const service = await startTestService()
  const before = (await service.client.get(path)).pagination.total_items
  const cases: [object, number, RegExp][] = [
    [configOf('none'), 422, /404 KeyNotFound/],
    [configOf(azure.addKey({ crv: 'P-256' }).name), 422, /must be EC or EC-HSM on P-256K; it is EC-HSM on P-256/],
    [configOf(azure.addKey({ enabled: false }).name), 422, /403 Forbidden/],
    [{ ...configOf(), client_secret: 'wrong' }, 422, /no access token.*AADSTS7000215/],
    [
      { ...configOf(), vault_url: 'https://vault.example.com' },
      400,
      /must be an https URL of a host in vault.azure.net/,
    ],
    [{ ...configOf(), vault_url: 'https://vault.azure.net.example.com' }, 400, /must be an https URL/],
    [{ ...configOf(), key_name: '../secrets' }, 400, /./],
    [{ ...configOf(), client_secret: undefined }, 400, /./],
  ]
  for (const [config, status, reason] of cases) {
    const response = await create(service, config)
    const text = await response.text()
    expect.soft(response.status, text).toBe(status)
    expect.soft(text).toMatch(reason)
    expect.soft(text).not.toContain(azure.client_secret)
  }
  azure.permissions.delete('sign')
  const refused = await create(service, configOf())
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringMatching(/keys sign permission/)])
  const guarded = await startTestService({ ALLOW_PRIVATE_TARGETS: 'false' })
  const calls = azure.requests.length
  expect((await create(guarded, configOf())).status).toBe(400)
  expect(azure.requests).toHaveLength(calls)
  expect((await service.client.get(path)).pagination.total_items).toBe(before)
})

test('returns 503 for wrong signatures, throttling and an outage, and recovers', async () => {
  const service = await startTestService()
  const { data } = await service.client.post(path, { body: { type: 'azure_key_vault', config: configOf() } })
  const relayer = await createRelayer(service.client, { signer_id: data.id })
  for (const signature of ['other_key', 'garbage'] as const) {
    azure.faults.signature = signature
    expect((await sign(service, relayer.id)).status).toBe(503)
    azure.faults.signature = 'high_s'
    await expect.poll(async () => (await sign(service, relayer.id)).status).toBe(200)
  }
  azure.faults.per_second = 5
  const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await sign(service, relayer.id)).status))
  expect(statuses).toEqual(Array(8).fill(200))
  await azure.stop()
  onTestFinished(() => azure.start().catch(() => undefined))
  expect((await sign(service, relayer.id)).status).toBe(503)
  await azure.start()
  await expect.poll(async () => (await sign(service, relayer.id)).status).toBe(200)
})
