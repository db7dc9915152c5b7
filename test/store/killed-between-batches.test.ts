import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../server/store/sqlite.ts'
import { temporaryFolder } from '../support/service.ts'
import type { BatchesOrder } from './batches-until-killed.ts'

// A process is killed after a batch, not within one: its commits remain, and the next process does the remaining work.

const firstKill = 1

/** A database of the present form, without rows. */
async function emptyDatabase(): Promise<string> {
  const file = join(temporaryFolder(), 'a.sqlite')
  const store = openSqliteStore(file, {
    now: () => 0,
    makeId: () => crypto.randomUUID(),
    checkEvent: () => undefined,
  })
  await store.close()
  return file
}

/** Resolves to true when it was killed, and to false when it has done all of its work. */
async function doBatches(order: BatchesOrder): Promise<boolean> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'batches-until-killed.ts'), JSON.stringify(order)], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code, signal] = await once(child, 'exit')
  expect([code, signal]).toEqual(signal === 'SIGKILL' ? [null, 'SIGKILL'] : [0, null])
  return signal === 'SIGKILL'
}

const numbers = (count: number) =>
  `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`

test('gives every transaction its lower nonce, in their order, although each process dies after one batch more', async () => {
  // Two batches.
  const count = 400
  const address = `0x${'ab'.repeat(20)}`
  const file = await emptyDatabase()
  const db = new Database(file)
  // One in three nonces is missing.
  db.exec(`
    INSERT INTO accounts (chain_id, address, next_nonce) VALUES (7, '${address}', ${count * 2});
    ${numbers(count)}
    INSERT INTO transactions (network, caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, "from", value, nonce, status, created_at)
    SELECT 'local', 'test', 2, '2026-01-01T00:00:00.000Z', 't' || n, 1, 'a', n, 7, '${address}', '0', n + n / 2, 'pending', '2026-01-01T00:00:00.000Z' FROM numbers`)
  const nonces = () =>
    db.prepare<[], number>('SELECT nonce FROM transactions WHERE nonce IS NOT NULL ORDER BY sequence').pluck().all()
  const counter = () => db.prepare<[], number>('SELECT next_nonce FROM accounts').pluck().get() as number

  const isKilled = (lastCommit: number) =>
    doBatches({ file, work: { compact: { chain_id: 7, address, latest: 0 } }, last_commit: lastCommit })
  let kills = 0
  for (let before = nonces(); await isKilled(kills + firstKill); before = nonces()) {
    kills += 1
    const after = nonces()
    expect(after, 'none is lost, and none takes the place of another').toEqual(
      [...new Set(after)].sort((a, b) => a - b),
    )
    expect(after).toHaveLength(count)
    expect(after, 'a batch was done').not.toEqual(before)
    expect(counter()).toBeGreaterThan(after.at(-1) as number)
  }
  expect(kills).toBe(2)
  expect(nonces()).toEqual(Array.from({ length: count }, (_, nonce) => nonce))
  expect(counter()).toBe(count)
  db.close()
})

test('redelivers each failed delivery once, although each process dies after a batch', async () => {
  // Two batches.
  const count = 1_000
  const file = await emptyDatabase()
  const db = new Database(file)
  db.exec(`
    INSERT INTO notifications (id, type, url) VALUES ('a', 'webhook', 'http://127.0.0.1:1/');
    INSERT INTO events (id, relayer_row_id, sequence, event, subject, body, created_at) VALUES ('e', 1, 1, 'a', 's', '{}', '');
    ${numbers(count)}
    INSERT INTO deliveries (id, notification_row_id, event_row_id, subject, status, next_at, created_at)
    SELECT 'd' || n, 1, 1, 's' || n, 'failed', 0, '2026-01-01T00:00:00.000Z' FROM numbers;
    INSERT INTO bulk_changes (kind, notification_row_id, since, done_to, up_to)
    SELECT 'redeliver', 1, '', 0, max(row_id) FROM deliveries`)
  // They fail again, as soon as they were redelivered.
  const redelivered = () =>
    db
      .prepare<[], string>(`UPDATE deliveries SET status = 'failed' WHERE status = 'pending' RETURNING id`)
      .pluck()
      .all()

  const seen: string[] = []
  let kills = 0
  while (await doBatches({ file, work: { change: 'go on' }, last_commit: firstKill })) {
    kills += 1
    seen.push(...redelivered())
    expect(seen.length, 'whole batches').toBe(Math.min(kills * 500, count))
    if (kills > 6) break
  }
  expect(new Set(seen).size).toBe(count)
  expect(seen).toHaveLength(count)
  expect(db.prepare('SELECT COUNT(*) FROM bulk_changes').pluck().get()).toBe(0)
  db.close()
})
