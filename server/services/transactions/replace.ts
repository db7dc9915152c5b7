import type { SendTransactionRequest } from '../../../generated/openapi.ts'
import { aboveRefused, highestTaken } from '../../domain/attempts.ts'
import { readCall } from '../../domain/decoding/decoded-call.ts'
import { badRequest, DomainError, transactionNotFound } from '../../domain/errors.ts'
import {
  bump,
  gwei,
  isEnough,
  liftedTo,
  limit,
  minReplacementFee,
  most,
  type Prices,
  percentileOf,
  priceColumns,
  pricesOf,
  quote,
} from '../../domain/fees.ts'
import { capOf, checkFees, feeOf } from '../../domain/policies/fee-policies.ts'
import { overLimit, spendingOf } from '../../domain/policies/transaction-policies.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { isUnmined } from '../../domain/statuses.ts'
import { replacedSubmission } from '../../domain/submission.ts'
import type { TransactionType } from '../../domain/transaction-form.ts'
import { readTransactionRequest, type TransactionRequest } from '../../domain/transaction-request.ts'
import type { TransactionRow, TransactionUpdate, WholeTransactionRow } from '../../domain/transaction-rows.ts'
import { tierOf } from '../../sender/context.ts'
import type { Store } from '../../store/store.ts'
import type { ServicesContext } from '../context.ts'
import { capacityOf, ceilingColumns, checkPause, isPriced, tooMany } from './check-request.ts'
import { costColumns, defaultTier, type TransactionQuote } from './quote.ts'
import { type Asker, prepare, type SendContext } from './send.ts'

/** Replaces the content or the prices of a transaction that is in no block; its nonce stays. */
export async function replace(
  context: SendContext & Pick<ServicesContext, 'pollNow'>,
  asker: Asker,
  relayerId: string,
  { transactionId, body }: { transactionId: string; body: SendTransactionRequest },
): Promise<WholeTransactionRow> {
  const { store, keyring } = context
  const found = await keyring.findRelayer(relayerId)
  checkPause(found)
  const replaced = await findOpen(store, found, transactionId)
  checkContent(body)
  const request = readTransactionRequest(body)
  const { relayer, quote } = await prepare(context, asker, { relayer: found, request, replaced })
  const { prices, market, gas_limit, data_fee } = quote

  // The sender may change the row meanwhile; then it is read again.
  for (;;) {
    const row = await findOpen(store, relayer, transactionId)
    const tier = request.tier ?? row.speed?.tier ?? defaultTier
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
    const move: TransactionUpdate = {
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
          now: context.now(),
        }),
        resign: row.status !== 'pending',
        type: quote.type,
        ...ceilingColumns(request),
        // Prices at a nonce that another sender uses in the pool: the caller's word to pay more than that one.
        replaces_external: row.replaces_external || (row.wait_reason === 'nonce_conflict' && isPriced(request)),
        ...priceColumns(replacing),
        speed: { tier, percentile: percentileOf[tier] },
        status_reason: null,
      },
    }
    const moved = await store.replaceTransaction(move, { spending, capacity: capacityOf(relayer) }, asker.auditEntry)
    if (!moved) continue
    if ('outcome' in moved) throw moved.outcome === 'at_capacity' ? tooMany(moved) : overLimit(moved)
    context.wake(relayer.row_id)
    context.pollNow(relayer.row_id)
    return { ...moved, data }
  }
}

/** Throws DomainError (404, 409). */
async function findOpen(store: Store, relayer: RelayerRow, transactionId: string): Promise<WholeTransactionRow> {
  const row = await store.getTransaction(relayer.row_id, transactionId)
  if (!row) throw transactionNotFound(transactionId)
  if (!isOpen(row)) throw new DomainError('conflict', `The transaction is ${stateOf(row)}`)
  // Its user knows it by this id, and the sponsorship pays for this content up to `max_fee`.
  if (row.sponsored) throw new DomainError('conflict', 'The call of a sponsorship stays as it is, and can be canceled')
  return row
}

/** Without any content, the caller meant to change the prices only. */
function checkContent({ to, value, data, call }: SendTransactionRequest): void {
  if ([to, value, data, call].every((member) => member == null))
    throw badRequest([], 'must have the content (to, value, and data or call): a replacement repeats what stays')
}

const isOpen = ({ status, intent, block_hash }: TransactionRow): boolean =>
  intent === 'send' && block_hash === null && isUnmined(status)

/** The status as text that completes "The transaction is ...". */
export const stateOf = ({ status, intent }: TransactionRow): string =>
  intent !== 'send' && isUnmined(status) ? 'being canceled' : status

/**
 * The prices of a replacement, in wei per unit of gas. They must be 10 % above `before`, the prices that a node has: given prices are
 * checked (DomainError 400), absent ones are raised. DomainError (409) when the policies leave no room for that.
 */
export function atLeast(
  before: Prices,
  request: TransactionRequest,
  relayer: RelayerRow,
  its: TransactionQuote,
  row: TransactionRow,
): Prices {
  const { prices, market, gas_limit, data_fee } = its
  const least = minReplacementFee(before, prices.kind)
  if (isPriced(request)) {
    if (isEnough(prices, least)) return prices
    const message = `must pay at least 10 % more for both fees than the transaction that it replaces: ${shown(least)}`
    throw badRequest([], message)
  }
  const cap = capOf(relayer, gas_limit, data_fee)
  const asked = quote(market, request.tier ?? tierOf(row), prices.kind)
  const raised = bump(before, asked, cap)
  if (raised) return raised
  throw capped(
    `Replacing it takes a price of at least ${gwei(most(least))}, and its tier asks for ${gwei(most(asked))}`,
    cap,
  )
}

/** Throws DomainError (409) when the replacement would be the very bytes that are signed already. */
export function checkDifference(
  relayer: RelayerRow,
  row: WholeTransactionRow,
  request: TransactionRequest,
  { type, prices, gas_limit, data_fee, market }: TransactionQuote,
): void {
  const signed = pricesOf(row)
  if (row.hash === null || !signed) return
  const isSame =
    type === row.type &&
    most(signed) === most(prices) &&
    tipOf(signed) === tipOf(prices) &&
    gas_limit === row.gas_limit &&
    request.to === row.to &&
    request.value === row.value &&
    request.data === row.data &&
    JSON.stringify([request.access_list, request.authorization_list]) ===
      JSON.stringify([row.access_list, row.authorization_list])
  if (!isSame) return
  const asked = most(quote(market, request.tier ?? tierOf(row), prices.kind))
  const change = `It would be the same transaction at the same price of ${gwei(most(prices))}; its tier asks for ${gwei(asked)}`
  throw capped(change, capOf(relayer, gas_limit, data_fee))
}

const tipOf = (prices: Prices) => (prices.kind === 'legacy' ? prices.gas_price : prices.max_priority_fee_per_gas)

const capped = (message: string, cap: bigint | undefined) =>
  new DomainError('conflict', [
    {
      of: 'policies',
      field: ['gas_price_cap'],
      message:
        cap === undefined
          ? `${message}. Nothing was changed`
          : `${message}; the policies allow at most ${gwei(cap)}. Nothing was changed`,
    },
  ])

/** The reason why prices are too low to replace the transaction at a nonce that a caller gave; undefined: they suffice. */
export function underpriced(
  row: Parameters<typeof pricesOf>[0] & { type: TransactionType },
  body: SendTransactionRequest,
): string | undefined {
  const before = pricesOf(row)
  if (!before) return undefined
  const { gas_price, max_fee_per_gas: fee, max_priority_fee_per_gas: tip } = body
  const text = (amount: string | number | null | undefined) => (amount == null ? null : `${amount}`)
  const given = pricesOf({
    gas_price: text(gas_price),
    max_fee_per_gas: text(fee),
    max_priority_fee_per_gas: text(tip),
  })
  const least = minReplacementFee(before, given?.kind)
  if (given && isEnough(given, least)) return undefined
  return `to replace it, give prices at least 10 % higher: ${shown(least)}`
}

const shown = (least: Prices): string =>
  least.kind === 'legacy'
    ? `gas_price ${least.gas_price}`
    : `max_fee_per_gas ${least.max_fee_per_gas}, max_priority_fee_per_gas ${least.max_priority_fee_per_gas}`
