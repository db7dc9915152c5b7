import { randomUUID } from 'node:crypto'
import { verifyMessage, Wallet } from 'ethers'
import { expect, test } from 'vitest'
import {
  createRelayerClient,
  type RelayerClient,
  RelayerError,
  type SendTransactionRequest,
} from '../../../client/index.ts'
import type { checkPolicies } from '../../../server/domain/policies/transaction-policies.ts'
import type { PoolRow } from '../../../server/domain/rows.ts'
import { jsonRpcOf } from '../../support/json-rpc.ts'
import { testLiar } from '../../support/liar.ts'
import type { Account } from '../../support/rig.ts'
import { rowsOf } from '../../support/service-database.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const base = '/api/v1/pools/{pool_id}'
const path = { pool_id: 'payouts' }

async function start(count: number, { mining = false } = {}) {
  const rig = await testRig({ chain: mining ? {} : { noMining: true } })
  const client = rig.client()
  const accounts: Account[] = []
  while (accounts.length < count) accounts.push(await rig.addAccount())
  const relayerIds = accounts.map(({ relayer_id }) => relayer_id)
  await client.post('/api/v1/pools', { body: { id: 'payouts', network: 'local', relayer_ids: relayerIds } })
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
  const weigh = (relayerId: string, weight: number) =>
    client.patch(base, { path, body: { weights: { [relayerId]: weight } } })
  const change = (relayerId: string, body: object) =>
    client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayerId }, body })
  return { rig, client, accounts, relayer_ids: relayerIds, send, sendBy, codeOf, weigh, change }
}

const counted = (ids: string[], of: { relayer_id: string }[]) =>
  ids.map((id) => of.filter(({ relayer_id }) => relayer_id === id).length)

/** The policies of a pool that has none. */
const unlimited = {
  ...{ max_value: null, max_value_per_day: null, whitelist_receivers: null, allowed_functions: null },
  token_limits: null,
}

test('keeps pools: create, list, change, weigh, delete; names what is wrong', async () => {
  const { client, relayer_ids, codeOf, accounts } = await start(2)
  const [first, second] = relayer_ids as [string, string]
  const relayers = accounts.map(({ relayer_id, address }) => ({ relayer_id, address, weight: 100 }))
  const pool = {
    id: 'payouts',
    name: 'payouts',
    network: 'local',
    relayers,
    policies: unlimited,
    is_funded: false,
    revision: expect.any(String),
    created_at: expect.any(String),
  }
  expect((await client.get(base, { path })).data).toEqual(pool)
  expect((await client.get('/api/v1/pools')).data).toEqual([pool])

  const create = (body: object) =>
    codeOf(client.post('/api/v1/pools', { body: { network: 'local', ...body } as never }))
  expect(await create({ id: 'payouts', relayer_ids: [first] })).toBe('409 already_exists /body/id')
  expect(await create({ relayer_ids: [first, 'none'] })).toBe('400 invalid_request /body/relayer_ids/1')
  expect(await create({ network: 'none', relayer_ids: [first] })).toBe('400 invalid_request /body/network')
  expect(await create({ relayer_ids: [first, first] })).toBe('400 invalid_request /body/relayer_ids')

  const update = async (body: object) => (await client.patch(base, { path, body: body as never })).data
  expect((await update({ weights: { [first]: 7 } })).relayers).toMatchObject([{ weight: 7 }, { weight: 100 }])
  const strange = update({ name: 'No', weights: { [second]: 1, demo: 7 } })
  expect(await codeOf(strange)).toBe('400 invalid_request /body/weights/demo')
  expect(await create({ id: 'other', relayer_ids: [first], weights: { [second]: 7 } })).toBe(
    `400 invalid_request /body/weights/${second}`,
  )
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

test('sends authorizations (EIP-7702) through the members of a pool that allow them, alone and in a batch', async () => {
  const { client, relayer_ids, send, codeOf, change } = await start(2)
  const [, second] = relayer_ids as [string, string]
  const signer = Wallet.createRandom() as unknown as Wallet
  const address = `0x${'11'.repeat(20)}`
  const { signature } = await signer.authorize({ address, nonce: 0, chainId: 31_337 })
  const { r, s, yParity } = signature
  const authorizationList = [{ chain_id: 31_337, address, nonce: 0, r, s, y_parity: yParity }]
  const body = { to: `0x${'12'.repeat(20)}`, gas_limit: 100_000, authorization_list: authorizationList }
  // @ts-expect-error The policies of a relayer are not asked of a pool, which lacks them.
  const _: Parameters<typeof checkPolicies>[0] = {} as PoolRow
  expect(await codeOf(send(body))).toBe('403 policy_violation policies/allow_authorizations')
  await change(second, { policies: { allow_authorizations: true } })
  expect((await send(body)).relayer_id).toBe(second)
  const batch = await client.post(`${base}/transactions/batch`, { path, body: { transactions: [body, body] } })
  expect(batch.data.map(({ relayer_id }) => relayer_id)).toEqual([second, second])
  const { data: dry } = await client.post(`${base}/transactions/dry-run`, { path, body })
  expect(dry).toMatchObject({ accepted: true, relayer_id: second, refusals: [] })
})

test('an idempotency key belongs to the pool, also beside requests for its relayers, and after a new pool with its id', async () => {
  const { client, relayer_ids, send, codeOf } = await start(3)
  const first = await send({}, 'once')
  const again = await Promise.all(Array.from({ length: 10 }, () => send({}, 'once')))
  expect(new Set(again.map(({ id }) => id))).toEqual(new Set([first.id]))
  expect(await codeOf(send({ value: '2' }, 'once'))).toBe('422 idempotency_mismatch /headers/idempotency-key')
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
  const first = await send({ ordering_key: 'customer', deduplication_id: 'order 1' })
  const told = { pool_id: 'payouts', ordering_key: 'customer', deduplication_id: 'order 1' }
  expect(first).toMatchObject(told)
  const { data: shown } = await client.get('/api/v1/transactions/{transaction_id}', {
    path: { transaction_id: first.id },
  })
  expect(shown).toMatchObject(told)
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

test('limits per day count over all relayers of the pool: 40 of 100 at once', async () => {
  const { client, send, codeOf } = await start(4)
  const limit = { max_value_per_day: '40', whitelist_receivers: [to] }
  expect((await client.patch(base, { path, body: { policies: limit } })).data.policies).toEqual({
    ...unlimited,
    ...limit,
  })
  const outcomes = await Promise.all(Array.from({ length: 100 }, () => codeOf(send())))
  expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(40)
  expect(new Set(outcomes)).toEqual(new Set(['done', '403 policy_violation pool/policies/max_value_per_day']))
  expect(await codeOf(send({ to: `0x${'5a'.repeat(20)}`, value: '0' }))).toBe(
    '403 policy_violation pool/policies/whitelist_receivers',
  )
  // A relayer's own requests are not counted.
  const { data: pool } = await client.get(base, { path })
  await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    path: { relayer_id: pool.relayers[0]?.relayer_id ?? '' },
    body: { to, value: '1' },
  })
})

test('checks a transaction without sending it, and lists and shows those of its relayers', async () => {
  const { client, relayer_ids, send, change } = await start(2)
  await change(relayer_ids[0] as string, { paused: true })
  const dryRun = async (value: string) =>
    (await client.post(`${base}/transactions/dry-run`, { path, body: { to, value } })).data
  expect(await dryRun('1')).toMatchObject({ accepted: true, relayer_id: relayer_ids[1], refusals: [] })
  await client.patch(base, { path, body: { policies: { max_value_per_day: '5' } } })
  expect(await dryRun('6')).toMatchObject({
    accepted: false,
    refusals: [{ code: 'policy_violation', details: [{ path: 'pool/policies/max_value_per_day' }] }],
  })
  const sent = [await send(), await send()]
  const listed = await client.get('/api/v1/transactions', { query: path })
  expect(listed.data.map(({ id }) => id)).toEqual(sent.map(({ id }) => id).reverse())
  expect((await client.transactions.get(sent[0]?.id ?? '')).relayer_id).toBe(relayer_ids[1])
  await expect(client.transactions.get('none')).rejects.toMatchObject({ status: 404 })
})

test('an API key that is limited to a pool sends through it, and has no rights to its relayers', async () => {
  const { rig, client, relayer_ids, sendBy, codeOf } = await start(2)
  const create = (body: object) =>
    client.post('/api/v1/api-keys', { body: { name: 'web', scopes: ['send', 'read'], ...body } })
  expect(await codeOf(create({ pool_ids: ['none'] }))).toBe('400 invalid_request /body/pool_ids/0')
  const { data } = await create({ pool_ids: ['payouts'] })
  expect(data.api_key).toMatchObject({ relayer_ids: [], pool_ids: ['payouts'] })
  const limited = createRelayerClient({ baseUrl: rig.url(), token: data.token })
  const { id, relayer_id } = await sendBy(limited, {}, 'once')
  expect((await limited.transactions.get(id)).id).toBe(id)
  const mismatch = { code: 'idempotency_mismatch', transaction: { id, relayer_id } }
  await expect(sendBy(limited, { value: '2' }, 'once')).rejects.toMatchObject(mismatch)
  expect((await limited.get('/api/v1/transactions', { query: path })).data).toHaveLength(1)
  expect((await limited.get('/api/v1/api-keys/self')).data).toMatchObject({ relayer_ids: [], pool_ids: ['payouts'] })
  const relayer = { relayer_id: relayer_ids[0] as string }
  const transactions = '/api/v1/relayers/{relayer_id}/transactions'
  expect(await codeOf(limited.post(transactions, { path: relayer, body: { to, value: '1' } }))).toBe(
    '404 not_found undefined',
  )
  expect(await codeOf(limited.get('/api/v1/relayers/{relayer_id}', { path: relayer }))).toBe('404 not_found undefined')
  expect((await limited.get('/api/v1/relayers')).data).toEqual([])
  await client.post('/api/v1/pools', { body: { id: 'other', network: 'local', relayer_ids } })
  const other = { path: { pool_id: 'other' }, body: { to, value: '1' } }
  expect(await codeOf(limited.post(`${base}/transactions`, other))).toBe('404 not_found /path/pool_id')
  expect(await codeOf(client.delete(base, { path }))).toBe('409 in_use /path/pool_id')
  await client.patch('/api/v1/api-keys/{api_key_id}', {
    path: { api_key_id: data.api_key.id },
    body: { pool_ids: [] },
  })
  expect(await codeOf(sendBy(limited))).toBe('404 not_found /path/pool_id')
  await client.delete(base, { path })
})

test('refuses for good what is sent through a pool without relayers', async () => {
  const { send, weigh, relayer_ids, codeOf } = await start(1)
  await weigh(relayer_ids[0] as string, 0)
  expect(await codeOf(send())).toBe('409 invalid_state /path/pool_id')
})

test('does not use a pool whose relayers or limits another program has changed', async () => {
  const { rig, send, codeOf, client } = await start(2)
  await client.post('/api/v1/pools', { body: { id: 'other', network: 'local', relayer_ids: ['demo'] } })
  await rowsOf(
    rig,
    `INSERT INTO pool_relayers (pool_row_id, relayer_row_id, weight)
    SELECT pools.row_id, relayers.row_id, 100 FROM pools, relayers WHERE pools.id = 'payouts' AND relayers.id = 'demo'`,
  )
  expect(await codeOf(send())).toBe('503 unavailable store')
  await rowsOf(rig, `UPDATE pools SET policies = '{"max_value":"1"}' WHERE id = 'other'`)
  expect(await codeOf(client.get(base, { path: { pool_id: 'other' } }))).toBe('503 unavailable store')
})

test('a batch through a pool is taken by one relayer in its order, all or none, once, and counts in the limits of the pool', async () => {
  const { rig, client, relayer_ids, accounts, codeOf, change, send } = await start(3)
  const batch = async (transactions: SendTransactionRequest[], key: string = randomUUID()) =>
    (
      await client.post(`${base}/transactions/batch`, {
        path,
        header: { 'Idempotency-Key': key },
        body: { transactions: transactions.map((its) => ({ to, gas_limit: 21_000, ...its })) },
      })
    ).data
  const three = [{ value: '1' }, { value: '2' }, { value: '3', ordering_key: 'a' }]
  const together = await Promise.all(Array.from({ length: 10 }, () => batch(three, 'once')))
  const [first = []] = together
  expect(new Set(together.map((its) => JSON.stringify(its))).size).toBe(1)
  expect(first.map(({ nonce, value }) => [nonce, value])).toEqual([
    [0, '1'],
    [1, '2'],
    [2, '3'],
  ])
  const [chosen, ...others] = [...new Set(first.map(({ relayer_id }) => relayer_id))]
  expect(others).toEqual([])
  expect((await send({ ordering_key: 'a' })).relayer_id).toBe(chosen)
  expect(await codeOf(batch(three.slice(1), 'once'))).toBe('422 idempotency_mismatch /headers/idempotency-key')
  expect((await batch([{ value: '4', ordering_key: 'a' }]))[0]?.relayer_id).toBe(chosen)
  const two = [{ ordering_key: 'a' }, { ordering_key: 'b' }]
  expect(await codeOf(batch(two))).toBe('400 invalid_request /body/transactions')

  await client.patch(base, { path, body: { policies: { max_value_per_day: '10' } } })
  expect(await codeOf(batch([{ value: '9' }, { value: '2' }]))).toBe(
    '403 policy_violation pool/policies/max_value_per_day',
  )
  expect((await batch([{ value: '9' }, { value: '1' }])).length).toBe(2)
  for (const id of relayer_ids.slice(1)) await change(id, { paused: true })
  expect((await batch([{ value: '0' }]))[0]?.relayer_id).toBe(relayer_ids[0])
  for (const account of accounts) {
    await change(account.relayer_id, { paused: false })
    await account.finished(() => rig.chain.mine())
  }
  expect((await client.get('/api/v1/transactions', { query: path })).pagination.total_items).toBe(8)
})

test('what only one relayer of a pool can send is taken by that one, also a batch', async () => {
  const { rig, accounts, client, send } = await start(3)
  const [, , { address, relayer_id }] = accounts as [Account, Account, Account]
  // Reverts unless this account calls it: CALLER, PUSH20, EQ, PUSH1, JUMPI, PUSH0, PUSH0, REVERT, JUMPDEST, STOP.
  const ofOne = `0x${'c0'.repeat(20)}`
  await rig.chain.rpc('anvil_setCode', [ofOne, `0x3373${address.slice(2)}14601d575f5ffd5b00`])
  const call = { to: ofOne, value: '0', data: '0x01', gas_limit: null }
  expect(await send(call)).toMatchObject({ relayer_id })
  const header = { 'Idempotency-Key': randomUUID() }
  const { data } = await client.post(`${base}/transactions/batch`, {
    path,
    header,
    body: { transactions: [call, call] },
  })
  expect(data.map((its) => its.relayer_id)).toEqual([relayer_id, relayer_id])
})

test('each transaction that a pool takes has one audit entry, which names it and its relayer; a refusal names no transaction', async () => {
  const { client, relayer_ids, send, codeOf, change } = await start(2)
  const first = await send()
  const batch = (value: string) =>
    client.post(`${base}/transactions/batch`, {
      path,
      header: { 'Idempotency-Key': randomUUID() },
      body: { transactions: [{ value }, { value: '2' }].map((its) => ({ to, gas_limit: 21_000, ...its })) },
    })
  const { data: both } = await batch('1')
  await client.patch(base, { path, body: { policies: { max_value_per_day: '4' } } })
  expect(await codeOf(send({ value: '5' }))).toMatch(/^403/)
  expect(await codeOf(batch('5'))).toMatch(/^403/)
  for (const id of relayer_ids) await change(id, { paused: true })
  expect(await codeOf(send())).toMatch(/^403/)

  const taken = [first, ...both].map(({ id, relayer_id }) => [201, id, relayer_id, 1])
  const entries = async () =>
    (await client.get('/api/v1/audit', { query: { per_page: 100 } })).data
      .filter(({ operation }) => /^sendPool/.test(operation))
      .map(({ http_status, subject, relayer_id, count }) => [
        http_status,
        subject,
        http_status === 201 ? relayer_id : null,
        count,
      ])
  const refused = [403, 403, 403].map((status) => [status, 'payouts', null, 1])
  await expect.poll(async () => (await entries()).length).toBe(6)
  expect((await entries()).sort()).toEqual([...taken, ...refused].sort())
})

test('JSON-RPC of a pool: all accounts; without from any relayer sends, with from that one', async () => {
  const { rig, client, relayer_ids, accounts, send } = await start(3)
  const addresses = accounts.map(({ address }) => address)
  const rpc = jsonRpcOf(rig.url(), rig.api_key, 'payouts', 'pools')
  expect(await rpc.result('eth_accounts')).toEqual(addresses)
  expect(await rpc.result('eth_chainId')).toBe('0x7a69')
  const transaction = { to, value: '0x1', gas: '0x5208' }
  const hashes: string[] = []
  for (let count = 0; count < 3; count += 1) hashes.push(await rpc.result('eth_sendTransaction', [transaction]))
  const [, second = ''] = addresses
  hashes.push(await rpc.result('eth_sendTransaction', [{ ...transaction, from: second, nonce: '0x1' }]))
  const shown = await Promise.all(
    hashes.map((hash) => rpc.result<{ from: string }>('eth_getTransactionByHash', [hash])),
  )
  expect(new Set(shown.slice(0, 3).map(({ from }) => from))).toEqual(new Set(addresses))
  expect(shown[3]?.from).toBe(second)
  expect(await rpc.result('eth_getTransactionCount', [second, 'pending'])).toBe('0x2')
  const low = await rpc.call('eth_sendTransaction', [{ ...transaction, from: second, nonce: '0x1' }])
  expect(low.error).toMatchObject({ code: -32_000, data: { next_nonce: 2 } })
  expect((await rpc.call('eth_sendTransaction', [{ ...transaction, nonce: '0x1' }])).error.code).toBe(-32_602)
  expect((await rpc.call('eth_sendTransaction', [{ ...transaction, from: to }])).error.code).toBe(4_100)

  const header = { 'Idempotency-Key': 'of-the-pool' }
  const once = await rpc.result('eth_sendTransaction', [transaction], header)
  expect(await rpc.result('eth_sendTransaction', [transaction], header)).toBe(once)

  await client.patch(base, { path, body: { policies: { max_value: '5' } } })
  const over = await rpc.call('eth_sendTransaction', [{ ...transaction, from: second, value: '0x6' }])
  expect(over.error).toMatchObject({ code: 4_001 })
  await client.patch(base, { path, body: { policies: {} } })

  const [, , third = ''] = addresses
  expect(verifyMessage('Hello', await rpc.result('personal_sign', ['Hello', third])).toLowerCase()).toBe(third)
  expect((await rpc.call('personal_sign', ['Hello'])).error.code).toBe(-32_602)
  const body = { name: 'web', scopes: ['send', 'read', 'sign'] as const, pool_ids: ['payouts'] }
  const { data } = await client.post('/api/v1/api-keys', { body: { ...body, scopes: [...body.scopes] } })
  const limited = jsonRpcOf(rig.url(), data.token, 'payouts', 'pools')
  expect((await limited.call('personal_sign', ['Hello', third])).error.code).toBe(4_100)
  const hash = await limited.result('eth_sendTransaction', [{ ...transaction, from: third }])
  expect(await limited.result('eth_getTransactionByHash', [hash])).toMatchObject({ from: third })
  await send()
  for (const account of accounts) await account.finished(() => rig.chain.mine())
  expect(await limited.result('eth_getTransactionReceipt', [hash])).toMatchObject({ from: third, status: '0x1' })
  const audited = (await client.get('/api/v1/audit', { query: { operation: 'signMessage' } })).data
  expect(audited.map(({ relayer_id, http_status }) => [relayer_id, http_status])).toEqual([[relayer_ids[2], 200]])
})

test('streams the events of all relayers of a pool, resumes without a gap, and ends with the right to it', async () => {
  const { rig, client, relayer_ids, send } = await start(2)
  const body = { name: 'web', scopes: ['read' as const], pool_ids: ['payouts'] }
  const { data: key } = await client.post('/api/v1/api-keys', { body })
  const follow = async function* (last: string | undefined) {
    const headers = { Authorization: `Bearer ${key.token}`, ...(last !== undefined && { 'Last-Event-ID': last }) }
    const response = await fetch(`${rig.url()}/api/v1/pools/payouts/events`, { headers })
    expect(response.status).toBe(200)
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString('utf8')
      if (text === ': connected\n\n') yield { id: '', of: '', sequence: 0 }
      const events = text.split('\n\n')
      text = events.pop() as string
      for (const event of events) {
        const [, id, data] = /^id: (.*)\nevent: .*\ndata: (.*)$/m.exec(event) ?? []
        if (id === undefined || data === undefined) continue
        const { sequence, payload } = JSON.parse(data)
        yield { id, of: payload.relayer_id as string, sequence: sequence as number }
      }
    }
  }
  const seen: { id: string; of: string; sequence: number }[] = []
  for await (const event of follow(undefined)) {
    if (event.id === '') {
      await send()
      await send()
      continue
    }
    seen.push(event)
    if (new Set(seen.map(({ of }) => of)).size === 2) break
  }
  expect(new Set(seen.map(({ of }) => of))).toEqual(new Set(relayer_ids))
  // From the first event on, each relayer's events follow without a gap; those of two relayers have no order.
  const [first] = seen as [(typeof seen)[number]]
  const next = new Map(relayer_ids.map((id) => [id, id === first.of ? first.sequence + 1 : 1]))
  for await (const { id, of, sequence } of follow(first.id)) {
    if (id === '') continue
    expect(sequence).toBe(next.get(of))
    next.set(of, sequence + 1)
    if ([...next.values()].every((expected) => expected > 2)) break
  }

  let count = 0
  for await (const _ of follow(undefined)) {
    count += 1
    const its = { path: { api_key_id: key.api_key.id }, body: { pool_ids: [] } }
    await client.patch('/api/v1/api-keys/{api_key_id}', its)
    await send()
  }
  expect(count).toBe(1)
})

test('explains a transaction of a pool, and shows queues and activity of its relayers only', async () => {
  const { client, relayer_ids, send } = await start(2)
  const { id } = await send()
  expect((await client.transactions.getExplanation(id)).transaction_id).toBe(id)
  const queues = (await client.get('/api/v1/queues', { query: { pool_id: 'payouts' } })).data
  expect(queues.map(({ relayer_id }) => relayer_id)).toEqual(relayer_ids)
  expect(queues.reduce((sum, { unfinished_count }) => sum + unfinished_count, 0)).toBe(1)
  const accepted = async (query: { pool_id: string; relayer_id?: string }) =>
    (await client.get('/api/v1/activity', { query })).data.points.reduce((sum, its) => sum + its.accepted, 0)
  await client.post('/api/v1/pools', { body: { id: 'empty', network: 'local', relayer_ids: ['demo'] } })
  expect(await accepted({ pool_id: 'payouts' })).toBe(1)
  expect(await accepted({ pool_id: 'empty' })).toBe(0)
  expect(await accepted({ pool_id: 'empty', relayer_id: relayer_ids[0] as string })).toBe(0)
  await expect(client.get('/api/v1/queues', { query: { pool_id: 'none' } })).rejects.toMatchObject({ status: 404 })
})

test('moves a transaction that was never signed to another relayer: it is paid once, and says where it went', async () => {
  const { rig, client, relayer_ids, accounts, send, codeOf, change, weigh } = await start(2)
  const [a = '', b = ''] = relayer_ids
  const [first, second] = accounts as [Account, Account]
  const move = (id: string, key?: string) =>
    client.post(`${base}/transactions/{transaction_id}/move`, {
      path: { ...path, transaction_id: id },
      ...(key !== undefined && { header: { 'Idempotency-Key': key } }),
    })
  await weigh(b, 0)
  const signed = await send()
  await until('it is submitted', async () => (await first.transactions())[0]?.status === 'submitted')
  const node = await testLiar(rig.chain)
  node.lie = (method) => (method === 'eth_sendRawTransaction' ? new Error('txpool is full') : undefined)
  expect(await codeOf(move(signed.id))).toBe('409 invalid_state /path/transaction_id')
  // Its node takes nothing more, so nothing after the next one is signed.
  await change(a, { custom_rpc_urls: [node.url] })
  await send({ value: '10' })
  await until('it waits', async () => (await first.transactions())[0]?.status_reason !== null)
  const [waiting, last, ordered] = [
    await send({ value: '11', reference: 'invoice', metadata: { order: '7' }, deduplication_id: 'order 11' }),
    await send({ value: '12' }),
    await send({ value: '13', ordering_key: 'one' }),
  ]
  expect(await codeOf(move(waiting.id))).toBe('503 unavailable pool')
  await weigh(b, 100)
  const moves = await Promise.all(Array.from({ length: 10 }, () => move(waiting.id).catch(({ status }) => status)))
  const [moved, ...others] = moves.filter((its) => typeof its === 'object')
  expect(others).toEqual([])
  expect(moves.filter((its) => its === 409)).toHaveLength(9)
  expect(moved.data).toMatchObject({
    relayer_id: b,
    value: '11',
    reference: 'invoice',
    metadata: { order: '7' },
    pool_id: 'payouts',
    deduplication_id: 'order 11',
    status_reason: `Moved from the relayer ${a}, where it was ${waiting.id}`,
  })
  expect(await codeOf(send({ deduplication_id: 'order 11' }))).toMatch('409 already_sent')
  expect(await codeOf(move(ordered.id))).toBe('409 invalid_state /path/transaction_id')
  // One whose answer is lost finds its transaction again.
  const repeated = await Promise.all(Array.from({ length: 5 }, () => move(last.id, 'move-12')))
  expect(repeated).toEqual(Array(5).fill(repeated[0]))
  const again = await move(last.id, 'move-12')
  expect(again).toEqual(repeated[0])
  expect(await client.pools.moveTransaction('payouts', last.id, { idempotencyKey: 'move-12' })).toEqual(again.data)
  expect(again.data).toMatchObject({ relayer_id: b, value: '12', moved_to_transaction_id: null })
  expect(await codeOf(move(waiting.id, 'move-12'))).toMatch('422 idempotency_mismatch')

  node.lie = undefined
  for (const account of accounts) await account.finished(() => rig.chain.mine())
  const rows = [...(await first.transactions()), ...(await second.transactions())]
  const paid = rows.filter(({ status }) => status === 'confirmed').map(({ value }) => value)
  expect(paid.sort()).toEqual(['1', '10', '11', '12', '13'])
  const left = rows.find(({ id }) => id === waiting.id)
  expect(left).toMatchObject({ status: 'canceled', moved_to_transaction_id: moved.data.id })
  expect(rows.find(({ id }) => id === last.id)).toMatchObject({ moved_to_transaction_id: again.data.id })
  const balance = BigInt(await rig.chain.rpc<string>('eth_getBalance', [to, 'latest']))
  expect(balance % 1_000_000n).toBe(47n)
  // It finds it also after the relayer that had it left the pool and was deleted.
  await client.patch(base, { path, body: { relayer_ids: [b] } })
  await client.delete('/api/v1/relayers/{relayer_id}', { path: { relayer_id: a } })
  expect(await move(last.id, 'move-12')).toEqual(repeated[0])
})

test('answers a JSON-RPC call by the hash of the transaction that another relayer sends in its place', async () => {
  const { rig, client, relayer_ids, accounts, send, change, weigh } = await start(2)
  const [a = '', b = ''] = relayer_ids
  const [first, second] = accounts as [Account, Account]
  await weigh(b, 0)
  const node = await testLiar(rig.chain)
  node.lie = (method) => (method === 'eth_sendRawTransaction' ? new Error('txpool is full') : undefined)
  await change(a, { custom_rpc_urls: [node.url] })
  await send()
  await until('it waits', async () => (await first.transactions())[0]?.status_reason !== null)
  const rpc = jsonRpcOf(rig.url(), rig.api_key, 'payouts', 'pools')
  const call = () =>
    rpc.call('eth_sendTransaction', [{ to, value: '0x7', gas: '0x5208' }], { 'Idempotency-Key': 'invoice-7' })
  const answer = call()
  const isAccepted = async () => (await first.transactions()).find(({ value }) => value === '7')
  await until('it is accepted', async () => (await isAccepted()) !== undefined)
  await weigh(b, 100)
  await client.pools.moveTransaction('payouts', (await isAccepted())?.id ?? '')
  const result = expect.stringMatching(/^0x[0-9a-f]{64}$/)
  expect(await answer).toMatchObject({ result })
  expect(await call()).toMatchObject({ result: (await answer).result })
  expect((await second.transactions()).map(({ hash }) => hash)).toEqual([(await answer).result])
})

test('counts a transaction once for the limit of its pool, also when it moves, and no longer when it ends unsigned', async () => {
  const { rig, client, relayer_ids, accounts, send, codeOf, change, weigh } = await start(2)
  const [a = '', b = ''] = relayer_ids
  const [first] = accounts as [Account]
  const one = (transactionId: string) => ({ path: { ...path, transaction_id: transactionId } })
  await client.patch(base, { path, body: { policies: { max_value_per_day: '30' } } })
  await weigh(b, 0)
  const node = await testLiar(rig.chain)
  node.lie = (method) => (method === 'eth_sendRawTransaction' ? new Error('txpool is full') : undefined)
  await change(a, { custom_rpc_urls: [node.url] })
  await send({ value: '1' })
  await until('it waits', async () => (await first.transactions())[0]?.status_reason !== null)
  // Nothing after the first is signed.
  const [moving, ending] = [await send({ value: '14' }), await send({ value: '15' })]
  await weigh(b, 100)
  const { data } = await client.post(`${base}/transactions/{transaction_id}/move`, one(moving.id))
  expect(data).toMatchObject({ relayer_id: b, value: '14' })
  expect(await codeOf(send({ value: '1' }))).toBe('403 policy_violation pool/policies/max_value_per_day')
  await client.delete('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
    path: { relayer_id: a, transaction_id: ending.id },
  })
  expect(await codeOf(send({ value: '16' }))).toBe('403 policy_violation pool/policies/max_value_per_day')
  await send({ value: '15' })
})
