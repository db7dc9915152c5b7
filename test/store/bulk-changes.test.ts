import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../server/store/sqlite.ts'
import { startTestService, temporaryFolder } from '../support/service.ts'
import { until } from '../support/until.ts'

const count = 3_000
const batch = 500
const secondsOf = (n: number) => new Date(Date.parse('2026-01-01T00:00:00.000Z') + n * 1_000).toISOString()

/** A notification with failed deliveries, one a second, each with an attempt; and a delivery of another notification. */
function plant(file: string): void {
  const db = new Database(file)
  db.exec(`
    INSERT INTO notifications (id, type, url) VALUES ('mine', 'webhook', 'http://127.0.0.1:1/'), ('other', 'webhook', 'http://127.0.0.1:1/');
    INSERT INTO events (id, relayer_row_id, sequence, event, subject, body, created_at) VALUES ('e', 1, 1, 'a', 's', '{}', '')`)
  const insert = db.prepare(`
    INSERT INTO deliveries (id, notification_row_id, event_row_id, subject, status, next_at, created_at)
    SELECT 'd' || $n, row_id, 1, 's' || $n, 'failed', 0, $at FROM notifications WHERE id = $of`)
  db.transaction(() => {
    for (let n = 0; n < count; n += 1) insert.run({ n, at: secondsOf(n), of: 'mine' })
    insert.run({ n: count, at: secondsOf(0), of: 'other' })
    db.exec(`
      INSERT INTO delivery_attempts (delivery_row_id, number, attempted_at, duration_ms, response_body) SELECT row_id, 1, '', 1, 'no' FROM deliveries`)
  })()
  db.close()
}

function open(file: string) {
  const store = openSqliteStore(file, {
    now: () => 0,
    makeId: () => crypto.randomUUID(),
    checkEvent: () => undefined,
  })
  const rowIdOf = async (id: string) => (await store.targetRowId(id)) as number
  const total = async (id: string, states: ('pending' | 'delivered' | 'failed')[]) =>
    (await store.listDeliveries(await rowIdOf(id), { offset: 0, limit: 0 }, states)).total_items
  return { store, rowIdOf, total }
}

function planted() {
  const file = join(temporaryFolder(), 'a.sqlite')
  open(file).store.close()
  plant(file)
  return file
}

test('redelivers failed deliveries in batches, and resumes after a restart with the next batch', async () => {
  const file = planted()
  const first = open(file)
  const since = 700
  const rowId = await first.rowIdOf('mine')
  expect(await first.store.redeliverFailed(rowId, secondsOf(since))).toBe(count - since)
  expect(await first.total('mine', ['pending']), 'the first 500 are too old').toBe(0)
  expect(await first.store.continueBulkChange()).toBe(true)
  expect(await first.total('mine', ['pending'])).toBe(2 * batch - since)
  first.store.close()

  const second = open(file)
  let batches = 0
  while (await second.store.continueBulkChange()) {
    batches += 1
    expect(await second.total('mine', ['pending'])).toBeLessThanOrEqual((batches + 2) * batch - since)
  }
  expect(batches).toBe(count / batch - 1)
  expect([await second.total('mine', ['pending']), await second.total('mine', ['failed'])]).toEqual([
    count - since,
    since,
  ])
  expect(await second.store.notificationHealth(rowId)).toMatchObject({
    pending_count: count - since,
    failed_count: since,
  })
  expect(await second.total('other', ['failed']), 'of somebody else').toBe(1)
  second.store.close()
})

test('gives up the deliveries of a disabled notification in batches, and keeps the rest when it is enabled meanwhile', async () => {
  const file = planted()
  const { store, rowIdOf, total } = open(file)
  const rowId = await rowIdOf('mine')
  await store.redeliverFailed(rowId, secondsOf(0))
  while (await store.continueBulkChange());
  const attempt = {
    number: 2,
    attempted_at: secondsOf(0),
    duration_ms: 1,
    http_status: 410,
    error_message: null,
    response_body: null,
  }
  const [due] = await store.dueDeliveries(rowId, 1, 1)
  const verdict = { status: 'failed' as const, failures: 1, failures_before: 0, next_at: 0, disable: 'gone' }
  await store.recordDelivery({
    delivery_row_id: due?.row_id as number,
    notification_row_id: rowId,
    attempt,
    ...verdict,
  })
  expect(await total('mine', ['failed'])).toBe(batch + 1)
  await store.continueBulkChange()
  expect(await total('mine', ['failed'])).toBe(2 * batch + 1)
  await store.updateNotification('mine', { url: 'http://127.0.0.1:2/', former_until: 0 })
  while (await store.continueBulkChange());
  expect(await total('mine', ['pending'])).toBe(count - 2 * batch - 1)
  store.close()
})

test('resumes an interrupted removal', async () => {
  const before = await startTestService()
  await before.close()
  const file = join(before.data_dir, 'relayer.sqlite')
  plant(file)
  const { store } = open(file)
  expect(await store.deleteNotification('mine')).toBe('deleted')
  store.close()
  const db = new Database(file, { readonly: true })
  const left = db
    .prepare<[string], number>(
      'SELECT COUNT(*) FROM deliveries WHERE NOT EXISTS (SELECT 1 FROM notifications WHERE row_id = notification_row_id AND id = ?)',
    )
    .pluck()
  expect(left.get('other')).toBe(count - 50)
  await startTestService({ DATA_DIR: before.data_dir, RETENTION_DAYS_DELIVERIES: '0', RETENTION_DAYS_EVENTS: '0' })
  await until('nothing is left', () => left.get('other') === 0)
  expect(db.prepare('SELECT COUNT(*) FROM delivery_attempts').pluck().get(), 'of the other one').toBe(1)
  expect(db.prepare('SELECT COUNT(*) FROM delivery_blocks').pluck().get(), 'of the other one').toBe(2)
  db.close()
})
