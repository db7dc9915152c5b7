import type { SendTransactionRequest } from '../../../generated/openapi.ts'
import { badRequest, conflict } from '../../core/errors.ts'
import { capOf } from '../../core/policies/fee-policies.ts'
import { bump, gwei, isEnough, leastToReplace, most, type Prices, pricesOf, quote } from '../../core/prices.ts'
import type { RelayerRow } from '../../core/rows.ts'
import type { TransactionRow, WholeTransactionRow } from '../../core/sending-rows.ts'
import type { TransactionType } from '../../core/transaction-form.ts'
import type { TransactionRequest } from '../../core/transaction-request.ts'
import { tierOf } from '../dependencies.ts'
import { isPriced } from './admission.ts'
import type { Quote } from './preparation.ts'

/**
 * The prices of a replacement, in wei per unit of gas. They must be 10 % above `before`, the prices that a node has: given prices are
 * checked (ApiError 400), absent ones are raised. ApiError (409) when the policies leave no room for that.
 */
export function atLeast(
  before: Prices,
  request: TransactionRequest,
  relayer: RelayerRow,
  its: Quote,
  row: TransactionRow,
): Prices {
  const { prices, market, gas_limit, data_fee } = its
  const least = leastToReplace(before, prices.kind)
  if (isPriced(request)) {
    if (isEnough(prices, least)) return prices
    const message = `must pay at least 10 % more for both fees than the transaction that it replaces: ${shown(least)}`
    throw badRequest('/body', message)
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

/** Throws ApiError (409) when the replacement would be the very bytes that are signed already. */
export function checkDifference(
  relayer: RelayerRow,
  row: WholeTransactionRow,
  request: TransactionRequest,
  { type, prices, gas_limit, data_fee, market }: Quote,
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
  conflict(
    'policies/gas_price_cap',
    cap === undefined
      ? `${message}. Nothing was changed`
      : `${message}; the policies allow at most ${gwei(cap)}. Nothing was changed`,
  )

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
  const least = leastToReplace(before, given?.kind)
  if (given && isEnough(given, least)) return undefined
  return `to replace it, give prices at least 10 % higher: ${shown(least)}`
}

const shown = (least: Prices): string =>
  least.kind === 'legacy'
    ? `gas_price ${least.gas_price}`
    : `max_fee_per_gas ${least.max_fee_per_gas}, max_priority_fee_per_gas ${least.max_priority_fee_per_gas}`
