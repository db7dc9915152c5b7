import { endOfIntent } from '../../domain/decide.ts'
import { type NeverSigned, neverSigned } from '../../domain/ending.ts'
import { isUnmined } from '../../domain/statuses.ts'
import { releasedCancellation } from '../../domain/submission.ts'
import type { Intent, TransactionRow, TransactionUpdate } from '../../domain/transaction-rows.ts'
import type { Store } from '../store.ts'
import { nextNonce, setNonce } from './accounts.ts'
import type { createSpending } from './daily-limits.ts'
import { sql, type Transaction } from './session.ts'
import { hexOf, read, type WholeRow, wholeColumns } from './transaction-rows.ts'
import type { MoveOne } from './update-transactions.ts'

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
