import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createRelayerClient, type Problem, type RelayerClient } from '../../../client/index.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const relayers = '/api/v1/relayers/{relayer_id}'
const hourMs = 3_600_000
const payment = { to: `0x${'5a'.repeat(20)}`, value: '2', gas_limit: 60_000 }
/** Longer than a list, an account or a node is kept. */
const laterMs = 61_000
/** As long as a list is kept. */
const snapshotMs = 3_000

async function start(options: Parameters<typeof testRig>[0] = {}) {
  const rig = await testRig(options)
  const client = rig.client()
  const list = async (its: RelayerClient = rig.client()) => {
    rig.clock.passed_ms += laterMs
    const problems = (await its.get('/api/v1/problems', { query: { per_page: 1_000 } })).data
    return { problems, unchecked: problems.filter(({ kind }) => kind === 'unchecked') }
  }
  const kindsOf = async (relayerId: string) =>
    (await list()).problems.filter((problem) => problem.relayer_id === relayerId).map(({ kind }) => kind)
  return { ...rig, client, clientNow: rig.client, list, kindsOf }
}

test('every relayer is examined: the 60th without funds is found, and a funded one is no problem', async () => {
  const { client, list, addAccount } = await start()
  const ids = Array.from({ length: 60 }, (_, index) => `r${index}`)
  for (const id of ids) {
    await client.post('/api/v1/signers', { body: { id, type: 'generated' } })
    await client.post('/api/v1/relayers', {
      body: { id, name: id, network: 'local', network_type: 'evm', paused: false, signer_id: id },
    })
  }
  const funded = await addAccount()
  const { problems, unchecked } = await list()
  const empty = problems.filter(({ kind }) => kind === 'balance_empty').map(({ relayer_id }) => relayer_id)
  expect(empty.toSorted()).toEqual(['demo', ...ids].toSorted())
  expect(problems.some(({ relayer_id }) => relayer_id === funded.relayer_id)).toBe(false)
  expect(unchecked).toEqual([])
  const page = await client.get('/api/v1/problems', { query: { per_page: 50, page: 2 } })
  expect([page.data.length, page.pagination.total_items]).toEqual([11, 61])
})

test('says what it could not find out, in place of calling it well', async () => {
  const { list, proxy, addAccount, client, url } = await start()
  const { relayer_id } = await addAccount()
  await proxy.setFault({ kind: 'connection_refused' })
  let seen = await list()
  await until('the node is known to be down', async () => {
    seen = await list()
    return seen.problems.some(({ kind }) => kind === 'network_down')
  })
  expect(seen.problems[0]).toMatchObject({ kind: 'network_down', severity: 'critical', network_id: 'evm:local' })
  const accounts = 'The balance and nonces of relayers could not be read'
  expect(seen.unchecked).toMatchObject([
    { summary: accounts, severity: 'warning', count: 2, reason: expect.stringContaining(relayer_id) },
  ])

  const { data } = await client.post('/api/v1/api-keys', { body: { name: 'reader', scopes: ['read'] } })
  const reader = createRelayerClient({ baseUrl: url(), token: data.token })
  expect((await list(reader)).unchecked.map(({ summary }) => summary)).toEqual([
    accounts,
    'Notifications are not checked',
  ])
})

test('finds what waits, failed long after it was accepted, is paused, low, or out of step with the chain', async () => {
  const { chain, client, addAccount, kindsOf, list, clock } = await start({ chain: { noMining: true } })
  const account = await addAccount()
  const path = { relayer_id: account.relayer_id }
  expect(await kindsOf(account.relayer_id)).toEqual([])
  const still = async () => (await list()).problems.find(({ kind }) => kind === 'network_still')
  clock.passed_ms += hourMs
  expect(await still(), 'nothing waits for its blocks').toBeUndefined()

  const reverting = `0x${'fd'.repeat(20)}`
  await chain.rpc('anvil_setCode', [reverting, '0x5f5ffd'])
  await account.send(1, { to: reverting, gas_limit: 50_000, reference: 'order-7' })
  await until('a node has it', async () => (await account.transactions())[0]?.status === 'submitted')
  clock.passed_ms += 2 * 24 * hourMs
  expect(await kindsOf(account.relayer_id)).toEqual(['transaction_slow'])
  const slow = async () => (await list()).problems.find(({ kind }) => kind === 'transaction_slow')?.summary
  expect(await slow()).toBe(`${account.relayer_id}: order-7 is not mined`)
  expect(await still()).toMatchObject({ network_id: 'evm:local', relayer_id: null, count: 1, severity: 'critical' })
  await account.finished(chain.mine)
  expect(await still()).toBeUndefined()
  const [failed] = await account.transactions()
  expect(Date.parse(failed?.ended_at as string) - Date.parse(failed?.created_at as string)).toBeGreaterThan(hourMs)
  const { problems } = await list()
  expect(problems.find(({ kind }) => kind === 'transactions_failed')).toMatchObject({
    ...path,
    count: 1,
    severity: 'warning',
    transaction_id: failed?.id,
  })
  expect(
    problems.map(({ kind, severity }) => [kind, severity]),
    'what cannot send is first',
  ).toEqual([
    ['balance_empty', 'critical'],
    ['transactions_failed', 'warning'],
  ])
  clock.passed_ms += 25 * hourMs
  expect(await kindsOf(account.relayer_id)).toEqual([])

  await client.patch(relayers, { path, body: { paused: true, policies: { min_balance: `${10n ** 30n}` } } })
  expect(await kindsOf(account.relayer_id)).toEqual(['balance_low', 'relayer_paused'])
  await client.patch(relayers, { path, body: { paused: false, policies: { min_balance: null } } })

  await chain.rpc('anvil_setNonce', [account.address, '0x20'])
  expect(await kindsOf(account.relayer_id)).toEqual(['nonces'])
})

test('a webhook that fails, and then is disabled, is a problem of those who may see it', async () => {
  const { client, list, addAccount, clock, url: serviceUrl } = await start({ settings: { WEBHOOK_TIME_SCALE: '0.01' } })
  let status = 500
  const hook = createServer((_, response) => response.writeHead(status).end())
  onTestFinished(() => void hook.close())
  hook.listen(0, '127.0.0.1')
  await once(hook, 'listening')
  const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/`
  await client.post('/api/v1/notifications', { body: { id: 'hook', url } })
  const account = await addAccount()
  await client.patch(relayers, { path: { relayer_id: account.relayer_id }, body: { notification_id: 'hook' } })
  await account.send(1)
  await account.finished()
  const path = { notification_id: 'hook' }
  const health = async () => (await client.get('/api/v1/notifications/{notification_id}/health', { path })).data
  await until('an attempt failed', async () => (await health()).failing_since !== null)
  clock.passed_ms += snapshotMs
  const { data: early } = await client.get('/api/v1/problems')
  expect(
    early.map(({ kind }) => kind),
    'its first retry is not due',
  ).not.toContain('notification_failing')
  const problem = async (its?: RelayerClient) =>
    (await list(its)).problems.find(({ notification_id }) => notification_id === 'hook')
  await until('it fails', async () => (await problem())?.kind === 'notification_failing')
  status = 410
  await client.post('/api/v1/notifications/{notification_id}/redeliver', {
    path,
    body: { status: 'pending' },
  })
  await until('it is disabled', async () => (await problem())?.kind === 'notification_disabled')

  const body = { name: 'limited', scopes: ['read' as const, 'notifications' as const], relayer_ids: ['demo'] }
  const { data } = await client.post('/api/v1/api-keys', { body })
  const limited = createRelayerClient({ baseUrl: serviceUrl(), token: data.token })
  const { problems } = await list(limited)
  expect(problems.map(({ relayer_id, notification_id }) => [relayer_id, notification_id])).toEqual([['demo', null]])
})

test('a problem is acknowledged until a time, for everybody, in the audit trail', async () => {
  const { client, list, clock, url: serviceUrl } = await start()
  const demo = async (): Promise<Problem | undefined> =>
    (await list()).problems.find(({ relayer_id }) => relayer_id === 'demo')
  const { id: problemId } = (await demo()) as Problem
  const acknowledge = (minutes: number, id = problemId) =>
    client.problems.update(id, { acknowledgement: { minutes, note: 'known' } })
  await acknowledge(60)
  expect((await demo())?.acknowledgement).toMatchObject({ caller: 'environment', note: 'known' })
  const { data: entries } = await client.get('/api/v1/audit', { query: { operation: 'updateProblem' } })
  expect(entries).toMatchObject([{ subject: problemId, http_status: 200 }])
  clock.passed_ms += 2 * hourMs
  expect((await demo())?.acknowledgement).toBeNull()

  await acknowledge(60)
  expect((await client.problems.update(problemId, {})).acknowledgement).toMatchObject({ note: 'known' })
  // Who deals with it has a name, also after its key was revoked.
  const { api_key, token } = await client.apiKeys.create({ name: 'night shift', scopes: ['read', 'manage'] })
  const shift = createRelayerClient({ baseUrl: serviceUrl(), token })
  const { acknowledgement } = await shift.problems.update(problemId, { acknowledgement: { minutes: 60 } })
  await client.apiKeys.delete(api_key.id)
  expect([acknowledgement?.caller_name, (await demo())?.acknowledgement?.caller_name]).toEqual([
    'night shift',
    'night shift',
  ])
  await acknowledge(60)
  const withdraw = () => client.problems.update(problemId, { acknowledgement: null })
  expect([(await withdraw()).acknowledgement, (await demo())?.acknowledgement]).toEqual([null, null])
  expect((await withdraw()).acknowledgement).toBeNull()
  const refusal = (asked: Promise<unknown>) =>
    asked.then(
      () => 'accepted',
      ({ status }) => status,
    )
  expect(await refusal(acknowledge(60, 'x'.repeat(22)))).toBe(404)
  expect(await refusal(acknowledge(0))).toBe(400)
  expect(await refusal(acknowledge(31 * 24 * 60))).toBe(400)
})

test('a problem is acknowledged only by who has a right to its subject: a network and the service are shared by all', async () => {
  const { client, list, proxy, addAccount, url } = await start()
  const { relayer_id } = await addAccount({ policies: { min_balance: `${10n ** 30n}` } })
  const withKey = async (more: object) => {
    const body = { name: JSON.stringify(more), scopes: ['read', 'manage', 'notifications'] as const, ...more }
    const { data } = await client.post('/api/v1/api-keys', { body: { ...body, scopes: [...body.scopes] } })
    return createRelayerClient({ baseUrl: url(), token: data.token })
  }
  const limited = await withKey({ relayer_ids: [relayer_id] })
  const unlimited = await withKey({})
  const own = (await list(limited)).problems.find(({ kind }) => kind === 'balance_low') as Problem
  await proxy.setFault({ kind: 'connection_refused' })
  let shared: Problem | undefined
  await until('the node is known to be down', async () => {
    shared = (await list(limited)).problems.find(({ kind }) => kind === 'network_down')
    return shared !== undefined
  })
  const outcome = (asked: Promise<unknown>) =>
    asked.then(
      () => 'done',
      ({ status, details }) => `${status} ${details?.[0]?.path}`,
    )
  const acknowledge = (by: RelayerClient, { id }: Problem) =>
    outcome(by.problems.update(id, { acknowledgement: { minutes: 60 } }))
  const withdraw = (by: RelayerClient, { id }: Problem) => outcome(by.problems.update(id, { acknowledgement: null }))
  const network = shared as Problem
  expect(await acknowledge(limited, network)).toBe('403 api_key')
  expect((await list()).problems.find(({ id }) => id === network.id)?.acknowledgement).toBeNull()
  expect(await acknowledge(unlimited, network)).toBe('done')
  expect((await list(limited)).problems.find(({ id }) => id === network.id)?.acknowledgement).not.toBeNull()
  expect(await withdraw(limited, network)).toBe('403 api_key')
  expect(await withdraw(unlimited, network)).toBe('done')

  await proxy.setFault(undefined)
  await until('the balance is known again', async () => (await list(limited)).problems.some(({ id }) => id === own.id))
  expect(await acknowledge(limited, own)).toBe('done')
  expect(await withdraw(limited, own)).toBe('done')
})

const outcome = (asked: Promise<unknown>) =>
  asked.then(
    () => 'accepted',
    ({ code }) => code,
  )

test('what a policy or a pause refused since its last change is a problem: who, how many, which rule, changed by whom', async () => {
  const rig = await start()
  const { addAccount, clock } = rig
  const client = rig.clientNow
  const account = await addAccount()
  const path = { relayer_id: account.relayer_id }
  const send = () => outcome(client().post(`${relayers}/transactions`, { path, body: payment }))
  const found = async () =>
    (await rig.list()).problems.filter(
      ({ kind, relayer_id }) => kind === 'requests_refused' && relayer_id === path.relayer_id,
    )
  const { data: payer } = await client().post('/api/v1/api-keys', { body: { name: 'payer', scopes: ['send'] } })
  const paying = createRelayerClient({ baseUrl: rig.url(), token: payer.token })
  expect(await outcome(paying.post(`${relayers}/transactions`, { path, body: payment }))).toBe('accepted')
  expect(await found()).toEqual([])

  await client().patch(relayers, { path, body: { policies: { max_value: '1' } } })
  for (let count = 0; count < 6; count += 1)
    expect(await outcome(paying.post(`${relayers}/transactions`, { path, body: payment }))).toBe('policy_violation')
  const changed = { changed_by: 'environment', changed_at: expect.any(String) }
  const ofPolicy = { rule: 'max_value', last_caller: payer.api_key.id, ...changed }
  await until('all are counted', async () => (await found())[0]?.count === 6)
  expect(await found()).toMatchObject([{ severity: 'warning', count: 6, refusal: ofPolicy, pool_id: null }])
  expect((await found())[0]?.reason).toMatch(
    /^The last one, from payer: 2 wei is above the limit of 1 wei. Last changed by the environment key, 20.{22}\.$/,
  )

  await rig.restart(() => undefined)
  expect(await found()).toMatchObject([{ count: 6, refusal: ofPolicy }])

  const [problem] = await found()
  await client().problems.update(problem?.id as string, { acknowledgement: { minutes: 60 } })
  expect(await found()).toMatchObject([{ acknowledgement: { caller: 'environment' } }])
  clock.passed_ms += 2 * hourMs
  expect(await found(), 'it ended with its acknowledgement').toEqual([])
  expect(await send()).toBe('policy_violation')
  expect(await found()).toMatchObject([
    { acknowledgement: null, refusal: { rule: 'max_value', last_caller: 'environment' } },
  ])

  await client().patch(relayers, { path, body: { paused: true, policies: { max_value: null } } })
  expect(await found(), 'the rules are changed').toEqual([])
  expect(await send()).toBe('relayer_paused')
  expect(await found()).toMatchObject([{ count: 1, refusal: { rule: 'paused' } }])
  await client().patch(relayers, { path, body: { paused: false } })
  expect(await send()).toBe('accepted')
  expect(await found()).toEqual([])
})

test('refusals of a pool and a sponsorship are theirs, and a sponsorship without budget is a problem', async () => {
  const { client, addAccount, list, kindsOf } = await start()
  const account = await addAccount()
  const pool = { id: 'payouts', network: 'local', relayer_ids: [account.relayer_id], policies: { max_value: '1' } }
  await client.post('/api/v1/pools', { body: pool })
  const path = { pool_id: 'payouts' }
  const send = () => outcome(client.post('/api/v1/pools/{pool_id}/transactions', { path, body: payment }))
  expect(await send()).toBe('policy_violation')
  const rules = {
    id: 'game',
    relayer_id: account.relayer_id,
    max_gas_per_call: 100_000,
    max_fee_per_call: '10',
    max_fee_per_day: '10',
  }
  await client.post('/api/v1/sponsorships', { body: rules })
  await client.sponsorships.update('game', { max_fee_per_day: '5' })
  const call = { to: payment.to, data: '0x12345678' }
  const ask = client.post('/api/v1/sponsorships/{sponsorship_id}/calls', {
    path: { sponsorship_id: 'game' },
    body: call,
  })
  expect(await outcome(ask)).toBe('policy_violation')
  const { problems } = await list()
  const refused = problems.filter(({ kind }) => kind === 'requests_refused')
  expect(refused.map(({ pool_id, sponsorship_id, refusal }) => [pool_id, sponsorship_id, refusal?.rule])).toEqual([
    ['payouts', null, 'max_value'],
    [null, 'game', 'targets'],
  ])
  const usedUp = problems.find(({ kind }) => kind === 'sponsorship_used_up')
  expect(usedUp).toMatchObject({ severity: 'critical', sponsorship_id: 'game' })

  await client.patch('/api/v1/pools/{pool_id}', { path, body: { policies: { max_value: null } } })
  await client.patch(relayers, {
    path: { relayer_id: account.relayer_id },
    body: { policies: { whitelist_receivers: [account.address] } },
  })
  expect(await send()).toBe('policy_violation')
  expect(await kindsOf(account.relayer_id)).toEqual(['requests_refused'])
  await client.delete('/api/v1/sponsorships/{sponsorship_id}', { path: { sponsorship_id: 'game' } })
  expect((await list()).problems.filter(({ sponsorship_id }) => sponsorship_id !== null)).toEqual([])
})

test('the search finds everything that the key may see, and nothing else', async () => {
  const { client, addAccount, url } = await start()
  const [one, other] = [await addAccount(), await addAccount()]
  const receiver = `0x${'7b'.repeat(20)}`
  const [sent] = await one.send(1, { to: receiver, reference: 'order 100%', metadata: { customer: '4711' } })
  await other.send(1, { to: receiver, reference: 'order 100%' })
  await one.finished()
  const { data: done } = await client.get(`${relayers}/transactions/{transaction_id}`, {
    path: { relayer_id: one.relayer_id, transaction_id: sent?.id as string },
  })
  const { data: key } = await client.post('/api/v1/api-keys', {
    body: { name: 'limited', scopes: ['read'], relayer_ids: [one.relayer_id] },
  })
  const limited = createRelayerClient({ baseUrl: url(), token: key.token })
  const find = async (q: string, its = client) =>
    (await its.get('/api/v1/search', { query: { q } })).data.map(({ kind, id, found_by }) => [kind, id, found_by])
  const mine = (foundBy: string) => ['transaction', sent?.id, foundBy]

  for (const its of [client, limited]) {
    expect(await find(sent?.id as string, its)).toEqual([mine('id')])
    expect(await find((done.hash as string).toUpperCase().replace('0X', '0x'), its)).toEqual([mine('hash')])
    expect(await find('customer:4711', its)).toEqual([mine('metadata')])
    expect(await find(` ${one.relayer_id} `, its)).toContainEqual(['relayer', one.relayer_id, 'id'])
    expect(await find(one.address, its)).toContainEqual(['relayer', one.relayer_id, 'address'])
    expect(await find('LOC', its)).toEqual([['network', 'evm:local', 'name']])
    expect(await find('nothing at all', its)).toEqual([])
    expect(await find('%', its)).toEqual([])
  }
  expect(await find('order 100%', limited)).toEqual([mine('reference')])
  expect(await find(receiver, limited)).toEqual([mine('receiver')])
  expect(await find('0', limited)).toContainEqual(mine('nonce'))
  expect(await find('order 100%')).toHaveLength(2)
  expect(await find(receiver)).toHaveLength(2)
  expect(await find(other.relayer_id, limited)).toEqual([])
  expect(await find('demo', limited)).toEqual([])
})
