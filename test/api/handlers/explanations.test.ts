import { getAddress } from 'ethers'
import { expect, test } from 'vitest'
import {
  createRelayerClient,
  type RelayerPoliciesPatch,
  type SpeedUpTransactionRequest,
  type Transaction,
  type TransactionExplanation,
} from '../../../client/index.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const base = '/api/v1/relayers/{relayer_id}'
const gwei = 10n ** 9n

/** A relayer on a chain that makes blocks when it is told to, and the explanations of its transactions. */
async function start(confirmations = 1) {
  const rig = await testRig({ chain: { noMining: true }, confirmations })
  const account = await rig.addAccount()
  const { relayer_id } = account
  const byNonce = async (nonce: number) =>
    (await rig.client().get(`${base}/transactions/by-nonce/{nonce}`, { path: { relayer_id, nonce: `${nonce}` } })).data
  const explain = async (nonce = 0) => {
    const { id } = await byNonce(nonce)
    const path = { relayer_id, transaction_id: id }
    return (await rig.client().get('/api/v1/transactions/{transaction_id}/explanation', { path })).data
  }
  return {
    ...rig,
    ...account,
    byNonce,
    explain,
    patch: (body: { paused?: boolean; policies?: RelayerPoliciesPatch }) =>
      rig.client().patch(base, { path: { relayer_id }, body }),
    attempts: async (transactionId: string, query = {}) =>
      rig.client().get(`${base}/transactions/{transaction_id}/attempts`, {
        path: { relayer_id, transaction_id: transactionId },
        query,
      }),
    /** The explanation, once it has this code and what a busy node may not have answered in time for an earlier one. */
    async waitsFor(code: string | null, nonce = 0): Promise<TransactionExplanation> {
      let explained = await explain(nonce)
      await until(`it waits for ${code}`, async () => {
        explained = await explain(nonce)
        const isWhole = explained.figures.base_fee !== null || !(code === 'block' || code === 'earlier_nonce')
        return explained.wait_reason === code && isWhole
      })
      return explained
    },
  }
}

test('explains a transaction from its block to its end', async () => {
  const { send, waitsFor, chain, byNonce, clock, client } = await start(3)
  await send(1)
  const waiting = await waitsFor('block')
  const { sent_at } = await byNonce(0)
  expect(waiting).toMatchObject({ status: 'submitted', blocking_transaction_id: null, suggestions: [] })
  expect(waiting.summary).toBe('Waiting: a node has it, and one of the next blocks includes it.')
  expect(waiting.since >= String(sent_at).slice(0, 19)).toBe(true)
  expect(waiting.figures).toMatchObject({
    nonce: 0,
    next_nonce: 0,
    base_fee: expect.stringMatching(/^[1-9]/),
    allowed_max_fee_per_gas: null,
    balance: `${10n ** 24n}`,
    confirmations: 0,
    required_confirmations: 3,
    attempts_count: 1,
  })
  // Long after, the problem says the same.
  clock.passed_ms += 10 * 60_000
  await until('the wait is long', async () => /^Waiting: no block/.test((await waitsFor('block')).summary))
  const long = await waitsFor('block')
  const reason = /[Nn]o block has included it for 1\d min; the chain's last block is \d+ \w+ old\.$/
  expect(long.summary).toMatch(reason)
  expect(long.since).toBe(sent_at)
  const { data: problems } = await client().get('/api/v1/problems', { query: {} })
  const slow = problems.find(({ kind }) => kind === 'transaction_slow')
  expect(slow?.reason).toMatch(reason)
  expect(slow?.since).toBe((await byNonce(0)).created_at)
  await chain.mine(2)
  expect(await waitsFor('confirmations')).toMatchObject({
    summary: 'In block 1, with 2 of 3 confirmations.',
    figures: { next_nonce: 1, confirmations: 2 },
  })
  await chain.mine()
  expect(await waitsFor(null)).toMatchObject({
    status: 'confirmed',
    summary: 'Confirmed in block 1.',
    suggestions: [],
  })
})

test('explains a cap below the base fee, also for later transactions and dry runs, and the suggested remedy works', async () => {
  const { send, waitsFor, patch, chain, client, relayer_id, byNonce, finished } = await start()
  const cap = 5n * gwei
  await chain.setBaseFee(10n * gwei)
  await chain.mine()
  await patch({ policies: { gas_price_cap: `${cap}` } })
  await send(1, { gas_limit: 21_000, reference: 'order-1' })
  const [second] = await send(1, { gas_limit: 21_000 })
  const first = await waitsFor('price_cap')
  expect(first.summary).toMatch(/^Waiting: the policy gas_price_cap \(5 gwei\) is below the .+\.$/)
  expect(first.figures).toMatchObject({ max_fee_per_gas: `${cap}`, allowed_max_fee_per_gas: `${cap}` })
  expect(BigInt(first.figures.base_fee ?? 0)).toBeGreaterThan(cap)
  expect(first.suggestions.map(({ operation }) => operation)).toEqual(['updateRelayer'])
  // A cancellation would be signed below the base fee, or not at all.
  expect(first.options.length).toBe(5)
  for (const change of first.options) expect(change).toMatchObject({ is_mineable: false, reason: expect.any(String) })

  const { id } = await byNonce(0)
  const behind = await waitsFor('earlier_nonce', 1)
  expect(behind).toMatchObject({ blocking_transaction_id: id, suggestions: first.suggestions })
  expect(behind.summary).toContain('nonce 0 comes first (order-1), which waits: the policy gas_price_cap')

  const codes = [
    ['price_below_base_fee', 'price_cap'],
    ['cap_below_base_fee', 'price_cap'],
    ['price_limited_by_cap', null],
    ['earlier_waits', 'earlier_nonce'],
  ]
  const told = (warnings: { code: string; wait_reason: string | null }[] = []) =>
    warnings.map(({ code, wait_reason }) => [code, wait_reason])
  const body = { to: second?.to ?? null, value: '3', gas_limit: 21_000 }
  const path = { relayer_id }
  expect(told((await client().post(`${base}/transactions/dry-run`, { path, body })).data.warnings)).toEqual(codes)
  expect(told((await client().post(`${base}/transactions`, { path, body })).data.warnings)).toEqual(codes)

  // The suggestion as it stands.
  await patch(first.suggestions[0]?.body as { policies: RelayerPoliciesPatch })
  await finished(chain.mine)
  expect((await byNonce(1)).status).toBe('confirmed')
})

test('suggests a speed-up that pays a base fee above the price', async () => {
  const { send, waitsFor, chain, client, relayer_id, finished, byNonce } = await start()
  await send(1)
  await waitsFor('block')
  await chain.setBaseFee(100n * gwei)
  await chain.mine()
  const {
    suggestions: [help],
    options,
  } = await waitsFor('base_fee')
  expect(help).toMatchObject({ operation: 'speedUpTransaction', relayer_id })
  const path = { relayer_id, transaction_id: help?.transaction_id as string }
  const change = options.find(({ operation, speed }) => operation === help?.operation && speed === 'fast')
  expect(change).toMatchObject({ is_mineable: true, reason: null })
  const { data } = await client().post(`${base}/transactions/{transaction_id}/speed-up`, {
    path,
    body: { ...(help?.body as SpeedUpTransactionRequest), max_fee_per_gas: change?.max_fee_per_gas as string },
  })
  // The operation signs at the price that the explanation gave.
  expect(data.max_fee_per_gas).toBe(change?.max_fee_per_gas)
  await finished(chain.mine)
  expect((await byNonce(0)).status).toBe('confirmed')
})

test('keeps the cause and its time while a policy forbids the higher price that the base fee asks for', async () => {
  const { send, waitsFor, explain, patch, chain, clock } = await start()
  await send(1)
  await waitsFor('block')
  const price = BigInt((await explain()).figures.max_fee_per_gas as string)
  // Room for the base fee, and none for the tenth more that replaces the signed version.
  await patch({ policies: { gas_price_cap: `${(price * 108n) / 100n}` } })
  const nextBlock = async () => {
    clock.passed_ms += 60_000
    // After an empty block, the base fee falls by an eighth.
    await chain.setBaseFee((price * 6n) / 5n)
    await chain.mine()
  }
  await until('it waits', async () => (await explain()).wait_reason === 'price_cap', nextBlock)
  const { since } = await explain()
  for (let round = 0; round < 8; round += 1) {
    await nextBlock()
    expect(await explain()).toMatchObject({ wait_reason: 'price_cap', since })
  }
})

test('names no limit of the price as the reason while the chain makes no blocks', async () => {
  const { send, explain, waitsFor, patch, chain, proxy, client, clock } = await start()
  await patch({ policies: { max_fee_multiplier: 1 } })
  await proxy.setFault({ kind: 'accepted_and_forgotten' })
  await send(2)
  await until(
    'blocks left it out, up to the limit of its price',
    async () => (await explain()).wait_reason === 'fee_multiplier',
    async () => {
      clock.passed_ms += 60_000
      await chain.rpc('evm_increaseTime', [60])
      await chain.mine()
    },
  )
  clock.passed_ms += 3 * 60_000
  const explained = await waitsFor('block')
  expect(explained.suggestions).toEqual([])
  expect(explained.summary).toMatch(
    /^Waiting: no block has included it for \d+ min; the chain's last block is \d+ \w+ old\.$/,
  )
  expect((await waitsFor('earlier_nonce', 1)).summary).not.toContain('max_fee_multiplier')
  await until('the problem says the same', async () => {
    const { data: problems } = await client().get('/api/v1/problems', { query: {} })
    const kinds = problems.map(({ kind }) => kind)
    return kinds.includes('transaction_slow') && !kinds.includes('transaction_waiting')
  })
})

test('explains a pause, no funds, a refusing node and no node with a code and a remedy each', async () => {
  const { send, waitsFor, patch, chain, proxy, clock, address, finished } = await start()
  await proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
  await send(1)
  await waitsFor('node')
  await chain.setBalance(address, 0n)
  await proxy.setFault(undefined)
  const [help] = (await waitsFor('funds')).suggestions
  expect(help).toMatchObject({ operation: null, summary: expect.stringContaining(getAddress(address)) })
  await patch({ paused: true })
  expect((await waitsFor('paused')).suggestions).toMatchObject([
    { operation: 'updateRelayer', body: { paused: false } },
  ])
  await patch({ paused: false })
  await proxy.setFault({ kind: 'http_500' })
  await waitsFor('unreachable')
  // Longer than answers of the chain are kept.
  clock.passed_ms += 3_000
  // Figures of the store stay, and those of the chain are unknown.
  expect((await waitsFor('unreachable')).figures).toMatchObject({
    nonce: 0,
    base_fee: null,
    balance: null,
    next_nonce: null,
  })
  await proxy.setFault(undefined)
  await chain.setBalance(address, 10n ** 24n)
  await finished(chain.mine)
})

test('shows every signed version as an attempt, and the mined one', async () => {
  const { send, chain, client, relayer_id, attempts, byNonce, finished } = await start()
  const [sent] = await send(1)
  const { id, to } = sent as Transaction
  await until('a node has it', async () => (await byNonce(0)).status === 'submitted')
  const [first] = (await attempts(id)).data
  const row = await byNonce(0)
  const prices = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: Transaction) => ({
    gas_price,
    max_fee_per_gas,
    max_priority_fee_per_gas,
  })
  expect(first).toEqual({
    number: 1,
    purpose: 'send',
    nonce: 0,
    hash: row.hash,
    ...prices(row),
    signed_at: expect.any(String),
    accepted_at: expect.any(String),
    refusal_message: null,
    is_mined: false,
  })
  const path = { relayer_id, transaction_id: id }
  await client().put(`${base}/transactions/{transaction_id}`, { path, body: { to, value: '2' } })
  await until('a node has the second', async () => (await attempts(id)).data[1]?.accepted_at != null)
  const replaced = await byNonce(0)
  await finished(chain.mine)
  const { data, pagination } = await attempts(id)
  expect(pagination.total_items).toBe(2)
  expect(data.map(({ hash, is_mined }) => [hash, is_mined])).toEqual([
    [row.hash, false],
    [replaced.hash, true],
  ])
  expect(data[1]).toMatchObject(prices(replaced))
  expect((await attempts(id, { per_page: 1, page: 2 })).data).toEqual([data[1]])
  expect((await attempts(id, { page: 9 })).data).toEqual([])
  await expect(attempts('none')).rejects.toMatchObject({ status: 404 })
})

test('shows the refusal of a node with the version that it refused', async () => {
  const { send, chain, proxy, attempts, finished, byNonce } = await start()
  await proxy.setFault({ kind: 'internal_error', methods: ['eth_sendRawTransaction'] })
  const [sent] = await send(1)
  const one = async () => (await attempts(sent?.id as string)).data[0]
  await expect.poll(async () => (await one())?.refusal_message).toBe('internal error')
  expect(await one()).toMatchObject({ accepted_at: null, is_mined: false })
  await proxy.setFault(undefined)
  await finished(chain.mine)
  expect(await one()).toMatchObject({ accepted_at: expect.any(String), refusal_message: null, is_mined: true })
  expect((await byNonce(0)).status).toBe('confirmed')
})

test('tells who sent it and what others changed of it, also when their API keys are gone', async () => {
  const { client, url, relayer_id, chain, explain, byNonce, finished, waitsFor } = await start()
  const name = 'night shift'.padEnd(128, '.')
  const { api_key, token } = await client().apiKeys.create({ name, scopes: ['read', 'send'] })
  const other = createRelayerClient({ baseUrl: url(), token })
  const [before, after] = [`0x${'5a'.repeat(20)}`, `0x${'b0'.repeat(20)}`]
  const { id } = await client().transactions.send(relayer_id, { to: before, value: '1', data: '0x' })
  await waitsFor('block')
  expect(await explain()).toMatchObject({ caller: 'environment', caller_name: null, history: [] })
  await other.transactions.replace(relayer_id, id, { to: after, value: '2', data: '0x' })
  await client().apiKeys.delete(api_key.id)
  await until('the replacement is signed', async () => (await explain()).figures.attempts_count > 1)
  const { history } = await explain()
  expect(history).toMatchObject([
    {
      event: 'replaced',
      caller: api_key.id,
      caller_name: name,
      changes: [
        { member: 'to', before, after },
        { member: 'value', before: '1', after: '2' },
      ],
    },
  ])
  // The trail names it too.
  const { data: trail } = await client().get('/api/v1/audit', { query: { caller: api_key.id } })
  expect(trail.map(({ caller_name }) => caller_name)).toContain(name)

  await chain.mine()
  await until('it is in a block', async () => (await byNonce(0)).receipt !== null)
  await finished(chain.mine)
})
