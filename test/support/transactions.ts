import Database from 'better-sqlite3'
import type { Transaction } from '../../generated/openapi.ts'

/** Rows as the store keeps them; the service has its own connection to the same file. */
export function insertTransactions(database_file: string, relayer_id: string, count: number, first = 1): void {
  const db = new Database(database_file)
  try {
    // Rows by the million: what a power cut would take away here is a test's.
    db.pragma('synchronous = OFF')
    db.pragma('journal_mode = WAL')
    // Counted once, and not with every row.
    const trigger = db
      .prepare<[], string>("SELECT sql FROM sqlite_master WHERE name = 'transaction_inserted'")
      .pluck()
      .get()
    db.transaction(() => {
      db.exec('DROP TRIGGER transaction_inserted')
      db.prepare(insert).run({ relayer_id, first, last: first + count - 1 })
      db.exec(`DELETE FROM transaction_blocks; ${recountTransactions}; ${trigger}`)
    })()
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

/** Changes what stands in the row of that sequence. */
export function changeTransaction(database_file: string, id: string, changes: Partial<Transaction>): void {
  const db = new Database(database_file)
  try {
    const { data, ...others } = changes
    if (data !== undefined) setData(db, id, data)
    if (Object.keys(others).length === 0) return
    const values = Object.entries(others).map(
      ([name, value]) => [name, typeof value === 'object' && value !== null ? JSON.stringify(value) : value] as const,
    )
    const set = values.map(([name]) => `"${name}" = $${name}`).join(', ')
    db.prepare(`UPDATE transactions SET ${set} WHERE id = $its`).run({ ...Object.fromEntries(values), its: id })
  } finally {
    db.close()
  }
}

function setData(db: Database.Database, id: string, data: string | null): void {
  const bytes = data === null ? null : Buffer.from(data.slice(2), 'hex')
  const data_row_id = bytes && db.prepare('INSERT INTO transaction_data (data) VALUES (?)').run(bytes).lastInsertRowid
  db.prepare('UPDATE transactions SET data_bytes = ?, data_row_id = ? WHERE id = ?').run(
    bytes?.length ?? 0,
    data_row_id,
    id,
  )
}

/** The id that the row of that sequence has. */
export const transactionId = (relayer_id: string, sequence: number): string =>
  `${relayer_id}-${String(sequence).padStart(8, '0')}`

/** As in migration 0009. */
export const recountTransactions = `
  INSERT INTO transaction_blocks
  SELECT relayer_row_id, level, sequence / size, min(created_at), max(created_at),
    sum(status IN ('pending', 'sent', 'submitted', 'mined')), sum(status = 'confirmed'), sum(status = 'failed'),
    sum(status = 'canceled'), sum(status = 'expired'),
    sum(iif(status IN ('pending', 'sent', 'submitted', 'mined'), data_bytes, 0))
  FROM transactions, (SELECT 0 AS level, 1000 AS size UNION ALL SELECT 1, 1000000)
  GROUP BY relayer_row_id, level, sequence / size`

const insert = `
  WITH RECURSIVE counted (sequence) AS (
    SELECT $first UNION ALL SELECT sequence + 1 FROM counted WHERE sequence < $last
  )
  INSERT INTO transactions (id, relayer_row_id, relayer_id, sequence, chain_id, "from", "to", value, nonce, status, created_at)
  SELECT format('%s-%08d', relayers.id, sequence), relayers.row_id, relayers.id, sequence, chain_id, address, address, '1',
    sequence - 1, 'confirmed', '2026-01-01T00:00:00.000Z'
  FROM counted, relayers WHERE relayers.id = $relayer_id`
