import { badRequest } from '../../core/errors.ts'
import { capOf } from '../../core/policies/fee-policies.ts'
import { atCeiling, limit, type Market, type PriceKind, type Prices, quote, type Tier } from '../../core/prices.ts'
import type { RelayerRow } from '../../core/rows.ts'
import { formOf, priceKindOf, type TransactionType, typeOf } from '../../core/transaction-form.ts'
import type { TransactionRequest } from '../../core/transaction-request.ts'
import { ceilingIn } from './admission.ts'

export const default_tier: Tier = 'average'

/**
 * The form and the prices of a request: the prices that it gives, and market prices for the others, up to the policies. Throws ApiError
 * (400) when lists, prices, type and chain do not belong together.
 */
export function priceRequest(
  relayer: RelayerRow,
  request: TransactionRequest,
  market: Market,
): { type: TransactionType; prices: Prices } {
  const kind = kindOf(relayer, request, market)
  const type = request.type ?? typeOf(request, kind)
  if (type === undefined) {
    throw badRequest('/body/authorization_list', 'needs a chain with a base fee, and no gas_price (EIP-7702)')
  }
  checkLists(type, request)
  const quoted = quote(market, request.tier ?? default_tier, kind)
  const prices = limit(atCeiling(quoted, ceilingIn(request)), capOf(relayer))
  // An assertion: it throws for a combination that the checks above should have refused.
  formOf(type, request, prices)
  return { type, prices }
}

function kindOf({ policies }: RelayerRow, request: TransactionRequest, market: Market): PriceKind {
  const { gas_price, max_fee_per_gas, max_priority_fee_per_gas, type } = request
  const isTipped = max_fee_per_gas !== null || max_priority_fee_per_gas !== null
  const isLegacy = gas_price !== null || policies.eip1559_pricing === false
  if (isTipped && (isLegacy || market.kind === 'legacy')) {
    const why = isLegacy ? 'the policy eip1559_pricing is off' : 'the chain has no base fee'
    const given = max_fee_per_gas === null ? 'max_priority_fee_per_gas' : 'max_fee_per_gas'
    throw badRequest(`/body/${given}`, `cannot be given: ${why}`)
  }
  if (type === null) return isLegacy ? 'legacy' : market.kind
  const kind = priceKindOf(type)
  if (kind === 'legacy' && isTipped)
    throw badRequest('/body/type', `must be 2 or 4 with max_fee_per_gas; it is ${type}`)
  if (kind === 'eip1559' && gas_price !== null)
    throw badRequest('/body/type', `must be 0 or 1 with gas_price; it is ${type}`)
  if (kind === 'eip1559' && market.kind === 'legacy') {
    throw badRequest('/body/type', `must be 0 or 1: the chain has no base fee; it is ${type}`)
  }
  return kind
}

function checkLists(type: TransactionType, { access_list, authorization_list }: TransactionRequest): void {
  if (authorization_list !== null && type !== 4) {
    throw badRequest('/body/type', `must be 4 with authorization_list; it is ${type}`)
  }
  if (authorization_list === null && type === 4) {
    throw badRequest('/body/authorization_list', 'must be given for type 4')
  }
  if (access_list !== null && type === 0) throw badRequest('/body/access_list', 'cannot be given for type 0')
}
