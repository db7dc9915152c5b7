import type { Network } from '../../generated/openapi.ts'
import type { Observer } from '../observer.ts'
import type { AttemptRow, RelayerRow, TransactionRow } from '../store/rows.ts'
import type { Store } from '../store/store.ts'

/**
 * What sending needs of its siblings (keys, evm), which it meets in service.ts only: the shapes it uses of theirs.
 */
export type Prices =
  | { kind: 'eip1559'; max_fee_per_gas: bigint; max_priority_fee_per_gas: bigint }
  | { kind: 'legacy'; gas_price: bigint }

export type Tier = 'safe_low' | 'average' | 'fast' | 'fastest'

export type Market =
  | { kind: 'eip1559'; base_fee: bigint; tips: Record<Tier, bigint> }
  | { kind: 'legacy'; gas_price: bigint }

export interface Fees {
  percentileOf: Record<Tier, number>
  quote(market: Market, tier: Tier, legacy?: boolean): Prices
  limit(prices: Prices, cap: bigint | undefined): Prices
  bump(last: Prices, wanted: Prices, cap: bigint | undefined): Prices | undefined
  most(prices: Prices): bigint
  nextPrice(prices: Prices, market: Market): bigint
  isPayable(prices: Prices, market: Market): boolean
  isAbove(prices: Prices, market: Market, tier: Tier, multiple: bigint): boolean
  isNear(a: Prices, b: Prices): boolean
  isEnough(prices: Prices, least: Prices): boolean
}

export interface Receipt {
  hash: string
  block_number: number
  block_hash: string
  succeeded: boolean
  /** Absent where the node does not say. */
  gas_used?: number
  /** What it has cost, in wei; absent where the node does not say. */
  fee?: bigint
}

export interface CallRequest {
  from: string
  to: string | null
  value: bigint
  data: string | null
  gas?: number
}

export interface Chain {
  /** The network's newest block, and the account's count; one look serves all relayers that ask within `max_age_ms`. */
  look(
    address: string,
    max_age_ms: number,
  ): Promise<{ head: { number: number; hash: string; parent_hash: string }; latest: number }>
  blockHash(number: number): Promise<string | undefined>
  balance(address: string): Promise<bigint>
  latestNonce(address: string): Promise<number>
  estimateGas(call: CallRequest): Promise<number>
  send(raws: Uint8Array[], everywhere?: boolean): Promise<(Error | undefined)[]>
  isKnown(hash: string): Promise<boolean>
  receipts(hashes: string[]): Promise<(Receipt | undefined)[]>
  revertReason(call: CallRequest, block_number: number): Promise<string | undefined>
}

/** One endpoint of a network, asked alone. */
export interface OneNode extends Pick<Chain, 'blockHash' | 'receipts'> {
  head(): Promise<{ number: number }>
  latestNonce(address: string): Promise<number>
  /** Proven by its signed bytes. */
  findByNonce(
    account: { chain_id: number; address: string },
    nonce: number,
    head: number,
  ): Promise<
    | { hash: string; block_number: number; block_hash: string; to: string | null; value: bigint; data: string }
    | undefined
  >
}

export interface Reach {
  chain: Chain
  /** The network's endpoints, for questions of which not one of them alone is to be believed. */
  each: OneNode[]
  network: Network
  market(): Promise<Market>
  funds(address: string): Promise<{ balance: bigint; latest: number }>
  blockGasLimit(): Promise<number | undefined>
}

export interface SignedEnvelope {
  raw: Uint8Array
  hash: string
  signature: { r: string; s: string; sig: string; v: number }
}

export interface RawSignature {
  rs: Uint8Array
  recovery: number
}

export interface Envelope {
  chain_id: number
  nonce: number
  to: string | null
  value: bigint
  data: string | null
  gas_limit: number
  prices: Prices
}

export interface HeldRelayer {
  relayer: RelayerRow
  signer: { address: string; sign(digest: Uint8Array): RawSignature | Promise<RawSignature> }
}

export interface SendingParts {
  store: Store
  observer: Observer
  findSigner(relayer_id: string): Promise<HeldRelayer | undefined>
  reach(relayer: RelayerRow): Promise<Reach | undefined>
  fees: Fees
  seal(envelope: Envelope): { digest: Uint8Array; finish(signature: RawSignature): SignedEnvelope }
  readSigned(raw: Uint8Array): {
    content: { to: string | null; value: string; data: string | null; gas_limit: number }
    signature: SignedEnvelope['signature']
  }
  /** What a node's error means for a transaction; `unreachable` when no node answered; undefined: it is no node's error. */
  kindOf(error: unknown): string | undefined
  /** The chain id that all nodes of the network have, when that is the wrong one. */
  wrongChain(error: unknown): bigint | undefined
  makeId(): string
  /** Milliseconds of the epoch. */
  now(): number
  /** Milliseconds, never going back. */
  elapsed(): number
}

/** The prices in a row, or in an attempt; undefined when it has none yet. */
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
 * The highest prices of all that a node has for this transaction at its nonce: a replacement must pay 10 % more. Undefined when
 * no node is known to have any: then nothing is replaced, and any price will do.
 */
export function highestTaken(
  attempts: Pick<AttemptRow, 'nonce' | 'taken_at' | 'gas_price' | 'max_fee_per_gas' | 'max_priority_fee_per_gas'>[],
  nonce: number | null,
): Prices | undefined {
  const taken = attempts.filter((attempt) => attempt.taken_at !== null && attempt.nonce === nonce)
  return taken.flatMap((attempt) => pricesOf(attempt) ?? []).sort((a, b) => (mostOf(a) < mostOf(b) ? 1 : -1))[0]
}

const mostOf = (prices: Prices): bigint => (prices.kind === 'legacy' ? prices.gas_price : prices.max_fee_per_gas)
