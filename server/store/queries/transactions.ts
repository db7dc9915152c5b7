import type { TransactionError } from '../../../generated/openapi.ts'
import { endOfIntent, type FirstBlock, type ForeignUse, type NeverSigned, neverSigned } from '../../domain/decide.ts'
import { type AtCapacity, type Capacity, exceededBy, type Once, type Replay } from '../../domain/new-transaction.ts'
import { transactionError } from '../../domain/outcome.ts'
import type { Proof } from '../../domain/proof.ts'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import { isFinal, isUnmined } from '../../domain/statuses.ts'
import { releasedCancellation, releasedSubmission } from '../../domain/submission.ts'
import {
  type Account,
  type Intent,
  type OverLimit,
  type Spend,
  type TransactionRow,
  type TransactionUpdate,
  type WholeTransactionRow,
  type WithdrawalBatch,
  type WithdrawnBatch,
  withEntry,
} from '../../domain/transaction-rows.ts'
import { waitColumns } from '../../domain/wait-reason.ts'
import { nextNonce, setNonce } from './accounts.ts'
import { giveSpendingBack, keysIn, takeMoreSpending, takeSpendingAgain } from './daily-limits.ts'
import { type Database, type DatabaseTransaction, sql } from './database.ts'
import { knownOf, rememberAnswers } from './idempotency.ts'
import { answerAgain, rememberAnswer } from './insert-rules.ts'
import { unfinishedOf } from './transaction-reads.ts'
import {
  bytesOf,
  encodeTransaction,
  hexOf,
  readTransaction,
  type StoredTransaction,
  transactionColumns,
  type WholeRow,
  wholeColumns,
} from './transaction-rows.ts'
import { moveAll, rowById } from './update-transactions.ts'

const move = async (dbTransaction: DatabaseTransaction, one: TransactionUpdate) =>
  (await moveAll(dbTransaction, [one]))[0]

/**
 * Gives the account's next nonce to a transaction whose nonce was used outside this service. It is `pending` and unsigned again.
 * Counts `spending` once more; when a daily limit is exceeded, the transaction fails, which `proof` allows: it was never signed for
 * its nonce, or another one is mined there. `reason`: why, to which the outcome is added.
 * Undefined: the revision has changed.
 */
export const renumber = (
  database: Database,
  { row_id, revision, reason, spending }: { row_id: number; revision: number; reason: string; spending: Spend[] },
  proof: Proof<ForeignUse> | NeverSigned,
): Promise<TransactionRow | OverLimit | undefined> =>
  database.write(async (dbTransaction) => {
    await dbTransaction.lockRelayers({ transactions: [row_id], names: keysIn(spending) })
    const row = await dbTransaction.one(rowById, { row_id })
    if (row?.revision !== revision) return undefined
    const account = { chain_id: row.chain_id, address: row.from }
    const over = await takeSpendingAgain(dbTransaction, row, spending, await isSigned(dbTransaction, row_id))
    if (over) {
      const { policy, limit } = over.spend
      const statusReason = `${reason}; not sent again: the policy ${policy} (${limit} a day) has ${over.left} left`
      const error = transactionError('policy_violation', statusReason)
      await move(dbTransaction, {
        row_id,
        revision,
        set: { status_reason: statusReason, error },
        end: { status: 'failed', proof },
      })
      return over
    }
    const nonce = (await nextNonce(dbTransaction, account)) as number
    await setNonce(dbTransaction, account, nonce + 1)
    const set = {
      nonce,
      status: 'pending' as const,
      status_reason: `${reason}; it has a new nonce`,
      hash: null,
      signature: null,
    }
    return move(dbTransaction, { row_id, revision, set })
  })

/**
 * A `move` that also checks the daily limits for the added spending, and the room for its data. `once`: a repetition changes nothing.
 * Undefined: the revision has changed.
 */
export const replaceTransaction = (
  database: Database,
  wanted: Omit<TransactionUpdate, 'end'>,
  { spending, capacity, once }: { spending: Spend[]; capacity: Capacity; once?: Once | undefined },
  auditEntry?: PendingAuditEntry,
): Promise<TransactionRow | Replay | OverLimit | AtCapacity | undefined> =>
  database.write(async (dbTransaction) => {
    await dbTransaction.lockRelayers({ transactions: [wanted.row_id], names: keysIn(spending) })
    const row = await dbTransaction.one(rowById, { row_id: wanted.row_id })
    const holder = row?.relayer_row_id ?? 0
    const known = once && (await knownOf(dbTransaction, holder, once))
    if (known) return answerAgain(known, once.body_hash)
    if (row?.revision !== wanted.revision) return undefined
    const { data } = wanted.set
    const bytes = data === undefined ? 0 : bytesOf(data) - row.data_bytes
    const unfinished = await unfinishedOf(dbTransaction, holder)
    const refused =
      exceededBy(unfinished, { count: 0, bytes }, capacity) ?? (await takeMoreSpending(dbTransaction, row, spending))
    if (refused) return refused
    const moved = await move(dbTransaction, wanted)
    if (once && moved) {
      const answer = JSON.stringify(rememberAnswer(encodeTransaction(moved), []))
      const { row_id: transactionRowId, data_row_id } = moved
      await rememberAnswers(dbTransaction, [
        { ...once, relayer_row_id: holder, transaction_row_id: transactionRowId, answer, data_row_id },
      ])
    }
    return moved
  }, auditEntry)

/**
 * Withdraws a transaction. When it was never signed and has the account's highest nonce, it ends at once and the nonce is returned;
 * otherwise its intent is set, and the sender uses the nonce. `error`: of a transaction that fails. `isReleased`: the cancellation of a
 * private transaction goes to the public nodes. Withdrawn again, it gets another ceiling. `refused`: it is already mined, final or
 * withdrawn with this ceiling.
 */
export const withdraw = (
  database: Database,
  its: { relayer_row_id: number; id: string },
  withdrawal: Withdrawal,
  auditEntry?: PendingAuditEntry,
): Promise<WholeTransactionRow | { refused: TransactionRow } | 'missing'> =>
  database.write(async (dbTransaction) => {
    await dbTransaction.lockRelayers({ relayers: [its.relayer_row_id] })
    return endUnmined(dbTransaction, its, withdrawal)
  }, auditEntry)

/**
 * Releases the bytes of a private transaction to the public nodes; of a withdrawn one its cancellation, and no bytes from before. Each
 * is released once. `refused`: it is public, or in a block, or final.
 */
export const release = (
  database: Database,
  relayerRowId: number,
  id: string,
  auditEntry?: PendingAuditEntry,
): Promise<WholeTransactionRow | { refused: TransactionRow } | 'missing'> =>
  database.write(async (dbTransaction) => {
    await dbTransaction.lockRelayers({ relayers: [relayerRowId] })
    const whole = await transactionById(dbTransaction, relayerRowId, id)
    if (!whole) return 'missing'
    const row = withoutData(whole)
    const set = isUnmined(row.status) && (await releasedColumns(dbTransaction, row))
    if (!set) return { refused: row }
    const { row_id, revision } = row
    return { ...done(await move(dbTransaction, { row_id, revision, set })), data: hexOf(whole.data) }
  }, auditEntry)

/** Undefined: nothing is left to release. */
async function releasedColumns(
  dbTransaction: DatabaseTransaction,
  row: TransactionRow,
): Promise<TransactionUpdate['set'] | undefined> {
  const newest = row.resign ? undefined : await newestPurpose(dbTransaction, row.row_id)
  const submission = releasedSubmission(row, newest, dbTransaction.effects.now())
  // What it waits for at the relays has ended.
  return submission ? { submission, ...waitColumns(row, null) } : undefined
}

const byId = sql<WholeRow>(
  `SELECT ${wholeColumns} FROM transactions WHERE id = $id AND relayer_row_id = $relayer_row_id`,
)
const signed = sql<{ signed: number }>('SELECT 1 AS signed FROM attempts WHERE transaction_row_id = $row_id LIMIT 1')

export const isSigned = async (dbTransaction: DatabaseTransaction, rowId: number): Promise<boolean> =>
  (await dbTransaction.one(signed, { row_id: rowId })) !== undefined

const newest = sql<{ purpose: 'send' | 'cancel' }>(
  'SELECT purpose FROM attempts WHERE transaction_row_id = $row_id ORDER BY number DESC LIMIT 1',
)

/** Of the attempt that is broadcast; undefined: nothing is signed. */
const newestPurpose = async (dbTransaction: DatabaseTransaction, rowId: number) =>
  (await dbTransaction.one(newest, { row_id: rowId }))?.purpose

export const transactionById = (dbTransaction: DatabaseTransaction, relayerRowId: number, id: string) =>
  dbTransaction.one(byId, { id, relayer_row_id: relayerRowId })

/**
 * A withdrawal of a transaction. `error`: of one that fails. `isReleased`: its cancellation goes to the public nodes. `fee_ceiling`: the
 * highest price of its cancellation; null: none; absent: the one that it has.
 */
interface Withdrawal
  extends Pick<TransactionRow, 'status_reason'>,
    Partial<Pick<TransactionRow, 'moved_to_transaction_id'>> {
  fee_ceiling?: TransactionRow['fee_ceiling'] | undefined
  /** Who asked for it; absent: nobody. */
  caller?: string
  intent: Exclude<Intent, 'send'>
  error?: TransactionError | undefined
  isReleased?: boolean
}

/** Withdraws a transaction. The caller holds the lock of the relayer. */
export async function endUnmined(
  dbTransaction: DatabaseTransaction,
  { relayer_row_id, id }: { relayer_row_id: number; id: string },
  { intent, status_reason, error, isReleased = false, fee_ceiling, moved_to_transaction_id = null, caller }: Withdrawal,
): ReturnType<typeof withdraw> {
  const row = await transactionById(dbTransaction, relayer_row_id, id)
  if (!row) return 'missing'
  const { row_id, revision, chain_id, from, nonce, status } = row
  const account = { chain_id, address: from }
  const data = hexOf(row.data)
  if (!isUnmined(status)) return { refused: withoutData(row) }
  if (row.intent !== 'send') {
    const set = await changeOfWithdrawal(dbTransaction, withoutData(row), { isReleased, fee_ceiling })
    if (!set) return { refused: withoutData(row) }
    return { ...done(await move(dbTransaction, { row_id, revision, set })), data }
  }
  const unsigned = neverSigned(row)
  // A concurrent signature fails its compare-and-set. A transaction that had another nonce before was signed for that one.
  if (unsigned && !(await isSigned(dbTransaction, row_id))) await giveSpendingBack(dbTransaction, [row])
  const isHighest = unsigned && nonce !== null && (await nextNonce(dbTransaction, account)) === nonce + 1
  if (isHighest) await setNonce(dbTransaction, account, nonce)
  const change = withdrawn(
    { intent, status_reason, error: error ?? null, fee_ceiling: fee_ceiling ?? null },
    isHighest ? unsigned : undefined,
  )
  const submission = isReleased ? releasedCancellation(withoutData(row), undefined) : null
  const history = caller !== undefined && canceledBy(dbTransaction, row, caller)
  const set = { ...change.set, moved_to_transaction_id, ...(submission && { submission }), ...(history && { history }) }
  return { ...done(await move(dbTransaction, { row_id, revision, ...change, set })), data }
}

/** The history of a transaction that a caller cancels. */
const canceledBy = (
  dbTransaction: DatabaseTransaction,
  { history }: Pick<StoredTransaction, 'history'>,
  caller: string,
) =>
  withEntry(history === null ? null : JSON.parse(history), {
    occurred_at: new Date(dbTransaction.effects.now()).toISOString(),
    event: 'canceled',
    caller,
  })

/** What another request changes of a withdrawal that is under way. Undefined: nothing. */
async function changeOfWithdrawal(
  dbTransaction: DatabaseTransaction,
  row: TransactionRow,
  { isReleased, fee_ceiling }: Pick<Withdrawal, 'isReleased' | 'fee_ceiling'>,
): Promise<TransactionUpdate['set'] | undefined> {
  const isPricedAgain = fee_ceiling !== undefined && fee_ceiling !== row.fee_ceiling && row.block_hash === null
  const priced = isPricedAgain ? { resign: true, fee_ceiling, status_reason: row.status_reason } : undefined
  const released = isReleased ? await releasedColumns(dbTransaction, row) : undefined
  return priced || released ? { ...released, ...priced } : undefined
}

/** What a withdrawal changes. `unsigned`: it was never signed and has the account's highest nonce, so it ends at once. */
const withdrawn = (
  given: { intent: Exclude<Intent, 'send'> } & Pick<TransactionRow, 'status_reason' | 'error' | 'fee_ceiling'>,
  unsigned: NeverSigned | undefined,
): Pick<TransactionUpdate, 'set' | 'end'> => {
  const its = { tip_ceiling: null, ...given }
  return unsigned
    ? { set: { nonce: null, ...its }, end: { status: endOfIntent[given.intent], proof: unsigned } }
    : { set: { resign: true, ...its } }
}

export const withoutData = ({ data: _, ...row }: WholeRow): TransactionRow => readTransaction(row)

/** A move inside the database transaction that read the row cannot come too late. */
function done(moved: TransactionRow | undefined): TransactionRow {
  if (!moved) throw new Error('A row changed inside a database transaction')
  return moved
}

/** The columns that a withdrawal depends on. */
type Candidate = Pick<
  StoredTransaction,
  'row_id' | 'id' | 'chain_id' | 'from' | 'status' | 'intent' | 'hash' | 'revision' | 'history'
> & {
  nonce: number
  attempts: number
}

const highest = (unfinished: string) => `
  SELECT * FROM (
    SELECT row_id, id, chain_id, "from", nonce, status, intent, hash, revision, history,
      (SELECT count(*) FROM attempts WHERE transaction_row_id = transactions.row_id) AS attempts
    FROM transactions WHERE relayer_row_id = $relayer_row_id AND ${unfinished} AND nonce < $below_nonce
    ORDER BY nonce DESC LIMIT $limit) AS highest`
const candidates = sql<Candidate>(`
  SELECT * FROM (${highest(`status = 'pending'`)} UNION ALL ${highest(`status IN ('sent', 'submitted')`)}) AS unfinished
  ORDER BY nonce DESC LIMIT $limit`)

/**
 * `withdraw` for the unfinished transactions with the highest nonces below `below_nonce`, at most `limit`, in one database
 * transaction. Each gets its own audit entry, made from `auditEntry`. `next_below`: the lowest nonce of this batch, at which the next
 * batch begins; undefined at the end.
 */
export const withdrawBatch = (
  database: Database,
  auditEntry: PendingAuditEntry,
  { relayer_row_id, below_nonce, limit, intent, reason }: WithdrawalBatch,
): Promise<WithdrawnBatch> =>
  database.write(async (dbTransaction) => {
    await dbTransaction.lockRelayers({ relayers: [relayer_row_id] })
    const batch = await dbTransaction.all(candidates, { relayer_row_id, below_nonce, limit })
    const open = batch.filter((row) => row.intent === 'send')
    const moves: TransactionUpdate[] = []
    await giveSpendingBack(
      dbTransaction,
      open.filter((row) => neverSigned(row) && row.attempts === 0),
    )
    for (const row of open) {
      const { row_id, id, revision, chain_id, from, nonce } = row
      const account = { chain_id, address: from }
      const unsigned = neverSigned(row)
      const isHighest = unsigned && (await nextNonce(dbTransaction, account)) === nonce + 1
      if (isHighest) await setNonce(dbTransaction, account, nonce)
      const change = withdrawn(
        { intent, status_reason: reason, error: null, fee_ceiling: null },
        isHighest ? unsigned : undefined,
      )
      const set = { ...change.set, history: canceledBy(dbTransaction, row, auditEntry.caller) }
      moves.push({ row_id, revision, ...change, set })
      // A copy: the entry of the request follows, and tells a failure after some of them.
      dbTransaction.record({ ...auditEntry, subject: id })
    }
    for (const row of await moveAll(dbTransaction, moves)) done(row)
    return {
      withdrawn: open.map(({ id }) => id),
      refused: batch.filter((row) => row.intent !== 'send').map(({ id }) => id),
      next_below: batch.at(-1)?.nonce,
    }
  })

const holders = sql<StoredTransaction>(`
  SELECT ${transactionColumns} FROM transactions
  WHERE chain_id = $chain_id AND "from" = $address AND nonce >= 0 ORDER BY nonce LIMIT $limit`)
const restart = sql(`
  INSERT INTO accounts (next_nonce, genesis_hash, chain_id, address)
  VALUES ($next_nonce, $genesis_hash, $chain_id, $address)
  ON CONFLICT (chain_id, address) DO UPDATE SET next_nonce = excluded.next_nonce,
    genesis_hash = excluded.genesis_hash, used_below = 0, compared_count = NULL`)
const forgetExternal = sql('DELETE FROM external_transactions WHERE chain_id = $chain_id AND address = $address')

/**
 * Removes the nonces of an account's transactions after a restart of the chain, at most `limit` in one database transaction.
 * Unfinished ones fail with the reason. Resolves to how many had a nonce; 0 at the end.
 */
export const forgetNonces = (
  database: Database,
  { chain_id, address }: Account,
  { reason, proof }: { reason: string; proof: Proof<FirstBlock> },
  limit: number,
): Promise<number> =>
  database.write(async (dbTransaction) => {
    const account = { chain_id, address }
    await dbTransaction.lockRelayers({ accounts: [account] })
    const rows = await dbTransaction.all(holders, { ...account, limit })
    const moves = rows.map((row) => ({
      row_id: row.row_id,
      revision: row.revision,
      ...forgotten(row, reason, proof),
    }))
    for (const row of await moveAll(dbTransaction, moves)) done(row)
    return rows.length
  })

/** Resets the account for a restarted chain. False, without a change, while a transaction holds a nonce. */
export const restartAccount = (
  database: Database,
  { chain_id, address }: Account,
  counter: { genesis_hash: string; next_nonce: number },
  auditEntry?: PendingAuditEntry,
): Promise<boolean> =>
  database.write(async (dbTransaction) => {
    const account = { chain_id, address }
    await dbTransaction.lockRelayers({ accounts: [account] })
    if (await dbTransaction.one(holders, { ...account, limit: 1 })) return false
    await dbTransaction.run(restart, { ...account, ...counter })
    await dbTransaction.run(forgetExternal, account)
    return true
  }, auditEntry)

/** As the contract says. */
const maxReasonLength = 1_000

/** A block of the former chain is unrelated to the block of the same height on the new chain. */
function forgotten(
  { status, intent, status_reason }: StoredTransaction,
  reason: string,
  proof: Proof<FirstBlock>,
): Pick<TransactionUpdate, 'set' | 'end'> {
  const place = { nonce: null, block_number: null, block_hash: null }
  if (isFinal(status)) return { set: place }
  const error = transactionError('chain_restarted', reason)
  if (intent === 'send') return { set: { ...place, status_reason: reason, error }, end: { status: 'failed', proof } }
  // The reason of the withdrawal comes first.
  const reasons = status_reason === null ? reason : `${status_reason}; ${reason}`
  const set = { ...place, status_reason: reasons.slice(0, maxReasonLength), error }
  return { set, end: { status: endOfIntent[intent], proof } }
}
