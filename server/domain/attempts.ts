import { createHash } from 'node:crypto'
import {
  bump,
  type Ceiling,
  liftedTo,
  limitTo,
  most,
  type PriceColumns,
  type Prices,
  pricesOf,
  stepAbove,
} from './fees.ts'

/** The columns of an attempt that its replacement depends on. */
export interface PricedAttempt extends PriceColumns {
  nonce: number | null
  gas_limit: number | null
  /** When a node was first known to have its bytes; null: no node is known to have them. */
  taken_at: string | null
  /** The kind of the last error with which a node refused it (rpc-error.ts); null: none. */
  refusal_kind: string | null
  /** The text of that error. */
  refusal_message: string | null
}

/**
 * The attempts at this nonce that a node has accepted, and may still have. After a fork that needs more gas, no node has what one refuses
 * for its gas, nor what has less.
 */
export function takenOf<Attempt extends PricedAttempt>(attempts: Attempt[], nonce: number | null): Attempt[] {
  const own = attempts.filter((attempt) => attempt.nonce === nonce)
  const tooLow = own.filter(({ refusal_kind }) => refusal_kind === 'gas_limit_too_low')
  const least = Math.max(-1, ...tooLow.map(({ gas_limit }) => gas_limit ?? -1))
  return own.filter(({ taken_at, gas_limit }) => taken_at !== null && (gas_limit === null || gas_limit > least))
}

/**
 * The highest prices of what nodes may have at this nonce. A replacement must pay 10 % more. Undefined when they have nothing: then any
 * price is possible.
 */
export const highestTaken = (attempts: PricedAttempt[], nonce: number | null): Prices | undefined =>
  highest(takenOf(attempts, nonce))

/**
 * As `highestTaken`; when a node called an attempt above it an underpriced replacement, the prices of that attempt: some nodes ask
 * for more than 10 %. Undefined when no node has accepted any.
 */
export function highestOutbid(attempts: PricedAttempt[], nonce: number | null): Prices | undefined {
  if (highestTaken(attempts, nonce) === undefined) return undefined
  const isOutbid = ({ taken_at, refusal_kind }: PricedAttempt) =>
    taken_at !== null || refusal_kind === 'replacement_underpriced' || refusal_kind === 'underpriced'
  return highest(attempts.filter((attempt) => attempt.nonce === nonce && isOutbid(attempt)))
}

/**
 * What nodes may take after they called the newest attempt at this nonce too cheap; undefined: they have not. Earlier refusals say nothing
 * of today: nodes have taken, or refused for another reason, what came after. The base fee is the market's to tell: it may have fallen.
 */
export function aboveRefused(attempts: PricedAttempt[], nonce: number | null): Prices | undefined {
  const last = attempts.findLast((attempt) => attempt.nonce === nonce)
  if (last?.refusal_kind !== 'underpriced' || last.refusal_message === null || /base ?fee/i.test(last.refusal_message))
    return undefined
  const prices = pricesOf(last)
  return prices && stepAbove(prices, last.refusal_message)
}

/**
 * The prices at which the next version at this nonce is signed when the market asks for `asked`. Undefined: the ceiling leaves no room for
 * what replaces the version that a node has.
 */
export function nextPrices(
  attempts: PricedAttempt[],
  nonce: number | null,
  asked: Prices,
  ceiling: Ceiling,
): Prices | undefined {
  const taken = highestTaken(attempts, nonce)
  if (taken) return bump(taken, asked, ceiling)
  const refused = aboveRefused(attempts, nonce)
  return limitTo(refused ? liftedTo(asked, refused) : asked, ceiling)
}

const highest = (attempts: PricedAttempt[]): Prices | undefined =>
  attempts.flatMap((attempt) => pricesOf(attempt) ?? []).sort((a, b) => (most(a) < most(b) ? 1 : -1))[0]

/** What attempts with the same effect have in common. Addresses and data in lower case; `0x` is no data. */
export const contentHash = ({ to, value, data }: { to: string | null; value: bigint | string; data: string | null }) =>
  createHash('sha256')
    .update(`${to} ${BigInt(value)} `)
    .update(data ?? '0x')
    .digest('hex')
