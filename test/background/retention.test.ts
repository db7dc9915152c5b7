import pino from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { Retention } from '../../server/app/retention.ts'
import { fakeShare } from '../support/fake-share.ts'
import { startReceiver } from '../support/receiver.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { columnOf, openStoreOf, rowsOf, type Stored, zeroBytes } from '../support/service-database.ts'
import { changeTransaction, insertTransactions, transactionId } from '../support/transactions.ts'
import { until } from '../support/until.ts'

const dayMs = 86_400_000
const start = Date.parse('2026-01-01T00:00:00.000Z')
const demo = { path: { relayer_id: 'demo' } }
const old = { RETENTION_DAYS_TRANSACTIONS: '30', RETENTION_DAYS_IDEMPOTENCY: '7' }

const count = async (service: Stored, table: string, where = 'true') =>
  (await columnOf<number>(service, `SELECT COUNT(*) FROM ${table} WHERE ${where}`))[0]

/** A service whose days have passed at once; it sweeps when it starts. */
const after = async (days: number, service: Stored, settings: Record<string, string> = {}) => {
  const ms = start + days * dayMs
  // As if it had run all the time: a clock that is found far ahead is not believed.
  await rowsOf(service, 'DELETE FROM believed_time')
  await rowsOf(service, `INSERT INTO believed_time (id, ms) VALUES (1, ${ms})`)
  return startTestService({ DATA_DIR: service.data_dir, ...settings }, { now: () => ms })
}

const swept = ({ logged }: TestService) => until('it has swept', () => logged.join('').includes('expired rows removed'))

async function page({ client }: TestService, page: number, perPage: number) {
  return client.get('/api/v1/relayers/{relayer_id}/transactions/', { ...demo, query: { page, per_page: perPage } })
}

/** The store of the same database, on a connection of its own; it ends with the test. */
async function openStore(service: Stored) {
  const store = await openStoreOf(service, {
    now: () => start,
    makeId: () => '',
    checkEvent: () => undefined,
  })
  onTestFinished(store.close)
  return store
}

/** 1,000 transactions from the first of January, of which those from `young` on are of the end of the month. */
async function withTransactions(young: number) {
  const service = await startTestService({}, { now: () => start })
  await insertTransactions(service, 'demo', 1_000)
  const late = new Date(start + 29 * dayMs).toISOString()
  for (const statement of [
    `UPDATE transactions SET created_at = '${late}' WHERE sequence >= ${young}`,
    'INSERT INTO accounts (chain_id, address, next_nonce) SELECT chain_id, address, 1000 FROM relayers',
    `INSERT INTO attempts (transaction_row_id, number, purpose, nonce, gas_limit, hash, raw, content_hash, sig, created_at)
      SELECT row_id, 1, 'send', nonce, 21000, '0x', ${zeroBytes(1)}, '', '', created_at FROM transactions`,
    `INSERT INTO idempotency (caller, relayer_row_id, idempotency_key, body_hash, transaction_row_id, answer)
      SELECT 'c', relayer_row_id, 'k' || sequence, '', row_id, '{}' FROM transactions`,
  ]) {
    await rowsOf(service, statement)
  }
  await service.close()
  return service
}

test('deletes the oldest transactions with all their rows; pages and totals stay correct at every depth', async () => {
  const before = await withTransactions(701)
  const service = await after(31, before, old)
  await swept(service)
  for (const [table, rows] of [
    ['transactions', 300],
    ['attempts', 300],
    ['idempotency', 300],
  ] as const) {
    expect(await count(service, table), table).toBe(rows)
  }
  const wanted = Array.from({ length: 300 }, (_, index) => transactionId('demo', 1_000 - index))
  for (const perPage of [7, 100, 1_000]) {
    const walked: string[] = []
    for (let number = 1; number <= Math.ceil(300 / perPage) + 1; number += 1) {
      const { data, pagination } = await page(service, number, perPage)
      expect(pagination.total_items).toBe(300)
      walked.push(...data.map(({ id }) => id))
    }
    expect(walked).toEqual(wanted)
  }
  // Nothing of the nonces has changed.
  expect(await count(service, 'accounts', 'next_nonce = 1000')).toBe(1)
})

test('returns each page with its items and its total of the same moment during a deletion', async () => {
  const before = await withTransactions(701)
  const service = await after(31, before)
  const store = await openStore(before)
  const totals: number[] = []
  const look = async () => {
    const { data, pagination } = await page(service, 1, 1_000)
    expect(data.length).toBe(pagination.total_items)
    expect(data.at(-1)?.id).toBe(transactionId('demo', 1_001 - data.length))
    totals.push(data.length)
  }
  const retention = new Retention({
    store: {
      // One page is asked for before each step and read during it, another one after it.
      async prune(...parameters) {
        const during = look()
        const pruned = await store.prune(...parameters)
        await during
        await look()
        return pruned
      },
      pruneActivity: async () => ({ more: false }),
      pruneAudit: async () => ({ removed: 0, more: false }),
    },
    days: { transactions: 30, idempotency: 0, deliveries: 0, events: 0, audit: 0 },
    share: fakeShare(),
    readClock: async () => start + 31 * dayMs,
    logger: pino({ level: 'silent' }),
  })
  await until('all that is old is gone', () => totals.at(-1) === 300)
  await retention.stop()
  expect(totals.filter((total) => total > 300 && total < 1_000)).not.toEqual([])
})

test('keeps the transactions after an unfinished one, and the transaction of the last used nonce', async () => {
  const before = await withTransactions(1_001)
  await changeTransaction(before, transactionId('demo', 401), { status: 'mined' })
  // Without a node nothing comes of it.
  const blocked = await after(60, before, old)
  await swept(blocked)
  expect((await page(blocked, 1, 0)).pagination.total_items).toBe(600)
  await blocked.close()
  await changeTransaction(before, transactionId('demo', 401), { status: 'confirmed' })
  const service = await after(60, before, old)
  await swept(service)
  const { data, pagination } = await page(service, 1, 10)
  expect([data.map(({ nonce }) => nonce), pagination.total_items]).toEqual([[999], 1])
})

test('keeps transactions and idempotency keys forever by default, and can delete the keys alone', async () => {
  const before = await withTransactions(701)
  const kept = await after(3_650, before)
  await swept(kept)
  await kept.close()
  expect([await count(kept, 'transactions'), await count(kept, 'idempotency')]).toEqual([1_000, 1_000])
  const service = await after(31, before, { RETENTION_DAYS_IDEMPOTENCY: '7' })
  await swept(service)
  expect([await count(service, 'transactions'), await count(service, 'idempotency')]).toEqual([1_000, 300])
})

test('keeps the idempotency key of an unfinished transaction beyond a short retention, so that a repetition sends nothing twice', async () => {
  const before = await withTransactions(1_001)
  await changeTransaction(before, transactionId('demo', 401), { status: 'submitted' })
  const service = await after(60, before, { RETENTION_DAYS_IDEMPOTENCY: '1' })
  await swept(service)
  expect([
    await count(service, 'idempotency'),
    await count(service, 'idempotency', `idempotency_key = 'k401'`),
  ]).toEqual([1, 1])
})

test('deletes nothing when the clock is far ahead, and logs this', async () => {
  const before = await withTransactions(701)
  const ahead = await startTestService(
    { DATA_DIR: before.data_dir, ...old },
    { now: () => start + 3_650 * dayMs, elapsed: () => 0 },
  )
  await until('it says so', () => ahead.logged.join('').includes('nothing is deleted by age'))
  await ahead.close()
  expect([await count(ahead, 'transactions'), await count(ahead, 'idempotency')]).toEqual([1_000, 1_000])
})

test('deletes deliveries and events after 30 days, keeps pending deliveries, and resumes a stream with the remaining events', async () => {
  const receiver = await startReceiver(({ event }, response) => {
    if (event.sequence === 2) response.writeHead(500).end()
  })
  const clock = { ms: start }
  const first = await startTestService({}, { now: () => clock.ms })
  const { client, data_dir } = first
  await client.post('/api/v1/notifications', { body: { id: 'hook', url: receiver.url } })
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_id: 'hook' } })
  const pause = async (paused: boolean) => {
    await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { paused } })
  }
  await pause(true)
  await until('the first is delivered', async () => (await count(first, 'deliveries', `status = 'delivered'`)) === 1)
  await pause(false)
  await until('the second is tried', async () => (await count(first, 'delivery_attempts')) === 2)
  await rowsOf(first, `UPDATE deliveries SET next_at = ${start + 3_650 * dayMs} WHERE status = 'pending'`)
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_id: null } })
  for (const paused of [true, false, true]) await pause(paused)
  clock.ms += 20 * dayMs
  await pause(false)
  await first.close()
  expect([await count(first, 'events'), await count(first, 'deliveries')]).toEqual([6, 2])

  const second = await after(31, { data_dir })
  await swept(second)
  // The second is still to be delivered, so its event stays; the sixth is young.
  expect([await count(second, 'deliveries', `status = 'delivered'`), await count(second, 'deliveries')]).toEqual([0, 1])
  const abort = new AbortController()
  onTestFinished(() => abort.abort())
  const headers = { Authorization: `Bearer ${second.api_key}`, 'Last-Event-ID': '1' }
  const stream = await second.raw('/api/v1/relayers/demo/events', { headers, signal: abort.signal })
  let heard = ''
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  while (!heard.includes('id: 6')) heard += (await reader?.read())?.value ?? ''
  await reader?.cancel()
  expect(heard.match(/^id: \d+$/gm)).toEqual(['id: 2', 'id: 6'])
  await second.close()

  // The last of a relayer stays for ever: the next one's number follows it.
  const third = await after(365, { data_dir })
  await swept(third)
  expect(await count(third, 'events', 'sequence = 6')).toBe(1)
  await third.client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { paused: true } })
  expect(await count(third, 'events', 'sequence = 7')).toBe(1)
})

test('deletes in small steps, only in the process with the lease, and stops with the service', async () => {
  const before = await withTransactions(1_001)
  const store = await openStore(before)
  const steps: number[] = []
  const lease = { is_ours: false }
  const dependencies = {
    store: {
      prune: async (...parameters: Parameters<typeof store.prune>) => {
        const pruned = await store.prune(...parameters)
        steps.push(pruned.removed)
        return pruned
      },
      pruneActivity: async () => ({ more: false }),
      pruneAudit: async () => ({ removed: 0, more: false }),
    },
    days: { transactions: 30, idempotency: 0, deliveries: 0, events: 0, audit: 0 },
    share: fakeShare(async () => lease.is_ours),
    readClock: async () => start + 60 * dayMs,
    logger: pino({ level: 'silent' }),
  }
  const idle = new Retention(dependencies)
  expect(await idle.sweep()).toMatchObject({ transactions: 0 })
  await idle.stop()
  expect(steps).toEqual([])
  lease.is_ours = true
  const stopped = new Retention(dependencies)
  await stopped.stop()
  expect(steps.length).toBeLessThanOrEqual(1)
  const retention = new Retention(dependencies)
  await until('all is gone but the last', async () => (await count(before, 'transactions')) === 1)
  await retention.stop()
  expect(Math.max(...steps)).toBeLessThanOrEqual(100)
  expect(steps.reduce((sum, removed) => sum + removed, 0)).toBe(999)
})
