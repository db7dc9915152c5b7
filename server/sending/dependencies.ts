import type { NetworkClient } from '../evm/chains.ts'
import type { authorityOf, readSigned, seal } from '../evm/envelope.ts'
import type * as fees from '../evm/fees.ts'
import type { contradictionOf, flawOf } from '../evm/flaws.ts'
import type { RelayerRow } from '../store/rows.ts'
import type { AttemptRow, TransactionRow } from '../store/sending-rows.ts'
import type { Store } from '../store/store.ts'
import type { Observer } from '../telemetry/observer.ts'

export type { NetworkClient } from '../evm/chains.ts'
export type { Market, Prices, Tier } from '../evm/fees.ts'
export type Fees = typeof fees
export type OneNode = NetworkClient['each'][number]
type Prices = fees.Prices
type Tier = fees.Tier

export interface RawSignature {
  rs: Uint8Array
  recovery: number
  /** Of the key service, for the audit trail. */
  request_id?: string
}

export interface HeldRelayer {
  relayer: RelayerRow
  signer: {
    address: string
    /** How many signatures may be asked for at once; 1 for a key in this process. Otherwise it changes. */
    readonly at_once: number
    /** `signal`: a request that still waits is dropped when it aborts. */
    sign(digest: Uint8Array, preimage: () => Uint8Array, signal?: AbortSignal): RawSignature | Promise<RawSignature>
  }
}

export interface SendingDependencies {
  store: Store
  observer: Observer
  findSigner(relayer_id: string): Promise<HeldRelayer | undefined>
  /** Throws ApiError (404) when the relayer does not exist. */
  findRelayer(relayer_id: string): Promise<RelayerRow>
  networkClient(relayer: RelayerRow): Promise<NetworkClient | undefined>
  fees: Fees
  seal: typeof seal
  readSigned: typeof readSigned
  authorityOf: typeof authorityOf
  /** The kind of a node's error (evm/rpc-error.ts); `unreachable` when no node answered; undefined: not a node's error. */
  kindOf(error: unknown): string | undefined
  /** Whether a transaction was refused for good by every healthy endpoint: at least two, and more than half of all. */
  isAgreed(error: unknown): boolean
  /** Why no node can accept signed bytes, by the bytes alone (evm/flaws.ts). */
  flawOf: typeof flawOf
  contradictionOf: typeof contradictionOf
  /** The chain id of the network's nodes, when all of them are on the wrong chain. */
  wrongChain(error: unknown): bigint | undefined
  /** Why a key service does not sign; undefined for any other error. */
  keyServiceFault(error: unknown): string | undefined
  makeId(): string
  /** The wall clock: milliseconds since the Unix epoch. */
  now(): number
  /** A monotonic clock in milliseconds. */
  elapsed(): number
}

/** The prices of a row or an attempt, in wei per unit of gas; undefined when it has none yet. */
export function pricesOf(row: {
  gas_price: string | null
  max_fee_per_gas: string | null
  max_priority_fee_per_gas: string | null
}): Prices | undefined {
  if (row.gas_price !== null) return { kind: 'legacy', gas_price: BigInt(row.gas_price) }
  if (row.max_fee_per_gas === null || row.max_priority_fee_per_gas === null) return undefined
  return {
    kind: 'eip1559',
    max_fee_per_gas: BigInt(row.max_fee_per_gas),
    max_priority_fee_per_gas: BigInt(row.max_priority_fee_per_gas),
  }
}

export const priceColumns = (prices: Prices) => ({
  gas_price: prices.kind === 'legacy' ? prices.gas_price.toString() : null,
  max_fee_per_gas: prices.kind === 'eip1559' ? prices.max_fee_per_gas.toString() : null,
  max_priority_fee_per_gas: prices.kind === 'eip1559' ? prices.max_priority_fee_per_gas.toString() : null,
})

export const tierOf = (row: Pick<TransactionRow, 'speed'>): Tier => row.speed?.tier ?? 'average'

/**
 * The highest prices of the attempts that a node has accepted at this nonce. A replacement must pay 10 % more. Undefined when no
 * node has accepted any: then any price is possible.
 */
export function highestTaken(
  attempts: Pick<AttemptRow, 'nonce' | 'taken_at' | 'gas_price' | 'max_fee_per_gas' | 'max_priority_fee_per_gas'>[],
  nonce: number | null,
): Prices | undefined {
  const taken = attempts.filter((attempt) => attempt.taken_at !== null && attempt.nonce === nonce)
  return taken.flatMap((attempt) => pricesOf(attempt) ?? []).sort((a, b) => (mostOf(a) < mostOf(b) ? 1 : -1))[0]
}

/**
 * As `highestTaken`; when a node called an attempt above it an underpriced replacement, the prices of that attempt: some nodes ask
 * for more than 10 %. Undefined when no node has accepted any.
 */
export function highestOutbid(attempts: AttemptRow[], nonce: number | null): Prices | undefined {
  const taken = highestTaken(attempts, nonce)
  if (taken === undefined) return undefined
  const isOutbid = ({ taken_at, refusal }: AttemptRow) => taken_at !== null || outbid.test(refusal ?? '')
  return highestTaken(
    attempts.filter(isOutbid).map((attempt) => ({ ...attempt, taken_at: 'outbid' })),
    nonce,
  )
}

const outbid = /underpriced|replac/i

const mostOf = (prices: Prices): bigint => (prices.kind === 'legacy' ? prices.gas_price : prices.max_fee_per_gas)
