import { exceededBy } from '../../core/capacity.ts'
import type { TransactionRow } from '../../core/sending-rows.ts'
import { isUnmined } from '../../core/statuses.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { bytesOf, read, type WholeRow, wholeColumns } from '../transaction-rows.ts'
import { nextNonce, setNonce } from './accounts.ts'
import { attempts } from './attempts.ts'
import { batchWithdrawal } from './batch-withdrawal.ts'
import type { Database } from './database.ts'
import { createEvents } from './events.ts'
import { createMoves, type MoveOne, moves, rowById } from './moves.ts'
import { createSpending } from './spending.ts'
import { sql } from './statement.ts'
import { hexOf } from './transaction-data.ts'
import { unfinishedOf } from './unfinished.ts'

type Transactions = Pick<
  Store,
  'attempts' | 'listAttempts' | 'rawOf' | 'move' | 'replaceTransaction' | 'renumber' | 'withdraw' | 'withdrawBatch'
>

const byId = sql<WholeRow>(
  `SELECT ${wholeColumns} FROM transactions WHERE id = $id AND relayer_row_id = $relayer_row_id`,
)
const signed = sql<{ signed: number }>('SELECT 1 AS signed FROM attempts WHERE transaction_row_id = $row_id LIMIT 1')

/** Changes of transactions after their acceptance. */
export function transactions(database: Database, dependencies: StoreDependencies): Transactions {
  const { write } = database
  const events = createEvents(dependencies)
  const spendings = createSpending(dependencies.now)
  const moveAll = createMoves(events, spendings, dependencies.now)
  const move: MoveOne = async (transaction, one) => (await moveAll(transaction, [one]))[0]

  return {
    ...attempts(database),
    ...moves(database, moveAll),
    renumber: (row_id, revision, reason, spending) =>
      write(async (transaction) => {
        await transaction.lockRelayers({ transactions: [row_id] })
        const row = await transaction.one(rowById, { row_id })
        if (row?.revision !== revision) return undefined
        const account = { chain_id: row.chain_id, address: row.from }
        const isSigned = (await transaction.one(signed, { row_id })) !== undefined
        const over = await spendings.takeAgain(transaction, row, spending, isSigned)
        if (over) {
          const { policy, limit } = over.spend
          const status_reason = `${reason}; not sent again: the policy ${policy} (${limit} a day) has ${over.left} left`
          const error = { code: 'policy_violation', message: status_reason, revert_data: null }
          await move(transaction, { row_id, revision, set: { status: 'failed', status_reason, error } })
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
        return move(transaction, { row_id, revision, set })
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
    withdraw: (relayer_row_id, id, intent, status_reason, failure, auditEntry) =>
      write(async (transaction) => {
        await transaction.lockRelayers({ relayers: [relayer_row_id] })
        const row = await transaction.one(byId, { id, relayer_row_id })
        if (!row) return 'missing'
        const { row_id, revision, chain_id, from, nonce, status, hash } = row
        const account = { chain_id, address: from }
        const data = hexOf(row.data)
        if (!isUnmined(status) || row.intent !== 'send') return { refused: withoutData(row) }
        const neverSigned = status === 'pending' && hash === null
        // A concurrent signature fails its compare-and-set. A transaction that had another nonce before was signed for that one.
        if (neverSigned && !(await transaction.one(signed, { row_id }))) await spendings.giveBack(transaction, row)
        const error = failure ?? null
        const isHighest = neverSigned && nonce !== null && (await nextNonce(transaction, account)) === nonce + 1
        if (isHighest) await setNonce(transaction, account, nonce)
        const set = isHighest
          ? { nonce: null, status: endOf[intent], intent, status_reason, error }
          : { intent, resign: true, status_reason, error }
        return { ...done(await move(transaction, { row_id, revision, set })), data }
      }, auditEntry),
    ...batchWithdrawal(database, events, spendings, dependencies.now),
  }
}

const endOf = { cancel: 'canceled', expire: 'expired', fail: 'failed' } as const

const withoutData = ({ data: _, ...row }: WholeRow): TransactionRow => read(row)

/** A move inside the database transaction that read the row cannot come too late. */
function done(moved: TransactionRow | undefined): TransactionRow {
  if (!moved) throw new Error('A row changed inside a database transaction')
  return moved
}
