import { getAddress } from 'ethers'
import { expect, test } from 'vitest'
import { type RelayerClient, RelayerError, type ReplaceFundingRequest } from '../../client/index.ts'
import type { AnvilOptions } from '../support/anvil.ts'
import { testRig } from '../support/test-rig.ts'
import { deployToken, tokenBalance } from '../support/token.ts'
import { until } from '../support/until.ts'

const ether = 10n ** 18n
const base = '/api/v1/relayers/{relayer_id}/funding'

async function start(chain: AnvilOptions = {}) {
  const rig = await testRig({ chain })
  const client = rig.client()
  const treasury = await rig.addAccount()
  const relayer = await rig.addAccount()
  const path = { relayer_id: relayer.relayer_id }
  const settings = {
    treasury_id: treasury.relayer_id,
    min_balance: `${2n * ether}`,
    target_balance: `${5n * ether}`,
    max_amount_per_day: `${100n * ether}`,
    max_fee_per_gas: '100000000000',
  }
  const state = async () => (await rig.client().get(base, { path })).data
  const balanceOf = async (relayerId: string) =>
    BigInt(
      (await client.get('/api/v1/relayers/{relayer_id}/balance', { path: { relayer_id: relayerId } })).data.balance,
    )
  return {
    ...{ rig, client, treasury, relayer, path, settings, state, balanceOf },
    fund: (changes: Partial<ReplaceFundingRequest> = {}, its = path) =>
      client.put(base, { path: its, body: { ...settings, ...changes } }),
    /** Waits for a state that was found after the last change of the settings. */
    reaches: (wanted: string) => until(`state ${wanted}`, async () => (await state()).status === wanted),
    /** The payloads of the events of the relayer's funding; one is needed at least. */
    fundingEvents: async () => {
      const headers = { Authorization: `Bearer ${rig.api_key}`, 'Last-Event-ID': '0' }
      const stream = await fetch(`${rig.url()}/api/v1/relayers/${path.relayer_id}/events`, { headers })
      const reader = stream.body?.getReader()
      let text = ''
      const told = () =>
        text.split('\n').flatMap((line) => (line.startsWith('data:') ? [JSON.parse(line.slice(5)).payload] : []))
      while (!told().some(({ payload_type }) => payload_type === 'relayer_funding')) {
        text += Buffer.from((await reader?.read())?.value ?? []).toString()
      }
      await reader?.cancel()
      return told().filter(({ payload_type }) => payload_type === 'relayer_funding')
    },
  }
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error) => (error instanceof RelayerError ? `${error.status} ${error.code} ${error.details?.[0]?.path}` : error),
  )

test('refills a relayer to its target when it falls below the minimum, one refill at a time', async () => {
  const { rig, treasury, relayer, settings, fund, reaches, state, balanceOf } = await start()
  await rig.chain.setBalance(relayer.address, ether)
  await fund()
  await reaches('sufficient')
  expect(await balanceOf(relayer.relayer_id)).toBe(5n * ether)
  const [refill] = await treasury.transactions()
  expect(refill).toMatchObject({
    to: relayer.address,
    value: `${4n * ether}`,
    reference: `refill ${relayer.relayer_id}`,
  })
  const its = await state()
  const { max_amount_per_day, ...shown } = settings
  expect(its).toMatchObject({
    funding: { ...shown, max_amount_per_day, asset: 'coin' },
    status_reason: null,
    balance: `${5n * ether}`,
    refills: [
      { transaction_id: refill?.id, treasury_id: treasury.relayer_id, amount: `${4n * ether}`, is_open: false },
    ],
  })
  // The value and the highest fee: 21,000 of gas at most at max_fee_per_gas.
  expect(BigInt(its.usage.used)).toBe(4n * ether + 21_000n * 100_000_000_000n)
  expect(BigInt(its.usage.remaining) + BigInt(its.usage.used)).toBe(100n * ether)

  await rig.chain.setBalance(relayer.address, 3n * ether)
  await fund()
  await reaches('sufficient')
  expect(await treasury.transactions()).toHaveLength(1)
})

test('counts what unfinished transactions may cost in the minimum, and in what is missing to the target', async () => {
  const { rig, relayer, treasury, fund, reaches, state } = await start({ noMining: true })
  await rig.chain.setBalance(relayer.address, 3n * ether)
  const [sent] = await relayer.send(1, { gas_limit: 21_000, max_fee_per_gas: '50000000000' })
  const value = 25n * (ether / 10n)
  const path = { relayer_id: relayer.relayer_id, transaction_id: sent?.id ?? '' }
  await rig.client().put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
    path,
    body: { to: treasury.address, value: `${value}`, gas_limit: 21_000, max_fee_per_gas: '60000000000' },
  })
  await fund({ min_balance: `${ether}`, target_balance: `${2n * ether}` })
  await reaches('refilling')
  const [refill] = (await state()).refills
  expect(BigInt(refill?.amount ?? 0)).toBe(2n * ether - (3n * ether - value - 21_000n * 60_000_000_000n))
})

test('stops at max_amount_per_day, tells so once, and goes on when the limit is raised', async () => {
  const { rig, relayer, treasury, fund, reaches, client, path, fundingEvents, state } = await start()
  await rig.chain.setBalance(relayer.address, 0n)
  await fund({ max_amount_per_day: `${8n * ether}` })
  await reaches('sufficient')
  // Whoever has the key of the relayer burns all that it gets.
  await client.post('/api/v1/relayers/{relayer_id}/sweep', { path, body: { to: `0x${'5a'.repeat(20)}` } })
  await relayer.finished()
  await fund({ max_amount_per_day: `${8n * ether}` })
  await reaches('limit_reached')
  expect(await treasury.transactions()).toHaveLength(1)
  const its = await state()
  expect(its.status_reason).toMatch(
    /^A refill of up to \d+ is above the remaining \d+ of the daily limit of 8000000000000000000$/,
  )
  expect(its.refills).toHaveLength(1)
  const { data: problems } = await client.get('/api/v1/problems')
  expect(problems).toContainEqual(
    expect.objectContaining({ kind: 'funding', severity: 'warning', relayer_id: relayer.relayer_id }),
  )
  expect(await fundingEvents()).toMatchObject([
    { payload_type: 'relayer_funding', status: 'limit_reached', status_reason: its.status_reason },
  ])

  await fund({ max_amount_per_day: `${20n * ether}` })
  await reaches('sufficient')
  expect(await treasury.transactions()).toHaveLength(2)
})

test('waits while gas costs too much, the treasury is short, paused, or its policies refuse', async () => {
  const { rig, relayer, treasury, fund, reaches, client, state } = await start()
  await rig.chain.setBalance(relayer.address, ether)
  await fund({ max_fee_per_gas: '1' })
  await reaches('fee_too_high')
  await rig.chain.setBalance(treasury.address, ether)
  await fund()
  await reaches('treasury_short')
  expect((await state()).status_reason).toContain(getAddress(treasury.address))
  await rig.chain.setBalance(treasury.address, 100n * ether)
  const change = (body: object) =>
    client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: treasury.relayer_id }, body })
  await change({ policies: { whitelist_receivers: [treasury.address] } })
  await fund()
  await reaches('refused')
  expect((await state()).status_reason).toContain('whitelist_receivers')
  await change({ policies: { whitelist_receivers: [relayer.address] }, paused: true })
  await fund()
  await until('paused', async () => (await state()).status_reason?.includes('paused') ?? false)
  expect(await treasury.transactions()).toEqual([])
  await change({ paused: false })
  await fund()
  await reaches('sufficient')
  expect(await treasury.transactions()).toHaveLength(1)
})

test('refuses circles, unknown treasuries and wrong amounts; keeps a treasury from being deleted', async () => {
  const { rig, relayer, treasury, fund, client, path } = await start()
  const third = await rig.addAccount()
  const of = (its: { relayer_id: string }) => ({ relayer_id: its.relayer_id })
  await fund()
  await fund({ treasury_id: relayer.relayer_id }, of(third))
  expect(await codeOf(fund({ treasury_id: third.relayer_id }, of(treasury)))).toBe(
    '409 invalid_state /body/treasury_id',
  )
  expect(await codeOf(fund({ treasury_id: relayer.relayer_id }, of(treasury)))).toBe(
    '409 invalid_state /body/treasury_id',
  )
  expect(await codeOf(fund({ treasury_id: third.relayer_id }, of(third)))).toBe('409 invalid_state /body/treasury_id')
  expect(await codeOf(fund({ treasury_id: 'none' }))).toBe('400 invalid_request /body/treasury_id')
  expect(await codeOf(fund({ target_balance: `${2n * ether}` }))).toBe('400 invalid_request /body/target_balance')
  const remove = (its: { relayer_id: string }) =>
    codeOf(client.delete('/api/v1/relayers/{relayer_id}', { path: of(its) }))
  expect(await remove(treasury)).toBe('409 in_use /path/relayer_id')
  await client.delete(base, { path })
  expect(await codeOf(client.get(base, { path }))).toBe('404 not_found /path/relayer_id')
  expect(await remove(treasury)).toBe('done')
})

type Ids = Record<'a' | 'b' | 'c', string>
type Change = (client: RelayerClient, ids: Ids, settings: ReplaceFundingRequest) => Promise<unknown>
const pool = (poolId: string) => ({ path: { pool_id: poolId } })
const one = (relayerId = '') => ({ path: { relayer_id: relayerId } })
const poolBase = '/api/v1/pools/{pool_id}'

// a is in the pools one, funded by c, and two, funded by b. Only the first of them counts for it, so b may be funded by a.
test.each<[string, string, Change]>([
  [
    'leaving the first pool',
    '/body/relayer_ids',
    (client) => client.patch(poolBase, { ...pool('one'), body: { relayer_ids: ['demo'] } }),
  ],
  ['deleting the first pool', '/path/pool_id', (client) => client.delete(poolBase, pool('one'))],
  [
    'ending the funding of the first pool',
    '/path/pool_id',
    (client) => client.delete(`${poolBase}/funding`, pool('one')),
  ],
  [
    'another treasury of the first pool',
    '/body/treasury_id',
    (client, { b }, settings) =>
      client.put(`${poolBase}/funding`, { ...pool('one'), body: { ...settings, treasury_id: b } }),
  ],
  [
    'a funding of its own',
    '/body/treasury_id',
    (client, { a, b }, settings) => client.put(base, { ...one(a), body: { ...settings, treasury_id: b } }),
  ],
  [
    'a treasury of the treasury',
    '/body/treasury_id',
    (client, { a, c }, settings) => client.put(base, { ...one(c), body: { ...settings, treasury_id: a } }),
  ],
  [
    'the treasury joins the pool',
    '/body/relayer_ids',
    (client, { a, c }) => client.patch(poolBase, { ...pool('one'), body: { relayer_ids: [a, c] } }),
  ],
  [
    'the end of a funding that hides that of the pool',
    '/path/relayer_id',
    async (client, { a, b, c }, settings) => {
      await client.put(base, { ...one(a), body: { ...settings, treasury_id: c } })
      await client.put(`${poolBase}/funding`, { ...pool('one'), body: { ...settings, treasury_id: b } })
      await client.delete(base, one(a))
    },
  ],
  [
    'the funding of a pool that its relayers are in already',
    '/body/treasury_id',
    async (client, { b, c }, settings) => {
      await client.post('/api/v1/pools', { body: { id: 'three', network: 'local', relayer_ids: [c] } })
      await client.put(`${poolBase}/funding`, { ...pool('three'), body: { ...settings, treasury_id: b } })
    },
  ],
  [
    'deleting a treasury',
    '/path/relayer_id',
    (client, { c }) => client.delete('/api/v1/relayers/{relayer_id}', one(c)),
  ],
])('refuses a circle of funding by %s', async (name, place, change) => {
  const { rig, client, settings, treasury, relayer } = await start()
  const third = await rig.addAccount()
  const ids = { a: relayer.relayer_id, b: third.relayer_id, c: treasury.relayer_id }
  for (const [id, treasuryId] of Object.entries({ one: ids.c, two: ids.b })) {
    await client.post('/api/v1/pools', { body: { id, network: 'local', relayer_ids: [ids.a] } })
    await client.put(`${poolBase}/funding`, { ...pool(id), body: { ...settings, treasury_id: treasuryId } })
  }
  await client.put(base, { ...one(ids.b), body: { ...settings, treasury_id: ids.a } })
  const work = change(client, ids, settings)
  const code = name === 'deleting a treasury' ? 'in_use' : 'invalid_state'
  expect(await codeOf(work)).toBe(`409 ${code} ${place}`)
  // Nothing of a refused change is stored.
  expect((await client.get(poolBase, pool('one'))).data.relayers.map(({ relayer_id }) => relayer_id)).toEqual([ids.a])
  expect((await client.get(`${poolBase}/funding`, pool('two'))).data.funding.treasury_id).toBe(ids.b)
})

test('does not refill a drained relayer that needs nothing', async () => {
  const { rig, relayer, treasury, client, path, fund, reaches } = await start()
  await client.patch('/api/v1/relayers/{relayer_id}', { path, body: { policies: { allow_transactions: false } } })
  await rig.chain.setBalance(relayer.address, 0n)
  await fund()
  await reaches('sufficient')
  await client.patch('/api/v1/relayers/{relayer_id}', { path, body: { policies: { allow_transactions: null } } })
  await fund()
  await until('the refill', async () => (await treasury.transactions()).length === 1)
})

test('refills a token', async () => {
  const { rig, relayer, treasury, fund, reaches, state } = await start()
  const token = await deployToken(rig, treasury, 1_000n)
  await fund({ asset: token, min_balance: '10', target_balance: '50', max_amount_per_day: '60' })
  await reaches('sufficient')
  expect(await tokenBalance(rig, token, relayer.address)).toBe(50n)
  expect(await state()).toMatchObject({
    balance: '50',
    usage: { used: '50', remaining: '10', limit: '60' },
    runway_seconds: null,
  })
})

test('tells for how long the balance lasts by the fees and the values that left it', async () => {
  const { rig, client, relayer, treasury, path, fund, reaches, state } = await start()
  await rig.chain.setBalance(relayer.address, 10n * ether)
  await fund()
  await reaches('sufficient')
  expect((await state()).runway_seconds).toBeNull()
  const token = await deployToken(rig, treasury, 1n)
  const send = (to: string, value: bigint) =>
    client.transactions.send(path.relayer_id, { to, value: `${value}`, gas_limit: 100_000 })
  await send(treasury.address, 3n * ether)
  // It pays the fee alone: what comes back, and the value of a call that reverts.
  await send(relayer.address, 2n * ether)
  await send(token, ether)
  await relayer.finished()
  const ended = await relayer.transactions()
  expect(ended.map(({ status }) => status).toSorted()).toEqual(['confirmed', 'confirmed', 'failed'])
  const fees = ended.reduce((sum, { receipt }) => sum + BigInt(receipt?.fee ?? 0), 0n)
  const { balance, runway_seconds } = await state()
  expect(BigInt(balance as string)).toBe(7n * ether - fees)
  expect(runway_seconds).toBe(Number((BigInt(balance as string) * 86_400n) / (3n * ether + fees)))
})

test('sends all that is left, exactly, and keeps what is asked; also of a drained relayer and of a token', async () => {
  const { rig, relayer, treasury, client, path, balanceOf } = await start()
  const sweep = async (body: object, key?: string) =>
    (
      await client.post('/api/v1/relayers/{relayer_id}/sweep', {
        path,
        body: { to: treasury.address, ...body } as never,
        ...(key && { header: { 'Idempotency-Key': key } }),
      })
    ).data
  const token = await deployToken(rig, relayer, 1_000n)
  await sweep({ asset: token, keep_amount: '1' })
  await relayer.finished()
  expect(await tokenBalance(rig, token, relayer.address)).toBe(1n)

  await sweep({ keep_amount: `${3n * ether}` })
  await relayer.finished()
  expect(await balanceOf(relayer.relayer_id)).toBe(3n * ether)

  await client.patch('/api/v1/relayers/{relayer_id}', { path, body: { policies: { allow_transactions: false } } })
  const first = await sweep({}, 'all')
  await relayer.finished()
  expect(await balanceOf(relayer.relayer_id)).toBe(0n)
  // A repeated request gets its first response, though nothing is left.
  expect((await sweep({}, 'all')).id).toBe(first.id)
  expect(await codeOf(sweep({ keep_amount: '1' }, 'all'))).toBe('422 idempotency_mismatch /headers/idempotency-key')
  expect(await codeOf(sweep({}))).toBe('400 insufficient_funds /body/value')
})

test('sweeps after all unfinished transactions: each of them keeps its funds', async () => {
  const { rig, relayer, treasury, client, path } = await start({ noMining: true })
  await relayer.send(5)
  const { data } = await client.post('/api/v1/relayers/{relayer_id}/sweep', { path, body: { to: treasury.address } })
  expect(data.nonce).toBe(5)
  await relayer.finished(() => rig.chain.mine())
  expect((await relayer.transactions()).map(({ status }) => status)).toEqual(Array(6).fill('confirmed'))
})

test('the funding of a pool supplies its relayers, those that join later too, under one limit; circles are refused', async () => {
  const { rig, client, treasury, relayer, settings, fund, path } = await start()
  const pool = { path: { pool_id: 'pool' } }
  const its = '/api/v1/pools/{pool_id}/funding'
  const other = await rig.addAccount()
  const late = await rig.addAccount()
  for (const { address } of [relayer, other, late]) await rig.chain.setBalance(address, ether)
  await client.post('/api/v1/pools', {
    body: { id: 'pool', network: 'local', relayer_ids: [relayer.relayer_id, other.relayer_id] },
  })
  expect(await codeOf(client.get(its, pool))).toBe('404 not_found /path/pool_id')
  expect(await codeOf(client.get(base, { path }))).toBe('404 not_found /path/relayer_id')
  const body = { ...settings, max_amount_per_day: `${9n * ether}` }
  expect(await codeOf(client.put(its, { ...pool, body: { ...body, treasury_id: 'none' } }))).toBe(
    '400 invalid_request /body/treasury_id',
  )
  const member = { ...body, treasury_id: other.relayer_id }
  expect(await codeOf(client.put(its, { ...pool, body: member }))).toBe('409 invalid_state /body/treasury_id')
  await client.put(its, { ...pool, body })
  const state = async () => (await client.get(its, pool)).data
  const states = async () => (await state()).relayers.map((one) => one.status)
  await until('both are refilled', async () => (await states()).join() === 'sufficient,sufficient')
  const balances = () => Promise.all([relayer, other, late].map(({ relayer_id }) => balance(relayer_id)))
  const balance = async (relayerId: string) =>
    BigInt(
      (await client.get('/api/v1/relayers/{relayer_id}/balance', { path: { relayer_id: relayerId } })).data.balance,
    ) / ether
  expect(await balances()).toEqual([5n, 5n, 1n])
  expect((await client.get(base, { path })).data).toMatchObject({
    pool_id: 'pool',
    funding: { treasury_id: treasury.relayer_id },
  })

  // Four of the nine are needed for the third, and a little over one is left.
  const relayerIds = [relayer, other, late].map((account) => account.relayer_id)
  await client.patch('/api/v1/pools/{pool_id}', { ...pool, body: { relayer_ids: relayerIds } })
  await until('the limit is reached', async () => (await states())[2] === 'limit_reached')
  const { usage } = await state()
  expect(BigInt(usage.used)).toBeGreaterThan(8n * ether)
  expect(BigInt(usage.used) + BigInt(usage.remaining)).toBe(9n * ether)
  expect(await balances()).toEqual([5n, 5n, 1n])

  const join = { ...pool, body: { relayer_ids: [...relayerIds, treasury.relayer_id] } }
  expect(await codeOf(client.patch('/api/v1/pools/{pool_id}', join))).toBe('409 invalid_state /body/relayer_ids')
  const back = fund({ treasury_id: relayer.relayer_id }, { relayer_id: treasury.relayer_id })
  expect(await codeOf(back)).toBe('409 invalid_state /body/treasury_id')
  const remove = { path: { relayer_id: treasury.relayer_id } }
  expect(await codeOf(client.delete('/api/v1/relayers/{relayer_id}', remove))).toBe('409 in_use /path/relayer_id')

  // Its own funding comes first.
  await fund({ max_amount_per_day: `${50n * ether}` }, { relayer_id: late.relayer_id })
  await until('it is refilled', async () => (await balances()).at(2) === 5n)
  expect((await state()).relayers).toHaveLength(2)
  await client.delete(its, pool)
  expect(await codeOf(client.get(its, pool))).toBe('404 not_found /path/pool_id')
  expect(await codeOf(client.get(base, { path }))).toBe('404 not_found /path/relayer_id')
})
