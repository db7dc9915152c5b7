import type { BatchCreation, Once, Replay } from '../../domain/new-transaction.ts'
import { type Database, type DatabaseTransaction, type Session, sql } from './database.ts'
import { answerAgain, answerBatchAgain, idempotencyScope, type KnownAnswer } from './insert-rules.ts'
import { dataColumn } from './transaction-rows.ts'

const selectKnown = sql<KnownAnswer>(`
  SELECT body_hash, answer, transaction_row_id, ${dataColumn('idempotency')} FROM idempotency
  WHERE caller = $caller AND relayer_row_id = $relayer_row_id AND idempotency_key = $key`)
const insertKnown = sql(`
  INSERT INTO idempotency (caller, relayer_row_id, idempotency_key, body_hash, transaction_row_id, answer, data_row_id)
  VALUES ($caller, $relayer_row_id, $key, $body_hash, $transaction_row_id, $answer, $data_row_id)`)

export const knownOf = (session: Session, holder: number, { caller, key }: Pick<Once, 'caller' | 'key'>) =>
  session.one(selectKnown, { caller, key, relayer_row_id: holder })

/** Stores the answer to the first request with a key. `relayer_row_id`: its `idempotencyScope`. */
export const remember = (
  transaction: DatabaseTransaction,
  { caller, key, body_hash }: Once,
  row: { relayer_row_id: number; transaction_row_id: number; answer: string; data_row_id: number | null },
): Promise<number> => transaction.run(insertKnown, { caller, key, body_hash, ...row })

/** The first response to the idempotency key of a batch; undefined for a new key. `holder`: its `idempotencyScope`. */
export async function replayBatch(
  { read }: Database,
  holder: number,
  its: Once,
): Promise<Exclude<BatchCreation, { outcome: 'refused' }> | undefined> {
  const known = await knownOf(read, holder, its)
  return known && answerBatchAgain(known, its.body_hash)
}

/** The first response to an idempotency key; undefined for a new key. */
export async function replay({ read }: Database, holder: number, its: Once): Promise<Replay | undefined> {
  const known = await knownOf(read, holder, its)
  return known && answerAgain(known, its.body_hash)
}

/** The same for a key that belongs to a pool. */
export const replayInPool = (database: Database, poolRowId: number, its: Once): Promise<Replay | undefined> =>
  replay(database, idempotencyScope(0, poolRowId), its)
