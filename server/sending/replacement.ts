import type { SendTransactionRequest } from '../../generated/openapi.ts'
import { badRequest } from '../errors.ts'
import { capOf } from '../policies/fee-policies.ts'
import type { RelayerRow } from '../store/rows.ts'
import type { TransactionRequest } from './admission.ts'
import { type Fees, type Market, type Prices, pricesOf, type Tier } from './dependencies.ts'

/**
 * The prices of a replacement, in wei per unit of gas. They must be 10 % above `before`, the prices that a node has: given prices
 * are checked, absent ones are raised. Throws ApiError (400).
 */
export function atLeast(
  fees: Fees,
  before: Prices,
  prices: Prices,
  given: boolean,
  relayer: RelayerRow,
  tier: Tier,
  market: Market,
): Prices {
  const least = fees.bump(before, before, undefined)
  if (given) {
    if (least && !fees.isEnough(prices, least)) {
      throw badRequest(
        '/body',
        `must pay at least 10 % more for both fees than the transaction that it replaces: ${shown(least)}`,
      )
    }
    return prices
  }
  const raised = fees.bump(before, fees.quote(market, tier, before.kind === 'legacy'), capOf(relayer))
  if (!raised)
    throw badRequest(
      '/body',
      'cannot pay 10 % more than the transaction that it replaces, because of the policy gas_price_cap',
    )
  return raised
}

/** The reason why prices are too low to replace the transaction at a nonce that a caller gave; undefined: they suffice. */
export function underpriced(
  fees: Fees,
  row: Parameters<typeof pricesOf>[0],
  body: SendTransactionRequest,
): string | undefined {
  const before = pricesOf(row)
  const least = before && fees.bump(before, before, undefined)
  if (!least) return undefined
  const { gas_price, max_fee_per_gas: most, max_priority_fee_per_gas: tip } = body
  const given =
    gas_price != null
      ? pricesOf({ gas_price: `${gas_price}`, max_fee_per_gas: null, max_priority_fee_per_gas: null })
      : most != null && tip != null
        ? pricesOf({ gas_price: null, max_fee_per_gas: `${most}`, max_priority_fee_per_gas: `${tip}` })
        : undefined
  if (given && fees.isEnough(given, least)) return undefined
  return `to replace it, give prices at least 10 % higher: ${shown(least)}`
}

const shown = (least: Prices): string =>
  least.kind === 'legacy'
    ? `gas_price ${least.gas_price}`
    : `max_fee_per_gas ${least.max_fee_per_gas}, max_priority_fee_per_gas ${least.max_priority_fee_per_gas}`

export const isPriced = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: TransactionRequest): boolean =>
  gas_price !== null || max_fee_per_gas !== null || max_priority_fee_per_gas !== null
