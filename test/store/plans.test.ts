import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DueDelivery } from '../../server/domain/rows.ts'
import { history, steps } from './conformance/history.ts'
import { newTransaction, type PlantedRelayer, plantRelayer } from './conformance/relayers.ts'
import { openStores } from './conformance/stores.ts'
import { fillPostgres } from './fill-postgres.ts'

// No statement of the store reads a whole large table. The statements are those that the store runs: they are recorded while it does
// everything that a service does often, and are explained afterwards.

interface Recorded {
  text: string
  values: unknown[]
}

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  Plans?: Plan[]
}

/** Enough for the planner to prefer an index, at its default costs. */
const rows = 10_000
/** Tables that grow with the number of transactions. */
const large = [
  ...['transactions', 'transaction_data', 'attempts', 'idempotency', 'events', 'deliveries', 'delivery_attempts'],
  ...['spending', 'accounts', 'audit'],
]

type Opened = Awaited<ReturnType<(typeof openStores)['PostgreSQL']>>
let opened: Opened
let relayers: PlantedRelayer[]
beforeAll(async () => {
  opened = await openStores.PostgreSQL()
  relayers = [await plantRelayer(opened, 1), await plantRelayer(opened, 2), await plantRelayer(opened, 3)]
})
afterAll(async () => {
  await opened.store.close()
  await opened.remove()
})

/** The statements that the connections of this process run during `work`. */
async function recorded(work: () => Promise<unknown>): Promise<Recorded[]> {
  const seen = new Map<string, Recorded>()
  const original: (...parameters: never[]) => unknown = pg.Client.prototype.query
  Reflect.set(pg.Client.prototype, 'query', function record(this: pg.Client, ...parameters: never[]) {
    const [query = {}]: ({ name?: string } & Partial<Recorded>)[] = parameters
    const { name, text, values = [] } = query
    if (name !== undefined && text !== undefined) seen.set(name, { text, values })
    return original.apply(this, parameters)
  })
  try {
    await work()
  } finally {
    Reflect.set(pg.Client.prototype, 'query', original)
  }
  return [...seen.values()]
}

const scansIn = (plan: Plan): string[] => [
  ...(plan['Node Type'] === 'Seq Scan' && large.includes(plan['Relation Name'] ?? '')
    ? [plan['Relation Name'] as string]
    : []),
  ...(plan.Plans ?? []).flatMap(scansIn),
]

test('scans no large table with any statement, by a plan for its values or for any values', async () => {
  const { store, clock } = opened
  const example = newTransaction(relayers[0] as PlantedRelayer, 'example', {
    data: '0x1234',
    idempotency: { caller: 'c', key: 'example', body_hash: 'x' },
    nonce: 500_000,
  })
  expect((await store.createTransaction(example)).outcome).toBe('created')
  const { row_id = 0, revision = 0 } = (await store.getTransaction(example.relayer_row_id, 'example')) ?? {}
  await store.getTransactionOfPool(1, 'example')
  await store.getTransactionById('example')
  const attempt = {
    number: 1,
    purpose: 'send' as const,
    content_hash: '',
    sig: '',
    nonce: 500_000,
    hash: '0xexample',
    raw: new Uint8Array(1),
  }
  const prices = { gas_limit: 21_000, gas_price: '1', max_fee_per_gas: null, max_priority_fee_per_gas: null }
  await store.move([{ row_id, revision, set: { status: 'sent' }, attempt: { ...attempt, ...prices } }])
  await fillPostgres(opened, rows)

  const statements = await recorded(async () => {
    const next = history(1)
    for (let step = 0; step < steps; step += 1) {
      clock.ms += 1_000
      await next()(opened, relayers).catch((error: Error) => error)
    }
    await useOutbox()
    await useLists()
  })
  // A history that reaches fewer statements shows less.
  expect(statements.length).toBeGreaterThan(120)

  const faults: string[] = []
  for (const statement of statements) {
    for (const mode of ['force_custom_plan', 'force_generic_plan']) {
      const found = await scansOf(statement, mode)
      if (found.length > 0) faults.push(`${mode} scans ${found}: ${statement.text.trim().replace(/\s+/g, ' ')}`)
    }
  }
  expect(faults).toEqual([])
})

/** What a service does for webhooks, all the time. */
async function useOutbox(): Promise<void> {
  const { store, clock } = opened
  const hook = (await store.targetRowId('hook')) as number
  await store.targetsAtWork()
  await store.getTarget(hook)
  await store.nextDueAt(hook)
  const attempt = {
    attempted_at: new Date(clock.ms).toISOString(),
    duration_ms: 1,
    http_status: 204,
    error_message: null,
    response_body: null,
  }
  for (const status of ['delivered', 'pending', 'failed'] as const) {
    const [due] = await store.dueDeliveries(hook, clock.ms + 10_000_000, 100)
    const { row_id: deliveryRowId, attempts } = due as DueDelivery
    await store.bodyOf(deliveryRowId)
    await store.recordDelivery({
      delivery_row_id: deliveryRowId,
      notification_row_id: hook,
      attempt: { ...attempt, number: attempts + 1 },
      status,
      failures: 1,
      failures_before: 0,
      next_at: 0,
    })
  }
  for (const status of [[], ['failed' as const], ['pending' as const, 'delivered' as const]])
    await store.listDeliveries(hook, { offset: 3, limit: 20 }, status)
  await store.redeliver(hook, 'filled-100')
  await store.redeliverFailed(hook, '2020-01-01T00:00:00.000Z')
  while (await store.continueBulkChange());
  await store.notificationHealth(hook)
  const [{ row_id }] = relayers as [PlantedRelayer]
  await store.events(row_id, 1_000_000, 100)
  await store.eventsOfPool({ pool_row_id: 1, relayer_row_id: row_id }, 1_000_000, 100)
  await store.lastEvent(row_id)
  await store.newestRowId()
}

/** Lists with each filter, at both ends. */
async function useLists(): Promise<void> {
  const { store } = opened
  const [{ row_id }] = relayers as [PlantedRelayer]
  const filters = [
    {},
    { status: ['failed' as const] },
    { status: ['pending' as const, 'confirmed' as const] },
    { created_after: '2025-01-01T01:00:00.000Z', created_before: '2025-01-01T02:00:00.000Z' },
    { reference: 'ref-10' },
    { reference: 'ref-10', status: ['failed' as const] },
    { to: `0x${'10'.padStart(40, '0')}` },
    { to: `0x${'10'.padStart(40, '0')}`, created_after: '2025-01-01T01:00:00.000Z' },
    { nonce_from: 1_000_010, nonce_to: 1_000_050 },
    { hash: '0xexample' },
    { search: 'ref-10', status: ['failed' as const] },
    { search: (relayers[0] as PlantedRelayer).id },
    { pool_row_id: 1 },
    { pool_row_id: 1, status: ['failed' as const], reference: 'ref-10' },
  ]
  for (const filter of filters)
    for (const offset of [0, 500]) {
      await store.listTransactions(row_id, { offset, limit: 20 }, { status: [], ...filter })
      await store.listTransactionsOf(undefined, { offset, limit: 20 }, { status: [], ...filter })
    }
  for (const text of ['ref-10', '0xexample', '0x00', 'fill', '0190', `0x${'10'.padStart(40, '0')}`, 'name:value'])
    await store.search(text, { relayer_ids: undefined, signers: true, notifications: 'all' })
  for (const kind of ['transactions', 'idempotency', 'deliveries', 'events'] as const)
    await store.prune(kind, '2025-01-02T00:00:00.000Z', 0)
  await store.listAudit({ offset: 5_000, limit: 20 }, {})
  await store.readGauges(Date.now())
}

/** The large tables that the plan of a statement scans. */
async function scansOf({ text, values }: Recorded, mode: string): Promise<string[]> {
  await opened.rows(`SET plan_cache_mode = ${mode}`)
  await opened.rows(`PREPARE explained AS ${text}`)
  const parameters = values.length > 0 ? `(${values.map(literal).join(', ')})` : ''
  const [row] = await opened.rows<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `EXPLAIN (FORMAT JSON) EXECUTE explained${parameters}`,
  )
  await opened.rows('DEALLOCATE explained')
  return scansIn((row as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan)
}

function literal(value: unknown): string {
  if (value === null) return 'NULL'
  if (value instanceof Uint8Array) return `'\\x${Buffer.from(value).toString('hex')}'`
  if (Array.isArray(value)) return pg.escapeLiteral(`{${value.map(element).join(',')}}`)
  return pg.escapeLiteral(String(value))
}

const element = (value: unknown): string =>
  value === null ? 'NULL' : JSON.stringify(value instanceof Uint8Array ? '\\x00' : String(value))
