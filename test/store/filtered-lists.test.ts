import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import type { TransactionStatus } from '../../generated/openapi.ts'
import type { TransactionFilter } from '../../server/domain/transaction-rows.ts'
import { poolSearches as poolTextSearches, searches as textSearches } from '../../server/store/queries/search.ts'
import { poolSearches, searches } from '../../server/store/queries/transaction-lists.ts'
import { translated } from '../../server/store/sqlite/session.ts'
import { openSqliteStore } from '../../server/store/sqlite.ts'
import { bytesRead } from '../support/bytes-read.ts'
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
  INSERT INTO transactions (network, caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, "from", value, status, created_at, nonce, "to",
    reference, metadata, pool_row_id)
  VALUES ('local', 'test', 2, '2026-01-01T00:00:00.000Z', 't' || $relayer_row_id || '-' || $sequence, $relayer_row_id, 'r', $sequence, 1, $relayer_row_id, '1', $status, $created_at,
    $nonce, $to, $reference, $metadata, $pool_row_id)`
const insertMetadata = `
  INSERT INTO transaction_metadata (relayer_row_id, name, value, sequence, transaction_row_id, pool_row_id)
  SELECT relayer_row_id, key, json_each.value, sequence, transactions.row_id, pool_row_id FROM transactions, json_each(metadata)`

/** Inserts the relayers 7 and 8 without the rows that they refer to. */
function insertRelayers(db: Database.Database): void {
  db.pragma('foreign_keys = OFF')
  for (const rowId of [7, 8]) {
    db.prepare(`
      INSERT INTO relayers (row_id, id, name, network, network_type, chain_id, paused, address, signer_id, policies,
        custom_rpc_urls, system_disabled)
      VALUES ($row_id, 'r' || $row_id, 'r', 'n', 'evm', 1, 0, $row_id, 's', '{}', '[]', 0)`).run({ row_id: rowId })
  }
}

test('returns correct pages and totals for any filter, after any changes and clock settings', async () => {
  const { store, db } = openStore()
  const random = randomFrom(10)
  const below = (end: number) => Math.floor(random() * end)
  const pick = <T>(values: T[]): T => values[below(values.length)] as T
  insertRelayers(db)
  const put = db.prepare(insert)
  let clock = 0
  db.transaction(() => {
    for (let sequence = 1; sequence <= 5_500; sequence += 1) {
      // Twice the clock is set back by more than a block.
      clock += sequence % 2_000 === 0 ? -1_500 : below(3)
      // Long runs of one status, and the end mixed.
      const status = sequence < 2_500 ? 'confirmed' : sequence < 4_000 ? pick(states.slice(4)) : pick(states)
      const metadata = pick(purposes)
      // Pools are used in long runs, and not at all.
      const poolRowId = sequence % 1_500 < 600 ? null : pick([null, 1, 2])
      const others = { to: pick(receivers), reference: pick(references), metadata, pool_row_id: poolRowId }
      // Now and then a transaction has got a nonce after later ones, or has given it back.
      const nonce = sequence % 50 === 0 ? sequence + 7_000 : sequence % 70 === 0 ? null : sequence
      put.run({ relayer_row_id: 7, sequence, status, created_at: timeOf(clock), nonce, ...others })
      if (sequence % 9 === 0)
        put.run({
          relayer_row_id: 8,
          sequence: sequence / 9,
          status: 'failed',
          created_at: timeOf(0),
          nonce,
          ...others,
        })
    }
    db.prepare(insertMetadata).run()
    // Removals as by retention, and changes of status: reopened and ended transactions.
    db.prepare('DELETE FROM transactions WHERE relayer_row_id = 7 AND sequence <= 1234').run()
    const move = db.prepare('UPDATE transactions SET status = ? WHERE relayer_row_id = 7 AND sequence = ?')
    for (let count = 0; count < 500; count += 1) move.run(pick(states), 1_235 + below(4_000))
  })()

  const all = db.prepare<[], Listed>(
    'SELECT id, status, created_at, "to", reference, metadata, nonce, pool_row_id FROM transactions WHERE relayer_row_id = 7 ORDER BY sequence DESC',
  )
  const rows = all.all()
  for (let trial = 0; trial < 600; trial += 1) {
    const filter: TransactionFilter = { status: states.filter(() => random() < pick([0, 0.2, 0.8])) }
    if (random() < 0.4) filter.created_after = timeOf(below(clock))
    if (random() < 0.4) filter.created_before = timeOf(below(clock))
    if (random() < 0.2) filter.reference = pick(references) ?? 'none'
    if (random() < 0.2) filter.metadata = pick(pairs)
    if (random() < 0.2) filter.to = pick(receivers) ?? 'none'
    if (random() < 0.3) filter.pool_row_id = pick([1, 2, 3])
    if (random() < 0.1) filter.nonce_from = below(6_000)
    if (random() < 0.1) filter.nonce_to = below(13_000)
    const slice = { offset: below(pick([10, 1_000, 6_000])), limit: pick([0, 1, 10, 1_000]) }
    const wanted = rows.filter((row) => isListed(row, filter))
    const byNonce = filter.nonce_from !== undefined || filter.nonce_to !== undefined
    if (byNonce) wanted.sort((a, b) => Number(b.nonce) - Number(a.nonce))
    const { items, total_items } = await store.listTransactions(7, slice, { ...filter })
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

const receivers = ['0xa', '0xb', null]
const purposes = [null, null, '{"purpose":"refund"}', '{"purpose":"fee","seldom":"refund"}']
const pairs = [
  { name: 'purpose', value: 'refund' },
  { name: 'purpose', value: 'fee' },
  { name: 'seldom', value: 'refund' },
  { name: 'seldom', value: 'none' },
]
const references = ['often', 'often', 'often', 'seldom', null]

interface Listed {
  id: string
  status: TransactionStatus
  created_at: string
  to: string | null
  reference: string | null
  metadata: string | null
  nonce: number | null
  pool_row_id: number | null
}

const isListed = (row: Listed, filter: TransactionFilter): boolean =>
  (filter.status.length === 0 || filter.status.includes(row.status)) &&
  (filter.created_after === undefined || row.created_at > filter.created_after) &&
  (filter.created_before === undefined || row.created_at < filter.created_before) &&
  (filter.reference === undefined || row.reference === filter.reference) &&
  (filter.metadata === undefined || JSON.parse(row.metadata ?? '{}')[filter.metadata.name] === filter.metadata.value) &&
  (filter.to === undefined || row.to === filter.to) &&
  (filter.pool_row_id === undefined || row.pool_row_id === filter.pool_row_id) &&
  (filter.nonce_from === undefined || (row.nonce ?? -1) >= filter.nonce_from) &&
  (filter.nonce_to === undefined || (row.nonce !== null && row.nonce <= filter.nonce_to))

test('reads one index and scans no table in each search', () => {
  const { db } = openStore()
  const index: Record<string, RegExp> = {
    hash: /SEARCH attempts USING (?:COVERING )?INDEX attempts_by_hash/,
    nonce:
      /SEARCH transactions USING INDEX sqlite_autoindex_transactions_\d \(chain_id=\? AND from=\? AND nonce>\? AND nonce<\?\)/,
    reference:
      /SEARCH transactions USING INDEX transactions_by_reference \(relayer_row_id=\? AND reference=\? AND sequence<\?\)/,
    metadata:
      /SEARCH its USING COVERING INDEX transactions_by_metadata \(relayer_row_id=\? AND name=\? AND value=\? AND sequence<\?\)/,
    reference_alone: /SEARCH transactions USING COVERING INDEX transactions_by_reference /,
    to_alone: /SEARCH transactions USING COVERING INDEX transactions_by_receiver /,
    to: /SEARCH transactions USING INDEX transactions_by_receiver \(relayer_row_id=\? AND to=\? AND sequence<\?\)/,
  }
  for (const [name, statement] of Object.entries(searches)) {
    const values = {
      relayer_row_id: 7,
      states: null,
      created_after: null,
      created_before: null,
      reference: 'a',
      name: 'a',
      value: 'a',
      to: '0x',
      hash: '0x',
      nonce_from: null,
      nonce_to: 9,
      pool_row_id: null,
      below: 9,
    }
    const plan = db
      .prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${translated(statement.text.sqlite).text}`)
      .all(values)
    const steps = plan.map(({ detail }) => detail)
    expect(steps.join('\n'), name).toMatch(index[name] as RegExp)
    // A hash has few transactions, so only this list may sort.
    const sorts = name === 'hash' ? /^SCAN (?!json_each)/ : /^SCAN (?!json_each)|TEMP B-TREE/
    expect(
      steps.filter((step) => sorts.test(step)),
      name,
    ).toEqual([])
  }
})

test('reads one index and scans no table in each search over everything', () => {
  const { db } = openStore()
  const index: Record<keyof typeof textSearches, RegExp> = {
    id: /SEARCH transactions USING INDEX sqlite_autoindex_transactions_1 \(id=\?\)/,
    hash: /SEARCH attempts USING (?:COVERING )?INDEX attempts_by_hash \(hash=\?\)/,
    reference: /SEARCH transactions USING INDEX transactions_by_reference \(relayer_row_id=\? AND reference=\?\)/,
    receiver: /SEARCH transactions USING INDEX transactions_by_receiver \(relayer_row_id=\? AND to=\?\)/,
    nonce: /SEARCH transactions USING INDEX sqlite_autoindex_transactions_\d \(chain_id=\? AND from=\? AND nonce=\?\)/,
    metadata: /SEARCH its USING COVERING INDEX transactions_by_metadata \(relayer_row_id=\? AND name=\? AND value=\?\)/,
    id_prefix: /SEARCH transactions USING INDEX sqlite_autoindex_transactions_1 \(id>\? AND id<\?\)/,
    hash_prefix: /SEARCH attempts USING (?:COVERING )?INDEX attempts_by_hash \(hash>\? AND hash<\?\)/,
    reference_prefix:
      /SEARCH transactions USING INDEX transactions_by_reference \(relayer_row_id=\? AND reference>\? AND reference<\?\)/,
    receiver_prefix:
      /SEARCH transactions USING INDEX transactions_by_receiver \(relayer_row_id=\? AND to>\? AND to<\?\)/,
    newest: /SEARCH transactions USING INDEX sqlite_autoindex_transactions_\d \(relayer_row_id=\?\)/,
  }
  const values = { limit: 1, relayer_row_id: 7, text: 'a', lower: 'a', end: 'b', number: 1, name: 'a', value: 'a' }
  for (const [name, statement] of Object.entries(textSearches)) {
    const steps = db
      .prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${translated(statement.text.sqlite).text}`)
      .all(values)
      .map(({ detail }) => detail)
    expect(steps.join('\n'), name).toMatch(index[name as keyof typeof index])
    const sorts = name === 'metadata' ? /^SCAN transactions/ : /^SCAN transactions|TEMP B-TREE/
    expect(
      steps.filter((step) => sorts.test(step)),
      name,
    ).toEqual([])
  }
})

test('reads an index of the pool in each search of what went through it', () => {
  const { db } = openStore()
  const all = [...Object.entries(poolTextSearches), ...Object.entries(poolSearches)]
  const values = { pool_row_id: 1, relayer_row_id: 7, limit: 1, text: 'a', lower: 'a', end: 'b', number: 1, name: 'a' }
  const filter = { value: 'a', states: null, created_after: null, created_before: null, reference: 'a', to: '0x' }
  for (const [name, statement] of all) {
    // At most one transaction has an id or a nonce, and few a hash.
    if (/^(?:id|nonce|hash|hash_prefix)$/.test(name)) continue
    const steps = db
      .prepare<[object], { detail: string }>(`EXPLAIN QUERY PLAN ${translated(statement.text.sqlite).text}`)
      .all({ ...values, ...filter, hash: '0x', nonce_from: null, nonce_to: null, below: 9 })
      .map(({ detail }) => detail)
    expect(steps.join('\n'), name).toMatch(/INDEX transactions_(?:by|of)_pool\w* \(pool_row_id=\?/)
  }
})

test('reads a bounded part of the file for a filtered page, at any depth', async () => {
  const { db, file } = openStore()
  const count = 100_000
  db.prepare(`
    WITH RECURSIVE numbers (sequence) AS (SELECT 1 UNION ALL SELECT sequence + 1 FROM numbers WHERE sequence < ${count})
    INSERT INTO transactions (network, caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, "from", value, status, created_at)
    SELECT 'local', 'test', 2, '2026-01-01T00:00:00.000Z', 't' || sequence, 7, 'r', sequence, 1, '0x', '1', 'confirmed', strftime('%Y-%m-%dT%H:%M:%fZ', 1767225600 + sequence, 'unixepoch')
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
    const { total_items } = await store.listTransactions(7, { offset, limit: 10 }, { ...filter })
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
