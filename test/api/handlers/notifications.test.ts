import { expect, test } from 'vitest'
import { createRelayer, production } from '../../support/resources.ts'
import { expectKept } from '../../support/secrets.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const listPath = '/api/v1/notifications'
const onePath = '/api/v1/notifications/{notification_id}'
const url = 'https://hooks.example.com/relayer'

const create = ({ raw }: TestService, body: unknown) =>
  raw(listPath, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })

const [revision, createdAt] = [expect.any(String), expect.any(String)]

test('creates, shows and lists a notification without its signing key', async () => {
  const service = await startTestService()
  const response = await create(service, { id: 'a', type: 'webhook', url, signing_key: 'whsec_C2FVsBQI' })
  expect(response.status).toBe(201)
  const a = { id: 'a', type: 'webhook', url, has_signing_key: true, filter: null, revision, created_at: createdAt }
  const envelope = { success: true, error: '', pagination: { current_page: 1, per_page: 1, total_items: 1 } }
  expect(await response.json()).toEqual({ ...envelope, data: a })

  const path = { notification_id: 'a' }
  expect(await service.client.get(onePath, { path })).toEqual({ ...envelope, data: a })
  const made = await service.client.post(listPath, { body: { url } })
  expect(await service.client.get(listPath)).toEqual({
    ...envelope,
    data: [a, made.data],
    pagination: { current_page: 1, per_page: 10, total_items: 2 },
  })
})

test('generates a UUIDv7 for an absent id, and defaults to a webhook without a signing key', async () => {
  const { client } = await startTestService()
  const { data } = await client.post(listPath, { body: { url } })
  expect(data.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(data).toEqual({
    id: data.id,
    type: 'webhook',
    url,
    has_signing_key: false,
    filter: null,
    revision,
    created_at: createdAt,
  })
  const { data: next } = await client.post(listPath, { body: { url, signing_key: '' } })
  expect(next.has_signing_key).toBe(false)
  expect(next.id > data.id).toBe(true)
})

test('refuses a taken id with 409, and leaves the first notification unchanged', async () => {
  const service = await startTestService()
  const { client } = service
  await client.post(listPath, { body: { id: 'a', url, signing_key: 'k' } })
  const taken = client.post(listPath, { body: { id: 'a', url: 'https://other.example.com' } })
  await expect(taken).rejects.toMatchObject({
    status: 409,
    message: 'body/id: a notification with this id already exists',
  })
  const { data, pagination } = await client.get(listPath)
  expect(data).toEqual([
    { id: 'a', type: 'webhook', url, has_signing_key: true, filter: null, revision, created_at: createdAt },
  ])
  expect(pagination.total_items).toBe(1)
})

test('requires an http or https URL of at most 2048 characters without user name and password', async () => {
  const service = await startTestService()
  const long = (bytes: number, start: string) => start + 'a'.repeat(bytes - start.length)
  const good = [
    'http://example.com',
    'HTTPS://EXAMPLE.COM/a?b=c#d',
    'https://example.com:8443',
    'https://[2606:4700:4700::1111]/',
    long(2_048, 'https://example.com/'),
  ]
  for (const goodUrl of good) expect.soft((await create(service, { url: goodUrl })).status, goodUrl).toBe(201)
  const bad = `ftp://example.com example.com /path https:// https://user@example.com https://u:p@example.com
    https://:p@example.com javascript:alert(1) http://exa_mple.com:x https://example.com:99999 http://[::1
    ${long(2_049, 'https://example.com/')}`.split(/\s+/)
  const spaced = ['', ' https://example.com', 'https://exam ple.com', 'https://example.com/\n']
  for (const badUrl of [...bad, ...spaced, 1, null]) {
    expect.soft((await create(service, { url: badUrl })).status, `${badUrl}`).toBe(400)
  }
})

test('does not take an @ after the host for a user name, and counts the length of http and https alike', async () => {
  const service = await startTestService()
  const long = 'http://example.com/'.padEnd(2_048, 'a')
  for (const goodUrl of ['https://example.com/@user', 'https://example.com/?to=a@example.com', long]) {
    expect.soft((await create(service, { url: goodUrl })).status, goodUrl.slice(0, 60)).toBe(201)
  }
})

test('keeps a URL as it was written', async () => {
  const { client } = await startTestService()
  const odd = 'HTTPS://Hooks.Example.com:443/a/../b?c=%7e'
  const { data } = await client.post(listPath, { body: { url: odd } })
  expect(data.url).toBe(odd)
})

test('refuses a private address in production, as that of a node', async () => {
  const { client } = await startTestService(production)
  for (const privateUrl of ['http://169.254.169.254/latest', 'http://localhost:3000/webhook'])
    await expect(client.post(listPath, { body: { url: privateUrl } })).rejects.toMatchObject({
      status: 400,
      details: [
        { path: '/body/url', message: 'must have a public address (ALLOW_PRIVATE_TARGETS=true allows private ones)' },
      ],
    })
  const { id } = await client.notifications.create({ url })
  await expect(client.notifications.update(id, { url: 'http://10.0.0.1/' })).rejects.toMatchObject({ status: 400 })
})

test('requires a signing key of 1 to 512 characters', async () => {
  const service = await startTestService()
  for (const [signingKey, status] of [
    ['k', 201],
    ['k'.repeat(512), 201],
    ['🔑'.repeat(512), 201],
    ['k'.repeat(513), 400],
  ]) {
    expect.soft((await create(service, { url, signing_key: signingKey })).status, `${signingKey}`).toBe(status)
  }
  for (const signingKey of [null, 1, ['k'], {}]) {
    expect.soft((await create(service, { url, signing_key: signingKey })).status, JSON.stringify(signingKey)).toBe(400)
  }
})

test('keeps an absent or null signing key in a PATCH, removes it for the empty string, sets any other, and merges the rest', async () => {
  const { client } = await startTestService()
  const path = { notification_id: 'a' }
  await client.post(listPath, { body: { id: 'a', url, signing_key: 'one' } })
  const other = 'https://other.example.com'
  const steps = [
    [{}, { url, has_signing_key: true }],
    [{ signing_key: null }, { url, has_signing_key: true }],
    [{ url: other }, { url: other, has_signing_key: true }],
    [{ type: 'webhook' }, { url: other, has_signing_key: true }],
    [{ signing_key: '' }, { url: other, has_signing_key: false }],
    [
      { signing_key: null, url },
      { url, has_signing_key: false },
    ],
    [{ signing_key: '' }, { url, has_signing_key: false }],
    [{ signing_key: 'two' }, { url, has_signing_key: true }],
  ] as const
  for (const [body, expected] of steps) {
    const { data } = await client.patch(onePath, { path, body })
    expect(data, JSON.stringify(body)).toEqual({
      id: 'a',
      filter: null,
      type: 'webhook',
      revision,
      created_at: createdAt,
      ...expected,
    })
    expect((await client.get(onePath, { path })).data).toEqual(data)
  }
})

test('merges in a PATCH, in one media type, and refuses unknown members without a change', async () => {
  const service = await startTestService()
  await service.client.post(listPath, { body: { id: 'a', url } })
  const patch = (body: string, type: string) => {
    const headers = { Authorization: `Bearer ${service.api_key}`, 'Content-Type': type }
    return service.raw(`${listPath}/a`, { method: 'PATCH', body, headers })
  }
  const merge = 'application/json'
  expect((await patch('{"signing_key":"k"}', merge)).status).toBe(200)
  expect((await patch('{"signing_key":""}', `${merge}; charset=utf-8`)).status).toBe(200)
  const wrong = [
    '{"id":"b"}',
    '{"url":null}',
    '{"type":"email"}',
    '{"signing_key":1}',
    '{"url":"ftp://a"}',
    '[]',
    'null',
    '',
  ]
  for (const body of wrong) expect.soft((await patch(body, merge)).status, body).toBe(400)
  for (const type of ['application/json-patch+json', 'application/merge-patch+json'])
    expect.soft((await patch('{}', type)).status, type).toBe(415)
  const { data } = await service.client.get(listPath)
  expect(data).toEqual([
    { id: 'a', type: 'webhook', url, has_signing_key: false, filter: null, revision, created_at: createdAt },
  ])
})

test('answers 404 for an unknown notification in every operation', async () => {
  const { client } = await startTestService()
  const path = { notification_id: 'no-such' }
  const missing = { status: 404, message: 'Notification not found' }
  await expect(client.get(onePath, { path })).rejects.toMatchObject(missing)
  await expect(client.patch(onePath, { path, body: {} })).rejects.toMatchObject(missing)
  await expect(client.patch(onePath, { path, body: { signing_key: 'k' } })).rejects.toMatchObject(missing)
  await expect(client.delete(onePath, { path })).rejects.toMatchObject(missing)
})

test('refuses to delete a notification that a relayer uses, and frees the id of a deleted one', async () => {
  const { client } = await startTestService()
  const path = { notification_id: 'a' }
  await client.post(listPath, { body: { id: 'a', url } })
  const relayer = await createRelayer(client, { notification_id: 'a' })
  await expect(client.delete(onePath, { path })).rejects.toMatchObject({ status: 409 })
  expect((await client.get(onePath, { path })).data.id).toBe('a')
  const relayerPath = { relayer_id: relayer.id }
  await client.patch('/api/v1/relayers/{relayer_id}', { path: relayerPath, body: { notification_id: null } })
  await client.delete(onePath, { path })
  await expect(client.get(onePath, { path })).rejects.toMatchObject({ status: 404 })
  await client.post(listPath, { body: { id: 'a', url } })
})

test('refuses a signing key that receivers cannot decode, and takes any other text', async () => {
  const service = await startTestService()
  const key = 'C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
  const refused = ['whsec_', `whsec_${key.slice(1)}`, `whsec_${key.replace('+', '-')}`, `v1,${key}`, `v1,whsec_${key}`]
  for (const signingKey of refused) {
    const { status, body } = await post(service, { url, signing_key: signingKey })
    expect.soft([status, body.details?.[0].path], signingKey).toEqual([400, '/body/signing_key'])
  }
  for (const signingKey of [
    `whsec_${key}`,
    'whsec_QQ==',
    key,
    'b7a9a1e2-6a0c-4d5e-9a57-6a1c3a2b9d10',
    'two\nlines',
    '',
  ])
    expect.soft((await post(service, { url, signing_key: signingKey })).status, signingKey).toBe(201)
})

async function post(service: TestService, body: object) {
  const response = await create(service, body)
  return { status: response.status, body: (await response.json()) as { details?: [{ path: string }] } }
}

test('shows a signing key in no response, log line or file, in valid and invalid requests', async () => {
  const service = await startTestService()
  const key = 'whsec_a/very/secret/signing/keyabc'
  const bodies = [
    await create(service, { id: 'a', url, signing_key: key }),
    await create(service, { id: 'a', url, signing_key: key }),
    await create(service, { id: 'b', url: 'nowhere', signing_key: key }),
    await create(service, { url, signing_key: [key] }),
    await create(service, { url, signing_key: key.padEnd(513, key) }),
    await create(service, `{"url":"${url}","signing_key":"${key}"`),
    await service.raw(`${listPath}/a`, { method: 'PATCH', body: JSON.stringify({ signing_key: key }) }),
    await service.raw(`${listPath}/a`),
    await service.raw(listPath),
  ]
  for (const response of bodies) expect(await response.text()).not.toContain(key)
  await expectKept(service, Buffer.from(key), url)
})
