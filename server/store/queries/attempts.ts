import type { AuditEntry, Listing, PageRequest } from '../../domain/rows.ts'
import type { Attempt, AttemptRow, TransactionRow, TransactionUpdate } from '../../domain/transaction-rows.ts'
import { type Database, type DatabaseTransaction, insertInto, type KeyedReads, selectForEach, sql } from './database.ts'

/** The columns of an attempt without its bytes. */
const attemptColumns =
  'number, purpose, nonce, hash, gas_price, max_fee_per_gas, max_priority_fee_per_gas, gas_limit, content_hash, sig, taken_at, created_at, refusal_message, refusal_kind'

/** The audit entry of a signature that the service makes in the background, for a transaction that a caller requested. */
const signatureEntry = (
  { relayer_id }: TransactionRow,
  { purpose, hash }: Pick<Attempt, 'purpose' | 'hash'>,
  at: number,
  keyRequestId: string | undefined,
): AuditEntry => ({
  at,
  caller: 'service',
  operation: purpose === 'send' ? 'signTransactionToSend' : 'signTransactionToCancel',
  relayer_id,
  subject: hash,
  http_status: 200,
  request_id: null,
  ...(keyRequestId !== undefined && { key_request_id: keyRequestId }),
})

const selectAll = selectForEach<AttemptRow & { transaction_row_id: number }>(
  { transaction_row_id: 'bigint' },
  (record) => `
  SELECT transaction_row_id, ${attemptColumns} FROM attempts WHERE transaction_row_id = ${record}transaction_row_id`,
  { order: 'ORDER BY its.transaction_row_id, number' },
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
const insertAttempts = insertInto('attempts', {
  ...({ transaction_row_id: 'bigint', number: 'integer', purpose: 'text', nonce: 'bigint', hash: 'text' } as const),
  ...({ raw: 'bytea', gas_price: 'text', max_fee_per_gas: 'text', max_priority_fee_per_gas: 'text' } as const),
  ...({ gas_limit: 'bigint', content_hash: 'text', sig: 'text', created_at: 'text' } as const),
})
const setTaken = sql({
  sqlite: `
    UPDATE attempts SET taken_at = $timestamp, refusal_message = NULL, refusal_kind = NULL
    WHERE transaction_row_id = $transaction_row_id AND number = $number AND taken_at IS NULL`,
  postgres: `
    UPDATE attempts SET taken_at = $timestamp, refusal_message = NULL, refusal_kind = NULL
    FROM json_to_recordset($rows::json) AS new (transaction_row_id bigint, number integer)
    WHERE attempts.transaction_row_id = new.transaction_row_id AND attempts.number = new.number AND taken_at IS NULL
      AND attempts.transaction_row_id = ANY ($row_ids::bigint[])`,
})
const setRefusal = sql({
  sqlite: `
    UPDATE attempts SET refusal_message = $refusal_message, refusal_kind = $kind
    WHERE transaction_row_id = $transaction_row_id AND number = $number`,
  postgres: `
    UPDATE attempts SET refusal_message = new.refusal_message, refusal_kind = new.kind
    FROM json_to_recordset($rows::json) AS new (transaction_row_id bigint, number integer, refusal_message text, kind text)
    WHERE attempts.transaction_row_id = new.transaction_row_id AND attempts.number = new.number
      AND attempts.transaction_row_id = ANY ($row_ids::bigint[])`,
})

/** An offset beyond every number of an attempt. */
const maxNumber = 2 ** 31 - 1

/** The sender asks for those of all transactions in flight at once. */
const attemptsOf: KeyedReads<number, number, AttemptRow[]> = {
  nameOf: (rowId) => rowId,
  async readAll({ read }, rowIds) {
    const found = new Map<number, AttemptRow[]>()
    const wanted = rowIds.map((transactionRowId) => ({ transaction_row_id: transactionRowId }))
    for (const { transaction_row_id, ...attempt } of await read.allOf(selectAll, wanted)) {
      found.set(transaction_row_id, [...(found.get(transaction_row_id) ?? []), attempt])
    }
    return found
  },
}

/** The attempts of a transaction, oldest first. */
export const attempts = async (database: Database, transactionRowId: number): Promise<AttemptRow[]> =>
  (await database.readTogether(attemptsOf, transactionRowId)) ?? []

/** A page of them. */
export async function listAttempts(
  database: Database,
  transactionRowId: number,
  { offset, limit }: PageRequest,
): Promise<Listing<AttemptRow>> {
  const page = { transaction_row_id: transactionRowId, offset: Math.min(offset, maxNumber), limit }
  return {
    items: await database.read.all(selectSlice, page),
    total_items: (await database.read.one(last, { transaction_row_id: transactionRowId }))?.last ?? 0,
  }
}

/** The signed bytes of an attempt; empty when there is none. */
export const rawOf = async (database: Database, transactionRowId: number, number: number): Promise<Uint8Array> =>
  (await database.read.one(raw, { transaction_row_id: transactionRowId, number }))?.raw ?? new Uint8Array()

/** What a move changes of the attempts of its transaction. */
interface AttemptChange extends Pick<TransactionUpdate, 'attempt' | 'key_request_id' | 'taken' | 'refused'> {
  row: TransactionRow
}

/**
 * Writes the changes of attempts by moves of different transactions: new attempts with their audit entries, and the nodes' answers to
 * earlier ones.
 */
export async function writeAttempts(
  dbTransaction: DatabaseTransaction,
  changes: AttemptChange[],
  now: number,
): Promise<void> {
  const timestamp = new Date(now).toISOString()
  const made = changes.flatMap(({ row, attempt }) =>
    attempt ? { ...attempt, transaction_row_id: row.row_id, created_at: timestamp } : [],
  )
  const taken = changes.flatMap(({ row, taken = [] }) =>
    taken.map((number) => ({ transaction_row_id: row.row_id, number })),
  )
  const refused = changes.flatMap(({ row, refused }) => (refused ? { ...refused, transaction_row_id: row.row_id } : []))
  const rowIds = (rows: { transaction_row_id: number }[]) => rows.map(({ transaction_row_id }) => transaction_row_id)
  for (const { row, attempt, key_request_id } of changes) {
    if (attempt) dbTransaction.record(signatureEntry(row, attempt, now, key_request_id))
  }
  await Promise.all([
    ...(made.length > 0 ? [dbTransaction.runOf(insertAttempts, made)] : []),
    ...(taken.length > 0 ? [dbTransaction.runOf(setTaken, taken, { timestamp, row_ids: rowIds(taken) })] : []),
    ...(refused.length > 0 ? [dbTransaction.runOf(setRefusal, refused, { row_ids: rowIds(refused) })] : []),
  ])
}
