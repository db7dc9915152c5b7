import { isFinal, unfinishedStatuses } from '../../domain/statuses.ts'
import type { Refill } from '../configuration-store.ts'
import type { InsertedTransaction, NewestRefill } from './insert-transaction.ts'
import { type Session, sql, type Transaction } from './session.ts'

const maxShown = 20
const maxKept = 200

/** Null where its transaction was removed, long after its end. */
type Row = Omit<Refill, 'is_open'>

const unfinished = unfinishedStatuses.map((status) => `'${status}'`).join(', ')
// The row of its transaction says how far a refill is: it may be reopened by a reorganization.
const newest = sql<Row>(`
  SELECT refills.row_id, treasury_row_id, treasury_id, amount, transaction_id, refills.created_at, status, "from",
    CASE WHEN block_hash IS NOT NULL THEN nonce END AS mined_nonce
  FROM refills LEFT JOIN transactions ON transactions.id = transaction_id
  WHERE refills.relayer_row_id = $relayer_row_id ORDER BY refills.row_id DESC LIMIT ${maxShown}`)
const newestOf = sql<NewestRefill & { relayer_row_id: number }>(`
  SELECT refills.relayer_row_id, max(refills.row_id) AS row_id,
    max(CASE WHEN status IN (${unfinished}) THEN 1 ELSE 0 END) AS is_open
  FROM refills LEFT JOIN transactions ON transactions.id = transaction_id
  WHERE refills.relayer_row_id = ANY ($row_ids::bigint[]) GROUP BY refills.relayer_row_id`)
const insert = sql(
  (engine) => `
  INSERT INTO refills (relayer_row_id, treasury_row_id, treasury_id, asset, amount, transaction_id, created_at)
  ${
    engine === 'sqlite'
      ? 'VALUES ($relayer_row_id, $treasury_row_id, $treasury_id, $asset, $amount, $transaction_id, $created_at)'
      : `SELECT * FROM json_to_recordset($rows::json) AS new (relayer_row_id bigint, treasury_row_id bigint,
           treasury_id text, asset text, amount text, transaction_id text, created_at text)`
  }`,
)
const prune = sql(`
  DELETE FROM refills WHERE relayer_row_id = $relayer_row_id AND row_id < (
    SELECT min(row_id) FROM (
      SELECT row_id FROM refills WHERE relayer_row_id = $relayer_row_id ORDER BY row_id DESC LIMIT ${maxKept}) AS newest)`)

export async function readRefills(session: Session, relayerRowId: number): Promise<Refill[]> {
  const rows = await session.all(newest, { relayer_row_id: relayerRowId })
  return rows.map((row) => ({ ...row, is_open: row.status !== null && !isFinal(row.status) }))
}

/** The newest refills of relayers, by their row ids; absent: none. */
export async function newestRefills(session: Session, rowIds: number[]): Promise<Map<number, NewestRefill>> {
  const rows = rowIds.length === 0 ? [] : await session.all(newestOf, { row_ids: rowIds })
  return new Map(rows.map(({ relayer_row_id, ...its }) => [relayer_row_id, its]))
}

/** Records the refills among accepted transactions. */
export async function insertRefills(transaction: Transaction, accepted: InsertedTransaction[]): Promise<void> {
  const rows = accepted.flatMap(({ refill, row }) => {
    if (!refill) return []
    const { after: _, ...its } = refill
    const { id, relayer_row_id, relayer_id, created_at } = row
    return { ...its, treasury_row_id: relayer_row_id, treasury_id: relayer_id, transaction_id: id, created_at }
  })
  if (rows.length === 0) return
  await transaction.runOf(insert, rows)
  for (const { relayer_row_id } of rows) await transaction.run(prune, { relayer_row_id })
}
