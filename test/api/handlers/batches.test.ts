import { expect, test } from 'vitest'
import type { SendTransactionRequest } from '../../../client/index.ts'
import { startTestService } from '../../support/service.ts'
import { testRig } from '../../support/test-rig.ts'

const base = '/api/v1/relayers/{relayer_id}'
const path = { relayer_id: 'demo' }
const hashes = (index: number) => ({
  domain_separator: `0x${'d0'.repeat(31)}${index.toString(16).padStart(2, '0')}`,
  hash_struct_message: `0x${'50'.repeat(32)}`,
})

test('signs the items of a batch in their order, each with its audit entry', async () => {
  const { client } = await startTestService()
  const items = Array.from({ length: 12 }, (_, index) => [
    { message: `message ${index}` },
    { message_hex: `0x${index.toString(16).padStart(2, '0')}` },
    hashes(index),
  ]).flat()
  const { data, pagination } = await client.post(`${base}/sign/batch`, { path, body: { items } })
  const single = await Promise.all(
    items.map(async (item) =>
      'domain_separator' in item
        ? (await client.post(`${base}/sign-typed-data`, { path, body: item })).data
        : (await client.post(`${base}/sign`, { path, body: item })).data,
    ),
  )
  expect(data).toEqual(single)
  expect(pagination).toEqual({ current_page: 1, per_page: 36, total_items: 36 })

  await expect
    .poll(async () => (await client.get('/api/v1/audit', { query: { per_page: 1_000 } })).data.length)
    .toBeGreaterThanOrEqual(73)
  const { data: entries } = await client.get('/api/v1/audit', { query: { per_page: 1_000 } })
  const subjects = entries
    .filter(({ operation }) => /^sign(?:Message|TypedDataHashes)$/.test(operation))
    .map(({ subject }) => subject)
  // Each digest twice: of the batch, and of its single signature.
  expect(subjects).toHaveLength(72)
  expect(new Set(subjects).size).toBe(36)
})

test('refuses a batch of signatures with one refused item, and names the item', async () => {
  const { client } = await startTestService()
  const sign = (items: object[]) => client.post(`${base}/sign/batch`, { path, body: { items: items as never } })
  await client.patch(base, { path, body: { policies: { allow_blind_typed_data: false } } })
  await expect(sign([{ message: 'a' }, hashes(1)])).rejects.toMatchObject({
    status: 403,
    details: [{ path: 'policies/allow_blind_typed_data', message: expect.stringContaining('(/body/items/1)') }],
  })
  await client.patch(base, { path, body: { policies: { allow_messages: false, allow_blind_typed_data: true } } })
  await expect(sign([hashes(1), { message: 'a' }])).rejects.toMatchObject({
    status: 403,
    details: [{ path: 'policies/allow_messages' }],
  })
  expect((await sign([hashes(1)])).data).toHaveLength(1)
  const both = { message: 'a', message_hex: '0x00' }
  await client.patch(base, { path, body: { policies: { allow_messages: true } } })
  await expect(sign([{ message: 'a' }, both])).rejects.toMatchObject({
    status: 400,
    details: [{ path: expect.stringMatching(/^\/body\/items\/1/) }],
  })
  await expect(sign([])).rejects.toMatchObject({ status: 400 })
  await expect(sign(Array(1_001).fill({ message: 'a' }))).rejects.toMatchObject({ status: 400 })
  await client.patch(base, { path, body: { paused: true } })
  await expect(sign([{ message: 'a' }])).rejects.toMatchObject({ status: 403, code: 'relayer_paused' })
})

test('counts each member of a batch against the rate limit', async () => {
  const { raw } = await startTestService({ RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '10' }, { elapsed: () => 0 })
  const post = async (place: string, body: object) => {
    const answer = await raw(`/api/v1/relayers/demo${place}`, { method: 'POST', body: JSON.stringify(body) })
    return answer.status
  }
  const items = (count: number) => ({ items: Array(count).fill({ message: 'a' }) })
  expect(await post('/sign/batch', items(7))).toBe(200)
  // Three are left, one of which this request takes.
  expect(await post('/sign/batch', items(4))).toBe(429)
  const transactions = Array(3).fill({ to: `0x${'12'.repeat(20)}`, value: '1' })
  expect(await post('/transactions/batch', { transactions })).toBe(429)
  expect(await post('/sign/batch', items(1))).toBe(200)
  expect(await post('/sign', { message: 'a' })).toBe(429)
})

async function start(policies = {}) {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ policies })
  const to = `0x${'12'.repeat(20)}` as const
  const { relayer_id } = account
  const next = async () => (await rig.client().get(`${base}/nonce`, { path: { relayer_id } })).data.next_nonce
  return {
    ...rig,
    ...account,
    next,
    batch: (bodies: Partial<SendTransactionRequest>[], key?: string) =>
      rig.client().post(`${base}/transactions/batch`, {
        path: { relayer_id },
        ...(key !== undefined && { header: { 'Idempotency-Key': key } }),
        body: { transactions: bodies.map((body) => ({ to, value: '1', ...body })) },
      }),
  }
}

test('assigns consecutive nonces to a batch beside concurrent sends, and all are mined', async () => {
  const { batch, send, finished, transactions, chain } = await start()
  const values = (first: number) => Array.from({ length: 40 }, (_, index) => ({ value: `${first + index}` }))
  const [one, , two] = await Promise.all([batch(values(1_000)), send(25), batch(values(2_000))])
  for (const [{ data }, first] of [
    [one, 1_000],
    [two, 2_000],
  ] as const) {
    const nonces = data.map(({ nonce }) => nonce as number)
    expect(nonces).toEqual(nonces.map((_, index) => (nonces[0] as number) + index))
    expect(data.map(({ value }) => value)).toEqual(values(first).map(({ value }) => value))
    expect(data.every(({ warnings, status }) => warnings?.length === 0 && status === 'pending')).toBe(true)
  }
  await finished(chain.mine)
  const rows = await transactions()
  expect(rows).toHaveLength(105)
  expect(rows.every(({ status }) => status === 'confirmed')).toBe(true)
})

test.each([
  [
    'a daily limit',
    { max_value_per_day: '25' },
    [{}, {}, {}],
    { status: 403, details: [{ path: 'policies/max_value_per_day' }] },
  ],
  ['the limit of unfinished transactions', { max_pending: 2 }, [{}, {}, {}], { status: 429, code: 'rate_limited' }],
  [
    'the balance',
    {},
    [{ value: `${6n * 10n ** 23n}` }, { value: `${6n * 10n ** 23n}` }],
    { status: 400, code: 'insufficient_funds', details: [{ path: '/body/transactions/1/value' }] },
  ],
  [
    'a call that reverts',
    {},
    [{}, { to: null, data: '0x60006000fd' }],
    { status: 400, code: 'execution_reverted', details: [{ path: '/body/transactions/1' }] },
  ],
  [
    'a body that cannot be read',
    {},
    [{}, { to: '0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266' }],
    { status: 400, details: [{ path: '/body/transactions/1/to' }] },
  ],
])('%s: counts the members together, and accepts all or none', async (_, policies, bodies, refusal) => {
  const { batch, next, transactions } = await start(policies)
  await expect(batch(bodies.map((body) => ({ value: '10', ...body })))).rejects.toMatchObject(refusal)
  expect([await next(), await transactions()]).toEqual([0, []])
  const { data } = await batch([{ value: '10' }, { value: '10' }])
  expect(data.map(({ nonce }) => nonce)).toEqual([0, 1])
})

test('applies one idempotency key to the whole batch', async () => {
  const { batch, transactions, client, relayer_id } = await start()
  const first = await batch([{ reference: 'a' }, { data: '0x00ff', value: '2' }], 'batch-1')
  expect((await batch([{ reference: 'a' }, { data: '0x00ff', value: '2' }], 'batch-1')).data).toEqual(first.data)
  expect(await transactions()).toHaveLength(2)
  const mismatch = { status: 422, code: 'idempotency_mismatch' }
  await expect(batch([{ reference: 'a' }], 'batch-1')).rejects.toMatchObject(mismatch)
  const body = { to: `0x${'12'.repeat(20)}`, value: '1', reference: 'a' }
  const header = { 'Idempotency-Key': 'batch-1' }
  await expect(client().post(`${base}/transactions`, { path: { relayer_id }, header, body })).rejects.toMatchObject(
    mismatch,
  )
})

test('records an audit entry for each member of a batch', async () => {
  const { batch, client } = await start()
  const { data } = await batch([{}, {}, {}])
  const { data: entries } = await client().get('/api/v1/audit', {
    query: { per_page: 100, operation: 'sendTransactionBatch' },
  })
  expect(entries.map(({ subject }) => subject).sort()).toEqual(data.map(({ id }) => id).sort())
})
