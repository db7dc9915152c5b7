import { TypedDataEncoder } from 'ethers'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Failure } from '../../generated/openapi.ts'
import { crc32c } from '../../server/keys/providers/google-cloud-kms.ts'
import { crc32c as bitByBit } from '../support/crc32c.ts'
import { expectEverySignature } from '../support/every-signature.ts'
import { type FakeGoogleKms, startFakeGoogleKms } from '../support/fake-google-kms.ts'
import { createRelayer } from '../support/resources.ts'
import { expectKept } from '../support/secrets.ts'
import { startTestService, type TestService } from '../support/service.ts'

const path = '/api/v1/signers'
let kms: FakeGoogleKms

beforeAll(async () => {
  kms = await startFakeGoogleKms()
})
afterAll(() => kms.stop())
beforeEach(() => {
  Object.assign(kms.faults, { delay_ms: 0, per_second: Number.POSITIVE_INFINITY, signature: 'right', error: undefined })
  kms.damage = {}
})

const configOf = (keyVersion = kms.addKey()) => ({
  key_version: keyVersion,
  service_account: kms.account,
  endpoint: kms.url,
})

const create = ({ raw }: TestService, config: object) =>
  raw(path, { method: 'POST', body: JSON.stringify({ type: 'google_cloud_kms', config }) })

const sign = ({ raw }: TestService, relayerId: string) =>
  raw(`/api/v1/relayers/${relayerId}/sign`, { method: 'POST', body: '{"message":"Hello"}' })

async function createKmsRelayer(service: TestService) {
  const { data } = await service.client.post(path, { body: { type: 'google_cloud_kms', config: configOf() } })
  return createRelayer(service.client, { signer_id: data.id })
}

test('computes the checksum as CRC-32C', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
  for (const text of ['', 'a', 'relayer', '\u0000\u00ff'.repeat(99)]) {
    expect(crc32c(Buffer.from(text))).toBe(bitByBit(Buffer.from(text)))
  }
})

test('signs messages, typed data and transactions with a key in Google Cloud KMS, by the requests of the API reference', async () => {
  const service = await startTestService()
  const config = configOf()
  const before = kms.requests.length
  const { data: signer } = await service.client.post(path, { body: { type: 'google_cloud_kms', config } })
  expect(signer).toEqual({
    id: signer.id,
    created_at: expect.any(String),
    type: 'google_cloud_kms',
    address: expect.stringMatching(/^0x[0-9a-f]{40}$/),
  })
  const relayer = await createRelayer(service.client, { signer_id: signer.id })
  await expectEverySignature(service.client, relayer)
  const [publicKey, probe, ...signatures] = kms.requests.slice(before)
  expect(publicKey).toEqual({ method: 'GET', path: `/v1/${config.key_version}/publicKey`, body: undefined })
  expect([probe, ...signatures]).toHaveLength(5)
  for (const { method, path, body } of signatures) {
    expect([method, path]).toEqual(['POST', `/v1/${config.key_version}:asymmetricSign`])
    const { digest, digestCrc32c } = body as { digest: { sha256: string }; digestCrc32c: string }
    expect(body).toEqual({ digest: { sha256: digest.sha256 }, digestCrc32c })
    expect(digestCrc32c).toBe(`${bitByBit(Buffer.from(digest.sha256, 'base64'))}`)
  }
  const hash = TypedDataEncoder.hash(
    { name: 'Test', chainId: 31_337 },
    { Mail: [{ name: 'text', type: 'string' }] },
    { text: 'Hi' },
  )
  expect(signatures[1]?.body).toMatchObject({
    digest: { sha256: Buffer.from(hash.slice(2), 'hex').toString('base64') },
  })
  for (const secret of [kms.account.private_key.slice(60, 120), kms.account.client_email]) {
    await expectKept(service, Buffer.from(secret), relayer.address)
  }
})

test('rejects a key that cannot sign, credentials without permission and damaged answers with the reason, and stores nothing', async () => {
  const service = await startTestService()
  const before = (await service.client.get(path)).pagination.total_items
  const missing = 'projects/example/locations/europe-west3/keyRings/relayers/cryptoKeys/none/cryptoKeyVersions/1'
  const other = { ...kms.account, client_email: 'other@example.iam.gserviceaccount.com' }
  const cases: [object, number, RegExp][] = [
    [configOf(missing), 422, /404 NOT_FOUND: CryptoKeyVersion .* not found/],
    [configOf(kms.addKey({ algorithm: 'EC_SIGN_P256_SHA256' })), 422, /must be EC_SIGN_SECP256K1_SHA256/],
    [configOf(kms.addKey({ state: 'DISABLED' })), 422, /FAILED_PRECONDITION/],
    [{ ...configOf(), service_account: other }, 422, /401 UNAUTHENTICATED/],
    [{ ...configOf(), service_account: { ...kms.account, private_key: 'none' } }, 422, /no access token/],
    [
      { ...configOf(), endpoint: 'https://cloudkms.example.com' },
      400,
      /must be an https URL of a host in googleapis.com/,
    ],
    [{ ...configOf(), endpoint: 'http://cloudkms.googleapis.com' }, 400, /must be an https URL/],
    [{ ...configOf(), endpoint: 'https://evilgoogleapis.com' }, 400, /must be an https URL/],
    [{ ...configOf(), key_version: 'projects/a/locations/b/../c' }, 400, /./],
  ]
  for (const [config, status, reason] of cases) {
    const response = await create(service, config)
    const text = await response.text()
    expect.soft(response.status, text).toBe(status)
    expect.soft(text).toMatch(reason)
    expect.soft(text).not.toContain(kms.account.private_key.slice(60, 120))
  }
  for (const [error, status] of [
    ['PERMISSION_DENIED', 422],
    ['UNAVAILABLE', 503],
  ] as const) {
    kms.faults.error = error
    expect.soft((await create(service, configOf())).status, error).toBe(status)
  }
  kms.faults.error = undefined
  const damages: [string, unknown, RegExp][] = [
    ['pemCrc32c', '1', /wrong checksum \(pemCrc32c\)/],
    ['signatureCrc32c', '1', /wrong checksum \(signatureCrc32c\)/],
    ['verifiedDigestCrc32c', false, /does not confirm the checksum/],
    ['name', 'projects/other', /is for another key/],
  ]
  for (const [field, value, reason] of damages) {
    kms.damage = { field, value }
    const response = await create(service, configOf())
    const { details } = (await response.json()) as Failure
    expect.soft(response.status, field).toBe(422)
    expect.soft(details?.[0]?.message).toMatch(reason)
  }
  kms.damage = {}
  const guarded = await startTestService({ ALLOW_PRIVATE_TARGETS: 'false' })
  const calls = kms.requests.length
  expect((await create(guarded, configOf())).status).toBe(400)
  expect(kms.requests).toHaveLength(calls)
  expect((await service.client.get(path)).pagination.total_items).toBe(before)
})

test('returns 503 for wrong signatures, a quota and an outage, and recovers', async () => {
  const service = await startTestService()
  const relayer = await createKmsRelayer(service)
  for (const signature of ['other_key', 'garbage'] as const) {
    kms.faults.signature = signature
    expect((await sign(service, relayer.id)).status).toBe(503)
    kms.faults.signature = 'high_s'
    await expect.poll(async () => (await sign(service, relayer.id)).status).toBe(200)
  }
  kms.faults.per_second = 5
  const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await sign(service, relayer.id)).status))
  expect(statuses).toEqual(Array(8).fill(200))
  await kms.stop()
  onTestFinished(() => kms.start().catch(() => undefined))
  const away = await sign(service, relayer.id)
  expect([away.status, Number(away.headers.get('retry-after'))]).toEqual([503, 1])
  await kms.start()
  await expect.poll(async () => (await sign(service, relayer.id)).status).toBe(200)
})
