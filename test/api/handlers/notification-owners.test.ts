import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { createRelayerClient } from '../../../client/index.ts'
import { operations } from '../../support/contract.ts'
import { createRelayer } from '../../support/resources.ts'
import { startTestService, type TestService } from '../../support/service.ts'

const listPath = '/api/v1/notifications'
const onePath = '/api/v1/notifications/{notification_id}'
const relayerPath = '/api/v1/relayers/{relayer_id}'
const url = 'https://hooks.example.com/relayer'

/** A key that is limited to a relayer of its own, and its client. */
async function tenant(service: TestService, relayerId: string) {
  await createRelayer(service.client, { id: relayerId })
  return limitedTo(service, [relayerId])
}

async function limitedTo(service: TestService, relayerIds: string[] | null) {
  const scopes = ['read', 'notifications', 'manage'] as const
  const { data } = await service.client.post('/api/v1/api-keys', {
    body: { name: randomUUID(), scopes: [...scopes], relayer_ids: relayerIds },
  })
  return { token: data.token, client: createRelayerClient({ baseUrl: service.url, token: data.token }) }
}

/** All that a caller sees of an answer but what differs between any two requests. */
async function seen(service: TestService, token: string, method: string, path: string, body?: object) {
  const answer = await service.raw(path, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      'X-Request-Id': 'same',
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: await answer.text() }
}

const ofOne = operations.filter(({ path }) => path.includes('{notification_id}'))

test('answers 404 for another tenant’s notification in every operation', async () => {
  const service = await startTestService()
  const [a, b] = [await tenant(service, 'a'), await tenant(service, 'b')]
  await a.client.post(listPath, { body: { id: 'of-a', url, signing_key: 'secret' } })
  await service.client.post(listPath, { body: { id: 'of-admin', url } })

  expect(ofOne.length).toBeGreaterThan(6)
  for (const { id, method, path, examples } of ofOne) {
    const ask = (notificationId: string) => {
      const filled = path.replace('{notification_id}', notificationId).replace('{delivery_id}', 'd')
      return seen(service, b.token, method.toUpperCase(), filled, examples[0] as object | undefined)
    }
    const missing = await ask('nowhere')
    expect.soft(missing, id).toMatchObject({ status: 404 })
    expect.soft([await ask('of-a'), await ask('of-admin')], id).toEqual([missing, missing])
  }
  expect((await a.client.get(onePath, { path: { notification_id: 'of-a' } })).data).toEqual({
    id: 'of-a',
    type: 'webhook',
    url,
    has_signing_key: true,
    filter: null,
    revision: expect.any(String),
    created_at: expect.any(String),
  })
})

test('refuses to attach a relayer to another tenant’s notification, and does not reveal that it exists', async () => {
  const service = await startTestService()
  const [a, b] = [await tenant(service, 'a'), await tenant(service, 'b')]
  await a.client.post(listPath, { body: { id: 'of-a', url } })
  await service.client.post(listPath, { body: { id: 'of-admin', url } })
  const attach = (notificationId: string) =>
    seen(service, b.token, 'PATCH', '/api/v1/relayers/b', { notification_id: notificationId })
  const missing = await attach('nowhere')
  expect(missing.status).toBe(400)
  expect([await attach('of-a'), await attach('of-admin')]).toEqual([missing, missing])

  await b.client.post(listPath, { body: { id: 'of-b', url } })
  const own = await b.client.patch(relayerPath, { path: { relayer_id: 'b' }, body: { notification_id: 'of-b' } })
  expect(own.data.notification_id).toBe('of-b')
  // The administrator attaches any, and the tenant keeps it with its other changes.
  const path = { relayer_id: 'b' }
  await service.client.patch(relayerPath, { path, body: { notification_id: 'of-admin' } })
  const kept = await b.client.patch(relayerPath, { path, body: { notification_id: 'of-admin', paused: true } })
  expect(kept.data).toMatchObject({ notification_id: 'of-admin', paused: true })
})

test('lets each tenant list and delete its own notifications, and the administrator and keys for all relayers all of them', async () => {
  const service = await startTestService()
  const [a, b] = [await tenant(service, 'a'), await tenant(service, 'b')]
  const all = await limitedTo(service, null)
  for (const id of ['a1', 'a2', 'a3']) await a.client.post(listPath, { body: { id, url } })
  await b.client.post(listPath, { body: { id: 'b1', url } })
  await service.client.post(listPath, { body: { id: 'admin1', url } })
  const listed = async ({ client }: Pick<TestService, 'client'>, query = {}) => {
    const { data, pagination } = await client.get(listPath, { query })
    return [data.map(({ id }) => id), pagination.total_items]
  }
  expect(await listed(a)).toEqual([['a1', 'a2', 'a3'], 3])
  expect(await listed(a, { per_page: 2, page: 2 })).toEqual([['a3'], 3])
  expect(await listed(b)).toEqual([['b1'], 1])
  for (const one of [service, all]) expect(await listed(one)).toEqual([['a1', 'a2', 'a3', 'b1', 'admin1'], 5])
  await a.client.delete(onePath, { path: { notification_id: 'a1' } })
  await all.client.delete(onePath, { path: { notification_id: 'b1' } })
  expect([await listed(a), await listed(b)]).toEqual([
    [['a2', 'a3'], 2],
    [[], 0],
  ])
  // Ids are unique over all keys.
  const taken = b.client.post(listPath, { body: { id: 'a2', url } })
  await expect(taken).rejects.toMatchObject({
    status: 409,
    message: 'body/id: a notification with this id already exists',
  })
})

test('limits a key that is limited to relayers to 100 notifications', async () => {
  const service = await startTestService()
  const a = await tenant(service, 'a')
  for (let count = 0; count < 100; count += 1) await a.client.post(listPath, { body: { url } })
  await expect(a.client.post(listPath, { body: { url } })).rejects.toMatchObject({
    status: 409,
    code: 'limit_reached',
    details: [{ path: '/body' }],
  })
  await service.client.post(listPath, { body: { url } })
})
