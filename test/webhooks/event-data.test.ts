import { expect, test } from 'vitest'
import { verifyWebhook } from '../../client/webhook.ts'
import { testChain } from '../support/chain.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTestService } from '../support/service.ts'
import { columnOf } from '../support/service-database.ts'

const demo = { path: { relayer_id: 'demo' } }
const signingKey = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const before = `0x${'ab'.repeat(2_000)}`
const after = `0x${'cd'.repeat(2_000)}`

test('keeps the data of an event’s transaction byte for byte, at every attempt and after a replacement', async () => {
  const chain = await testChain({ noMining: true })
  let isUp = false
  const receiver = await startReceiver((_, response) => void response.writeHead(isUp ? 200 : 500).end())
  const service = await startTestService({ WEBHOOK_TIME_SCALE: '0.001' })
  const { client, data_dir } = service
  const network = { path: { network_id: 'evm:local' } }
  await client.patch('/api/v1/networks/{network_id}', { ...network, body: { rpc_urls: [chain.url] } })
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: receiver.url, signing_key: signingKey } })
  const { data: relayer } = await client.patch('/api/v1/relayers/{relayer_id}', {
    ...demo,
    body: { notification_id: 'hook' },
  })
  await chain.setBalance(relayer.address, 10n ** 20n)

  const header = { 'Idempotency-Key': 'once' }
  const body = { to: relayer.address, value: '1', data: before, gas_limit: 200_000, speed: 'average' as const }
  const sendOnce = () => client.post('/api/v1/relayers/{relayer_id}/transactions', { ...demo, header, body })
  const first = await sendOnce()
  expect(first.data.data).toBe(before)
  const one = { path: { ...demo.path, transaction_id: first.data.id } }
  const read = async () => (await client.get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', one)).data
  const status = async () => (await read()).status
  await expect.poll(status).toBe('submitted')
  await expect.poll(() => receiver.got.length).toBeGreaterThanOrEqual(2)

  const { hash } = await read()
  const replaced = await client.put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
    ...one,
    body: { ...body, data: after, speed: 'fastest' },
  })
  expect(replaced.data.data).toBe(after)
  await expect.poll(async () => (await read()).hash).not.toBe(hash)
  const newest = (await read()).hash
  await expect.poll(() => chain.rpc('eth_getTransactionByHash', [newest])).not.toBeNull()
  await expect
    .poll(async () => {
      await chain.mine(1)
      return status()
    })
    .toBe('confirmed')
  isUp = true
  await expect.poll(() => receiver.got.some(({ event }) => JSON.stringify(event).includes('"confirmed"'))).toBe(true)

  const bodies = new Map<string, Set<string>>()
  for (const { headers, body, event } of receiver.got) {
    expect(await verifyWebhook(signingKey, headers, body)).toEqual(event)
    bodies.set(event.id, (bodies.get(event.id) ?? new Set()).add(body))
  }
  expect([...bodies.values()].map((seen) => seen.size)).toEqual([...bodies].map(() => 1))
  const told = [...bodies.values()].map(([body]) => JSON.parse(body as string).payload)
  expect(told.filter(({ data }) => data === before).map(({ status }) => status)).toEqual([
    'pending',
    'sent',
    'submitted',
  ])
  expect(told.at(-1)).toMatchObject({ status: 'confirmed', data: after })

  expect(await sendOnce(), 'the first response again').toEqual(first)

  const [longest] = await columnOf<number>({ data_dir }, 'SELECT max(length(body)) FROM events')
  expect(longest).toBeLessThan(2_000)
  expect(await columnOf({ data_dir }, 'SELECT count(*) FROM transaction_data')).toEqual([2])
})
