import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { AuditEntry } from '../../server/domain/rows.ts'
import { maxBatch } from '../../server/store/queries/audit.ts'
import { Trail } from '../../server/store/sqlite/audit.ts'
import { masterKey } from '../bench/processes.ts'
import { sealRights } from '../support/seal-rights.ts'
import { recountTransactions } from '../support/transactions.ts'

/** Of the newest deliveries, as many as one page has. */
const withAttempts = 1_000
/** As many as the contract shows. */
const attemptsEach = 100
const time = "strftime('%Y-%m-%dT%H:%M:%fZ', 1767225600 + n / 1000.0, 'unixepoch')"

const numbers = (count: number) =>
  `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`

/**
 * Fills the database of a service that runs: `rows` transactions of the relayer `full`, as many events of it and deliveries to the
 * notification `full` that have failed, notifications and audit entries; both exist already.
 */
export async function store(folder: string, rows: number): Promise<void> {
  const db = new Database(join(folder, 'relayer.sqlite'), { timeout: 60_000 })
  db.pragma('synchronous = OFF')
  try {
    withoutTriggers(db, () => {
      fillTransactions(db, rows)
      fillDeliveries(db, rows)
    })
    fillNotifications(db, rows)
    await sealRights(folder, masterKey)
    fillAudit(db, rows)
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

/** Rows are counted once, at the end, and not one by one. */
function withoutTriggers(db: Database.Database, fill: () => void): void {
  const triggers = db
    .prepare<[], { name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ('transactions', 'deliveries')",
    )
    .all()
  db.transaction(() => {
    for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
    fill()
    db.exec(`DELETE FROM transaction_blocks; ${recountTransactions}; DELETE FROM delivery_blocks;
      INSERT INTO delivery_blocks
      SELECT notification_row_id, level, row_id / size, min(created_at), max(created_at),
        sum(status = 'pending'), sum(status = 'delivered'), sum(status = 'failed')
      FROM deliveries, (SELECT 0 AS level, 1000 AS size UNION ALL SELECT 1, 1000000)
      GROUP BY notification_row_id, level, row_id / size`)
    for (const { sql } of triggers) db.exec(sql)
  }).immediate()
}

/** Confirmed transactions, one in a thousand failed, all to one address with one reference. */
const fillTransactions = (db: Database.Database, rows: number) =>
  db.exec(`${numbers(rows)}
    INSERT INTO transactions (network, caller, type, changed_at, id, relayer_row_id, relayer_id, sequence, chain_id, hash, "from", "to", value, nonce, gas_limit,
      max_fee_per_gas, max_priority_fee_per_gas, status, created_at, sent_at, confirmed_at, reference,
      block_number, block_hash)
    SELECT network, 'test', 2, '2026-01-01T00:00:00.000Z', 'full-' || n, row_id, id, n, chain_id, '0x' || hex(zeroblob(32)), address, '0x${'5a'.repeat(20)}', '1000000000000000000', n, 21000,
      '30000000000', '1000000000', iif(n % 1000 = 0, 'failed', 'confirmed'), ${time}, ${time}, ${time}, 'order-7',
      n, '0x' || hex(zeroblob(32))
    FROM relayers, numbers WHERE id = 'full'`)

function fillDeliveries(db: Database.Database, rows: number): void {
  db.exec(`${numbers(rows)}
    INSERT INTO events (id, relayer_row_id, sequence, event, subject, body, created_at)
    SELECT 'event-' || n, row_id, n, 'transaction_update', 'full-' || n, '{"n":' || n || '}', ${time}
    FROM relayers, numbers WHERE id = 'full'`)
  db.exec(`INSERT INTO deliveries (id, notification_row_id, event_row_id, subject, status, failures, next_at, created_at)
    SELECT 'delivery-' || sequence, notifications.row_id, events.row_id, subject, 'failed', 10, 0, events.created_at
    FROM events, notifications WHERE notifications.id = 'full' AND events.id GLOB 'event-*'`)
  db.exec(`${numbers(attemptsEach)}
    INSERT INTO delivery_attempts (delivery_row_id, number, attempted_at, duration_ms, http_status, error_message, response_body)
    SELECT row_id, n, '2026-01-01T00:00:00.000Z', 1, 500, 'HTTP 500', '${'x'.repeat(1_000)}'
    FROM (SELECT row_id FROM deliveries ORDER BY row_id DESC LIMIT ${withAttempts}), numbers`)
}

const fillNotifications = (db: Database.Database, rows: number) =>
  db.exec(`${numbers(rows)}
    INSERT INTO notifications (id, type, url) SELECT 'n-' || n, 'webhook', 'http://127.0.0.1:1/' || n FROM numbers`)

/** In batches as full as they become. */
export function fillAudit(db: Database.Database, entries: number): void {
  const trail = new Trail(db)
  const entry = (n: number): AuditEntry => ({
    at: 1_750_000_000_000 + n,
    caller: 'somebody',
    operation: 'signMessage',
    relayer_id: 'demo',
    http_status: 200,
    subject: randomBytes(32).toString('hex'),
    request_id: randomUUID(),
  })
  const fill = db.transaction(() => {
    for (let n = 0; n < entries; n += maxBatch)
      trail.append(Array.from({ length: maxBatch }, (_, index) => entry(n + index)))
  })
  fill.immediate()
}
