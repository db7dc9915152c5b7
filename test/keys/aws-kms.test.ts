import { verifyMessage, verifyTypedData } from 'ethers'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Failure } from '../../generated/openapi.ts'
import { awsCredentials, type FakeKms, startFakeKms } from '../support/fake-kms.ts'
import { cow, createRelayer } from '../support/resources.ts'
import { expectKept } from '../support/secrets.ts'
import { startTestService, type TestService } from '../support/service.ts'

const path = '/api/v1/signers'

beforeEach(() => {
  for (const [name, value] of Object.entries(awsCredentials)) {
    const before = process.env[name]
    process.env[name] = value
    onTestFinished(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
})

async function startKms(): Promise<FakeKms> {
  const kms = await startFakeKms()
  onTestFinished(() => kms.stop())
  return kms
}

const configOf = (kms: FakeKms, keyId: string) => ({ region: kms.region, key_id: keyId, endpoint: kms.url })

const create = ({ raw }: TestService, body: unknown) => raw(path, { method: 'POST', body: JSON.stringify(body) })

async function createKmsRelayer(service: TestService, kms: FakeKms, input: object = {}) {
  const { data: signer } = await service.client.post(path, {
    body: { type: 'aws_kms', config: configOf(kms, kms.addKey()) },
  })
  const relayer = await createRelayer(service.client, { signer_id: signer.id, ...input })
  return { signer, relayer, path: { relayer_id: relayer.id } }
}

const sign = ({ raw }: TestService, relayerId: string, message = 'Hello') =>
  raw(`/api/v1/relayers/${relayerId}/sign`, { method: 'POST', body: JSON.stringify({ message }) })

test('signs messages and typed data with a key in AWS KMS, and shows only its address and type', async () => {
  const kms = await startKms()
  const service = await startTestService()
  const { signer, path } = await createKmsRelayer(service, kms)
  expect(signer).toEqual({
    id: signer.id,
    type: 'aws_kms',
    address: expect.stringMatching(/^0x[0-9a-f]{40}$/),
    created_at: expect.any(String),
  })
  for (const signature of ['right', 'high_s'] as const) {
    kms.faults.signature = signature
    for (let index = 0; index < 10; index += 1) {
      const message = `Hello ${index}`
      const { data } = await service.client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message } })
      expect(verifyMessage(message, data.sig).toLowerCase()).toBe(signer.address)
      expect(BigInt(data.s)).toBeLessThan(2n ** 255n)
    }
  }
  // Each signature's entry has the id by which AWS's own log knows the request.
  await expect
    .poll(async () => {
      const { data } = await service.client.get('/api/v1/audit', { query: { operation: 'signMessage', per_page: 20 } })
      return new Set(data.map(({ key_request_id }) => key_request_id)).size
    })
    .toBe(20)
  const { data: entries } = await service.client.get('/api/v1/audit', { query: { operation: 'signMessage' } })
  expect(kms.request_ids).toContain(entries[0]?.key_request_id)
  const types = { Mail: [{ name: 'text', type: 'string' }] }
  const domain = { name: 'Test', chainId: 31_337 }
  const { data } = await service.client.post('/api/v1/relayers/{relayer_id}/sign-typed-data/full', {
    path,
    body: { domain, types, primaryType: 'Mail', message: { text: 'Hi' } },
  })
  expect(verifyTypedData(domain, types, { text: 'Hi' }, data.sig).toLowerCase()).toBe(signer.address)
})

test('rejects a key that cannot sign with the reason, and stores nothing', async () => {
  const kms = await startKms()
  const service = await startTestService()
  const before = (await service.client.get(path)).pagination.total_items
  const good = kms.addKey()
  const cases: [object, RegExp][] = [
    [configOf(kms, 'missing'), /NotFoundException.*does not exist/],
    [configOf(kms, kms.addKey({ spec: 'ECC_NIST_P256' })), /must be ECC_SECG_P256K1/],
    [configOf(kms, kms.addKey({ usage: 'KEY_AGREEMENT' })), /usage SIGN_VERIFY/],
    [configOf(kms, kms.addKey({ disabled: true })), /DisabledException/],
    [{ ...configOf(kms, good), region: 'us-east-1' }, /InvalidSignatureException/],
  ]
  for (const [config, reason] of cases) {
    const response = await create(service, { type: 'aws_kms', config })
    const body = (await response.json()) as Failure
    expect.soft(response.status, `${reason}`).toBe(422)
    expect.soft(body.code).toBe('key_service_refused')
    expect.soft(body.details).toMatchObject([{ path: '/body/config', message: expect.stringMatching(reason) }])
  }
  for (const signature of ['other_key', 'garbage'] as const) {
    kms.faults.signature = signature
    const response = await create(service, { type: 'aws_kms', config: configOf(kms, good) })
    expect.soft(response.status, signature).toBe(422)
  }
  kms.faults.signature = 'right'
  kms.faults.error = 'AccessDeniedException'
  expect((await create(service, { type: 'aws_kms', config: configOf(kms, good) })).status).toBe(422)
  kms.faults.error = 'KMSInternalException'
  const failing = await create(service, { type: 'aws_kms', config: configOf(kms, good) })
  expect([failing.status, failing.headers.get('retry-after')]).toEqual([503, '5'])
  await kms.stop()
  expect((await create(service, { type: 'aws_kms', config: configOf(kms, good) })).status).toBe(503)
  expect((await service.client.get(path)).pagination.total_items).toBe(before)
})

test('rejects a taken id and a private endpoint before it calls the key service', async () => {
  const kms = await startKms()
  const config = configOf(kms, kms.addKey())
  const service = await startTestService()
  await service.client.post(path, { body: { id: 's', type: 'plain', config: { key: cow } } })
  expect((await create(service, { id: 's', type: 'aws_kms', config })).status).toBe(409)
  const guarded = await startTestService({ ALLOW_PRIVATE_TARGETS: 'false' })
  const response = await create(guarded, { type: 'aws_kms', config })
  expect([response.status, ((await response.json()) as Failure).details?.[0]?.path]).toEqual([
    400,
    '/body/config/endpoint',
  ])
  expect(kms.calls).toEqual({})
})

test('encrypts the reference to the key in the store', async () => {
  const kms = await startKms()
  const service = await startTestService()
  const keyId = kms.addKey()
  const { data } = await service.client.post(path, { body: { type: 'aws_kms', config: configOf(kms, keyId) } })
  expect((await service.client.get(path)).data.find(({ id }) => id === data.id)).toEqual(data)
  for (const kept of [keyId, kms.url]) await expectKept(service, Buffer.from(kept), data.address)
})

test('does not call the key service for a signature that a policy or a pause refuses', async () => {
  const kms = await startKms()
  const service = await startTestService()
  const { relayer, path } = await createKmsRelayer(service, kms, { policies: { allow_messages: false } })
  const before = kms.calls.Sign
  expect((await sign(service, relayer.id)).status).toBe(403)
  await service.client.patch('/api/v1/relayers/{relayer_id}', {
    path,
    body: { policies: { allow_messages: true }, paused: true },
  })
  expect((await sign(service, relayer.id)).status).toBe(403)
  const { data: reader } = await service.client.post('/api/v1/api-keys', { body: { name: 'r', scopes: ['read'] } })
  const response = await service.raw(`/api/v1/relayers/${relayer.id}/sign`, {
    method: 'POST',
    body: '{"message":"a"}',
    headers: { Authorization: `Bearer ${reader.token}`, 'Content-Type': 'application/json' },
  })
  expect(response.status).toBe(403)
  expect(kms.calls.Sign).toBe(before)
  await service.client.patch('/api/v1/relayers/{relayer_id}', { path, body: { paused: false } })
  expect((await sign(service, relayer.id)).status).toBe(200)
  expect(kms.calls.Sign).toBe(Number(before) + 1)
})

test('rejects a wrong signature of the key service with 503, and signs again when the key service is correct', async () => {
  const kms = await startKms()
  const service = await startTestService()
  const { relayer, signer } = await createKmsRelayer(service, kms)
  for (const signature of ['other_key', 'garbage'] as const) {
    kms.faults.signature = signature
    const response = await sign(service, relayer.id)
    expect([response.status, Number(response.headers.get('retry-after'))]).toEqual([503, 1])
    expect(((await response.json()) as Failure).details?.[0]?.message).toMatch(/not a signature by the key/)
    kms.faults.signature = 'right'
    await expect.poll(async () => (await sign(service, relayer.id)).status).toBe(200)
  }
  const { data } = await service.client.post('/api/v1/relayers/{relayer_id}/sign', {
    path: { relayer_id: relayer.id },
    body: { message: 'a' },
  })
  expect(verifyMessage('a', data.sig).toLowerCase()).toBe(signer.address)
})

test('delays throttled signatures and loses none', async () => {
  const kms = await startKms()
  const service = await startTestService()
  const { relayer } = await createKmsRelayer(service, kms)
  kms.faults.per_second = 5
  const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await sign(service, relayer.id)).status))
  expect(statuses).toEqual(Array(10).fill(200))
})

test('returns 503 with Retry-After while the key service is down, signs with other keys, and recovers', async () => {
  const kms = await startKms()
  const service = await startTestService()
  const { relayer } = await createKmsRelayer(service, kms)
  await kms.stop()
  const response = await sign(service, relayer.id)
  expect(response.status).toBe(503)
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await sign(service, 'demo')).status).toBe(200)
  await kms.start()
  await expect.poll(async () => (await sign(service, relayer.id)).status).toBe(200)
})

test('counts calls by type and outcome in metrics, and logs once that the key service is down and up', async () => {
  const kms = await startKms()
  const service = await startTestService({ METRICS_PORT: '0' })
  const { relayer, signer } = await createKmsRelayer(service, kms)
  expect((await sign(service, relayer.id)).status).toBe(200)
  kms.faults.error = 'AccessDeniedException'
  for (let time = 0; time < 3; time += 1) expect((await sign(service, relayer.id)).status).toBe(503)
  kms.faults.error = undefined
  await expect.poll(async () => (await sign(service, relayer.id)).status).toBe(200)

  const lines = service.logged.map((line) => JSON.parse(line)).filter(({ msg }) => /^key service/.test(msg))
  const key = { type: 'aws_kms', address: signer.address }
  const reason = expect.stringMatching(/AccessDeniedException, request [0-9a-f-]{36}$/)
  expect(lines).toEqual([
    expect.objectContaining({ level: 40, msg: 'key service down', ...key, reason }),
    expect.objectContaining({ level: 30, msg: 'key service up', ...key }),
  ])
  const metrics = await (await fetch(`${service.metrics_url}`)).text()
  expect(metrics).toContain('relayer_key_service_calls_total{type="aws_kms",outcome="signed"} 2')
  expect(metrics).toMatch(/relayer_key_service_calls_total\{type="aws_kms",outcome="refused"\} [1-9]/)
  expect(metrics).toContain('relayer_key_service_waiting{type="aws_kms"} 0')
})
