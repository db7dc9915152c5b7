import { exceededBy } from '../../domain/new-transaction.ts'
import { isUnmined } from '../../domain/statuses.ts'
import { releasedSubmission } from '../../domain/submission.ts'
import { waitColumns } from '../../domain/wait-reason.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { nextNonce, setNonce } from './accounts.ts'
import { attempts } from './attempts.ts'
import { batchWithdrawal } from './batch-withdrawal.ts'
import { createSpending } from './daily-limits.ts'
import type { Database } from './database.ts'
import { createEvents } from './events.ts'
import { bytesOf, hexOf } from './transaction-rows.ts'
import { unfinishedOf } from './unfinished.ts'
import { createMoves, type MoveOne, moves, rowById } from './update-transactions.ts'
import { createWithdrawal, done, isSigned, newestPurpose, transactionById, withoutData } from './withdrawal.ts'

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
