import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { verifyWebhook } from '../../client/webhook.ts'
import { testChain } from '../support/chain.ts'
import { hold, startReceiver } from '../support/receiver.ts'
import { startTestService, type TestService } from '../support/service.ts'

const demo = { path: { relayer_id: 'demo' } }
const other = `0x${'5a'.repeat(20)}`
const signingKey = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
/** A second of the schedule takes a millisecond. */
const fast = { WEBHOOK_TIME_SCALE: '0.001' }

async function reportTo(service: TestService, url: string, id = 'hook') {
  await service.client.post('/api/v1/notifications', { body: { id, url, signing_key: signingKey } })
  await service.client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_id: id } })
  return { path: { notification_id: id } }
}

const pause = (service: TestService, paused: boolean) =>
  service.client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { paused } })

test('delivers each state of a transaction once, signed, in order and without gaps', async () => {
  const chain = await testChain({ blockTime_s: 0.3 })
  const receiver = await startReceiver()
  const service = await startTestService()
  const { client } = service
  const path = { network_id: 'evm:local' }
  await client.patch('/api/v1/networks/{network_id}', { path, body: { rpc_urls: [chain.url] } })
  await reportTo(service, receiver.url)
  const relayer = await client.get('/api/v1/relayers/{relayer_id}', demo)
  await chain.setBalance(relayer.data.address, 10n ** 20n)
  const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    ...demo,
    query: { wait: 'confirmed' },
    body: { to: relayer.data.address, value: '1' },
  })

  await expect.poll(() => receiver.got.length).toBe(5)
  const payloads = receiver.got.map(({ event }) => event.payload as { status: string })
  expect(payloads.map(({ status }) => status)).toEqual(['pending', 'sent', 'submitted', 'mined', 'confirmed'])
  expect(receiver.got.map(({ event }) => event.sequence)).toEqual([1, 2, 3, 4, 5])
  const { warnings: _, ...transaction } = data
  expect(payloads.at(-1)).toEqual({ payload_type: 'transaction', ...transaction })
  for (const { headers, body, event } of receiver.got) {
    expect(await verifyWebhook(signingKey, headers, body)).toEqual(event)
    expect(headers['webhook-id']).toBe(event.id)
  }
})

test('reports a pause and its end', async () => {
  const receiver = await startReceiver()
  const service = await startTestService()
  await reportTo(service, receiver.url)
  await pause(service, true)
  await pause(service, false)
  await expect.poll(() => receiver.got.length).toBe(2)
  expect(receiver.got.map(({ event }) => event)).toMatchObject([
    {
      event: 'relayer_disabled',
      payload: { payload_type: 'relayer_disabled', relayer: { id: 'demo', paused: true } },
    },
    { event: 'relayer_enabled', payload: { payload_type: 'relayer_enabled', retry_count: 0 } },
  ])
})

test('reports a balance below the policy once, and again after a recovery', async () => {
  const chain = await testChain()
  const receiver = await startReceiver()
  const service = await startTestService()
  const { client } = service
  const path = { network_id: 'evm:local' }
  await client.patch('/api/v1/networks/{network_id}', { path, body: { rpc_urls: [chain.url] } })
  await reportTo(service, receiver.url)
  const minBalance = (10n ** 18n).toString()
  const { data } = await client.patch('/api/v1/relayers/{relayer_id}', {
    ...demo,
    body: { policies: { min_balance: minBalance } },
  })
  const send = () => {
    const query = { wait: 'confirmed' } as const
    return client.post('/api/v1/relayers/{relayer_id}/transactions', {
      ...demo,
      query,
      body: { to: other, value: '1' },
    })
  }
  const told = () =>
    receiver.got.map(({ event }) => event.payload).filter((payload) => payload.payload_type === 'relayer_low_balance')

  // Spent by the first; the second is refused, and tells nothing new.
  for (const times of [1, 2]) {
    await chain.setBalance(data.address, 10n ** 18n)
    await send()
    await expect.poll(() => told().length).toBe(times)
    await expect.poll(async () => send().then(String, ({ details }) => details?.[0]?.path)).toBe('policies/min_balance')
    await chain.setBalance(data.address, 10n ** 19n)
    await expect.poll(async () => send().then(() => 'sent', String)).toBe('sent')
  }
  expect(told()).toHaveLength(2)
  expect(told()[0]).toMatchObject({ relayer: { id: 'demo' }, min_balance: minBalance })
  expect(BigInt(told()[0]?.balance ?? '0')).toBeLessThan(10n ** 18n)
})

test('repeats a failed delivery with the same id and bytes, before any later event of the same relayer', async () => {
  let failures = 4
  const receiver = await startReceiver((_, response) => {
    failures -= 1
    if (failures >= 0) response.writeHead(failures % 2 ? 500 : 302, { Location: '/elsewhere' }).end('no')
  })
  const service = await startTestService({ ...fast, WEBHOOK_TIME_SCALE: '0.00001' })
  const hook = await reportTo(service, receiver.url)
  await pause(service, true)
  await pause(service, false)
  await expect.poll(() => receiver.got.length).toBe(6)
  const first = receiver.got.slice(0, 5)
  expect(new Set(first.map(({ body }) => body)).size).toBe(1)
  expect(new Set(first.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  expect(receiver.got.map(({ event }) => event.sequence)).toEqual([1, 1, 1, 1, 1, 2])

  const read = () => service.client.get('/api/v1/notifications/{notification_id}/deliveries', hook)
  await expect.poll(async () => (await read()).data.map(({ status }) => status)).toEqual(['delivered', 'delivered'])
  const attempts = (await read()).data[1]?.attempts ?? []
  expect(attempts.map(({ http_status }) => http_status)).toEqual([500, 302, 500, 302, 204])
  expect(attempts[1]).toMatchObject({
    error_message: 'Redirects are not followed; the url must be the final one',
    response_body: 'no',
  })
})

test('a 410 that answers the former signing key does not disable the notification', async () => {
  const held: ServerResponse[] = []
  const receiver = await startReceiver((_, response) => {
    if (held.length > 0) return
    held.push(response)
    hold(response)
  })
  const service = await startTestService()
  const hook = await reportTo(service, receiver.url)
  const { client } = service
  await pause(service, true)
  await expect.poll(() => held.length).toBe(1)
  await client.patch('/api/v1/notifications/{notification_id}', { ...hook, body: { signing_key: 'the next key' } })
  held[0]?.writeHead(410).end()
  await expect.poll(() => receiver.got.length).toBe(2)
  const { data } = await client.get('/api/v1/notifications/{notification_id}/health', hook)
  expect(data).toMatchObject({ status: 'enabled', disabled_reason: null })
})

test('disables after 410, enables with an update of the URL, and redelivers failed deliveries', async () => {
  let gone = true
  const receiver = await startReceiver((_, response) => void (gone && response.writeHead(410).end()))
  const service = await startTestService()
  const hook = await reportTo(service, receiver.url)
  const { client } = service
  const health = async () => (await client.get('/api/v1/notifications/{notification_id}/health', hook)).data
  await pause(service, true)
  await expect.poll(async () => (await health()).status).toBe('disabled')
  await pause(service, false)
  expect(await health()).toMatchObject({
    failed_count: 2,
    pending_count: 0,
    disabled_reason: expect.stringContaining('410'),
  })
  const since = { status: 'failed', since: '2020-01-01T00:00:00Z' } as const
  const again = () => client.post('/api/v1/notifications/{notification_id}/redeliver', { ...hook, body: since })
  await expect(again()).rejects.toMatchObject({ status: 409 })

  gone = false
  await client.patch('/api/v1/notifications/{notification_id}', { ...hook, body: { url: receiver.url } })
  expect((await again()).data).toEqual({ redelivered_count: 2 })
  await expect.poll(() => receiver.got.map(({ event }) => event.sequence)).toEqual([1, 1, 2])
  expect(receiver.got[0]?.body).toBe(receiver.got[1]?.body)

  const [latest] = (await client.get('/api/v1/notifications/{notification_id}/deliveries', hook)).data
  const { notification_id: id } = hook.path
  await client.notifications.redeliverDeliveries(id, { delivery_id: latest?.id ?? '' })
  await expect.poll(() => receiver.got.length).toBe(4)
  await expect(client.notifications.redeliverDeliveries(id, { delivery_id: 'nothing' })).rejects.toMatchObject({
    status: 404,
    message: 'Delivery with ID nothing not found',
  })
})

test('does not disable the new URL because of a response of the old one', async () => {
  const answers: ServerResponse[] = []
  const old = await startReceiver((_, response) => {
    hold(response)
    answers.push(response)
  })
  const receiver = await startReceiver()
  const service = await startTestService(fast)
  const { client } = service
  const hook = await reportTo(service, old.url)
  await pause(service, true)
  await expect.poll(() => answers.length).toBe(1)
  await client.patch('/api/v1/notifications/{notification_id}', { ...hook, body: { url: receiver.url } })
  answers[0]?.writeHead(410).end()
  await pause(service, false)
  await expect.poll(() => receiver.got.map(({ event }) => event.sequence)).toEqual([1, 2])
  expect((await client.get('/api/v1/notifications/{notification_id}/health', hook)).data.status).toBe('enabled')
})

test('leaves nothing behind, without an error, when a notification is deleted during a delivery', async () => {
  const answers: ServerResponse[] = []
  const receiver = await startReceiver((_, response) => {
    hold(response)
    answers.push(response)
  })
  const service = await startTestService()
  const { client } = service
  const hook = await reportTo(service, receiver.url)
  await pause(service, true)
  await expect.poll(() => answers.length).toBe(1)
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_id: null } })
  await client.delete('/api/v1/notifications/{notification_id}', hook)
  answers[0]?.writeHead(200).end()
  // It ends when what is under way has ended.
  await service.close()
  expect(service.logged.filter((line) => JSON.parse(line).level >= 50)).toEqual([])
})

test('delays no other target by one that never answers', async () => {
  const hole = await startReceiver((_, response) => hold(response))
  const receiver = await startReceiver()
  const service = await startTestService()
  await reportTo(service, hole.url, 'hole')
  await pause(service, true)
  await expect.poll(() => hole.got.length).toBe(1)
  await reportTo(service, receiver.url, 'well')
  await pause(service, false)
  await expect.poll(() => receiver.got.length).toBe(1)
})

test('signs with a replaced signing key beside the new one, and not with a removed one', async () => {
  const receiver = await startReceiver()
  const service = await startTestService()
  const hook = await reportTo(service, receiver.url)
  const send = async () => {
    const { data } = await service.client.post('/api/v1/notifications/{notification_id}/test', hook)
    expect(data).toMatchObject({ number: 1, http_status: 204, error_message: null })
    const { headers, body } = receiver.got.at(-1) as (typeof receiver.got)[number]
    return { headers, body }
  }
  const change = (key: string) =>
    service.client.patch('/api/v1/notifications/{notification_id}', { ...hook, body: { signing_key: key } })
  await change('another key')
  const both = await send()
  await verifyWebhook('another key', both.headers, both.body)
  await verifyWebhook(signingKey, both.headers, both.body)
  await change('')
  const none = await send()
  expect(none.headers['webhook-signature'] ?? none.headers['x-signature']).toBeUndefined()
})

test('streams events, and resumes after the last received one', async () => {
  const service = await startTestService()
  await pause(service, true)
  await pause(service, false)
  const follow = async (last: string | undefined, count: number, query = '') => {
    const headers = { Authorization: `Bearer ${service.api_key}`, ...(last !== undefined && { 'Last-Event-ID': last }) }
    const response = await service.raw(`/api/v1/relayers/demo/events${query}`, { headers })
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const ids: number[] = []
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString('utf8')
      ids.splice(0, ids.length, ...[...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)))
      if (ids.length >= count) break
    }
    return ids
  }
  expect(await follow('0', 2)).toEqual([1, 2])
  const waiting = follow('2', 1)
  await pause(service, true)
  expect(await waiting).toEqual([3])
  expect(await follow(undefined, 2, '?recent=2')).toEqual([2, 3])
  expect(await follow(undefined, 3, '?recent=1000')).toEqual([1, 2, 3])
  expect(await follow('0', 3, '?recent=1')).toEqual([1, 2, 3])
})
