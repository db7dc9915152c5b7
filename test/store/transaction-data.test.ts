import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { migrate } from '../../server/store/sqlite/open-database.ts'
import { openSqliteStore } from '../../server/store/sqlite.ts'
import { endAs } from '../support/ending.ts'
import { temporaryFolder } from '../support/service.ts'

const address = `0x${'11'.repeat(20)}`
const time = '2026-01-01T00:00:00.000Z'
const later = '2026-02-01T00:00:00.000Z'

/** A database with a confirmed transaction that has data, its event and its first response, and one without data. */
function filledDatabase(): string {
  const file = join(temporaryFolder(), 'a.sqlite')
  const db = new Database(file)
  migrate(db)
  const body = JSON.stringify({ id: 'e1', payload: { id: 't1', data: null } })
  const own = `'${address}', '${address}', '1', 'confirmed', '${time}', 'c', 0`
  db.exec(`
    INSERT INTO transaction_data VALUES (1, x'abcd');
    INSERT INTO transactions (network, id, relayer_row_id, relayer_id, sequence, chain_id, data_bytes, data_row_id, nonce, "from", "to", value,
      status, created_at, caller, type, changed_at) VALUES
      ('local', 't1', 1, 'r', 1, 1, 2, 1, 0, ${own}, '${time}'), ('local', 't2', 1, 'r', 2, 1, 0, NULL, 1, ${own}, '${later}');
    INSERT INTO events (id, relayer_row_id, sequence, event, subject, body, data_row_id, created_at)
      VALUES ('e1', 1, 1, 'transaction_update', 't1', '${body}', 1, '${time}');
    INSERT INTO idempotency (caller, relayer_row_id, idempotency_key, body_hash, transaction_row_id, answer, data_row_id)
      VALUES ('c', 1, 'k', 'h', 1, '{"row":{"id":"t1"},"warnings":[]}', 1)`)
  db.close()
  return file
}

function open(file: string) {
  const store = openSqliteStore(file, {
    now: () => Date.parse(later),
    makeId: () => crypto.randomUUID(),
    checkEvent: () => undefined,
  })
  onTestFinished(store.close)
  return store
}

const versionsIn = (file: string): number[] => {
  const db = new Database(file, { readonly: true })
  try {
    return db.prepare<[], number>('SELECT row_id FROM transaction_data').pluck().all()
  } finally {
    db.close()
  }
}

test('reads the version of data that a transaction, an event and a first response name', async () => {
  const store = open(filledDatabase())
  expect(await store.getTransaction(1, 't1')).toMatchObject({ data: '0xabcd', data_bytes: 2 })
  expect(await store.getTransaction(1, 't2')).toMatchObject({ data: null })
  expect(await store.dataOf(1)).toBe('0xabcd')
  const { items } = await store.listTransactions(1, { offset: 0, limit: 10 }, { status: [] })
  expect(items.map(({ data }) => data)).toEqual([null, '0xabcd'])
  expect((await store.events(1, 0, 10)).map(({ body }) => JSON.parse(body).payload.data)).toEqual(['0xabcd'])
  expect(await store.replay(1, { caller: 'c', key: 'k', body_hash: 'h' })).toMatchObject({
    transaction: { id: 't1', data: '0xabcd' },
  })
})

test('deletes a version of data with the last row that names it, and not before', async () => {
  const file = filledDatabase()
  const store = open(file)
  const [row] = await store.endedSince(1, 0)
  expect(row).toBeUndefined()
  const rowId = 1
  const revision = (await store.getTransaction(1, 't1'))?.revision as number
  const move = (data: string | null, status: 'failed' | 'confirmed', at: number) =>
    store.move([{ row_id: rowId, revision: at, set: { data }, end: endAs(status) }])
  await move('0xef', 'failed', revision)
  expect(versionsIn(file), 'the first event and the first response have the first version').toHaveLength(2)
  await move('0xef', 'confirmed', revision + 1)
  // The event of this move has no data, and the two before keep theirs.
  await move(null, 'failed', revision + 2)
  const told = async () => (await store.events(1, 1, 10)).map(({ body }) => JSON.parse(body).payload.data)
  expect(await told()).toEqual(['0xef', '0xef', null])
  expect(versionsIn(file)).toHaveLength(2)

  const all = '2026-12-31T00:00:00.000Z'
  await store.prune('idempotency', all, 0)
  expect(await told()).toEqual(['0xef', '0xef', null])
  await store.prune('events', all, 0)
  expect(await told(), 'the last event stays').toEqual([null])
  expect(versionsIn(file)).toEqual([])
})
