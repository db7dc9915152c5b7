import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  createRelayerClient,
  type RelayerClient,
  RelayerError,
  type SendTransactionRequest,
} from '../../client/index.ts'
import type { Account } from '../support/rig.ts'
import { testRig } from '../support/test-rig.ts'

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const base = '/api/v1/pools/{pool_id}'
const path = { pool_id: 'payouts' }

async function start(count: number, { mining = false } = {}) {
  const rig = await testRig({ chain: mining ? {} : { noMining: true } })
  const client = rig.client()
  const accounts: Account[] = []
  while (accounts.length < count) accounts.push(await rig.addAccount())
  const relayer_ids = accounts.map(({ relayer_id }) => relayer_id)
  await client.post('/api/v1/pools', { body: { id: 'payouts', network: 'local', relayer_ids } })
  const sendBy = async (its: RelayerClient, body: SendTransactionRequest = {}, key: string = randomUUID()) =>
    (
      await its.post(`${base}/transactions`, {
        path,
        header: { 'Idempotency-Key': key },
        body: { to, value: '1', gas_limit: 21_000, ...body },
      })
    ).data
  const send = (body?: SendTransactionRequest, key?: string) => sendBy(client, body, key)
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error) => (error instanceof RelayerError ? `${error.status} ${error.code} ${error.details?.[0]?.path}` : error),
    )
  const weigh = (relayer_id: string, weight: number) =>
    client.patch(`${base}/relayers/{member_id}`, { path: { ...path, member_id: relayer_id }, body: { weight } })
  const change = (relayer_id: string, body: object) =>
    client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id }, body })
  return { rig, client, accounts, relayer_ids, send, sendBy, codeOf, weigh, change }
}

const counted = (ids: string[], of: { relayer_id: string }[]) =>
  ids.map((id) => of.filter(({ relayer_id }) => relayer_id === id).length)

test('keeps pools: create, list, change, weigh, delete; names what is wrong', async () => {
  const { client, relayer_ids, codeOf, accounts } = await start(2)
  const [first, second] = relayer_ids as [string, string]
  const relayers = accounts.map(({ relayer_id, address }) => ({ relayer_id, address, weight: 100 }))
  const pool = { id: 'payouts', name: 'payouts', network: 'local', relayers }
  expect((await client.get(base, { path })).data).toEqual(pool)
  expect((await client.get('/api/v1/pools')).data).toEqual([pool])

  const create = (body: object) =>
    codeOf(client.post('/api/v1/pools', { body: { network: 'local', ...body } as never }))
  expect(await create({ id: 'payouts', relayer_ids: [first] })).toBe('409 conflict /body/id')
  expect(await create({ relayer_ids: [first, 'none'] })).toBe('400 invalid_request /body/relayer_ids/1')
  expect(await create({ network: 'none', relayer_ids: [first] })).toBe('400 invalid_request /body/network')
  expect(await create({ relayer_ids: [first, first] })).toBe('400 invalid_request /body/relayer_ids')

  const weight = { path: { ...path, member_id: first }, body: { weight: 7 } }
  expect((await client.patch(`${base}/relayers/{member_id}`, weight)).data.relayers[0]).toMatchObject({ weight: 7 })
  const strange = { path: { ...path, member_id: 'demo' }, body: { weight: 7 } }
  expect(await codeOf(client.patch(`${base}/relayers/{member_id}`, strange))).toBe('404 not_found /path/member_id')

  const update = async (body: object) => (await client.patch(base, { path, body: body as never })).data
  expect(await update({ name: 'Pay', relayer_ids: [first] })).toMatchObject({ name: 'Pay', relayers: [{ weight: 7 }] })
  expect(await codeOf(update({ name: 'No', relayer_ids: ['none'] }))).toBe('400 invalid_request /body/relayer_ids/0')
  expect(await update({ relayer_ids: [first, second] })).toMatchObject({
    name: 'Pay',
    relayers: [
      { relayer_id: first, weight: 7 },
      { relayer_id: second, weight: 100 },
    ],
  })

  await client.delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id: second } })
  expect((await client.get(base, { path })).data.relayers).toHaveLength(1)
  await client.delete(base, { path })
  expect(await codeOf(client.get(base, { path }))).toBe('404 not_found /path/pool_id')
  expect((await client.get('/api/v1/pools')).data).toEqual([])
})

test('shares by weight what is unfinished, and passes over relayers that cannot take a transaction', async () => {
  const { rig, relayer_ids, send, weigh, change, codeOf, accounts } = await start(4)
  const [a, b, c] = relayer_ids as [string, string, string]
  const some = []
  for (let index = 0; index < 8; index += 1) some.push(await send())
  expect(counted(relayer_ids, some)).toEqual([2, 2, 2, 2])
  // The one that was idle the longest.
  const order = some.map(({ relayer_id }) => relayer_id)
  expect(new Set(order.slice(0, 4)).size).toBe(4)
  expect(order.slice(4)).toEqual(order.slice(0, 4))

  await weigh(a, 300)
  await weigh(b, 0)
  await change(c, { paused: true })
  await rig.chain.setBalance(accounts[3]?.address ?? '', 0n)
  rig.clock.passed_ms += 60_000
  const more = []
  for (let index = 0; index < 4; index += 1) more.push(await send())
  expect(counted(relayer_ids, more)).toEqual([4, 0, 0, 0])

  await change(a, { policies: { whitelist_receivers: ['0x000000000000000000000000000000000000dead'] } })
  expect(await codeOf(send())).toMatch(/^403 policy_violation|^400 insufficient_funds|^403 relayer_paused/)
  await change(c, { paused: false })
  expect((await send()).relayer_id).toBe(c)
  await weigh(b, 100)
  expect((await send()).relayer_id).toBe(b)
})

test('an idempotency key belongs to the pool, also beside requests for its relayers, and after a new pool with its id', async () => {
  const { client, relayer_ids, send, codeOf } = await start(3)
  const first = await send({}, 'once')
  const again = await Promise.all(Array.from({ length: 10 }, () => send({}, 'once')))
  expect(new Set(again.map(({ id }) => id))).toEqual(new Set([first.id]))
  expect(await codeOf(send({ value: '2' }, 'once'))).toBe('422 unprocessable /headers/idempotency-key')
  const together = await Promise.all(Array.from({ length: 20 }, () => send({}, 'at-once')))
  expect(new Set(together.map(({ id }) => id)).size).toBe(1)

  const direct = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    path: { relayer_id: first.relayer_id },
    header: { 'Idempotency-Key': 'once' },
    body: { to, value: '1', gas_limit: 21_000 },
  })
  expect(direct.data.id).not.toBe(first.id)

  await client.delete(base, { path })
  await client.post('/api/v1/pools', { body: { id: 'payouts', network: 'local', relayer_ids } })
  expect((await send({}, 'once')).id).toBe(first.id)
})

test('an ordering key keeps its relayer while one of its transactions is unfinished', async () => {
  const { rig, accounts, send, relayer_ids, weigh, client, change, codeOf } = await start(3)
  const first = await send({ ordering_key: 'customer' })
  for (let index = 0; index < 5; index += 1) await send()
  const chosen = first.relayer_id
  await weigh(chosen, 0)
  const all = await Promise.all(Array.from({ length: 10 }, () => send({ ordering_key: 'customer' })))
  expect(new Set(all.map(({ relayer_id }) => relayer_id))).toEqual(new Set([chosen]))
  const others = await Promise.all(Array.from({ length: 6 }, () => send({ ordering_key: 'other' })))
  expect(new Set(others.map(({ relayer_id }) => relayer_id)).size).toBe(1)
  expect(others[0]?.relayer_id).not.toBe(chosen)

  await client.patch(base, { path, body: { relayer_ids: relayer_ids.filter((id) => id !== chosen) } })
  expect(await codeOf(send({ ordering_key: 'customer' }))).toBe('503 unavailable pool')
  await client.patch(base, { path, body: { relayer_ids } })
  expect((await send({ ordering_key: 'customer' })).relayer_id).toBe(chosen)
  await change(chosen, { paused: true })
  expect(await codeOf(send({ ordering_key: 'customer' }))).toMatch(/^403 relayer_paused/)
  await change(chosen, { paused: false })
  await weigh(chosen, 0)
  for (const account of accounts) await account.finished(() => rig.chain.mine())
  expect((await send({ ordering_key: 'customer' })).relayer_id).not.toBe(chosen)
})

test('a key that is limited to relayers uses a pool only if it may use all of them', async () => {
  const { rig, client, relayer_ids, sendBy, codeOf } = await start(2)
  const withKey = async (ids: string[]) => {
    const body = { name: ids.join(), scopes: ['send' as const, 'read' as const], relayer_ids: ids }
    const { token } = (await client.post('/api/v1/api-keys', { body })).data
    return createRelayerClient({ baseUrl: rig.url(), token })
  }
  const some = await withKey(relayer_ids.slice(0, 1))
  expect(await codeOf(sendBy(some))).toBe('404 not_found /path/pool_id')
  expect(await codeOf(some.get(base, { path }))).toBe('404 not_found /path/pool_id')
  expect(await codeOf(some.get('/api/v1/pools'))).toMatch(/^403 forbidden/)
  const all = await withKey(relayer_ids)
  expect((await all.get(base, { path })).data.relayers).toHaveLength(2)
  expect(relayer_ids).toContain((await sendBy(all)).relayer_id)
})

test('every transaction of a pool is on the chain once, at gapless nonces', async () => {
  const { rig, accounts, send } = await start(3)
  const sent = await Promise.all(Array.from({ length: 60 }, (_, index) => send({ value: `${index + 1}` })))
  for (const account of accounts) await account.finished(() => rig.chain.mine())
  const listed = await Promise.all(accounts.map((account) => account.transactions()))
  for (const its of listed) expect(Math.abs(its.length - 20)).toBeLessThan(10)
  for (const its of listed) {
    expect(its.map(({ nonce }) => nonce).sort((a, b) => Number(a) - Number(b))).toEqual([...its.keys()])
    expect(its.every(({ status }) => status === 'confirmed')).toBe(true)
  }
  expect(new Set(listed.flat().map(({ value }) => value)).size).toBe(60)
  expect(new Set(listed.flat().map(({ id }) => id))).toEqual(new Set(sent.map(({ id }) => id)))
})

test('waits for a state, and estimates the gas', async () => {
  const { client } = await start(3, { mining: true })
  const input = { path, query: { wait: 'confirmed', wait_seconds: 60 }, body: { to, value: '1' } } as const
  expect((await client.post(`${base}/transactions`, input)).data).toMatchObject({
    status: 'confirmed',
    gas_limit: 21_000,
  })
})
