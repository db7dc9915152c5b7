import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import type { TransactionStatus } from '../../generated/openapi.ts'
import type { TransactionFilter } from '../../server/store/sending-rows.ts'
import { openSqliteStore } from '../../server/store/sqlite.ts'
import { randomFrom } from '../support/random.ts'
import { temporaryFolder } from '../support/service.ts'

const states: TransactionStatus[] = [
  ...(['pending', 'sent', 'submitted', 'mined', 'confirmed', 'failed', 'canceled', 'expired'] as const),
]
const start = Date.parse('2026-01-01T00:00:00.000Z')
const timeOf = (seconds: number) => new Date(start + seconds * 1_000).toISOString()

function openStore(file = join(temporaryFolder(), 'a.sqlite')) {
  const store = openSqliteStore(file, {
    now: Date.now,
    makeId: () => crypto.randomUUID(),
    checkEvent: () => undefined,
    showRelayer: (relayer) => relayer,
  })
  const db = new Database(file)
  db.pragma('synchronous = OFF')
  onTestFinished(() => {
    store.close()
    db.close()
  })
  return { store, db, file }
}

const insert = `
  INSERT INTO transactions (id, relayer_key, relayer_id, sequence, chain_id, "from", value, status, created_at)
  VALUES ('t' || $relayer_key || '-' || $sequence, $relayer_key, 'r', $sequence, 1, '0x', '1', $status, $created_at)`

test('pages and totals of any filter are those of the rows, whatever changed and wherever the clock was', async () => {
  const { store, db } = openStore()
  const random = randomFrom(10)
  const below = (end: number) => Math.floor(random() * end)
  const pick = <T>(values: T[]): T => values[below(values.length)] as T
  const put = db.prepare(insert)
  let clock = 0
  db.transaction(() => {
    for (let sequence = 1; sequence <= 5_500; sequence += 1) {
      // Twice the clock is set back by more than a block.
      clock += sequence % 2_000 === 0 ? -1_500 : below(3)
      // Long runs of one status, and the end mixed.
      const status = sequence < 2_500 ? 'confirmed' : sequence < 4_000 ? pick(states.slice(4)) : pick(states)
      put.run({ relayer_key: 7, sequence, status, created_at: timeOf(clock) })
      if (sequence % 9 === 0)
        put.run({ relayer_key: 8, sequence: sequence / 9, status: 'failed', created_at: timeOf(0) })
    }
    // What retention removes, what is reopened, and what ends.
    db.prepare('DELETE FROM transactions WHERE relayer_key = 7 AND sequence <= 1234').run()
    const move = db.prepare('UPDATE transactions SET status = ? WHERE relayer_key = 7 AND sequence = ?')
    for (let count = 0; count < 500; count += 1) move.run(pick(states), 1_235 + below(4_000))
  })()

  const all = db.prepare<[], { id: string; status: TransactionStatus; created_at: string }>(
    'SELECT id, status, created_at FROM transactions WHERE relayer_key = 7 ORDER BY sequence DESC',
  )
  const rows = all.all()
  for (let trial = 0; trial < 300; trial += 1) {
    const filter: TransactionFilter = { status: states.filter(() => random() < pick([0, 0.2, 0.8])) }
    if (random() < 0.4) filter.created_after = timeOf(below(clock))
    if (random() < 0.4) filter.created_before = timeOf(below(clock))
    const slice = { offset: below(pick([10, 1_000, 6_000])), limit: pick([0, 1, 10, 1_000]) }
    const wanted = rows.filter(
      ({ status, created_at }) =>
        (filter.status.length === 0 || filter.status.includes(status)) &&
        (filter.created_after === undefined || created_at > filter.created_after) &&
        (filter.created_before === undefined || created_at < filter.created_before),
    )
    const { items, total_items } = await store.listTransactions(7, slice, filter)
    const label = JSON.stringify({ filter, slice })
    expect(total_items, label).toBe(wanted.length)
    expect(
      items.map(({ id }) => id),
      label,
    ).toEqual(wanted.slice(slice.offset, slice.offset + slice.limit).map(({ id }) => id))
  }
  const unfinished = rows.filter(({ status }) => states.indexOf(status) < 4).length
  expect(await store.countUnfinished(7)).toBe(unfinished)
  expect(await store.countUnfinished(8)).toBe(0)
})

/** How many bytes this process has read, from wherever. Linux only. */
const bytesRead = () => Number(/^rchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])

test.runIf(process.platform === 'linux')('a filtered page reads a bounded part of the file, at any depth', async () => {
  const { db, file } = openStore()
  const count = 100_000
  db.prepare(`
    WITH RECURSIVE numbers (sequence) AS (SELECT 1 UNION ALL SELECT sequence + 1 FROM numbers WHERE sequence < ${count})
    INSERT INTO transactions (id, relayer_key, relayer_id, sequence, chain_id, "from", value, status, created_at)
    SELECT 't' || sequence, 7, 'r', sequence, 1, '0x', '1', 'confirmed', strftime('%Y-%m-%dT%H:%M:%fZ', 1767225600 + sequence, 'unixepoch')
    FROM numbers`).run()
  db.pragma('wal_checkpoint(TRUNCATE)')
  const filters: [number, TransactionFilter][] = [
    [count - 10, { status: ['confirmed'] }],
    [0, { status: ['failed'] }],
    [count / 2, { status: [], created_after: timeOf(1_500) }],
    [0, { status: ['confirmed', 'pending'], created_after: timeOf(70_000), created_before: timeOf(70_050) }],
  ]
  for (const [offset, filter] of filters) {
    const { store } = openStore(file)
    const before = bytesRead()
    const { total_items } = await store.listTransactions(7, { offset, limit: 10 }, filter)
    // A walk over the rows reads 13 MB, one over an index 2 MB.
    expect(bytesRead() - before, JSON.stringify(filter)).toBeLessThan(700_000)
    const { status, created_after = '', created_before = '9' } = filter
    const counted = db.prepare(`
      SELECT COUNT(*) FROM transactions WHERE created_at > ? AND created_at < ?
        AND (? = '[]' OR status IN (SELECT value FROM json_each(?)))`)
    const states = JSON.stringify(status)
    expect(total_items).toBe(counted.pluck().get(created_after, created_before, states, states))
  }
})
