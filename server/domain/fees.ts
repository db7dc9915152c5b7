/** Fees in wei per unit of gas. Pure functions of the market and the caps. */

export type Tier = 'safe_low' | 'average' | 'fast' | 'fastest'

export const tierOf = ({ speed }: { speed: Tier | null }): Tier => speed ?? 'average'

/** The percentile of recent tips that each tier pays. */
export const percentileOf = { safe_low: 30, average: 50, fast: 85, fastest: 99 } as const satisfies Record<Tier, number>

/** The current market, in wei per unit of gas: EIP-1559 on a chain with a base fee, otherwise one gas price. */
export type Market =
  | { kind: 'eip1559'; base_fee: bigint; tips: Record<Tier, bigint> }
  | { kind: 'legacy'; gas_price: bigint }

export interface FeeMarketPrices {
  kind: 'eip1559'
  max_fee_per_gas: bigint
  max_priority_fee_per_gas: bigint
}

export interface LegacyPrices {
  kind: 'legacy'
  gas_price: bigint
}

export type Prices = FeeMarketPrices | LegacyPrices
export type PriceKind = Prices['kind']

/** The columns of a row or an attempt that hold its prices. */
export interface PriceColumns {
  gas_price: string | null
  max_fee_per_gas: string | null
  max_priority_fee_per_gas: string | null
}

/** The prices of a row or an attempt; undefined when it has none yet. */
export function pricesOf(row: PriceColumns): Prices | undefined {
  if (row.gas_price !== null) return { kind: 'legacy', gas_price: BigInt(row.gas_price) }
  if (row.max_fee_per_gas === null || row.max_priority_fee_per_gas === null) return undefined
  return {
    kind: 'eip1559',
    max_fee_per_gas: BigInt(row.max_fee_per_gas),
    max_priority_fee_per_gas: BigInt(row.max_priority_fee_per_gas),
  }
}

export const priceColumns = (prices: Prices): PriceColumns => ({
  gas_price: prices.kind === 'legacy' ? prices.gas_price.toString() : null,
  max_fee_per_gas: prices.kind === 'eip1559' ? prices.max_fee_per_gas.toString() : null,
  max_priority_fee_per_gas: prices.kind === 'eip1559' ? prices.max_priority_fee_per_gas.toString() : null,
})

// The base fee grows by at most an eighth per block, so twice the base fee covers six full blocks.
const baseFeeRoom = 2n
// All of a gas price is paid, so it covers two full blocks only. Repricing follows a base fee that rises further.
const gasPricePercent = 125n
// A legacy chain has no percentiles, so a faster tier pays a multiple of the node's proposal.
const legacyPercent = { safe_low: 100n, average: 105n, fast: 120n, fastest: 140n } as const

/** The current prices of a tier, of the kind that a transaction's form has; by default of the market's. */
export function priceByTier(market: Market, tier: Tier, kind: PriceKind = market.kind): Prices {
  if (market.kind === 'legacy') {
    const gasPrice = ceilPercent(market.gas_price, legacyPercent[tier])
    // Nodes that show no base fee any more: the tip may be the whole price.
    return kind === 'legacy'
      ? { kind, gas_price: gasPrice }
      : { kind, max_fee_per_gas: gasPrice, max_priority_fee_per_gas: gasPrice }
  }
  const tip = market.tips[tier]
  return kind === 'legacy'
    ? { kind, gas_price: ceilPercent(market.base_fee, gasPricePercent) + tip }
    : { kind, max_fee_per_gas: market.base_fee * baseFeeRoom + tip, max_priority_fee_per_gas: tip }
}

/** Prices with which nothing of the fee comes back: the tip takes what the base fee leaves. */
export const wholePrices = (price: bigint, kind: PriceKind): Prices =>
  kind === 'legacy' ? { kind, gas_price: price } : { kind, max_fee_per_gas: price, max_priority_fee_per_gas: price }

/** The highest prices, in wei per unit of gas; undefined: no limit. A gas price counts as `fee`. */
export interface Ceiling {
  fee: bigint | undefined
  tip: bigint | undefined
}

export const noCeiling: Ceiling = { fee: undefined, tip: undefined }

/** The columns of a row that hold the highest prices which its request gave. */
interface CeilingColumns {
  fee_ceiling: string | null
  tip_ceiling: string | null
}

export const ceilingOf = ({ fee_ceiling, tip_ceiling }: CeilingColumns): Ceiling => ({
  fee: fee_ceiling === null ? undefined : BigInt(fee_ceiling),
  tip: tip_ceiling === null ? undefined : BigInt(tip_ceiling),
})

export const ceilingColumns = ({ fee, tip }: Ceiling): CeilingColumns => ({
  fee_ceiling: fee?.toString() ?? null,
  tip_ceiling: tip?.toString() ?? null,
})

/** The lower one of a ceiling and a cap for the whole price. */
export const under = ({ fee, tip }: Ceiling, cap: bigint | undefined): Ceiling => ({
  fee: fee === undefined ? cap : least(fee, cap),
  tip,
})

/** The prices with the fees of a ceiling where it has them: a caller who gives a price means that one. */
export function applyMaxFee(quoted: Prices, { fee, tip }: Ceiling): Prices {
  if (quoted.kind === 'legacy') return { kind: 'legacy', gas_price: fee ?? quoted.gas_price }
  const maxPriorityFeePerGas = tip ?? quoted.max_priority_fee_per_gas
  const room = quoted.max_fee_per_gas - quoted.max_priority_fee_per_gas
  const maxFeePerGas = fee ?? room + maxPriorityFeePerGas
  return {
    kind: 'eip1559',
    max_fee_per_gas: maxFeePerGas,
    max_priority_fee_per_gas: least(maxPriorityFeePerGas, maxFeePerGas),
  }
}

/** The prices, limited to `cap`. */
export function capPrices(prices: Prices, cap: bigint | undefined): Prices {
  if (cap === undefined || most(prices) <= cap) return prices
  if (prices.kind === 'legacy') return { kind: 'legacy', gas_price: cap }
  return {
    kind: 'eip1559',
    max_fee_per_gas: cap,
    max_priority_fee_per_gas: least(prices.max_priority_fee_per_gas, cap),
  }
}

/** The prices, limited to a ceiling. */
export function limitTo(prices: Prices, { fee, tip }: Ceiling): Prices {
  const its = capPrices(prices, fee)
  if (its.kind === 'legacy') return its
  return { ...its, max_priority_fee_per_gas: least(its.max_priority_fee_per_gas, tip) }
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
 * The prices of a replacement, of the kind of `wanted`: at least 10 % above `last` in both fees, as nodes require, and at least
 * `wanted`. A gas price counts as both fees. Undefined when the ceiling is too low.
 */
export function bump(last: Prices, wanted: Prices, ceiling: Ceiling | bigint | undefined): Prices | undefined {
  const { fee: cap, tip: tipCap } = typeof ceiling === 'object' ? ceiling : { fee: ceiling, tip: undefined }
  const { max_fee, tip } = feesOf(last)
  const feeFloor = raised(max_fee)
  const tipFloor = raised(tip)
  if (wanted.kind === 'legacy') {
    const floor = greatest(feeFloor, tipFloor)
    if (cap !== undefined && floor > cap) return undefined
    return { kind: 'legacy', gas_price: least(greatest(floor, wanted.gas_price), cap) }
  }
  const isTooMuch = cap !== undefined && (feeFloor > cap || tipFloor > cap)
  if (isTooMuch || (tipCap !== undefined && tipFloor > tipCap)) return undefined
  const maxFeePerGas = least(greatest(feeFloor, wanted.max_fee_per_gas, tipFloor), cap)
  const maxPriorityFeePerGas = least(least(greatest(tipFloor, wanted.max_priority_fee_per_gas), tipCap), maxFeePerGas)
  return { kind: 'eip1559', max_fee_per_gas: maxFeePerGas, max_priority_fee_per_gas: maxPriorityFeePerGas }
}

/** The higher one of both fees. `least` may be of another kind. */
export function atLeastPrices(prices: Prices, least: Prices): Prices {
  const { max_fee, tip } = feesOf(least)
  if (prices.kind === 'legacy') return { kind: 'legacy', gas_price: greatest(prices.gas_price, max_fee) }
  const maxPriorityFeePerGas = greatest(prices.max_priority_fee_per_gas, tip)
  const maxFeePerGas = greatest(prices.max_fee_per_gas, max_fee, maxPriorityFeePerGas)
  return { kind: 'eip1559', max_fee_per_gas: maxFeePerGas, max_priority_fee_per_gas: maxPriorityFeePerGas }
}

/**
 * What nodes may take after they called prices too low: a step more for the priority fee or the gas price, and the figure that they name.
 * It is the priority fee where they say so.
 */
export function stepAbove(refused: Prices, refusal: string): Prices {
  const figure = figureIn(refusal) ?? 0n
  const step = (fee: bigint) => greatest(ceilPercent(fee, stepPercent), 1n)
  if (refused.kind === 'legacy') return { kind: 'legacy', gas_price: greatest(step(refused.gas_price), figure) }
  const isOfTip = /tip|priority/i.test(refusal)
  const maxPriorityFeePerGas = greatest(step(refused.max_priority_fee_per_gas), isOfTip ? figure : 0n)
  return {
    kind: 'eip1559',
    max_fee_per_gas: greatest(maxPriorityFeePerGas, figure),
    max_priority_fee_per_gas: maxPriorityFeePerGas,
  }
}

/** The market's prices with at least the priority fee of `least`, and the market's room for the base fee. */
export function liftedTo(prices: Prices, least: Prices): Prices {
  if (prices.kind === 'legacy' || least.kind === 'legacy') return atLeastPrices(prices, least)
  const more = greatest(least.max_priority_fee_per_gas - prices.max_priority_fee_per_gas, 0n)
  return atLeastPrices({ ...prices, max_fee_per_gas: prices.max_fee_per_gas + more }, least)
}

const stepPercent = 125n
/** A longer number is no price. */
const named =
  /(?:minimum|at least|required|needed|lower than|less than|below|must be)[^0-9]{0,40}(\d{1,24}(?:\.\d{1,9})?)( ?gwei)?/i

/** The least price, in wei, that a refusal names. */
function figureIn(refusal: string): bigint | undefined {
  const [, number, gwei] = named.exec(refusal) ?? []
  if (number === undefined) return undefined
  const [whole = '0', part = ''] = number.split('.')
  if (gwei === undefined) return part === '' ? BigInt(whole) : undefined
  return BigInt(whole + part.padEnd(9, '0'))
}

/** The lowest prices of a kind with which nodes replace a transaction. */
export function minReplacementFee(taken: Prices, kind: PriceKind = taken.kind): Prices {
  const { max_fee, tip } = feesOf(taken)
  const floor = greatest(raised(max_fee), raised(tip))
  return kind === 'legacy'
    ? { kind, gas_price: floor }
    : { kind, max_fee_per_gas: floor, max_priority_fee_per_gas: raised(tip) }
}

/**
 * Whether the prices exceed `multiple` times the market price of the tier: in the worst case, or in a block with the current base
 * fee.
 */
export function isAbove(prices: Prices, market: Market, tier: Tier, multiple: bigint): boolean {
  const asked = priceByTier(market, tier, prices.kind)
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

const bumpPercent = 110n

const raised = (fee: bigint): bigint => greatest(ceilPercent(fee, bumpPercent), 1n)

const ceilPercent = (amount: bigint, percent: bigint): bigint => (amount * percent + 99n) / 100n

// biome-ignore lint/complexity/useMathMinMax: Math.max does not accept bigint.
const greatest = (...amounts: bigint[]): bigint => amounts.reduce((a, b) => (a > b ? a : b))

const least = (a: bigint, b: bigint | undefined): bigint => (b === undefined || a < b ? a : b)

/** A price per unit of gas in wei, exactly, as people read it: `1.5 gwei`. */
export function gwei(price: bigint | string | number): string {
  const digits = `${price}`.padStart(10, '0')
  return `${`${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, '')} gwei`
}
