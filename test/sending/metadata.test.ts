import { expect, test } from 'vitest'
import type { SendTransactionRequest } from '../../client/index.ts'
import { startReceiver } from '../support/receiver.ts'
import { testRig } from '../support/test-rig.ts'

const path = '/api/v1/relayers/{relayer_id}/transactions'
const to = `0x${'5a'.repeat(20)}`

async function start() {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  const { relayer_id } = account
  const client = rig.client()
  const send = async (metadata?: SendTransactionRequest['metadata']) =>
    (await client.post(path, { path: { relayer_id }, body: { to, gas_limit: 21_000, ...(metadata && { metadata }) } }))
      .data
  const found = async (metadata: string) =>
    (await client.get(`${path}/`, { path: { relayer_id }, query: { metadata } })).data.map(({ id }) => id)
  return { ...rig, client, relayer_id, send, found }
}

test('shows metadata in answers, lists and events, and finds transactions by it', async () => {
  const { client, relayer_id, send, found } = await start()
  const receiver = await startReceiver()
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: receiver.url } })
  await client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id }, body: { notification_ids: ['hook'] } })
  const metadata = { customer: '4711', note: 'a: "b" €, 密码' }
  const first = await send(metadata)
  const second = await send({ customer: '4711' })
  const third = await send()
  expect([first.metadata, second.metadata, third.metadata]).toEqual([metadata, { customer: '4711' }, null])

  const { data: listed } = await client.get(`${path}/`, { path: { relayer_id } })
  expect(listed.map((one) => one.metadata)).toEqual([null, { customer: '4711' }, metadata])
  const payloads = () => receiver.got.map(({ event }) => event.payload)
  await expect.poll(payloads).toContainEqual(expect.objectContaining({ id: first.id, status: 'pending', metadata }))

  expect(await found('customer:4711')).toEqual([second.id, first.id])
  expect(await found('note:a: "b" €, 密码')).toEqual([first.id])
  expect([await found('customer:471'), await found('customer:'), await found('other:4711')]).toEqual([[], [], []])
  const all = await client.get('/api/v1/transactions', { query: { metadata: 'customer:4711', status: ['failed'] } })
  expect(all.data).toEqual([])
})

test('keeps metadata in a replacement that has none, and takes the new, by which it is then found', async () => {
  const { client, relayer_id, send, found } = await start()
  const { id } = await send({ order: '1', customer: 'a' })
  const replace = async (body: SendTransactionRequest) =>
    (await client.put(`${path}/{transaction_id}`, { path: { relayer_id, transaction_id: id }, body })).data.metadata
  const content = { to, value: '0', speed: 'fastest', gas_limit: 21_000 } as const
  expect(await replace({ ...content, value: '1' })).toEqual({ order: '1', customer: 'a' })
  expect(await replace({ ...content, value: '2', metadata: { order: '2' } })).toEqual({ order: '2' })
  expect([await found('order:2'), await found('order:1'), await found('customer:a')]).toEqual([[id], [], []])
  expect(await replace({ ...content, value: '3', metadata: null })).toBe(null)
  expect(await found('order:2')).toEqual([])
})

test('refuses metadata with other values than text, with wrong names, and above 4096 bytes', async () => {
  const { send } = await start()
  const wrong = [{ 'a b': '' }, { a: 1 }, { a: null }, { a: 'x'.repeat(501) }, { a: '\u0000' }, { '': '' }, ['a'], 'a']
  for (const metadata of wrong) {
    await expect(send(metadata as never), JSON.stringify(metadata)).rejects.toMatchObject({
      status: 400,
      details: [{ path: expect.stringMatching(/^\/body\/metadata/) }],
    })
  }
  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, 'x'.repeat(500)]))
  await expect(send(members(9))).rejects.toMatchObject({
    status: 400,
    details: [{ path: '/body/metadata', message: 'must have at most 4096 bytes as JSON; it has 4573' }],
  })
  expect(Object.keys((await send(members(8))).metadata ?? {})).toHaveLength(8)
})
