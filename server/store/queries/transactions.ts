import { endOfIntent } from '../../domain/decide.ts'
import { type FirstBlock, type NeverSigned, neverSigned } from '../../domain/ending.ts'
import { exceededBy } from '../../domain/new-transaction.ts'
import type { Proof } from '../../domain/proof.ts'
import { isFinal, isUnmined } from '../../domain/statuses.ts'
import { releasedCancellation, releasedSubmission } from '../../domain/submission.ts'
import type { Intent, TransactionRow, TransactionUpdate } from '../../domain/transaction-rows.ts'
import { waitColumns } from '../../domain/wait-reason.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { nextNonce, setNonce } from './accounts.ts'
import { attempts } from './attempts.ts'
import { createSpending, type Spending } from './daily-limits.ts'
import type { Database } from './database.ts'
import { createEvents } from './events.ts'
import { sql, type Transaction } from './session.ts'
import { unfinishedOf } from './transaction-reads.ts'
import { bytesOf, columns, hexOf, type Row, read, type WholeRow, wholeColumns } from './transaction-rows.ts'
import { createMoves, type MoveAll, type MoveOne, moves, rowById } from './update-transactions.ts'

type Transactions = Pick<
  Store,
  | ('attempts' | 'listAttempts' | 'rawOf' | 'move' | 'replaceTransaction' | 'renumber' | 'withdraw' | 'withdrawBatch')
  | 'release'
>

/** Changes of transactions after their acceptance. */
export function transactions(database: Database, dependencies: StoreDependencies): Transactions {
  const { write } = database
  const events = createEvents(dependencies)
  const spendings = createSpending(dependencies.now)
  const moveAll = createMoves(events, spendings, dependencies.now)
  const move: MoveOne = async (transaction, one) => (await moveAll(transaction, [one]))[0]
  const withdraw = createWithdrawal(spendings, move)

  return {
    ...attempts(database),
    ...moves(database, moveAll),
    renumber: (rowId, revision, proof, reason, spending) =>
      write(async (transaction) => {
        await transaction.lockRelayers({ transactions: [rowId] })
        const row = await transaction.one(rowById, { row_id: rowId })
        if (row?.revision !== revision) return undefined
        const account = { chain_id: row.chain_id, address: row.from }
        const over = await spendings.takeAgain(transaction, row, spending, await isSigned(transaction, rowId))
        if (over) {
          const { policy, limit } = over.spend
          const statusReason = `${reason}; not sent again: the policy ${policy} (${limit} a day) has ${over.left} left`
          const error = { code: 'policy_violation', message: statusReason, revert_data: null }
          await move(transaction, {
            row_id: rowId,
            revision,
            set: { status_reason: statusReason, error },
            end: { status: 'failed', proof },
          })
          return over
        }
        const nonce = (await nextNonce(transaction, account)) as number
        await setNonce(transaction, account, nonce + 1)
        const set = {
          nonce,
          status: 'pending' as const,
          status_reason: `${reason}; it has a new nonce`,
          hash: null,
          signature: null,
        }
        return move(transaction, { row_id: rowId, revision, set })
      }),
    replaceTransaction: (wanted, spending, capacity, auditEntry) =>
      write(async (transaction) => {
        await transaction.lockRelayers({ transactions: [wanted.row_id] })
        const row = await transaction.one(rowById, { row_id: wanted.row_id })
        if (row?.revision !== wanted.revision) return undefined
        const bytes = bytesOf(wanted.set.data ?? null) - row.data_bytes
        const unfinished = await unfinishedOf(transaction, row.relayer_row_id)
        const exceeded = exceededBy(unfinished, { count: 0, bytes }, capacity)
        return exceeded ?? (await spendings.takeMore(transaction, row, spending)) ?? (await move(transaction, wanted))
      }, auditEntry),
    withdraw: (relayerRowId, id, intent, statusReason, more, auditEntry) =>
      write(async (transaction) => {
        await transaction.lockRelayers({ relayers: [relayerRowId] })
        return withdraw(transaction, relayerRowId, id, intent, statusReason, more)
      }, auditEntry),
    release: (relayerRowId, id, auditEntry) =>
      write(async (transaction) => {
        await transaction.lockRelayers({ relayers: [relayerRowId] })
        const whole = await transactionById(transaction, relayerRowId, id)
        if (!whole) return 'missing'
        const row = withoutData(whole)
        const newest = row.resign ? undefined : await newestPurpose(transaction, row.row_id)
        const submission = isUnmined(row.status) ? releasedSubmission(row, newest, dependencies.now()) : null
        if (!submission) return { refused: row }
        const { row_id, revision, intent, status_reason } = row
        // What it waits for at the relays has ended.
        const set = { submission, ...waitColumns({ intent, status_reason }, null) }
        return { ...done(await move(transaction, { row_id, revision, set })), data: hexOf(whole.data) }
      }, auditEntry),
    ...batchWithdrawal(database, spendings, moveAll),
  }
}

const byId = sql<WholeRow>(
  `SELECT ${wholeColumns} FROM transactions WHERE id = $id AND relayer_row_id = $relayer_row_id`,
)
const signed = sql<{ signed: number }>('SELECT 1 AS signed FROM attempts WHERE transaction_row_id = $row_id LIMIT 1')

export const isSigned = async (transaction: Transaction, rowId: number): Promise<boolean> =>
  (await transaction.one(signed, { row_id: rowId })) !== undefined

const newest = sql<{ purpose: 'send' | 'cancel' }>(
  'SELECT purpose FROM attempts WHERE transaction_row_id = $row_id ORDER BY number DESC LIMIT 1',
)

/** Of the attempt that is broadcast; undefined: nothing is signed. */
export const newestPurpose = async (transaction: Transaction, rowId: number) =>
  (await transaction.one(newest, { row_id: rowId }))?.purpose

export const transactionById = (transaction: Transaction, relayerRowId: number, id: string) =>
  transaction.one(byId, { id, relayer_row_id: relayerRowId })

/** Ends transactions before they are mined. The caller holds the lock of the relayer. */
export const createWithdrawal =
  (spendings: ReturnType<typeof createSpending>, move: MoveOne) =>
  async (
    transaction: Transaction,
    ...[relayerRowId, id, intent, statusReason, { error, isReleased = false } = {}]: Parameters<Store['withdraw']>
  ): ReturnType<Store['withdraw']> => {
    const row = await transactionById(transaction, relayerRowId, id)
    if (!row) return 'missing'
    const { row_id, revision, chain_id, from, nonce, status } = row
    const account = { chain_id, address: from }
    const data = hexOf(row.data)
    if (!isUnmined(status) || row.intent !== 'send') return { refused: withoutData(row) }
    const unsigned = neverSigned(row)
    // A concurrent signature fails its compare-and-set. A transaction that had another nonce before was signed for that one.
    if (unsigned && !(await isSigned(transaction, row_id))) await spendings.giveBack(transaction, [row])
    const isHighest = unsigned && nonce !== null && (await nextNonce(transaction, account)) === nonce + 1
    if (isHighest) await setNonce(transaction, account, nonce)
    const change = withdrawn(
      { intent, status_reason: statusReason, error: error ?? null },
      isHighest ? unsigned : undefined,
    )
    const submission = isReleased ? releasedCancellation(withoutData(row), undefined) : null
    const set = { ...change.set, ...(submission && { submission }) }
    return { ...done(await move(transaction, { row_id, revision, ...change, set })), data }
  }

/** What a withdrawal changes. `unsigned`: it was never signed and has the account's highest nonce, so it ends at once. */
export const withdrawn = (
  given: { intent: Exclude<Intent, 'send'> } & Pick<TransactionRow, 'status_reason' | 'error'>,
  unsigned: NeverSigned | undefined,
): Pick<TransactionUpdate, 'set' | 'end'> =>
  unsigned
    ? { set: { nonce: null, ...given }, end: { status: endOfIntent[given.intent], proof: unsigned } }
    : { set: { resign: true, ...given } }

export const withoutData = ({ data: _, ...row }: WholeRow): TransactionRow => read(row)

/** A move inside the database transaction that read the row cannot come too late. */
export function done(moved: TransactionRow | undefined): TransactionRow {
  if (!moved) throw new Error('A row changed inside a database transaction')
  return moved
}

/** The columns that a withdrawal depends on. */
type Candidate = Pick<Row, 'row_id' | 'id' | 'chain_id' | 'from' | 'status' | 'intent' | 'hash' | 'revision'> & {
  nonce: number
  attempts: number
}

const highest = (unfinished: string) => `
  SELECT * FROM (
    SELECT row_id, id, chain_id, "from", nonce, status, intent, hash, revision,
      (SELECT count(*) FROM attempts WHERE transaction_row_id = transactions.row_id) AS attempts
    FROM transactions WHERE relayer_row_id = $relayer_row_id AND ${unfinished} AND nonce < $below_nonce
    ORDER BY nonce DESC LIMIT $limit) AS highest`
const candidates = sql<Candidate>(`
  SELECT * FROM (${highest(`status = 'pending'`)} UNION ALL ${highest(`status IN ('sent', 'submitted')`)}) AS unfinished
  ORDER BY nonce DESC LIMIT $limit`)

/** Withdraws many transactions in short database transactions, by the rules of `withdraw`. */
export function batchWithdrawal(
  { write }: Database,
  { giveBack }: Pick<Spending, 'giveBack'>,
  moveAll: MoveAll,
): Pick<Store, 'withdrawBatch'> {
  return {
    withdrawBatch: (auditEntry, { relayer_row_id, below_nonce, limit, intent, reason }) =>
      write(async (transaction) => {
        await transaction.lockRelayers({ relayers: [relayer_row_id] })
        const batch = await transaction.all(candidates, { relayer_row_id, below_nonce, limit })
        const open = batch.filter((row) => row.intent === 'send')
        const moves: TransactionUpdate[] = []
        await giveBack(
          transaction,
          open.filter((row) => neverSigned(row) && row.attempts === 0),
        )
        for (const row of open) {
          const { row_id, id, revision, chain_id, from, nonce } = row
          const account = { chain_id, address: from }
          const unsigned = neverSigned(row)
          const isHighest = unsigned && (await nextNonce(transaction, account)) === nonce + 1
          if (isHighest) await setNonce(transaction, account, nonce)
          const change = withdrawn({ intent, status_reason: reason, error: null }, isHighest ? unsigned : undefined)
          moves.push({ row_id, revision, ...change })
          transaction.record({ ...auditEntry, subject: id })
        }
        for (const row of await moveAll(transaction, moves)) done(row)
        return {
          withdrawn: open.map(({ id }) => id),
          refused: batch.filter((row) => row.intent !== 'send').map(({ id }) => id),
          next_below: batch.at(-1)?.nonce,
        }
      }),
  }
}

const holders = sql<Row>(`
  SELECT ${columns} FROM transactions
  WHERE chain_id = $chain_id AND "from" = $address AND nonce >= 0 ORDER BY nonce LIMIT $limit`)
const restart = sql(`
  INSERT INTO accounts (next_nonce, genesis_hash, chain_id, address)
  VALUES ($next_nonce, $genesis_hash, $chain_id, $address)
  ON CONFLICT (chain_id, address) DO UPDATE SET next_nonce = excluded.next_nonce,
    genesis_hash = excluded.genesis_hash, used_below = 0, compared_count = NULL`)
const forgetUnknown = sql('DELETE FROM unknown_transactions WHERE chain_id = $chain_id AND address = $address')

/** Accounts on a restarted chain. */
export function restarts(
  { write }: Database,
  dependencies: StoreDependencies,
): Pick<Store, 'forgetNonces' | 'restartAccount'> {
  const { now } = dependencies
  const moveAll = createMoves(createEvents(dependencies), createSpending(now), now)
  return {
    forgetNonces: ({ chain_id, address }, reason, proof, limit) =>
      write(async (transaction) => {
        const account = { chain_id, address }
        await transaction.lockRelayers({ accounts: [account] })
        const rows = await transaction.all(holders, { ...account, limit })
        const moves = rows.map((row) => ({
          row_id: row.row_id,
          revision: row.revision,
          ...forgotten(row, reason, proof),
        }))
        for (const row of await moveAll(transaction, moves)) done(row)
        return rows.length
      }),
    restartAccount: ({ chain_id, address }, genesisHash, nextNonce, auditEntry) =>
      write(async (transaction) => {
        const account = { chain_id, address }
        await transaction.lockRelayers({ accounts: [account] })
        if (await transaction.one(holders, { ...account, limit: 1 })) return false
        await transaction.run(restart, { ...account, next_nonce: nextNonce, genesis_hash: genesisHash })
        await transaction.run(forgetUnknown, account)
        return true
      }, auditEntry),
  }
}

/** As the contract says. */
const maxReasonLength = 1_000

/** A block of the former chain is unrelated to the block of the same height on the new chain. */
function forgotten(
  { status, intent, status_reason }: Row,
  reason: string,
  proof: Proof<FirstBlock>,
): Pick<TransactionUpdate, 'set' | 'end'> {
  const place = { nonce: null, block_number: null, block_hash: null }
  if (isFinal(status)) return { set: place }
  const error = { code: 'chain_restarted' as const, message: reason, revert_data: null }
  if (intent === 'send') return { set: { ...place, status_reason: reason, error }, end: { status: 'failed', proof } }
  // The reason of the withdrawal comes first.
  const reasons = status_reason === null ? reason : `${status_reason}; ${reason}`
  const set = { ...place, status_reason: reasons.slice(0, maxReasonLength), error }
  return { set, end: { status: endOfIntent[intent], proof } }
}
