import { attemptColumns, signatureEntry } from '../attempt-rows.ts'
import type { AttemptRow, Move, TransactionRow } from '../sending-rows.ts'
import type { Store } from '../store.ts'
import { type Connection, sql, type Transaction } from './connection.ts'

const selectAll = sql<AttemptRow>(
  `SELECT ${attemptColumns} FROM attempts WHERE transaction_row_id = $transaction_row_id ORDER BY number`,
)
// Attempts are numbered from 1 without gaps, so a page is a range of numbers and the last number is the count.
const selectSlice = sql<AttemptRow>(`
  SELECT ${attemptColumns} FROM attempts WHERE transaction_row_id = $transaction_row_id AND number > $offset
  ORDER BY number LIMIT $limit`)
const last = sql<{ last: number }>(
  'SELECT coalesce(max(number), 0) AS last FROM attempts WHERE transaction_row_id = $transaction_row_id',
)
const raw = sql<{ raw: Uint8Array }>(
  'SELECT raw FROM attempts WHERE transaction_row_id = $transaction_row_id AND number = $number',
)
const insert = sql(`
  INSERT INTO attempts (transaction_row_id, number, purpose, nonce, hash, raw, gas_price, max_fee_per_gas,
    max_priority_fee_per_gas, created_at)
  VALUES ($transaction_row_id, $number, $purpose, $nonce, $hash, $raw, $gas_price, $max_fee_per_gas,
    $max_priority_fee_per_gas, $created_at)`)
const setTaken = sql(`
  UPDATE attempts SET taken_at = $timestamp, refusal = NULL
  WHERE transaction_row_id = $transaction_row_id AND number = ANY ($numbers::int[]) AND taken_at IS NULL`)
const setRefusal = sql(
  'UPDATE attempts SET refusal = $refusal WHERE transaction_row_id = $transaction_row_id AND number = $number',
)

/** An offset beyond every number of an attempt. */
const max_number = 2 ** 31 - 1

/** Reads attempts. Their bytes, which may be large, are read one at a time. */
export function attempts({ read }: Pick<Connection, 'read'>): Pick<Store, 'attempts' | 'listAttempts' | 'rawOf'> {
  return {
    attempts: (transaction_row_id) => read.all(selectAll, { transaction_row_id }),
    async listAttempts(transaction_row_id, { offset, limit }) {
      const page = { transaction_row_id, offset: Math.min(offset, max_number), limit }
      return {
        items: await read.all(selectSlice, page),
        total_items: (await read.one(last, { transaction_row_id }))?.last ?? 0,
      }
    },
    rawOf: async (transaction_row_id, number) =>
      (await read.one(raw, { transaction_row_id, number }))?.raw ?? new Uint8Array(),
  }
}

/** Writes a move's changes of attempts: a new attempt with its audit entry, and the nodes' answers to earlier ones. */
export async function writeAttempts(
  transaction: Transaction,
  row: TransactionRow,
  { attempt, key_request_id, taken, refused }: Pick<Move, 'attempt' | 'key_request_id' | 'taken' | 'refused'>,
  now: number,
): Promise<void> {
  const timestamp = new Date(now).toISOString()
  const { row_id: transaction_row_id } = row
  if (attempt) {
    await transaction.run(insert, { ...attempt, transaction_row_id, created_at: timestamp })
    transaction.record(signatureEntry(row, attempt, now, key_request_id))
  }
  if (taken && taken.length > 0) await transaction.run(setTaken, { timestamp, transaction_row_id, numbers: taken })
  if (refused) await transaction.run(setRefusal, { ...refused, transaction_row_id })
}
