import { expect, test } from 'vitest'
import {
  type CreateApiKeyRequest,
  createRelayerClient,
  type RelayerClient,
  RelayerError,
  type SendTransactionRequest,
} from '../../../client/index.ts'
import { jsonRpcOf } from '../../support/json-rpc.ts'
import { testLiar } from '../../support/liar.ts'
import type { Account } from '../../support/rig.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const otherReceiver = `0x${'5a'.repeat(20)}`
const base = '/api/v1/pools/{pool_id}'
const transactions = '/api/v1/relayers/{relayer_id}/transactions'
const path = { pool_id: 'payouts' }

/** A pool of two relayers, and an API key that is limited to the pool. */
async function start() {
  const rig = await testRig({ chain: { noMining: true } })
  const client = rig.client()
  const accounts = [await rig.addAccount(), await rig.addAccount()] as [Account, Account]
  const relayerIds = accounts.map(({ relayer_id }) => relayer_id) as [string, string]
  await client.post('/api/v1/pools', { body: { id: 'payouts', network: 'local', relayer_ids: relayerIds } })
  const keyFor = async (body: Partial<CreateApiKeyRequest>) => {
    const its = { name: JSON.stringify(body), scopes: ['send' as const, 'read' as const], ...body }
    return (await client.post('/api/v1/api-keys', { body: its })).data
  }
  const clientFor = async (body: Partial<CreateApiKeyRequest>) =>
    createRelayerClient({ baseUrl: rig.url(), token: (await keyFor(body)).token })
  const { token } = await keyFor({ name: 'web', pool_ids: ['payouts'] })
  const web = createRelayerClient({ baseUrl: rig.url(), token })
  const direct = async (relayerId: string, body: SendTransactionRequest = {}) =>
    (
      await client.post(transactions, {
        path: { relayer_id: relayerId },
        body: { to, value: '1', gas_limit: 21_000, ...body },
      })
    ).data
  const pooled = async (by: RelayerClient, body: SendTransactionRequest = {}) =>
    (await by.post(`${base}/transactions`, { path, body: { to, value: '1', gas_limit: 21_000, ...body } })).data
  const weigh = (relayerId: string, weight: number) =>
    client.patch(base, { path, body: { weights: { [relayerId]: weight } } })
  return { rig, client, web, token, accounts, relayer_ids: relayerIds, clientFor, direct, pooled, weigh }
}

const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error) => (error instanceof RelayerError ? error.status : error),
  )

test('the right to a pool sends through it and reads that, and changes nothing of what a relayer has', async () => {
  const { web, client, pooled } = await start()
  const { id, relayer_id } = await pooled(web, { max_fee_per_gas: '3000000000', max_priority_fee_per_gas: '1' })
  expect((await web.transactions.get(id)).id).toBe(id)
  const one = { path: { relayer_id, transaction_id: id } }
  const path = `${transactions}/{transaction_id}` as const
  const changes: [name: string, by: (its: RelayerClient) => Promise<unknown>][] = [
    ['speed up', (its) => its.post(`${path}/speed-up`, { ...one, body: {} })],
    ['replace', (its) => its.put(path, { ...one, body: { to, value: '2', data: '0x' } })],
    ['publish', (its) => its.post(`${path}/publish`, one)],
    ['cancel', (its) => its.delete(path, one)],
  ]
  for (const [name, by] of changes) expect.soft([name, await outcomeOf(by(web))]).toEqual([name, 404])
  for (const [name, by] of changes)
    expect.soft([name, await outcomeOf(by(client))]).toEqual([name, name === 'publish' ? 409 : 'done'])
})

test('the right to a pool is one to what was sent through it: never to what another key sent by its relayers directly', async () => {
  const { rig, client, web, token, accounts, relayer_ids, direct, pooled, weigh } = await start()
  const [a, b] = relayer_ids
  const node = await testLiar(rig.chain)
  node.lie = (method) => (method === 'eth_sendRawTransaction' ? new Error('txpool is full') : undefined)
  await client.patch('/api/v1/relayers/{relayer_id}', {
    path: { relayer_id: a },
    body: { custom_rpc_urls: [node.url] },
  })
  // Its node takes nothing, so nothing after this one is signed.
  const blocker = await direct(a, { value: '10', to: otherReceiver })
  await until('it waits', async () => (await accounts[0].transactions())[0]?.status_reason !== null)
  const payment = await direct(a, { value: '11', to: otherReceiver, reference: 'salary', metadata: { order: '7' } })
  await weigh(b, 0)
  const own = await pooled(web, { value: '12', reference: 'web', metadata: { order: '7' } })
  expect(own.relayer_id).toBe(a)

  const one = (transactionId: string) => ({ path: { ...path, transaction_id: transactionId } })
  const get = `${base}/transactions/{transaction_id}` as const
  for (const { id } of [blocker, payment]) {
    expect(await outcomeOf(web.transactions.get(id))).toBe(404)
    expect(await outcomeOf(web.transactions.getExplanation(id))).toBe(404)
    await weigh(b, 100)
    expect(await outcomeOf(web.post(`${get}/move`, one(id)))).toBe(404)
    expect(await outcomeOf(client.post(`${get}/move`, one(id)))).toBe(404)
    await weigh(b, 0)
  }
  const hash = (await accounts[0].transactions()).at(-1)?.hash as string
  const list = async (query: object) => {
    const { data, pagination } = await web.get('/api/v1/transactions', { query: { ...query, ...path } })
    return [data.map(({ value }) => value), pagination.total_items]
  }
  const mine = [['12'], 1]
  const none = [[], 0]
  expect(await list({})).toEqual(mine)
  expect(await list({ status: ['pending', 'sent'] })).toEqual(mine)
  expect(await list({ status: ['sent', 'confirmed'] })).toEqual(none)
  expect(await list({ created_after: '2020-01-01T00:00:00Z' })).toEqual(mine)
  expect(await list({ metadata: 'order:7' })).toEqual(mine)
  expect(await list({ reference: 'web' })).toEqual(mine)
  for (const query of [{ reference: 'salary' }, { to: otherReceiver }, { hash }, { search: 'salary' }])
    expect(await list(query)).toEqual(none)
  expect(await list({ search: 'web' })).toEqual(mine)

  // Of what it waits behind, only the nonce is told.
  const shown = await web.transactions.get(own.id)
  expect(shown).toMatchObject({ wait_reason: 'earlier_nonce' })
  const explained = await web.transactions.getExplanation(own.id)
  expect(explained).toMatchObject({ wait_reason: 'earlier_nonce', blocking_transaction_id: null, suggestions: [] })
  const told = JSON.stringify([shown, explained])
  for (const secret of [blocker.id, payment.id, otherReceiver, 'txpool']) expect(told).not.toContain(secret)

  const rpc = jsonRpcOf(rig.url(), token, 'payouts', 'pools')
  expect(await rpc.result('eth_getTransactionByHash', [hash])).toBe(null)

  await weigh(b, 100)
  expect((await web.post(`${get}/move`, one(own.id))).data).toMatchObject({ relayer_id: b, value: '12' })
  const kept = (
    await client.get(`${transactions}/{transaction_id}`, { path: { relayer_id: a, transaction_id: payment.id } })
  ).data
  expect([kept.status, kept.is_canceling]).toEqual(['pending', false])
})

test('lists what was sent through a pool with its length at any mixture, by relayers that have left it too', async () => {
  const { rig, client, web, accounts, relayer_ids, direct, pooled, clientFor } = await start()
  const [a, b] = relayer_ids
  for (let count = 0; count < 3; count += 1) {
    await direct(a)
    await direct(b)
    await pooled(web, { value: '7' })
    await pooled(client, { value: '7' })
  }
  for (const account of accounts) await account.finished(() => rig.chain.mine())
  const list = async (by: RelayerClient, query: object = {}) =>
    (await by.get('/api/v1/transactions', { query: { ...path, per_page: 2, ...query } })).pagination.total_items
  expect(await list(web)).toBe(6)
  expect(await list(web, { status: 'confirmed' })).toBe(6)
  expect(await list(web, { status: 'pending' })).toBe(0)
  const ofBoth = await clientFor({ relayer_ids })
  const ofOne = await clientFor({ relayer_ids: [a] })
  expect(await list(ofBoth)).toBe(6)
  expect(await outcomeOf(list(ofOne))).toBe(404)

  await client.patch(base, { path, body: { relayer_ids: [a] } })
  expect(await list(web)).toBe(6)
  // A right by the relayers is one to what these sent.
  expect(await list(ofOne)).toBe(3)
})

test('a pool without relayers is seen by its own keys, and by no key that is limited to relayers', async () => {
  const { client, web, relayer_ids, clientFor } = await start()
  const limited = await clientFor({ relayer_ids: ['demo'] })
  await client.post('/api/v1/pools', { body: { id: 'demos', network: 'local', relayer_ids: ['demo'] } })
  const none = await clientFor({ pool_ids: ['demos'] })
  expect(await outcomeOf(limited.get(base, { path: { pool_id: 'demos' } }))).toBe('done')
  for (const relayerId of relayer_ids)
    await client.delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayerId } })
  for (const key of [limited, none]) {
    expect(await outcomeOf(key.get(base, { path }))).toBe(404)
    expect(await outcomeOf(key.get('/api/v1/transactions', { query: path }))).toBe(404)
    expect(await outcomeOf(key.get('/api/v1/activity', { query: { pool_id: 'payouts' } }))).toBe(404)
  }
  expect((await web.get(base, { path })).data.relayers).toEqual([])
  expect((await client.get(base, { path })).data.relayers).toEqual([])
})

test('streams the events of what was sent through a pool, and nothing else of its relayers', async () => {
  const { rig, client, web, token, relayer_ids, direct, pooled } = await start()
  const headers = { Authorization: `Bearer ${token}` }
  const response = await fetch(`${rig.url()}/api/v1/pools/payouts/events`, { headers })
  let text = ''
  let sent: string | undefined
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8')
    if (sent === undefined) {
      for (const relayerId of relayer_ids) await direct(relayerId)
      const resume = { path: { relayer_id: relayer_ids[0] }, body: { paused: true } }
      await client.patch('/api/v1/relayers/{relayer_id}', resume)
      sent = (await pooled(web, { reference: 'of the pool' })).id
    }
    if (text.includes('"status":"submitted"')) break
  }
  const payloads = text
    .split('\n')
    .flatMap((line) => (line.startsWith('data: ') ? JSON.parse(line.slice(6)).payload : []))
  expect(new Set(payloads.map(({ id }) => id))).toEqual(new Set([sent]))
})

test('queues and activity of a pool are those of the relayers that the key may use itself', async () => {
  const { client, web, relayer_ids, clientFor, direct, pooled } = await start()
  await direct(relayer_ids[0])
  await pooled(web)
  const query = { pool_id: 'payouts' }
  const seenBy = async (by: RelayerClient) => {
    const queues = (await by.get('/api/v1/queues', { query })).data.map(({ relayer_id }) => relayer_id)
    const { points } = (await by.get('/api/v1/activity', { query })).data
    return [queues, points.reduce((sum, { accepted }) => sum + accepted, 0)]
  }
  expect(await seenBy(web)).toEqual([[], 0])
  expect(await seenBy(client)).toEqual([relayer_ids, 2])
  expect(await seenBy(await clientFor({ relayer_ids }))).toEqual([relayer_ids, 2])
})
