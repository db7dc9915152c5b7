/** Fees in wei per unit of gas. Pure functions of the market and the caps. */

export type Tier = 'safe_low' | 'average' | 'fast' | 'fastest'

/** The percentile of recent tips that each tier pays. */
export const percentileOf = { safe_low: 30, average: 50, fast: 85, fastest: 99 } as const satisfies Record<Tier, number>

/** The current market, in wei per unit of gas: EIP-1559 on a chain with a base fee, otherwise one gas price. */
export type Market =
  | { kind: 'eip1559'; base_fee: bigint; tips: Record<Tier, bigint> }
  | { kind: 'legacy'; gas_price: bigint }

export type Prices =
  | { kind: 'eip1559'; max_fee_per_gas: bigint; max_priority_fee_per_gas: bigint }
  | { kind: 'legacy'; gas_price: bigint }

// The base fee grows by at most an eighth per block, so twice the base fee covers six full blocks.
const base_fee_room = 2n
// A legacy chain has no percentiles, so a faster tier pays a multiple of the node's proposal.
const legacy_percent = { safe_low: 100n, average: 105n, fast: 120n, fastest: 140n } as const

/** The current prices of a tier. `legacy`: one gas price, even on a chain with a base fee. */
export function quote(market: Market, tier: Tier, legacy = false): Prices {
  if (market.kind === 'legacy') {
    return { kind: 'legacy', gas_price: ceilPercent(market.gas_price, legacy_percent[tier]) }
  }
  const tip = market.tips[tier]
  const max_fee_per_gas = market.base_fee * base_fee_room + tip
  if (legacy) return { kind: 'legacy', gas_price: max_fee_per_gas }
  return { kind: 'eip1559', max_fee_per_gas, max_priority_fee_per_gas: tip }
}

/** The prices, limited to `cap`. */
export function limit(prices: Prices, cap: bigint | undefined): Prices {
  if (cap === undefined || most(prices) <= cap) return prices
  if (prices.kind === 'legacy') return { kind: 'legacy', gas_price: cap }
  return {
    kind: 'eip1559',
    max_fee_per_gas: cap,
    max_priority_fee_per_gas: least(prices.max_priority_fee_per_gas, cap),
  }
}

/** The highest price per unit of gas. */
export const most = (prices: Prices): bigint => (prices.kind === 'legacy' ? prices.gas_price : prices.max_fee_per_gas)

/** The price per unit of gas in a block with the market's base fee; `most` when the base fee is higher. */
export const nextPrice = (prices: Prices, market: Market): bigint =>
  prices.kind === 'legacy' || market.kind === 'legacy'
    ? most(prices)
    : least(market.base_fee + prices.max_priority_fee_per_gas, prices.max_fee_per_gas)

/** Whether a block with this base fee can include the transaction. */
export const isPayable = (prices: Prices, market: Market): boolean =>
  market.kind === 'legacy' || most(prices) >= market.base_fee

/**
 * The prices of a replacement: at least 10 % above `last` in both fees, as nodes require, and at least the market price. Undefined when
 * the cap is too low.
 */
export function bump(last: Prices, wanted: Prices, cap: bigint | undefined): Prices | undefined {
  if (last.kind === 'legacy') {
    const floor = raised(last.gas_price)
    if (cap !== undefined && floor > cap) return undefined
    return { kind: 'legacy', gas_price: least(greatest(floor, most(wanted)), cap) }
  }
  const feeFloor = raised(last.max_fee_per_gas)
  const tipFloor = raised(last.max_priority_fee_per_gas)
  if (cap !== undefined && (feeFloor > cap || tipFloor > cap)) return undefined
  const wantedTip = wanted.kind === 'legacy' ? tipFloor : wanted.max_priority_fee_per_gas
  const max_fee_per_gas = least(greatest(feeFloor, most(wanted), tipFloor), cap)
  return {
    kind: 'eip1559',
    max_fee_per_gas,
    max_priority_fee_per_gas: least(greatest(tipFloor, wantedTip), max_fee_per_gas),
  }
}

/**
 * Whether the prices exceed `multiple` times the market price of the tier: in the worst case, or in a block with the current base
 * fee.
 */
export function isAbove(prices: Prices, market: Market, tier: Tier, multiple: bigint): boolean {
  const asked = quote(market, tier, prices.kind === 'legacy')
  if (most(prices) > most(asked) * multiple) return true
  if (prices.kind === 'legacy' || market.kind === 'legacy') return false
  return market.base_fee + prices.max_priority_fee_per_gas > (market.base_fee + market.tips[tier]) * multiple
}

/** Whether each fee differs by less than 10 %, which does not justify another signature. */
export function isNear(a: Prices, b: Prices): boolean {
  if (a.kind === 'legacy' && b.kind === 'legacy') return isClose(a.gas_price, b.gas_price)
  if (a.kind === 'legacy' || b.kind === 'legacy') return false
  return (
    isClose(a.max_fee_per_gas, b.max_fee_per_gas) && isClose(a.max_priority_fee_per_gas, b.max_priority_fee_per_gas)
  )
}

/** Whether both fees are at least as high. A gas price counts as both fees. */
export function isEnough(prices: Prices, least: Prices): boolean {
  const [wanted, given] = [feesOf(least), feesOf(prices)]
  return given.max_fee >= wanted.max_fee && given.tip >= wanted.tip
}

const feesOf = (prices: Prices) =>
  prices.kind === 'legacy'
    ? { max_fee: prices.gas_price, tip: prices.gas_price }
    : { max_fee: prices.max_fee_per_gas, tip: prices.max_priority_fee_per_gas }

const isClose = (a: bigint, b: bigint): boolean => (a > b ? a - b : b - a) * 10n <= greatest(a, b)

const bump_percent = 110n

const raised = (fee: bigint): bigint => greatest(ceilPercent(fee, bump_percent), 1n)

const ceilPercent = (amount: bigint, percent: bigint): bigint => (amount * percent + 99n) / 100n

// biome-ignore lint/complexity/useMathMinMax: Math.max does not accept bigint.
const greatest = (...amounts: bigint[]): bigint => amounts.reduce((a, b) => (a > b ? a : b))

const least = (a: bigint, b: bigint | undefined): bigint => (b === undefined || a < b ? a : b)
