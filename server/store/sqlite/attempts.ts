import type { AttemptRow, Move, TransactionRow } from '../../core/sending-rows.ts'
import { attemptColumns, signatureEntry } from '../attempt-rows.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'

/** Reads attempts. Their bytes, which may be large, are read one at a time. */
export function attempts({ db }: Pick<Connection, 'db'>): Pick<Store, 'attempts' | 'listAttempts' | 'rawOf'> {
  const rawOf = db
    .prepare<[number, number], Uint8Array>('SELECT raw FROM attempts WHERE transaction_row_id = ? AND number = ?')
    .pluck()
  const selectAttempts = db.prepare<[number], AttemptRow>(
    `SELECT ${attemptColumns} FROM attempts WHERE transaction_row_id = +? ORDER BY number`,
  )
  // Attempts are numbered from 1 without gaps, so a page is a range of numbers and the last number is the count.
  const last = db
    .prepare<[number], number>('SELECT coalesce(max(number), 0) FROM attempts WHERE transaction_row_id = +?')
    .pluck()
  const slice = db.prepare<[number, number, number], AttemptRow>(
    `SELECT ${attemptColumns} FROM attempts WHERE transaction_row_id = +? AND number > +? ORDER BY number LIMIT +?`,
  )

  return {
    attempts: async (row_id) => selectAttempts.all(row_id),
    listAttempts: async (row_id, { offset, limit }) => ({
      items: slice.all(row_id, offset, limit),
      total_items: last.get(row_id) as number,
    }),
    rawOf: async (row_id, number) => rawOf.get(row_id, number) ?? new Uint8Array(),
  }
}

/** Writes a move's changes of attempts: a new attempt with its audit entry, and the nodes' answers to earlier ones. */
export function createAttempts({ db, record }: Pick<Connection, 'db' | 'record'>, now: () => number) {
  const insertAttempt = db.prepare<[object]>(`
    INSERT INTO attempts (transaction_row_id, number, purpose, nonce, hash, raw, gas_price, max_fee_per_gas,
      max_priority_fee_per_gas, gas_limit, created_at)
    VALUES ($transaction_row_id, $number, $purpose, $nonce, $hash, $raw, $gas_price, $max_fee_per_gas, $max_priority_fee_per_gas,
      $gas_limit, $created_at)`)
  const setTaken = db.prepare<[string, number, number]>(
    'UPDATE attempts SET taken_at = ?, refusal = NULL, refusal_kind = NULL WHERE transaction_row_id = ? AND number = ? AND taken_at IS NULL',
  )
  const setRefusal = db.prepare<[string, string, number, number]>(
    'UPDATE attempts SET refusal = ?, refusal_kind = ? WHERE transaction_row_id = ? AND number = ?',
  )

  return (
    row: TransactionRow,
    { attempt, key_request_id, taken, refused }: Pick<Move, 'attempt' | 'key_request_id' | 'taken' | 'refused'>,
  ): void => {
    const timestamp = new Date(now()).toISOString()
    if (attempt) {
      insertAttempt.run({ ...attempt, transaction_row_id: row.row_id, created_at: timestamp })
      record(signatureEntry(row, attempt, now(), key_request_id))
    }
    for (const number of taken ?? []) setTaken.run(timestamp, row.row_id, number)
    if (refused) setRefusal.run(refused.refusal, refused.kind, row.row_id, refused.number)
  }
}
