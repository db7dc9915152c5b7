import { aboveRefused, contentHash, highestOutbid, highestTaken, takenOf } from './attempts.ts'
import {
  applyMaxFee,
  bump,
  type Ceiling,
  capPrices,
  ceilingOf,
  gwei,
  isAbove,
  isEnough,
  isNear,
  liftedTo,
  limitTo,
  type Market,
  minReplacementFee,
  most,
  type PriceKind,
  type Prices,
  priceByTier,
  pricesOf,
  type Tier,
  tierOf,
  under,
  wholePrices,
} from './fees.ts'
import { capOf, multipleOf } from './policies/fee-policies.ts'
import type { RelayerRow } from './rows.ts'
import { priceKindOf } from './transaction-form.ts'
import type { AttemptRow, TransactionRow } from './transaction-rows.ts'
import { tooLow, type Wait } from './wait-reason.ts'

/** A cancellation is urgent, because the original may be mined at any moment. */
export const withdrawalTier = 'fast'

type Purpose = 'send' | 'cancel'

/** What is signed apart from the nonce and the prices. */
export interface SignedParts {
  to: string | null
  value: bigint
  data: string | null
  gas_limit: number
}

/** What a signature depends on, apart from the market. `slow`: it was signed, and is signed again at another price. */
export interface SigningFacts {
  relayer: Pick<RelayerRow, 'policies'>
  row: TransactionRow
  purpose: Purpose
  slow: boolean
  content: SignedParts
  attempts: AttemptRow[]
}

/** `again`: the attempt that is broadcast again. */
export type SignaturePlan =
  | { do: 'sign'; content: SignedParts; prices: Prices }
  /** What is signed stays: another price would be nearly the same, or a ceiling leaves no room. */
  | { do: 'keep'; again?: AttemptRow | undefined }
  /** Nothing new may be signed. */
  | { do: 'wait'; wait: Wait; again?: AttemptRow | undefined }

/**
 * Whether a transaction is signed, and at which prices. Undefined: that depends on the market, which is not given. Pure.
 *
 * When a node has an attempt, a new one must pay 10 % more for both fees. When no node has one, the current market price or the requested
 * price is used, even if it is lower than before. The prices that a request gave are never exceeded; repricing is limited by the policies
 * `gas_price_cap`, `max_fee_per_transaction` and `max_fee_multiplier`. At a limit the transaction waits with the reason. Nothing is signed
 * when the price would be nearly the same.
 */
export function planSignature(facts: SigningFacts, market: Market): SignaturePlan
export function planSignature(facts: SigningFacts, market?: Market): SignaturePlan | undefined
export function planSignature(facts: SigningFacts, market?: Market): SignaturePlan | undefined {
  const { row, slow, content, attempts } = facts
  const prices = pricesFor(facts, market)
  if (prices === undefined) return undefined
  if (prices === 'at_ceiling') return { do: 'keep' }
  if ('wait_reason' in prices) return { do: 'wait', wait: prices, again: strongerThanLast(facts) }
  const whole = isSweep(facts) ? { ...content, value: sweptBy(row, content.gas_limit, prices) } : content
  if (whole.value < 0n) return { do: 'wait', wait: nothingLeft }
  const last = attempts.at(-1)
  // The attempt is broadcast again when a node has only an older one. When no node has any, the status `sent` causes it.
  if (slow && last && isAsGood(last, facts, prices)) {
    return { do: 'keep', again: row.status === 'submitted' ? last : undefined }
  }
  return { do: 'sign', content: whole, prices }
}

const isSweep = ({ purpose, row }: Pick<SigningFacts, 'purpose' | 'row'>): boolean => purpose === 'send' && row.is_sweep

/** `at_ceiling`: a node has it at the price that its caller gave. Undefined: the prices depend on the market. */
function pricesFor(facts: SigningFacts, market: Market | undefined): Prices | Wait | 'at_ceiling' | undefined {
  const { relayer, row, purpose, slow, content, attempts } = facts
  const isSend = purpose === 'send'
  const taken = highestTaken(attempts, row.nonce)
  const cap = capOf(relayer, content.gas_limit, BigInt(row.data_fee ?? 0))
  const ceiling = ceilingOf(row)
  // Prices from the acceptance, or from a replacement request, are used unchanged.
  const given = isSend && !slow ? pricesOf(row) : undefined
  const tier = isSend ? tierOf(row) : withdrawalTier
  const kind = isSend ? priceKindOf(row.type) : (taken?.kind ?? kindFor(relayer))
  const wanted = given ?? (market && askedPrices(facts, market, tier, kind))
  if (!wanted) return undefined
  /** What nobody asked for stays within `max_fee_multiplier`. */
  const withinMultiple = (prices: Prices) =>
    market && (isAbove(prices, market, tier, multipleOf(relayer)) ? aboveMultiple(relayer) : prices)

  if (!taken) {
    // What nodes may take after they called earlier ones too low.
    const least = aboveRefused(attempts, row.nonce)
    if (least === undefined) return capPrices(wanted, cap)
    return withinMultiple(limitTo(liftedTo(wanted, least), under(ceiling, cap)))
  }
  if (given && isEnough(given, minReplacementFee(taken, given.kind))) return capPrices(given, cap)
  const before = (slow && highestOutbid(attempts, row.nonce)) || taken
  const raised = bump(before, wanted, under(ceiling, cap))
  if (!raised) return market && atLimit(facts, market, { least: minReplacementFee(before, kind), cap })
  // Another content, or a cancellation, outbids what a node has.
  return most(before) > most(taken) || isRepeated(facts) ? withinMultiple(raised) : raised
}

/** The market's prices, within the ceiling of the request. A sweep pays its whole price. */
function askedPrices(facts: SigningFacts, market: Market, tier: Tier, kind: PriceKind | undefined): Prices {
  const { row, purpose } = facts
  const quoted = isSweep(facts)
    ? wholePrices(most(priceByTier(market, tier, 'legacy')), kind ?? market.kind)
    : priceByTier(market, tier, kind)
  const ceiling = ceilingOf(row)
  return purpose === 'send' ? withCeiling(row, quoted, ceiling) : limitTo(quoted, ceiling)
}

/**
 * A caller who gives a price means that one. A row below its ceiling was priced by the service, as a refill is: it follows the market up to
 * the ceiling, and not to the ceiling at once.
 */
function withCeiling(row: TransactionRow, quoted: Prices, ceiling: Ceiling): Prices {
  const own = pricesOf(row)
  const isChosen = own !== undefined && ceiling.fee !== undefined && most(own) < ceiling.fee
  return isChosen ? limitTo(quoted, ceiling) : applyMaxFee(quoted, ceiling)
}

export const kindFor = ({ policies }: Pick<RelayerRow, 'policies'>) =>
  policies.eip1559_pricing === false ? 'legacy' : undefined

/** Whether a node may have an attempt of the same effect: then only its gas limit or its price is new. */
function isRepeated({ row, purpose, content, attempts }: SigningFacts): boolean {
  const wanted = contentHash(content)
  const own = takenOf(attempts, row.nonce).filter((one) => one.purpose === purpose)
  return own.some(({ content_hash }) => row.is_sweep || content_hash === wanted)
}

/**
 * When nothing new may be signed: an earlier version that does the same by the present rules of gas, which nodes may have dropped, while
 * the newest one is not what they take.
 */
function strongerThanLast({ row, purpose, content, attempts }: SigningFacts): AttemptRow | undefined {
  const wanted = contentHash(content)
  const held = takenOf(attempts, row.nonce).findLast(
    ({ content_hash, gas_limit, ...one }) =>
      one.purpose === purpose && content_hash === wanted && (gas_limit ?? 0) >= content.gas_limit,
  )
  return held?.number === attempts.at(-1)?.number ? undefined : held
}

/** Whether an attempt that no node has accepted is as good as a new one. */
function isAsGood(last: AttemptRow, { row, purpose, content }: SigningFacts, prices: Prices): boolean {
  const signed = pricesOf(last)
  if (!signed || last.taken_at !== null || last.purpose !== purpose || last.nonce !== row.nonce || row.resign) {
    return false
  }
  if (last.gas_limit !== content.gas_limit) return false
  return isNear(signed, prices) && (row.status === 'sent' || isEnough(signed, prices))
}

/** What a sweep sends at a price: it costs no more than before. Negative: the fee is more than all that is left. */
function sweptBy(row: TransactionRow, gasLimit: number, prices: Prices): bigint {
  const before = BigInt(row.gas_limit ?? 0) * most(pricesOf(row) ?? prices)
  return BigInt(row.value) + before - BigInt(gasLimit) * most(prices)
}

const nothingLeft: Wait = { wait_reason: 'funds', text: 'the fee would be more than all that is left' }

/** What a limit of the price means: the lower one of the prices that the request gave and of the policies decides. */
function atLimit(
  { relayer: { policies }, row }: SigningFacts,
  market: Market,
  { least, cap }: { least: Prices; cap: bigint | undefined },
): Wait | 'at_ceiling' {
  const { fee, tip } = ceilingOf(row)
  if (tip !== undefined || (fee !== undefined && (cap === undefined || fee <= cap))) {
    const baseFee = market.kind === 'eip1559' ? market.base_fee : 0n
    const ceiling = fee ?? (tip as bigint)
    if (fee !== undefined && fee < baseFee) return tooLow(fee, `the base fee is ${gwei(baseFee)}`)
    // Only slow: a node has it, and its price is the one that the caller gave.
    if (!row.resign) return 'at_ceiling'
    const why = `a node has an earlier version, which takes at least ${gwei(most(least))} to replace`
    return { ...tooLow(ceiling, why), wait_reason: 'replacement_underpriced' }
  }
  const { gas_price_cap, max_fee_per_transaction } = policies
  if (gas_price_cap !== undefined && cap === BigInt(gas_price_cap)) {
    const text = `the policy gas_price_cap (${gwei(gas_price_cap)}) leaves no room for a higher price`
    return { wait_reason: 'price_cap', text }
  }
  const text = `the policy max_fee_per_transaction (${max_fee_per_transaction} wei) leaves no room for a higher price`
  return { wait_reason: 'fee_budget', text }
}

const aboveMultiple = (relayer: SigningFacts['relayer']): Wait => ({
  wait_reason: 'fee_multiplier',
  text: `a higher price would be more than ${multipleOf(relayer)} times the market price (policy max_fee_multiplier)`,
})
