import { expect, test } from 'vitest'
import { createRelayer } from '../../support/resources.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { sponsoredRig } from '../../support/sponsorship.ts'
import { testRig } from '../../support/test-rig.ts'

const minuteMs = 60_000
const to = `0x${'5a'.repeat(20)}`

async function start() {
  const clock = { passed_ms: 0 }
  const service = await startTestService(
    { RATE_LIMIT_BURST: '100000' },
    { elapsed: () => performance.now() + clock.passed_ms },
  )
  const entries = async (query: object = {}) =>
    (await service.client.get('/api/v1/audit', { query: { per_page: 1_000, ...query } })).data.toReversed()
  return { service, clock, entries }
}

const ask = (service: TestService, method: string, path: string, body?: object) =>
  fetch(`${service.url}/api/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${service.api_key}`, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  }).then(({ status }) => status)

test('equal refusals are one entry with their number a minute, beside the first, by caller, operation, status and rule', async () => {
  const { service, clock, entries } = await start()
  const others = await createRelayer(service.client, {})
  await service.client.patch('/api/v1/relayers/{relayer_id}', {
    path: { relayer_id: 'demo' },
    body: { policies: { whitelist_receivers: [] } },
  })
  const refuse = async (relayerId: string) =>
    expect(await ask(service, 'POST', `/relayers/${relayerId}/transactions`, { to, value: '1' })).toBe(403)
  for (let count = 0; count < 100; count += 1) await refuse('demo')
  const of = { operation: 'sendTransaction' }
  await expect.poll(async () => (await entries(of)).length).toBe(1)
  expect(await entries(of)).toMatchObject([{ http_status: 403, relayer_id: 'demo', count: 1 }])
  // Another result is another entry.
  expect(await ask(service, 'POST', '/relayers/none/transactions', { to, value: '1' })).toBe(404)
  clock.passed_ms += minuteMs
  await service.client.patch('/api/v1/relayers/{relayer_id}', {
    path: { relayer_id: others.id },
    body: { policies: { whitelist_receivers: [] } },
  })
  await expect.poll(async () => (await entries(of)).length).toBe(3)
  expect((await entries(of)).at(-1)).toMatchObject({ http_status: 403, relayer_id: 'demo', count: 99 })
  // They go on: no entry of its own for the first of this minute. The rule of another relayer is another one.
  for (const id of ['demo', others.id, 'demo']) await refuse(id)
  await expect.poll(async () => (await entries(of)).length).toBe(4)
  clock.passed_ms += minuteMs
  expect(await ask(service, 'GET', '/relayers')).toBe(200)
  await expect.poll(async () => (await entries(of)).length).toBe(5)
  const failure = { code: 'policy_violation', message: expect.stringContaining('whitelist_receivers') }
  expect((await entries(of)).at(-1)).toMatchObject({ http_status: 403, relayer_id: 'demo', count: 2, failure })
})

test('counts the refusals of the last minute when the service stops', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const path = { relayer_id: 'none' }
  for (let count = 0; count < 10; count += 1)
    await expect(rig.client().delete('/api/v1/relayers/{relayer_id}', { path })).rejects.toMatchObject({ status: 404 })
  await rig.restart()
  const { data } = await rig.client().get('/api/v1/audit', { query: { operation: 'deleteRelayer' } })
  expect(data.map(({ count }) => count)).toEqual([9, 1])
})

test('each signature has an entry of its own, and what only reads has none', async () => {
  const { service, entries } = await start()
  for (let count = 0; count < 5; count += 1)
    expect(await ask(service, 'POST', '/relayers/demo/sign', { message: 'the same' })).toBe(200)
  expect(await ask(service, 'POST', '/relayers/demo/transactions/dry-run', { to, value: '1' })).toBe(200)
  await ask(service, 'POST', '/relayers/demo/rpc', { jsonrpc: '2.0', id: 1, method: 'eth_chainId' })
  await expect.poll(async () => (await entries()).length).toBe(5)
  expect(new Set((await entries()).map(({ operation, count }) => `${operation} ${count}`))).toEqual(
    new Set(['signMessage 1']),
  )
})

test('reads, refusals and repeated calls of a key that stands in web pages write no entries without end', async () => {
  const { rpc, calls, sponsorship, client } = await sponsoredRig({}, { settings: { RATE_LIMIT_BURST: '100000' } })
  const refused = { to, data: '0xa9059cbb' }
  const path = { sponsorship_id: sponsorship.id }
  const refuse = () => calls.post('/api/v1/sponsorships/{sponsorship_id}/calls', { path, body: refused })
  for (let count = 0; count < 100; count += 1) {
    await rpc('relayer_getStatus', { id: `0x${'0'.repeat(64)}` })
    await rpc('relayer_getCapabilities', [])
    await rpc('relayer_sendTransaction', { chainId: '31337', to, data: '0x12345678', payment: { type: 'sponsored' } })
    await expect(refuse()).rejects.toMatchObject({ status: 403 })
  }
  const { data } = await client.get('/api/v1/audit', { query: { per_page: 1_000 } })
  const its = data.filter(({ operation }) => /sponsored/i.test(operation))
  expect(its.map(({ operation }) => operation)).toEqual(['sendSponsoredCall'])
})

test('keeps no token as an id that was pasted into a path, and no id that does not exist', async () => {
  const { service, entries } = await start()
  const { data } = await service.client.post('/api/v1/api-keys', { body: { name: 'a', scopes: ['sign'] } })
  for (const secret of [data.token, service.api_key]) {
    await ask(service, 'DELETE', `/relayers/${secret}`)
    await ask(service, 'POST', `/relayers/${secret}/sign`, { message: 'a' })
    await ask(service, 'DELETE', `/notifications/${secret}`)
    await ask(service, 'DELETE', `/relayers/demo/transactions/${secret}`)
  }
  await service.client.post('/api/v1/relayers/{relayer_id}/sign', {
    path: { relayer_id: 'demo' },
    body: { message: 'last' },
  })
  await expect.poll(async () => (await entries()).at(-1)?.operation).toBe('signMessage')
  const text = JSON.stringify(await entries())
  for (const secret of [data.token.slice(-43), service.api_key]) expect(text).not.toContain(secret)
})
