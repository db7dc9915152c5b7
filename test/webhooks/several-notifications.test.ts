import { expect, test } from 'vitest'
import type { NotificationFilterInput, WebhookEvent } from '../../generated/openapi.ts'
import { testChain } from '../support/chain.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTestService, type TestService } from '../support/service.ts'

const demo = { path: { relayer_id: 'demo' } }
const relayer = '/api/v1/relayers/{relayer_id}'
const hook = '/api/v1/notifications/{notification_id}'

const create = (service: TestService, id: string, url: string, filter?: NotificationFilterInput) =>
  service.client.post('/api/v1/notifications', { body: { id, url, ...(filter && { filter }) } })

const pause = (service: TestService, paused: boolean) => service.client.patch(relayer, { ...demo, body: { paused } })

const deliveries = async (service: TestService, notificationId: string) =>
  (await service.client.get(`${hook}/deliveries`, { path: { notification_id: notificationId } })).data

const statusOf = ({ payload }: WebhookEvent) => ('status' in payload ? payload.status : payload.payload_type)

test('delivers to several notifications, to each what its filter allows', async () => {
  const chain = await testChain({ blockTime_s: 0.3 })
  const filters = {
    all: undefined,
    ends: { statuses: ['confirmed', 'failed'] },
    transactions: { events: ['transaction_update'], statuses: ['mined'] },
    states: { events: ['relayer_disabled', 'relayer_enabled'] },
  } satisfies Record<string, NotificationFilterInput | undefined>
  const service = await startTestService()
  const { client } = service
  const receivers = new Map<string, Awaited<ReturnType<typeof startReceiver>>>()
  for (const [id, filter] of Object.entries(filters)) {
    const receiver = await startReceiver()
    receivers.set(id, receiver)
    await create(service, id, receiver.url, filter)
  }
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [chain.url] },
  })
  const { data } = await client.patch(relayer, { ...demo, body: { notification_ids: Object.keys(filters) } })
  await chain.setBalance(data.address, 10n ** 20n)
  const { data: sent } = await client.post(`${relayer}/transactions`, {
    ...demo,
    query: { wait: 'confirmed' },
    body: { to: data.address, value: '1', reference: 'order-7' },
  })
  await pause(service, true)

  const got = (id: string) => {
    const events = receivers.get(id)?.got.map(({ event }) => event) ?? []
    // Only the events of one transaction come in their order.
    return events.sort((a, b) => a.sequence - b.sequence).map(statusOf)
  }
  await expect.poll(() => got('states')).toEqual(['relayer_disabled'])
  await expect
    .poll(() => got('all'))
    .toEqual(['pending', 'sent', 'submitted', 'mined', 'confirmed', 'relayer_disabled'])
  await expect.poll(() => got('ends')).toEqual(['confirmed', 'relayer_disabled'])
  expect(got('transactions')).toEqual(['mined'])
  // A delivery tells what its event is about.
  const about = (await deliveries(service, 'ends')).map((its) => ({
    ...{ relayer_id: its.relayer_id, transaction_id: its.transaction_id, nonce: its.nonce },
    ...{ reference: its.reference, transaction_status: its.transaction_status },
  }))
  expect(about).toEqual([
    { relayer_id: 'demo', transaction_id: null, nonce: null, reference: null, transaction_status: null },
    {
      ...{ relayer_id: 'demo', transaction_id: sent.id, nonce: sent.nonce },
      ...{ reference: 'order-7', transaction_status: 'confirmed' },
    },
  ])
  // Every delivery has its own id, and the same event the same bytes.
  const bodies = [...receivers.values()].map(({ got }) => got.find(({ event }) => event.sequence === 6)?.body)
  expect(new Set(bodies.filter((body) => body !== undefined)).size).toBe(1)
})

test('changes and removes a filter, and refuses an empty or unknown one', async () => {
  const receiver = await startReceiver()
  const service = await startTestService()
  await create(service, 'hook', receiver.url, { events: ['transaction_update'] })
  await service.client.patch(relayer, { ...demo, body: { notification_ids: ['hook'] } })
  await pause(service, true)
  const path = { notification_id: 'hook' }
  const { data } = await service.client.patch(hook, { path, body: { filter: null } })
  expect(data.filter).toBeNull()
  await pause(service, false)
  await expect.poll(() => receiver.got.map(({ event }) => statusOf(event))).toEqual(['relayer_enabled'])
  const filter = { events: ['relayer_disabled' as const] }
  const shown = { ...filter, statuses: null }
  expect((await service.client.patch(hook, { path, body: { filter } })).data.filter).toEqual(shown)
  for (const wrong of [{ events: [] }, { events: ['test'] }, { statuses: ['done'] }, { event: ['x'] }]) {
    const change = service.client.patch(hook, { path, body: { filter: wrong as never } })
    await expect(change, JSON.stringify(wrong)).rejects.toMatchObject({ status: 400 })
  }
  expect((await service.client.get(hook, { path })).data.filter).toEqual(shown)
})

test('holds no notification up by another one of the same relayer that is dead', async () => {
  const dead = await startReceiver((_, response) => void response.writeHead(500).end())
  const alive = await startReceiver()
  const service = await startTestService()
  await create(service, 'dead', dead.url)
  await create(service, 'alive', alive.url)
  await service.client.patch(relayer, { ...demo, body: { notification_ids: ['dead', 'alive'] } })
  for (const paused of [true, false, true, false]) await pause(service, paused)
  await expect.poll(() => alive.got.map(({ event }) => event.sequence)).toEqual([1, 2, 3, 4])
  expect((await deliveries(service, 'dead')).map(({ status }) => status)).toEqual(Array(4).fill('pending'))
})

test('makes all waiting deliveries due on request, in their order, without counting the attempt', async () => {
  let isDown = true
  const receiver = await startReceiver((_, response) => void (isDown && response.writeHead(503).end()))
  const service = await startTestService()
  await create(service, 'hook', receiver.url)
  await service.client.patch(relayer, { ...demo, body: { notification_ids: ['hook'] } })
  for (const paused of [true, false, true]) await pause(service, paused)
  const attempts = async () => (await deliveries(service, 'hook')).map((one) => one.attempts.length)
  await expect.poll(attempts).toEqual([0, 0, 1])
  const retry = async () =>
    (await service.client.notifications.redeliverDeliveries('hook', { status: 'pending' })).redelivered_count
  const waitingMs = async () => {
    const first = (await deliveries(service, 'hook')).at(-1)
    const last = first?.attempts.at(-1)
    return Date.parse(first?.next_attempt_at ?? '') - Date.parse(last?.attempted_at ?? '')
  }
  expect(await retry()).toBe(1)
  await expect.poll(attempts).toEqual([0, 0, 2])
  // Still the first step of the schedule: about 5 s, not 5 min.
  await expect.poll(waitingMs).toBeGreaterThan(0)
  expect(await waitingMs()).toBeLessThan(60_000)
  isDown = false
  expect(await retry()).toBe(1)
  await expect.poll(() => receiver.got.slice(2).map(({ event }) => event.sequence)).toEqual([1, 2, 3])
  await expect.poll(retry).toBe(0)
})

test('refuses to retry the deliveries of a disabled notification', async () => {
  const receiver = await startReceiver((_, response) => void response.writeHead(410).end())
  const service = await startTestService()
  await create(service, 'hook', receiver.url)
  await service.client.patch(relayer, { ...demo, body: { notification_ids: ['hook'] } })
  await pause(service, true)
  const path = { notification_id: 'hook' }
  const health = async () => (await service.client.get(`${hook}/health`, { path })).data.status
  await expect.poll(health).toBe('disabled')
  await expect(service.client.notifications.redeliverDeliveries('hook', { status: 'pending' })).rejects.toMatchObject({
    status: 409,
  })
})

test('makes the waiting deliveries of other relayers due by the first success after an outage', async () => {
  let isDown = true
  const receiver = await startReceiver((_, response) => void (isDown && response.writeHead(500).end()))
  // A minute of the schedule takes 0.6 s, so that the second and third waits are far away.
  const service = await startTestService({ WEBHOOK_TIME_SCALE: '0.01' })
  const { client } = service
  await create(service, 'hook', receiver.url)
  const names = ['a', 'b', 'c']
  for (const id of names) {
    const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
    const network = { network: 'local', network_type: 'evm' } as const
    const body = { id, name: id, ...network, paused: false, signer_id: signer.id, notification_ids: ['hook'] }
    await client.post('/api/v1/relayers', { body })
  }
  for (const relayerId of names)
    await client.patch(relayer, { path: { relayer_id: relayerId }, body: { paused: true } })
  // Three attempts of each: the next one is 18 s away (30 minutes of the schedule).
  const failures = async () => (await deliveries(service, 'hook')).map((one) => one.attempts.length)
  await expect.poll(failures, { timeout: 20_000 }).toEqual([3, 3, 3])
  isDown = false
  await client.notifications.redeliverDeliveries('hook', {
    delivery_id: (await deliveries(service, 'hook'))[0]?.id as string,
  })
  const states = async () => (await deliveries(service, 'hook')).map(({ status }) => status)
  await expect.poll(states, { timeout: 5_000 }).toEqual(['delivered', 'delivered', 'delivered'])
})
