import type { PendingCancellation, Transaction } from '../../../generated/openapi.ts'
import { highestTaken } from '../../domain/attempts.ts'
import { DomainError, invalidTransaction, transactionNotFound } from '../../domain/errors.ts'
import { gwei, minReplacementFee, most } from '../../domain/fees.ts'
import { checkOwnTransaction } from '../../domain/policies/budgets.ts'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import { shownTransaction } from '../../domain/show.ts'
import { isUnmined, stateText } from '../../domain/statuses.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import type { Store } from '../../store/store.ts'
import type { ServicesContext } from '../context.ts'

type CancelContext = Pick<ServicesContext, 'store' | 'keyring' | 'budgets' | 'pollNow'>

interface Named {
  relayer_id: string
  transaction_id: string
}

const maxCanceledAtOnce = 10_000
/** Per database transaction, which takes about 10 ms. */
const canceledPerBatch = 50
const reason = 'Canceled by request'

/**
 * Withdraws a transaction. `isReleased`: its cancellation goes to all nodes. `max_fee_per_gas`: its highest price, in wei. Throws
 * DomainError (404, 409).
 */
export async function cancelTransaction(
  context: CancelContext,
  auditEntry: PendingAuditEntry,
  { relayer_id, transaction_id }: Named,
  { isReleased, max_fee_per_gas }: { isReleased: boolean; max_fee_per_gas: string | undefined },
): Promise<Transaction> {
  const { row_id } = await context.keyring.findRelayer(relayer_id)
  await checkOwn(context, auditEntry, row_id, transaction_id)
  if (max_fee_per_gas !== undefined) await checkCeiling(context.store, row_id, transaction_id, BigInt(max_fee_per_gas))
  const withdrawn = await context.store.withdraw(
    { relayer_row_id: row_id, id: transaction_id },
    {
      intent: 'cancel',
      status_reason: reason,
      isReleased,
      // Who only publishes a cancellation leaves its ceiling.
      fee_ceiling: max_fee_per_gas ?? (isReleased ? undefined : null),
      caller: auditEntry.caller,
    },
    auditEntry,
  )
  if (withdrawn === 'missing') throw transactionNotFound(transaction_id)
  if ('refused' in withdrawn) throw invalidTransaction(`the transaction is ${stateText(withdrawn.refused)}`)
  context.pollNow(row_id)
  return shownTransaction(withdrawn)
}

/** Throws DomainError (409) when no node takes a cancellation at this price. */
async function checkCeiling(store: Store, relayerRowId: number, id: string, ceiling: bigint): Promise<void> {
  const row = await store.getTransaction(relayerRowId, id)
  const taken = row && highestTaken(await store.attempts(row.row_id), row.nonce)
  const least = taken && most(minReplacementFee(taken))
  if (least === undefined || ceiling >= least) return
  const message = `is below ${gwei(least)}, the least that replaces the signed version. Nothing was changed`
  throw new DomainError('invalid_state', [{ of: 'max_fee_per_gas', field: [], message }])
}

/** Throws DomainError (403, 404) where the budget of the caller's API key does not count the transaction. */
async function checkOwn(
  { store, budgets }: CancelContext,
  { caller }: PendingAuditEntry,
  relayerRowId: number,
  id: string,
): Promise<void> {
  const budget = await budgets.ofCaller(caller)
  if (!budget) return
  const row = await store.getTransaction(relayerRowId, id)
  if (!row) throw transactionNotFound(id)
  checkOwnTransaction(budget, row.caller)
}

/** Gives public nodes what is signed of a private transaction, or of its cancellation. Throws DomainError (404, 409). */
export async function publishTransaction(
  context: CancelContext,
  auditEntry: PendingAuditEntry,
  { relayer_id, transaction_id }: Named,
): Promise<Transaction> {
  const { store, keyring, pollNow } = context
  const { row_id } = await keyring.findRelayer(relayer_id)
  await checkOwn(context, auditEntry, row_id, transaction_id)
  const released = await store.release(row_id, transaction_id, auditEntry)
  if (released === 'missing') throw transactionNotFound(transaction_id)
  if ('refused' in released) {
    const { refused } = released
    const state = isUnmined(refused.status) ? 'public already' : stateText(refused)
    throw invalidTransaction(`the transaction is ${state}`)
  }
  pollNow(row_id)
  return shownTransaction(released)
}

/** Withdraws all transactions of a relayer that are in no block. */
export async function cancelPending(
  { store, keyring, pollNow }: CancelContext,
  auditEntry: PendingAuditEntry,
  relayerId: string,
): Promise<PendingCancellation> {
  const { row_id } = await keyring.findRelayer(relayerId)
  const queued: string[] = []
  const failed: string[] = []
  const batch = { relayer_row_id: row_id, limit: canceledPerBatch, intent: 'cancel', reason } as const
  let below: number | undefined = Number.MAX_SAFE_INTEGER
  while (below !== undefined && queued.length + failed.length < maxCanceledAtOnce) {
    const { withdrawn, refused, next_below } = await store.withdrawBatch(auditEntry, { ...batch, below_nonce: below })
    queued.push(...withdrawn)
    failed.push(...refused)
    below = next_below
    // Other requests run between two batches.
    await yieldToEventLoop()
  }
  pollNow(row_id)
  return {
    queued_for_cancellation_transaction_ids: queued,
    failed_to_queue_transaction_ids: failed,
    total_processed: queued.length + failed.length,
  }
}
