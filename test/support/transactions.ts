import { join } from 'node:path'
import Database from 'better-sqlite3'
import type { Transaction } from '../../generated/openapi.ts'
import { onPostgres, rowsOf, type Stored } from './service-database.ts'

/** Rows as the store keeps them; the service has its own connection to the same database. */
export async function insertTransactions(stored: Stored, relayerId: string, count: number, first = 1): Promise<void> {
  const values = { relayer_id: relayerId, first, last: first + count - 1 }
  if (onPostgres) return void (await rowsOf(stored, insertInPostgres(values)))
  const db = new Database(join(stored.data_dir, 'relayer.sqlite'))
  try {
    // Millions of rows of a test: durability is not needed.
    db.pragma('synchronous = OFF')
    db.pragma('journal_mode = WAL')
    // Counted once, and not with every row.
    const trigger = db
      .prepare<[], string>("SELECT sql FROM sqlite_master WHERE name = 'transaction_inserted'")
      .pluck()
      .get()
    db.transaction(() => {
      db.exec('DROP TRIGGER transaction_inserted')
      db.prepare(insert).run(values)
      db.exec(`DELETE FROM transaction_blocks; ${recountTransactions}; ${trigger}`)
    })()
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

/** Changes columns of the row with that id. */
export async function changeTransaction(stored: Stored, id: string, changes: Partial<Transaction>): Promise<void> {
  const { data, ...others } = changes
  if (data !== undefined) await setData(stored, id, data)
  const set = Object.entries(others).map(([name, value]) => `"${name}" = ${literal(value)}`)
  if (set.length > 0) await rowsOf(stored, `UPDATE transactions SET ${set.join(', ')} WHERE id = '${id}'`)
}

async function setData(stored: Stored, id: string, data: string | null): Promise<void> {
  const hex = data?.slice(2) ?? ''
  const bytes = onPostgres ? `'\\x${hex}'` : `x'${hex}'`
  const insertion = `INSERT INTO transaction_data (data) VALUES (${bytes}) RETURNING row_id`
  const [made] = data === null ? [] : await rowsOf<{ row_id: number }>(stored, insertion)
  await rowsOf(
    stored,
    `UPDATE transactions SET data_bytes = ${hex.length / 2}, data_row_id = ${made?.row_id ?? 'NULL'} WHERE id = '${id}'`,
  )
}

/** A value as a literal of SQL. */
function literal(value: unknown): string {
  if (value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return `'${text.replaceAll("'", "''")}'`
}

/** The id that the row of that sequence has. */
export const transactionId = (relayerId: string, sequence: number): string =>
  `${relayerId}-${String(sequence).padStart(8, '0')}`

/** As in schema.sql. */
export const recountTransactions = `
  INSERT INTO transaction_blocks
  SELECT relayer_row_id, level, sequence / size, min(created_at), max(created_at),
    sum(status IN ('pending', 'sent', 'submitted', 'mined')), sum(status = 'confirmed'), sum(status = 'failed'),
    sum(status = 'canceled'), sum(status = 'expired'),
    sum(iif(status IN ('pending', 'sent', 'submitted', 'mined'), data_bytes, 0))
  FROM transactions, (SELECT 0 AS level, 1000 AS size UNION ALL SELECT 1, 1000000)
  GROUP BY relayer_row_id, level, sequence / size`

const into = `
  INSERT INTO transactions (network, id, relayer_row_id, relayer_id, sequence, chain_id, "from", "to", value, nonce, status, created_at,
    changed_at, caller, type)`

const insert = `
  WITH RECURSIVE counted (sequence) AS (
    SELECT $first UNION ALL SELECT sequence + 1 FROM counted WHERE sequence < $last
  )
  ${into}
  SELECT network, format('%s-%08d', relayers.id, sequence), relayers.row_id, relayers.id, sequence, chain_id, address, address, '1',
    sequence - 1, 'confirmed', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'test', 2
  FROM counted, relayers WHERE relayers.id = $relayer_id`

const insertInPostgres = ({ relayer_id, first, last }: { relayer_id: string; first: number; last: number }) => `${into}
  SELECT network, relayers.id || '-' || lpad(sequence::text, 8, '0'), relayers.row_id, relayers.id, sequence, chain_id, address, address, '1',
    sequence - 1, 'confirmed', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'test', 2
  FROM generate_series(${first}, ${last}) AS sequence, relayers WHERE relayers.id = '${relayer_id}' ORDER BY sequence`
