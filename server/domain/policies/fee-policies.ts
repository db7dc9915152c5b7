import { type Fault, refusedBy } from '../errors.ts'
import { gwei, type Market, most, nextPrice, type Prices, priceByTier, type Tier } from '../fees.ts'
import type { RelayerRow } from '../rows.ts'
import type { Spend } from '../transaction-rows.ts'
import { budgetFees, type KeyBudget } from './budgets.ts'

/** The default of the policy `max_fee_multiplier`. */
const defaultFeeMultiplier = 5
const referenceTier: Tier = 'fastest'

type Policed = Pick<RelayerRow, 'policies'>

/** What a transaction costs besides its value. `data_fee`: what a rollup charges for its data, by an estimate in wei; 0 elsewhere. */
interface Cost {
  gas_limit: number | bigint
  prices: Prices
  data_fee: bigint
}

/** The highest possible fee of a transaction, in wei. */
export const feeOf = ({ gas_limit, prices, data_fee }: Cost): bigint => BigInt(gas_limit) * most(prices) + data_fee

export const multipleOf = ({ policies }: Policed): bigint => BigInt(policies.max_fee_multiplier ?? defaultFeeMultiplier)

/**
 * The highest gas price that the policies allow, in wei: the lower of `gas_price_cap` and `max_fee_per_transaction`, without the data fee,
 * divided by the gas limit. Undefined when neither policy is set.
 */
export function capOf({ policies }: Policed, gasLimit?: number, dataFee = 0n): bigint | undefined {
  const { gas_price_cap, max_fee_per_transaction } = policies
  const caps: bigint[] = []
  if (gas_price_cap !== undefined) caps.push(BigInt(gas_price_cap))
  if (max_fee_per_transaction !== undefined && gasLimit !== undefined) {
    caps.push(greatest(BigInt(max_fee_per_transaction) - dataFee, 0n) / BigInt(Math.max(gasLimit, 1)))
  }
  // biome-ignore lint/complexity/useMathMinMax: Math.min knows no bigint.
  return caps.length === 0 ? undefined : caps.reduce((a, b) => (a < b ? a : b))
}

/** Throws DomainError (403) when the policies forbid a fee. `fee`: the highest possible, in wei. */
export function checkFee(relayer: Policed, fee: bigint): void {
  const faults = feeRule(relayer, fee)
  if (faults.length > 0) throw refusedBy(faults)
}

/** Throws DomainError (403) when the policies forbid the fee of a transaction, or its prices compared with the market's. */
export function checkFees(relayer: Policed, { market, ...cost }: Cost & { market: Market }): void {
  const faults = [...marketRule(relayer, cost.prices, market), ...feeRule(relayer, feeOf(cost))]
  if (faults.length > 0) throw refusedBy(faults)
}

function feeRule({ policies }: Policed, fee: bigint): Fault[] {
  const { max_fee_per_transaction: limit } = policies
  if (limit === undefined || fee <= BigInt(limit)) return []
  const message = `A fee of up to ${fee} wei is above the limit of ${limit} wei`
  return [{ of: 'policies', field: ['max_fee_per_transaction'], message }]
}

/** Without `gas_price_cap`, prices are limited to a multiple of the market's, so that a mistyped price cannot cost the balance. */
export function marketRule(relayer: Policed, prices: Prices, market: Market): Fault[] {
  if (relayer.policies.gas_price_cap !== undefined) return []
  const multiple = multipleOf(relayer)
  const highest = greatest(multiple * most(priceByTier(market, referenceTier)), customaryPrice)
  const price = nextPrice(prices, market)
  if (price <= highest) return []
  const message =
    `The gas price ${gwei(price)} is above the limit of ${gwei(highest)}: ${multiple} times the market price for ${referenceTier}. ` +
    'Lower the price, or set the policy gas_price_cap'
  return [{ of: 'policies', field: ['max_fee_multiplier'], message }]
}

/** 10 gwei is always allowed: on chains with very cheap gas, usual tips are many times the market price. */
const customaryPrice = 10_000_000_000n

/** The amounts that `max_fee_per_day` of a relayer, and of the budget of an API key, count. `fee`: in wei. */
export function feeSpending({ policies }: Policed, fee: bigint, budget: KeyBudget | undefined): Spend[] {
  const { max_fee_per_day } = policies
  const ofKey = budgetFees(budget, fee)
  if (max_fee_per_day === undefined || fee === 0n) return ofKey
  return [{ policy: 'max_fee_per_day', asset: 'fee', amount: fee.toString(), limit: max_fee_per_day }, ...ofKey]
}

const greatest = (a: bigint, b: bigint): bigint => (a > b ? a : b)
