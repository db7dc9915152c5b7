import { type Detail, refusedBy } from '../errors.ts'
import type * as fees from '../evm/fees.ts'
import type { Market, Prices, Tier } from '../evm/fees.ts'
import type { RelayerRow, Spend } from '../store/rows.ts'

/** The policy `max_fee_multiple` where it is absent. */
export const default_fee_multiple = 5
const reference_tier: Tier = 'fastest'

type Policed = Pick<RelayerRow, 'policies'>
type Fees = typeof fees
type Pricing = Pick<Fees, 'most' | 'quote' | 'nextPrice'>

/** The most that the gas of a transaction can cost, in wei. What some rollups charge for data is not counted. */
export const feeOf = (fees: Pick<Fees, 'most'>, gas_limit: number | bigint, prices: Prices): bigint =>
  BigInt(gas_limit) * fees.most(prices)

export const multipleOf = ({ policies }: Policed): bigint => BigInt(policies.max_fee_multiple ?? default_fee_multiple)

/**
 * The highest price for a unit of gas that the policies allow: `gas_price_cap`, and what `max_fee_per_transaction` leaves for so much
 * gas. Undefined without both.
 */
export function capOf({ policies }: Policed, gas_limit?: number): bigint | undefined {
  const { gas_price_cap, max_fee_per_transaction } = policies
  const caps: bigint[] = []
  if (gas_price_cap !== undefined) caps.push(BigInt(gas_price_cap))
  if (max_fee_per_transaction !== undefined && gas_limit !== undefined) {
    caps.push(BigInt(max_fee_per_transaction) / BigInt(Math.max(gas_limit, 1)))
  }
  // biome-ignore lint/complexity/useMathMinMax: Math.min knows no bigint.
  return caps.length === 0 ? undefined : caps.reduce((a, b) => (a < b ? a : b))
}

/** Throws ApiError (403) when the policies forbid a fee, whatever it is paid for. `fee`: the highest possible, in wei. */
export function checkFee(relayer: Policed, fee: bigint): void {
  const details = feeRule(relayer, fee)
  if (details.length > 0) throw refusedBy(details)
}

/** Throws ApiError (403) when the policies forbid the fee of a transaction, or its prices beside those of the market. */
export function checkFees(
  fees: Pricing,
  relayer: Policed,
  { gas_limit, prices, market }: { gas_limit: number; prices: Prices; market: Market },
): void {
  const details = [...marketRule(fees, relayer, prices, market), ...feeRule(relayer, feeOf(fees, gas_limit, prices))]
  if (details.length > 0) throw refusedBy(details)
}

function feeRule({ policies }: Policed, fee: bigint): Detail[] {
  const { max_fee_per_transaction: limit } = policies
  if (limit === undefined || fee <= BigInt(limit)) return []
  const message = `A fee of up to ${fee} is above the limit of ${limit}`
  return [{ path: 'policies/max_fee_per_transaction', message }]
}

/** Where no cap is set, prices are compared with the market: a typing error costs a multiple, not the balance. */
function marketRule(fees: Pricing, relayer: Policed, prices: Prices, market: Market): Detail[] {
  if (relayer.policies.gas_price_cap !== undefined) return []
  const multiple = multipleOf(relayer)
  const most = greatest(multiple * fees.most(fees.quote(market, reference_tier)), customary_price)
  const price = fees.nextPrice(prices, market)
  if (price <= most) return []
  const message =
    `Would pay ${price} for a unit of gas, and at most ${most} is allowed: ${multiple} times the market's price for ` +
    `${reference_tier}. Lower the price, or set the policy gas_price_cap`
  return [{ path: 'policies/max_fee_multiple', message }]
}

/** 10 gwei. On chains where gas costs next to nothing, customary tips are many times the market's price and no mistake. */
const customary_price = 10_000_000_000n

/** What the limit per day counts of a fee. */
export function feeSpending({ policies }: Policed, fee: bigint): Spend[] {
  const { max_fee_per_day } = policies
  if (max_fee_per_day === undefined || fee === 0n) return []
  return [{ policy: 'max_fee_per_day', asset: 'fee', amount: fee.toString(), limit: max_fee_per_day }]
}

const greatest = (a: bigint, b: bigint): bigint => (a > b ? a : b)
