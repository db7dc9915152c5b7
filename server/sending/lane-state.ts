import type { NetworkClient } from './dependencies.ts'
import type { Seen } from './state.ts'

/**
 * The state of a relayer's lane between two rounds. It is a cache: all of it can be rebuilt from the store and the chain. Times are
 * milliseconds of the monotonic clock.
 */
export interface LaneState {
  /** The newest block that was seen, and the account's transaction count at it. */
  head: Head | undefined
  latest: number
  /** When to read the chain again. */
  poll_at: number
  /** When to broadcast again the bytes that no node has accepted. */
  retry_at: number
  retry_ms: number
  failure_ms: number
  /** Consecutive blocks without a transaction of ours, and how many of them cause the next rebroadcast of all. */
  idle_blocks: number
  patience: number
  /** Broadcast all signed transactions again. True after a start, when it is unknown which of them the nodes still have. */
  resend: boolean
  /** Look up mined transactions again. True after a start, when it is unknown whether their blocks are still in the chain. */
  recheck: boolean
  /** Transactions that were broadcast in this round. */
  handed: Set<number>
  /** Transactions whose newest bytes no node accepted when they were last broadcast. */
  not_taken: Set<number>
  /** Consecutive answers from nodes that lag behind. */
  lags: number
  /** By transaction that a node has: how many blocks left it out. */
  left_out: Map<number, LeftOut>
  /** The window: how many nonces beyond the account's count may be broadcast, by the estimated room in the nodes' pools. */
  window: number
  /** The window at the last block that mined a transaction. It grows when nothing was refused since. */
  was_full: boolean
  /** Consecutive immediate reads of the chain without a new block in between. */
  hurried: number
  /** The number of open gaps below a signed nonce. */
  gaps: number
  /** By transaction: the receipt that most endpoints have, while the asked node has none. */
  witnessed: Map<number, Seen>
  /** The time since which no transaction is unfinished. Confirmed ones are still watched for reorganizations. */
  rest_since: number | undefined
}

interface LeftOut {
  /** Of the newest attempt. */
  hash: string | null
  payable: boolean
  blocks: number
}

export interface Head {
  number: number
  hash: string
  parent_hash: string
}

export const first_retry_ms = 500
export const max_retry_ms = 10_000
/** The largest window: accepted transactions with nonces beyond it wait unsigned, in order. */
export const max_window = 600
const max_patience = 64
const min_poll_ms = 100
const max_poll_ms = 3_000
const default_blocktime_ms = 1_000
const max_lags = 5
const min_rest_poll_ms = 1_000
const max_rest_poll_ms = 30_000
const min_watch_ms = 600_000

export const newLaneState = (): LaneState => ({
  head: undefined,
  latest: 0,
  poll_at: 0,
  retry_at: 0,
  retry_ms: first_retry_ms,
  failure_ms: first_retry_ms,
  idle_blocks: 0,
  patience: 1,
  resend: true,
  recheck: true,
  handed: new Set(),
  not_taken: new Set(),
  lags: 0,
  left_out: new Map(),
  window: max_window,
  was_full: false,
  hurried: 0,
  gaps: 0,
  witnessed: new Map(),
  rest_since: undefined,
})

/** A fifth of the block time: new blocks are seen soon, at the cost of few calls. */
export const pollInterval_ms = ({ network }: Pick<NetworkClient, 'network'>): number =>
  Math.min(Math.max((network.average_blocktime_ms ?? default_blocktime_ms) / 5, min_poll_ms), max_poll_ms)

/** Times are aligned to a grid, so that all relayers of a network read the chain at the same moment and share one request. */
export function nextPollAt(networkClient: Pick<NetworkClient, 'network'>, elapsed: number): number {
  const interval_ms = pollInterval_ms(networkClient)
  return Math.floor(elapsed / interval_ms + 1.5) * interval_ms
}

/** Confirmed transactions are checked every two blocks. */
export const restInterval_ms = ({ network }: Pick<NetworkClient, 'network'>): number =>
  Math.min(Math.max((network.average_blocktime_ms ?? default_blocktime_ms) * 2, min_rest_poll_ms), max_rest_poll_ms)

/** Limits the watch in time, for chains that produce no blocks. */
export const watchLimit_ms = ({ network }: Pick<NetworkClient, 'network'>, blocks: number): number =>
  Math.max(4 * blocks * (network.average_blocktime_ms ?? default_blocktime_ms), min_watch_ms)

/**
 * Updates the lane with the chain's head and the account's count, and checks whether the previous head is still in the chain. False
 * when the answer is older than an earlier one and must be ignored: nodes behind one URL may lag. When older answers persist, they
 * are accepted; a lower count by most endpoints (`isWitnessed`) at once.
 */
export async function takeIn(
  laneState: LaneState,
  chain: Pick<NetworkClient['chain'], 'blockHash'>,
  { head, latest, isWitnessed = false }: { head: Head; latest: number; isWitnessed?: boolean },
): Promise<boolean> {
  const before = laneState.head
  const reorganized = before !== undefined && (await isReorganized(before, head, chain))
  const isLower = latest < laneState.latest && !reorganized && !isWitnessed
  const isBehind = before !== undefined && (head.number < before.number || isLower)
  laneState.lags = isBehind ? laneState.lags + 1 : 0
  if (isBehind && laneState.lags < max_lags) return false

  const isLowered = latest < laneState.latest
  if (before?.hash !== head.hash) laneState.hurried = 0
  if (before && latest > laneState.latest) {
    laneState.idle_blocks = 0
    laneState.patience = 1
    laneState.retry_at = 0
    laneState.retry_ms = first_retry_ms
    widen(laneState)
  } else if (before && head.number > before.number) {
    laneState.idle_blocks += 1
  }
  laneState.head = head
  laneState.latest = latest
  laneState.lags = 0
  laneState.recheck ||= reorganized || isBehind
  // Transactions below the former count were not broadcast.
  laneState.resend ||= isLowered
  return true
}

/** A node's pool had no room for this nonce: shrinks the window to the nonces below it. */
export function narrow(laneState: LaneState, full_at: number): void {
  laneState.window = Math.min(Math.max(full_at - laneState.latest, 1), laneState.window)
  laneState.was_full = true
}

/** After a mined transaction the window grows by a quarter, unless a node refused a nonce since it last grew. */
function widen(laneState: LaneState): void {
  if (!laneState.was_full) laneState.window = Math.min(laneState.window + Math.ceil(laneState.window / 4), max_window)
  laneState.was_full = false
}

/**
 * At a new block, counts the blocks that left out a transaction which a node has: those in which it was the account's next one, or
 * in which its price was below the base fee.
 */
export function countLeftOut(
  laneState: LaneState,
  rows: { row: { row_id: number; hash: string | null }; nonce: number; payable: boolean }[],
) {
  const counted = new Map<number, LeftOut>()
  for (const { row, nonce, payable } of rows) {
    const { row_id, hash } = row
    if (payable && nonce !== laneState.latest) continue
    const before = laneState.left_out.get(row_id)
    const isSame = before?.hash === hash && before.payable === payable
    counted.set(row_id, { hash, payable, blocks: isSame ? before.blocks + 1 : 0 })
  }
  laneState.left_out = counted
}

/** Reads the chain again at once; without a new block in between, after growing delays. */
export function pollSoon(laneState: LaneState, elapsed_ms: number): void {
  const wait_ms = Math.min(min_poll_ms * 2 ** (laneState.hurried - 1), max_poll_ms)
  laneState.poll_at = Math.min(laneState.poll_at, laneState.hurried === 0 ? 0 : elapsed_ms + wait_ms)
  laneState.hurried = Math.min(laneState.hurried + 1, max_patience)
}

/** Whether to broadcast all signed transactions again. The interval grows until a transaction is mined. */
export function isStalled(laneState: LaneState): boolean {
  if (laneState.idle_blocks < laneState.patience) return false
  laneState.idle_blocks = 0
  laneState.patience = Math.min(laneState.patience * 2, max_patience)
  return true
}

async function isReorganized(
  before: Head,
  head: Head,
  chain: Pick<NetworkClient['chain'], 'blockHash'>,
): Promise<boolean> {
  if (head.hash === before.hash) return false
  if (head.number === before.number + 1) return head.parent_hash !== before.hash
  if (head.number === before.number) return true
  if (head.number < before.number) return (await chain.blockHash(head.number)) !== head.hash
  return (await chain.blockHash(before.number)) !== before.hash
}
