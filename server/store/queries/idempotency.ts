import type { BatchCreation, Once, Replay } from '../../domain/new-transaction.ts'
import { type Database, type DatabaseTransaction, insertInto, type Session, selectForEach } from './database.ts'
import { answerAgain, answerBatchAgain, idempotencyScope, type KnownAnswer } from './insert-rules.ts'
import { dataColumn } from './transaction-rows.ts'

/** A key that a caller gave. `relayer_row_id`: its `idempotencyScope`. */
interface AskedKey {
  relayer_row_id: number
  caller: string
  key: string
}

const selectAnswers = selectForEach<KnownAnswer & AskedKey>(
  { caller: 'text', relayer_row_id: 'bigint', key: 'text' },
  (record) => `
  SELECT body_hash, answer, transaction_row_id, ${dataColumn('idempotency')} FROM idempotency
  WHERE caller = ${record}caller AND relayer_row_id = ${record}relayer_row_id AND idempotency_key = ${record}key`,
  { shown: ['caller', 'relayer_row_id', 'key'] },
)
const insertAnswers = insertInto('idempotency', {
  ...({ caller: 'text', relayer_row_id: 'bigint', idempotency_key: 'text', body_hash: 'text' } as const),
  ...({ transaction_row_id: 'bigint', answer: 'text', data_row_id: 'bigint' } as const),
})

export const readAnswers = async (session: Session, keys: AskedKey[]): Promise<(KnownAnswer & AskedKey)[]> =>
  keys.length === 0 ? [] : session.allOf(selectAnswers, keys)

export const knownOf = async (
  session: Session,
  holder: number,
  { caller, key }: Pick<Once, 'caller' | 'key'>,
): Promise<KnownAnswer | undefined> => (await readAnswers(session, [{ relayer_row_id: holder, caller, key }]))[0]

/** Stores the answers to the first requests with a key. */
export const rememberAnswers = async (
  dbTransaction: DatabaseTransaction,
  answers: (AskedKey & Omit<KnownAnswer, 'data'> & { data_row_id: number | null })[],
): Promise<void> => {
  const rows = answers.map(({ key, ...answer }) => ({ ...answer, idempotency_key: key }))
  if (rows.length > 0) await dbTransaction.runOf(insertAnswers, rows)
}

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
