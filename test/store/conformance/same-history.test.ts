import { afterAll, beforeAll, expect, test } from 'vitest'
import { history, steps } from './history.ts'
import { type PlantedRelayer, plantRelayer } from './relayers.ts'
import { openStores } from './stores.ts'

/**
 * One random history of calls on both stores: every answer, and in the end every row, is the same. The numbers of rows differ, because
 * PostgreSQL gives none twice after a rollback; they are left out.
 */
const seeds = [1, 2]

type Opened = Awaited<ReturnType<(typeof openStores)['SQLite']>>
let stores: Opened[]
beforeAll(async () => {
  stores = await Promise.all(Object.values(openStores).map((open) => open()))
})
afterAll(async () => {
  for (const { store, remove } of stores) {
    await store.close()
    await remove()
  }
})

/** Without the numbers of rows, and with bytes as hex. */
function comparable(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (Array.isArray(value)) return value.map(comparable)
  if (value === null || typeof value !== 'object') return value
  const members = Object.entries(value).filter(([name]) => !/(?:^|_)row_id$/.test(name))
  return Object.fromEntries(members.sort().map(([name, its]) => [name, comparable(its)]))
}

const tables = {
  transactions: 'SELECT * FROM transactions ORDER BY relayer_id, sequence',
  attempts: `SELECT attempts.*, transactions.id FROM attempts JOIN transactions ON transactions.row_id = transaction_row_id
    ORDER BY relayer_id, sequence, number`,
  accounts: 'SELECT * FROM accounts ORDER BY address',
  spending: 'SELECT * FROM spending ORDER BY address, asset, bucket',
  idempotency: 'SELECT * FROM idempotency ORDER BY transaction_row_id, idempotency_key',
  events: `SELECT events.*, relayers.id AS relayer FROM events JOIN relayers ON relayers.row_id = relayer_row_id
    ORDER BY relayers.id, sequence`,
  deliveries: 'SELECT subject, status, failures, created_at FROM deliveries ORDER BY row_id',
  transaction_blocks: `SELECT transaction_blocks.*, relayers.id AS relayer FROM transaction_blocks
    JOIN relayers ON relayers.row_id = relayer_row_id ORDER BY relayers.id, level, block`,
  delivery_blocks: 'SELECT sum(pending) AS pending, sum(failed) AS failed FROM delivery_blocks WHERE level = 1',
  data: 'SELECT data FROM transaction_data ORDER BY row_id',
  activity: `SELECT activity.*, relayers.id AS relayer FROM activity JOIN relayers ON relayers.row_id = relayer_row_id
    ORDER BY period_s, at, relayers.id`,
  audit: 'SELECT entries FROM audit ORDER BY up_to',
}

test('returns the same answers and rows for one history of calls on every store', async () => {
  const relayers = new Map<Opened, PlantedRelayer[]>()
  for (const opened of stores) {
    relayers.set(opened, [await plantRelayer(opened, 1), await plantRelayer(opened, 2), await plantRelayer(opened, 3)])
  }
  const outcomes = new Set<string>()
  for (const seed of seeds) {
    const next = history(seed)
    for (let step = 0; step < steps; step += 1) {
      const call = next()
      const answers: string[] = []
      const failures: string[] = []
      for (const opened of stores) {
        opened.clock.ms += 1_000
        const answer = await call(opened, relayers.get(opened) ?? []).catch((error: Error) => {
          failures.push(error.message)
          return 'fails'
        })
        answers.push(JSON.stringify(comparable(answer)) ?? 'undefined')
        const { outcome } = (answer ?? {}) as { outcome?: string }
        if (outcome) outcomes.add(outcome)
      }
      expect(answers[1], `seed ${seed}, step ${step}: ${failures}`).toBe(answers[0])
    }
  }
  for (const [name, statement] of Object.entries(tables)) {
    const [first, ...others] = await Promise.all(stores.map(async ({ rows }) => comparable(await rows(statement))))
    for (const other of others) expect(other, name).toEqual(first)
  }
  // The history contains all kinds of results.
  const all = [
    'created',
    'replayed',
    'mismatch',
    'held',
    'other_nonce',
    'too_little',
    'at_capacity',
    'over_limit',
    'refused',
  ]
  expect([...outcomes].sort()).toEqual(all.sort())
})
