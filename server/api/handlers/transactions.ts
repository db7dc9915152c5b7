import type { Attempt, SendTransactionRequest, Transaction } from '../../../generated/openapi.ts'
import { transactionNotFound } from '../../domain/errors.ts'
import { type Handlers, Page } from '../../domain/operation.ts'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import { shownTransaction as show, shownBehind } from '../../domain/show-transaction.ts'
import { isUnmined } from '../../domain/statuses.ts'
import type { AttemptRow, TransactionRow, WholeTransactionRow } from '../../domain/transaction-rows.ts'
import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import { withBatchIndex } from '../../services/batch-errors.ts'
import type { ServicesContext } from '../../services/context.ts'
import { placeToWait } from '../../services/transactions/await-transaction.ts'
import { explainTransaction } from '../../services/transactions/explain.ts'
import { stateOf } from '../../services/transactions/replace.ts'
import { ApiError, shownDryRun } from '../http/errors.ts'
import { page } from './page.ts'

const maxCanceledAtOnce = 10_000
/** Per database transaction, which takes about 10 ms. */
const canceledPerBatch = 50

type Transactions = Pick<
  Handlers,
  | 'sendTransaction'
  | 'sendTransactionBatch'
  | 'dryRunTransaction'
  | 'getTransaction'
  | 'getTransactionByNonce'
  | 'listAttempts'
  | 'explainTransaction'
  | 'replaceTransaction'
  | 'cancelTransaction'
  | 'cancelPendingTransactions'
>

export function transactions(
  dependencies: Pick<
    ServicesContext,
    'store' | 'keyring' | 'chains' | 'now' | 'sending' | 'shares' | 'countCalls' | 'unexpected'
  >,
): Transactions {
  const {
    store,
    keyring: { findRelayer },
    sending,
    countCalls,
  } = dependencies
  const { submit, pollNow } = sending

  async function get(relayerRowId: number, id: string): Promise<WholeTransactionRow> {
    const row = await store.getTransaction(relayerRowId, id)
    if (!row) throw transactionNotFound(id)
    return row
  }

  /** Releases what is signed of a private transaction, or of its cancellation. Throws DomainError (404, 409). */
  async function release(
    { relayer_id, transaction_id }: { relayer_id: string; transaction_id: string },
    auditEntry: PendingAuditEntry,
  ): Promise<Transaction> {
    const { row_id } = await findRelayer(relayer_id)
    const released = await store.release(row_id, transaction_id, auditEntry)
    if (released === 'missing') throw transactionNotFound(transaction_id)
    if ('refused' in released) {
      const { refused } = released
      const state = isUnmined(refused.status) ? 'public already' : stateOf(refused)
      throw new ApiError('conflict', `The transaction is ${state}`)
    }
    pollNow(row_id)
    return show(released)
  }

  return {
    async sendTransaction({ path, query, body, caller, idempotency, auditEntry, authorize, nodes, onClose }) {
      const awaited = placeToWait(dependencies, { query, caller, onClose })
      const accepted = await submit.send(path.relayer_id, body, idempotency, auditEntry, {
        authorize: () => authorize('sendTransaction'),
        nodes,
      })
      // A repeated request is recorded with the transaction of the first one.
      auditEntry.subject = accepted.transaction.id
      return awaited(accepted.transaction)
    },

    async sendTransactionBatch({ path, body, caller, idempotency, auditEntry, authorize, nodes }) {
      await countCalls(caller, body.transactions.length - 1)
      const accepted = await submit.sendBatch(
        path.relayer_id,
        body.transactions,
        idempotency,
        auditEntry,
        { authorize: () => authorize('sendTransactionBatch'), nodes },
        (index, work) => withBatchIndex('transactions', index, work),
      )
      return Page.whole(accepted)
    },

    dryRunTransaction: async ({ path, body, nodes }) => shownDryRun(await sending.dryRun(nodes, path.relayer_id, body)),

    async getTransaction({ path }) {
      const { row_id } = await findRelayer(path.relayer_id)
      const row = await store.getTransaction(row_id, path.transaction_id)
      return row && shownBehind(row, await store.firstInLine(row_id))
    },

    async getTransactionByNonce({ path }) {
      const { row_id, chain_id, address } = await findRelayer(path.relayer_id)
      const row = await store.getTransactionByNonce(chain_id, address, Number(path.nonce))
      if (row?.relayer_row_id !== row_id) return undefined
      return shownBehind(row, await store.firstInLine(row_id))
    },

    async listAttempts({ path, query }) {
      const { row_id } = await findRelayer(path.relayer_id)
      const row = await get(row_id, path.transaction_id)
      return page(query, (slice) => store.listAttempts(row.row_id, slice), showAttempt(row))
    },

    async explainTransaction({ path, nodes }) {
      const relayer = await findRelayer(path.relayer_id)
      return explainTransaction(dependencies, nodes, { relayer, row: await get(relayer.row_id, path.transaction_id) })
    },

    async replaceTransaction({ path, body, auditEntry, authorize, nodes }) {
      if (isRelease(body)) {
        await authorize('replaceTransaction')
        return release(path, auditEntry)
      }
      const row = await submit.replace(path.relayer_id, path.transaction_id, body, auditEntry, {
        authorize: () => authorize('replaceTransaction'),
        nodes,
      })
      pollNow(row.relayer_row_id)
      return show(row)
    },

    async cancelTransaction({ path, query, auditEntry }) {
      const { row_id } = await findRelayer(path.relayer_id)
      const { transaction_id } = path
      const isReleased = query.submission === 'public'
      const reason = 'Canceled by request'
      const withdrawn = await store.withdraw(row_id, transaction_id, 'cancel', reason, { isReleased }, auditEntry)
      if (withdrawn === 'missing') throw transactionNotFound(transaction_id)
      if ('refused' in withdrawn) {
        const { refused } = withdrawn
        if (isReleased && refused.intent !== 'send') return release(path, auditEntry)
        throw new ApiError('conflict', `The transaction is ${stateOf(refused)}`)
      }
      pollNow(row_id)
      return show(withdrawn)
    },

    async cancelPendingTransactions({ path, auditEntry }) {
      const { row_id } = await findRelayer(path.relayer_id)
      const queued: string[] = []
      const failed: string[] = []
      const batch = {
        relayer_row_id: row_id,
        limit: canceledPerBatch,
        intent: 'cancel',
        reason: 'Canceled by request',
      } as const
      let belowNonce: number | undefined = Number.MAX_SAFE_INTEGER
      while (belowNonce !== undefined && queued.length + failed.length < maxCanceledAtOnce) {
        const { withdrawn, refused, next_below } = await store.withdrawBatch(auditEntry, {
          ...batch,
          below_nonce: belowNonce,
        })
        queued.push(...withdrawn)
        failed.push(...refused)
        belowNonce = next_below
        // Other requests run between two batches.
        await yieldToEventLoop()
      }
      pollNow(row_id)
      return {
        queued_for_cancellation_transaction_ids: queued,
        failed_to_queue_transaction_ids: failed,
        total_processed: queued.length + failed.length,
      }
    },
  }
}

/** A replacement of nothing but the way to the chain. */
const isRelease = ({ submission, ...others }: SendTransactionRequest): boolean =>
  submission?.mode === 'public' && Object.values(others).every((member) => member == null)

const showAttempt =
  ({ hash, block_hash }: TransactionRow) =>
  ({
    taken_at,
    created_at,
    gas_limit: _gas_limit,
    refusal_kind: _kind,
    content_hash: _hash,
    sig: _sig,
    ...attempt
  }: AttemptRow): Attempt => ({
    ...attempt,
    signed_at: created_at,
    accepted_at: taken_at,
    is_mined: block_hash !== null && attempt.hash === hash,
  })
