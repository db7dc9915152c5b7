import { expect, test } from 'vitest'
import { createRelayerClient, type RelayerClient } from '../../../client/index.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const gwei = 10n ** 9n
const minuteMs = 60_000
const yearMs = 365 * 86_400_000

/** What a client counts in all points together. */
async function totals(
  client: RelayerClient,
  query: { relayer_id?: string; network?: string; period?: 'hour' | 'day' | 'week' | 'month' | 'quarter' },
) {
  const { data } = await client.get('/api/v1/activity', { query })
  const counted = data.points.filter(({ accepted, mined, failed }) => accepted + mined + failed > 0)
  const sum = (name: 'accepted' | 'mined' | 'failed') => counted.reduce((all, point) => all + point[name], 0)
  return {
    ...{ accepted: sum('accepted'), mined: sum('mined'), failed: sum('failed') },
    fees: counted.reduce((all, { fees }) => all + BigInt(fees ?? 0), 0n),
    max_inclusion_ms: Math.max(...counted.map((point) => point.max_inclusion_ms ?? 0)),
    points: data.points,
  }
}

test('counts accepted, mined and failed transactions with times and fees, limited to the key’s relayers', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const client = rig.client()
  const [one, other] = [await rig.addAccount(), await rig.addAccount()]
  const reverting = `0x${'fd'.repeat(20)}`
  await rig.chain.rpc('anvil_setCode', [reverting, '0x5f5ffd'])

  await one.send(3, { gas_limit: 21_000 })
  await one.send(1, { to: reverting, gas_limit: 50_000 })
  await other.send(1, { gas_limit: 21_000 })
  const accepted = await totals(client, {})
  expect(accepted).toMatchObject({ accepted: 5, mined: 0, failed: 0, fees: 0n })
  expect(accepted.points).toHaveLength(60)
  expect(accepted.points.map(({ mean_inclusion_ms }) => mean_inclusion_ms)).toEqual(Array(60).fill(null))

  rig.clock.passed_ms += 7 * minuteMs
  await one.finished(() => rig.chain.mine())
  await other.finished(() => rig.chain.mine())
  const paid = (await one.transactions()).reduce((all, { receipt }) => all + BigInt(receipt?.fee ?? 0), 0n)
  expect(paid).toBeGreaterThan(gwei)
  for (const period of ['hour', 'day', 'week', 'month', 'quarter'] as const) {
    const its = await totals(client, { relayer_id: one.relayer_id, period })
    expect(its).toMatchObject({ accepted: 4, mined: 4, failed: 1, fees: paid })
    expect(its.max_inclusion_ms).toBeGreaterThanOrEqual(7 * minuteMs)
    expect(await totals(client, { period })).toMatchObject({ accepted: 5, mined: 5, failed: 1 })
  }
  const { data } = await client.get('/api/v1/activity', { query: { relayer_id: one.relayer_id } })
  const [first, second] = data.points.filter(({ accepted, mined }) => accepted + mined > 0)
  expect(first).toMatchObject({ accepted: 4, mined: 0, fees: '0', max_inclusion_ms: null })
  expect(second).toMatchObject({ accepted: 0, mined: 4, failed: 1, fees: `${paid}` })
  expect(Number(second?.mean_inclusion_ms)).toBeLessThanOrEqual(Number(second?.max_inclusion_ms))
  expect(Date.parse(String(second?.at)) - Date.parse(String(first?.at))).toBeGreaterThanOrEqual(6 * minuteMs)

  const local = await totals(client, { network: 'local' })
  expect(local.accepted).toBe(5)
  expect((await totals(client, { network: 'elsewhere' })).accepted).toBe(0)

  const body = { name: 'one', scopes: ['read' as const], relayer_ids: [one.relayer_id] }
  const { token } = (await client.post('/api/v1/api-keys', { body })).data
  const limited = createRelayerClient({ baseUrl: rig.url(), token })
  expect((await totals(limited, {})).accepted).toBe(4)
  await expect(totals(limited, { relayer_id: other.relayer_id })).rejects.toMatchObject({ status: 404 })
  await expect(totals(client, { relayer_id: 'nobody' })).rejects.toMatchObject({ status: 404 })

  const spending = async (
    by: RelayerClient,
    query: { days?: number; network?: string; page?: number; per_page?: number },
  ) => by.get('/api/v1/spending', { query })
  const both = await spending(client, { days: 30 })
  const fees = both.data.map((its) => BigInt(its.fees))
  expect(both.data.map(({ relayer_id }) => relayer_id)).toEqual([one.relayer_id, other.relayer_id])
  expect(both.data[0]).toMatchObject({ network: 'local', accepted: 4, mined: 4, failed: 1, fees: `${paid}` })
  expect(fees[0]).toBeGreaterThan(fees[1] ?? 0n)
  expect(both.data.every((its) => its.fees_today === its.fees || its.fees_today === '0')).toBe(true)
  const secondPage = await spending(client, { page: 2, per_page: 1 })
  expect([secondPage.data[0]?.relayer_id, secondPage.pagination.total_items]).toEqual([other.relayer_id, 2])
  expect((await spending(limited, {})).data.map(({ relayer_id }) => relayer_id)).toEqual([one.relayer_id])
  expect((await spending(client, { network: 'elsewhere' })).data).toEqual([])

  // An hour and a day later the points are gone, and rows of later periods replace them.
  rig.clock.passed_ms += 61 * minuteMs
  expect((await totals(client, {})).accepted).toBe(0)
  expect((await totals(client, { period: 'day' })).accepted).toBe(5)
})

test('answers after a time in which the clock stood in a later year', async () => {
  const rig = await testRig()
  const one = await rig.addAccount()
  rig.clock.ahead_ms = 900 * yearMs
  await one.send(1, { gas_limit: 21_000 })
  rig.clock.ahead_ms = 0
  await one.send(2, { gas_limit: 21_000 })
  for (const period of ['hour', 'day', 'week', 'month', 'quarter'] as const) {
    expect((await totals(rig.client(), { period })).accepted).toBe(2)
  }
  const { data } = await rig.client().get('/api/v1/spending', { query: { days: 30 } })
  expect(data.map(({ accepted }) => accepted)).toEqual([2])
  await rig.client().get('/api/v1/spending/callers', { query: { days: 30 } })
})

test('counts a calendar month to its last day, and the present one up to today', async () => {
  const rig = await testRig()
  const client = rig.client()
  const one = await rig.addAccount()
  const sendAt = async (at: number, count: number) => {
    rig.clock.ahead_ms = at - Date.now()
    await one.send(count, { gas_limit: 21_000 })
    await one.finished()
  }
  await sendAt(Date.UTC(2027, 0, 31, 12), 1)
  await sendAt(Date.UTC(2027, 1, 1, 12), 2)
  const months = { '2026-12': [0, 31], '2027-01': [1, 31], '2027-02': [2, 1], '2027-03': [0, 0] } as const
  for (const [month, [sent, days]] of Object.entries(months)) {
    const { data: activity } = await client.get('/api/v1/activity', { query: { calendar_month: month } })
    expect(activity.points).toHaveLength(days)
    expect(activity.points.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(sent)
    const [spent] = (await client.get('/api/v1/spending', { query: { calendar_month: month } })).data
    expect(spent?.accepted).toBe(sent === 0 ? undefined : sent)
    const [key] = (await client.get('/api/v1/spending/callers', { query: { calendar_month: month } })).data
    expect(key?.fees_by_day.length).toBe(sent === 0 ? undefined : days)
    expect(key?.fees_by_day.at(-1)).toBe(key?.fees)
    const today = month === '2027-02' ? spent?.fees : '0'
    expect([spent?.fees_today ?? '0', key?.fees_today ?? '0']).toEqual([today, today])
  }
  await expect(client.get('/api/v1/spending', { query: { calendar_month: '2027-13' } })).rejects.toMatchObject({
    status: 400,
  })
})

test('tells what each API key’s transactions cost by day, and what repricing added', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const client = rig.client()
  const { chain } = rig
  const account = await rig.addAccount()
  const body = { name: 'shop', scopes: ['send' as const, 'read' as const] }
  const {
    api_key: { id },
    token,
  } = (await client.post('/api/v1/api-keys', { body })).data
  const shop = createRelayerClient({ baseUrl: rig.url(), token })
  const path = { relayer_id: account.relayer_id }
  const list = '/api/v1/relayers/{relayer_id}/transactions'
  const sent = { to: account.address, value: '1', gas_limit: 21_000 }
  await account.send(2, { gas_limit: 21_000 })
  const { data: slow } = await shop.post(list, {
    path,
    query: { wait: 'submitted' },
    body: { ...sent, speed: 'safe_low' },
  })
  const one = { ...path, transaction_id: slow.id }
  await client.put(`${list}/{transaction_id}`, { path: one, body: { ...sent, speed: 'fastest' } })
  const versions = async () => (await client.get(`${list}/{transaction_id}/attempts`, { path: one })).data
  await expect
    .poll(async () => (await versions()).every(({ accepted_at }) => accepted_at) && (await versions()).length)
    .toBe(2)
  await account.finished(() => chain.mine())

  const { data: mined } = await client.get(`${list}/{transaction_id}`, { path: one })
  const [first, second] = await versions()
  const [tip, base] = [
    BigInt(first?.max_priority_fee_per_gas ?? 0),
    BigInt(mined.receipt?.effective_gas_price ?? 0) - BigInt(second?.max_priority_fee_per_gas ?? 0),
  ]
  const firstPrice = base + tip < BigInt(first?.max_fee_per_gas ?? 0) ? base + tip : BigInt(first?.max_fee_per_gas ?? 0)
  const extra = (BigInt(mined.receipt?.effective_gas_price ?? 0) - firstPrice) * 21_000n
  expect(extra).toBeGreaterThan(0n)
  const { data } = await client.get('/api/v1/spending/callers', { query: { days: 2 } })
  const fee = mined.receipt?.fee
  expect(data.find((its) => its.caller === id)).toEqual({
    ...{ caller: id, caller_name: 'shop', network: 'local', mined: 1, repriced: 1, fees: fee, fees_today: fee },
    ...{ fees_by_day: ['0', fee], repricing_fees: `${extra}` },
  })
  expect(data.find((its) => its.caller === 'environment')).toMatchObject({ mined: 2, repriced: 0, repricing_fees: '0' })
  const { data: relayers } = await client.get('/api/v1/spending', {})
  expect(relayers).toMatchObject([{ mined: 3, repriced: 1, repricing_fees: `${extra}` }])
  await expect(
    createRelayerClient({
      baseUrl: rig.url(),
      token: (await client.post('/api/v1/api-keys', { body: { ...body, name: 'other', relayer_ids: ['demo'] } })).data
        .token,
    }).get('/api/v1/spending/callers', {}),
  ).rejects.toMatchObject({ status: 403 })
})

test('counts what a transaction cost its API key once, also through a reorganization before it is final', async () => {
  const rig = await testRig({ chain: { noMining: true }, confirmations: 3 })
  const account = await rig.addAccount()
  await rig.chain.mine(3)
  await account.send(1)
  const only = async () => (await account.transactions())[0]
  const becomes = (status: string) => until(`it is ${status}`, async () => (await only())?.status === status)
  await becomes('submitted')
  await rig.chain.mine()
  await becomes('mined')
  await rig.chain.reorg(1)
  await becomes('submitted')
  await account.finished(() => rig.chain.mine())
  const { data } = await rig.client().get('/api/v1/spending/callers', {})
  expect(data).toMatchObject([{ mined: 1, fees: (await only())?.receipt?.fee }])
})

test('counts what a transaction cost its API key once, also when a reorganization reopens it', async () => {
  const rig = await testRig({ chain: { noMining: true }, confirmations: 2 })
  const account = await rig.addAccount()
  await rig.chain.mine(5)
  const counted = async () => (await rig.client().get('/api/v1/spending/callers', {})).data
  await account.send(1)
  await account.finished(rig.chain.mine)
  const first = async () => (await account.transactions()).at(-1)
  const block = (await first())?.receipt?.block_number ?? 0
  expect(await counted()).toMatchObject([{ mined: 1, fees: (await first())?.receipt?.fee }])
  await rig.chain.reorg(Number(await rig.chain.rpc('eth_blockNumber')) - block + 1)
  await account.send(1)
  await until('it is reopened', async () => (await first())?.status === 'submitted')
  expect(await counted()).toMatchObject([{ mined: 0, fees: '0' }])
  await account.finished(rig.chain.mine)
  const fees = (await account.transactions()).reduce((sum, { receipt }) => sum + BigInt(receipt?.fee ?? 0), 0n)
  expect(await counted()).toMatchObject([{ mined: 2, fees: `${fees}` }])
})

test('shows the first transaction of each relayer’s queue and the reason of its wait', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const client = rig.client()
  const [stuck, idle] = [await rig.addAccount(), await rig.addAccount()]
  await client.patch('/api/v1/relayers/{relayer_id}', {
    path: { relayer_id: stuck.relayer_id },
    body: { policies: { gas_price_cap: `${5n * gwei}` } },
  })
  const [first] = await stuck.send(3, { gas_limit: 21_000 })
  await rig.chain.setBaseFee(10n * gwei)
  await rig.chain.mine()
  const queues = async (by = client) => (await by.get('/api/v1/queues', {})).data
  const queueOf = async (id: string) => (await queues()).find(({ relayer_id }) => relayer_id === id)
  await expect.poll(async () => (await queueOf(stuck.relayer_id))?.first?.wait_reason).toBe('price_cap')
  expect(await queueOf(stuck.relayer_id)).toMatchObject({
    unfinished_count: 3,
    first: {
      transaction_id: first?.id,
      nonce: 0,
      created_at: first?.created_at,
      status_reason: expect.stringMatching(/gas_price_cap/),
    },
  })
  expect(await queueOf(idle.relayer_id)).toEqual({ relayer_id: idle.relayer_id, unfinished_count: 0, first: null })
  expect(await queues()).toHaveLength(3)

  const body = { name: 'idle', scopes: ['read' as const], relayer_ids: [idle.relayer_id] }
  const { token } = (await client.post('/api/v1/api-keys', { body })).data
  const limited = await queues(createRelayerClient({ baseUrl: rig.url(), token }))
  expect(limited.map(({ relayer_id }) => relayer_id)).toEqual([idle.relayer_id])
})

test('examines the nodes of a network one by one', async () => {
  const rig = await testRig({ proxies: 2 })
  const client = rig.client()
  const path = { network_id: 'evm:local' }
  const nodes = async () => (await client.get('/api/v1/networks/{network_id}/nodes', { path })).data
  await expect.poll(async () => (await nodes()).map(({ status }) => status)).toEqual(['healthy', 'healthy'])
  const [node] = await nodes()
  expect(node).toMatchObject({ url: rig.proxy.url, weight: 100, block_number: 0, error: null })
  expect(node?.response_ms).toBeGreaterThanOrEqual(0)
  const { timestamp } = (await rig.chain.rpc('eth_getBlockByNumber', ['0x0', false])) as { timestamp: string }
  expect(node?.block_at).toBe(new Date(Number(timestamp) * 1_000).toISOString())

  await rig.proxies[1]?.setFault({ kind: 'http_500' })
  rig.clock.passed_ms += 5_000
  await expect.poll(async () => (await nodes()).map(({ status }) => status)).toEqual(['healthy', 'unreachable'])
  expect((await nodes())[1]).toMatchObject({
    block_number: null,
    block_at: null,
    response_ms: null,
    error: expect.stringMatching(/500/),
  })

  await rig.proxies[1]?.setFault({ kind: 'http_429' })
  rig.clock.passed_ms += 60_000
  await expect.poll(async () => (await nodes()).map(({ status }) => status)).toEqual(['healthy', 'rate_limited'])

  const elsewhere = { name: 'elsewhere', network_type: 'evm' as const, chain_id: 5, rpc_urls: [rig.proxy.url] }
  await client.post('/api/v1/networks', { body: elsewhere })
  const wrong = await client.get('/api/v1/networks/{network_id}/nodes', { path: { network_id: 'evm:elsewhere' } })
  expect(wrong.data).toMatchObject([
    { status: 'wrong_chain', error: expect.stringMatching(/It is on chain 31337 and not on 5/) },
  ])
  await expect(
    client.get('/api/v1/networks/{network_id}/nodes', { path: { network_id: 'evm:none' } }),
  ).rejects.toMatchObject({ status: 404 })
})

test('shows an API key its rights', async () => {
  const rig = await testRig()
  const client = rig.client()
  const rights = async (by: RelayerClient) => (await by.get('/api/v1/api-keys/self')).data
  expect(await rights(client)).toEqual({
    id: 'environment',
    name: null,
    scopes: ['sign', 'send', 'read', 'notifications', 'manage'],
    relayer_ids: null,
    pool_ids: [],
    budget_usage: null,
    may_administer: true,
    expires_at: null,
  })
  const expiresAt = new Date(Date.now() + minuteMs).toISOString()
  const body = { name: 'signer', scopes: ['sign' as const], relayer_ids: ['demo'], expires_at: expiresAt }
  const { token, api_key } = (await client.post('/api/v1/api-keys', { body })).data
  const its = createRelayerClient({ baseUrl: rig.url(), token })
  expect(await rights(its)).toEqual({
    id: api_key.id,
    name: 'signer',
    scopes: ['sign'],
    relayer_ids: ['demo'],
    pool_ids: [],
    budget_usage: null,
    may_administer: false,
    expires_at: expiresAt,
  })
  rig.clock.passed_ms += 2 * minuteMs
  await expect(rights(its)).rejects.toMatchObject({ status: 401 })
})
