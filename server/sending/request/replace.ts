import type { SendTransactionRequest } from '../../../generated/openapi.ts'
import { aboveRefused, highestTaken } from '../../core/attempts.ts'
import { readCall } from '../../core/decoding/decoded-call.ts'
import { ApiError, badRequest, transactionNotFound } from '../../core/errors.ts'
import { capOf, checkFees, feeOf } from '../../core/policies/fee-policies.ts'
import { overLimit, spendingOf } from '../../core/policies/transaction-policies.ts'
import { liftedTo, limit, percentileOf, priceColumns } from '../../core/prices.ts'
import type { PendingAuditEntry, RelayerRow } from '../../core/rows.ts'
import type { Move, TransactionRow, WholeTransactionRow } from '../../core/sending-rows.ts'
import { isUnmined } from '../../core/statuses.ts'
import { replacedSubmission } from '../../core/submission.ts'
import { readTransactionRequest, type TransactionRequest } from '../../core/transaction-request.ts'
import type { SendingDependencies } from '../dependencies.ts'
import { ceilingColumns, checkPause, isPriced } from './admission.ts'
import { capacityOf, tooMany } from './capacity.ts'
import { costColumns, type Quote } from './preparation.ts'
import { default_tier } from './pricing.ts'
import { atLeast, checkDifference } from './replacement.ts'
import type { Asker } from './submit-parts.ts'

export type Replace = (
  relayer_id: string,
  transaction_id: string,
  body: SendTransactionRequest,
  auditEntry: PendingAuditEntry,
  asker: Asker,
) => Promise<WholeTransactionRow>

/** The checks of a request before its commit. `replaced`: the transaction that it replaces. */
export type Prepare = (
  before: RelayerRow,
  request: TransactionRequest,
  asker: Asker,
  replaced?: TransactionRow,
  /** Whether the policy `allow_transactions` applies; the default: unless it replaces another one. */
  isNew?: boolean,
) => Promise<{ relayer: RelayerRow; quote: Quote }>

interface ReplaceDependencies extends Pick<SendingDependencies, 'store' | 'findRelayer' | 'now'> {
  prepare: Prepare
  /** Starts the background work of the relayer. */
  wake(relayer_row_id: number): void
}

/** Replaces the content or the prices of a transaction that is in no block; its nonce stays. */
export function createReplace({ store, findRelayer, prepare, wake, now }: ReplaceDependencies): Replace {
  /** Throws ApiError (404, 409). */
  async function findOpen(relayer: RelayerRow, transaction_id: string): Promise<WholeTransactionRow> {
    const row = await store.getTransaction(relayer.row_id, transaction_id)
    if (!row) throw transactionNotFound(transaction_id)
    if (!isOpen(row)) throw new ApiError('conflict', `The transaction is ${stateOf(row)}`)
    // Its user knows it by this id, and the sponsorship pays for this content up to `max_fee`.
    if (row.sponsored) throw new ApiError('conflict', 'The call of a sponsorship stays as it is, and can be canceled')
    return row
  }

  return async (relayer_id, transaction_id, body, auditEntry, asker) => {
    const found = await findRelayer(relayer_id)
    checkPause(found)
    const replaced = await findOpen(found, transaction_id)
    checkContent(body)
    const request = readTransactionRequest(body)
    const { relayer, quote } = await prepare(found, request, asker, replaced)
    const { prices, market, gas_limit, data_fee } = quote

    // The sender may change the row meanwhile; then it is read again.
    for (;;) {
      const row = await findOpen(relayer, transaction_id)
      const tier = request.tier ?? row.speed?.tier ?? default_tier
      const attempts = await store.attempts(row.row_id)
      const before = highestTaken(attempts, row.nonce)
      const refused = isPriced(request) ? undefined : aboveRefused(attempts, row.nonce)
      const asked = refused ? limit(liftedTo(prices, refused), capOf(relayer, gas_limit, data_fee)) : prices
      const replacing = before ? atLeast(before, request, relayer, quote, row) : asked
      checkDifference(relayer, row, request, { ...quote, prices: replacing })
      checkFees(relayer, { gas_limit, prices: replacing, data_fee, market })
      const spending = spendingOf(relayer, request, feeOf({ gas_limit, prices: replacing, data_fee }))
      const fragments = quote.fragments ?? (request.data === row.data ? row.fragments : null)
      const { to, value, data, valid_until, access_list, authorization_list } = request
      const move: Move = {
        row_id: row.row_id,
        revision: row.revision,
        set: {
          fragments,
          call: readCall(fragments, data),
          to,
          value,
          data,
          access_list,
          authorization_list,
          gas_limit,
          gas_is_given: request.gas_limit !== null,
          is_sweep: false,
          ...costColumns(quote),
          ...(valid_until !== undefined && { valid_until }),
          ...(request.reference !== undefined && { reference: request.reference }),
          ...(request.metadata !== undefined && { metadata: request.metadata }),
          submission: replacedSubmission(row, request.submission && quote.submission, {
            isSigned: row.status !== 'pending',
            now: now(),
          }),
          resign: row.status !== 'pending',
          type: quote.type,
          ...ceilingColumns(request),
          // Prices at a nonce that another sender uses in the pool: the caller's word to pay more than that one.
          replaces_foreign: row.replaces_foreign || (row.waiting_for === 'contested_nonce' && isPriced(request)),
          ...priceColumns(replacing),
          speed: { tier, percentile: percentileOf[tier] },
          status_reason: null,
        },
      }
      const moved = await store.replaceTransaction(move, spending, capacityOf(relayer), auditEntry)
      if (!moved) continue
      if ('outcome' in moved) throw moved.outcome === 'at_capacity' ? tooMany(moved) : overLimit(moved)
      wake(relayer.row_id)
      return { ...moved, data }
    }
  }
}

/** Without any content, the caller meant to change the prices only. */
function checkContent({ to, value, data, call }: SendTransactionRequest): void {
  if ([to, value, data, call].every((member) => member == null))
    throw badRequest('/body', 'must have the content (to, value, and data or call): a replacement repeats what stays')
}

const isOpen = ({ status, intent, block_hash }: TransactionRow): boolean =>
  intent === 'send' && block_hash === null && isUnmined(status)

/** The status as text that completes "The transaction is ...". */
export const stateOf = ({ status, intent }: TransactionRow): string =>
  intent !== 'send' && isUnmined(status) ? 'being canceled' : status
