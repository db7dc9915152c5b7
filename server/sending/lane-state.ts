import type { NetworkClient } from './dependencies.ts'

/**
 * What a relayer's lane remembers between two rounds. All of it can be found out again from the store and the chain; nothing of
 * it is needed to be right, only to be quick. Its times are milliseconds of the clock that never goes back.
 */
export interface LaneState {
  /** The newest block that was seen, and the account's count at it. */
  head: Head | undefined
  latest: number
  /** When the chain is to be looked at again. */
  look_at: number
  /** When what no node has taken is to be handed over again. */
  retry_at: number
  retry_ms: number
  failure_ms: number
  /** Blocks in which none of ours was, and how many of them to bear before all is handed over again. */
  idle_blocks: number
  patience: number
  /** All that is signed is to be handed over again: after a start nobody knows what the nodes still have. */
  resend: boolean
  /** What is in a block is to be looked up again: after a start, too, nobody knows whether the block is still in the chain. */
  recheck: boolean
  /** What was handed over in this round already. */
  handed: Set<number>
  /** How often in a row a node has answered from a time before. */
  lags: number
  /** By transaction that is with a node: in how many blocks it was not. */
  left_out: Map<number, LeftOut>
  /** How many nonces beyond the chain's the nodes are thought to have room for. */
  window: number
  /** The window as of the last block that mined something; it grows when nothing was refused since. */
  was_full: boolean
  /** How often in a row the chain was looked at again at once, without a new block in between. */
  hurried: number
  /** Nonces that were left open below a signed one. */
  gaps: number
  /** Since when nothing is unfinished, and what was confirmed is only watched. */
  rest_since: number | undefined
}

interface LeftOut {
  /** Of the bytes that were signed last. */
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
/** How many nonces beyond the chain's may be with the nodes at most; what is accepted beyond waits, unsigned, in order. */
export const max_window = 600
const max_patience = 64
const min_look_ms = 100
const max_look_ms = 3_000
const default_blocktime_ms = 1_000
const max_lags = 5
const min_rest_look_ms = 1_000
const max_rest_look_ms = 30_000
const min_watch_ms = 600_000

export const newLaneState = (): LaneState => ({
  head: undefined,
  latest: 0,
  look_at: 0,
  retry_at: 0,
  retry_ms: first_retry_ms,
  failure_ms: first_retry_ms,
  idle_blocks: 0,
  patience: 1,
  resend: true,
  recheck: true,
  handed: new Set(),
  lags: 0,
  left_out: new Map(),
  window: max_window,
  was_full: false,
  hurried: 0,
  gaps: 0,
  rest_since: undefined,
})

/** A fifth of a block's time: a block is seen soon, and a wait costs few calls. */
export const lookInterval_ms = ({ network }: Pick<NetworkClient, 'network'>): number =>
  Math.min(Math.max((network.average_blocktime_ms ?? default_blocktime_ms) / 5, min_look_ms), max_look_ms)

/** On a grid of the clock, so that all relayers of a network look at the chain at the same moment: one look serves them all. */
export function nextLookAt(networkClient: Pick<NetworkClient, 'network'>, elapsed: number): number {
  const interval_ms = lookInterval_ms(networkClient)
  return Math.floor(elapsed / interval_ms + 1.5) * interval_ms
}

/** What is confirmed is looked at once in two blocks. */
export const restInterval_ms = ({ network }: Pick<NetworkClient, 'network'>): number =>
  Math.min(Math.max((network.average_blocktime_ms ?? default_blocktime_ms) * 2, min_rest_look_ms), max_rest_look_ms)

/** A chain that makes no blocks is not watched for ever. */
export const watchLimit_ms = ({ network }: Pick<NetworkClient, 'network'>, blocks: number): number =>
  Math.max(4 * blocks * (network.average_blocktime_ms ?? default_blocktime_ms), min_watch_ms)

/**
 * Takes in what the chain looks like now, and whether the block that was the newest is in it no more. False when that is from
 * before what was seen already (nodes behind one address are not always level) and not to be acted on; should it stay so, it
 * is the truth.
 */
export async function takeIn(
  laneState: LaneState,
  chain: Pick<NetworkClient['chain'], 'blockHash'>,
  { head, latest }: { head: Head; latest: number },
): Promise<boolean> {
  const before = laneState.head
  const reorganized = before !== undefined && (await isReorganized(before, head, chain))
  const isBehind = before !== undefined && (head.number < before.number || (latest < laneState.latest && !reorganized))
  laneState.lags = isBehind ? laneState.lags + 1 : 0
  if (isBehind && laneState.lags < max_lags) return false

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
  return true
}

/** The node's pool had no room for this nonce: no more is handed over than it holds. */
export function narrow(laneState: LaneState, full_at: number): void {
  laneState.window = Math.min(Math.max(full_at - laneState.latest, 1), laneState.window)
  laneState.was_full = true
}

/** Something was mined: a quarter more is tried, unless the last try was refused. */
function widen(laneState: LaneState): void {
  if (!laneState.was_full) laneState.window = Math.min(laneState.window + Math.ceil(laneState.window / 4), max_window)
  laneState.was_full = false
}

/**
 * Counts, at a new block, in how many blocks what is with a node could have been and was not: as the next of its account, or,
 * while its price is below the base fee, in any place.
 */
export function countLeftOut(
  laneState: LaneState,
  rows: { row: { key: number; hash: string | null }; nonce: number; payable: boolean }[],
) {
  const counted = new Map<number, LeftOut>()
  for (const { row, nonce, payable } of rows) {
    const { key, hash } = row
    if (payable && nonce !== laneState.latest) continue
    const before = laneState.left_out.get(key)
    const isSame = before?.hash === hash && before.payable === payable
    counted.set(key, { hash, payable, blocks: isSame ? before.blocks + 1 : 0 })
  }
  laneState.left_out = counted
}

/** Looks at the chain again at once; without a new block in between, later each time. */
export function lookSoon(laneState: LaneState, elapsed_ms: number): void {
  const wait_ms = Math.min(min_look_ms * 2 ** (laneState.hurried - 1), max_look_ms)
  laneState.look_at = Math.min(laneState.look_at, laneState.hurried === 0 ? 0 : elapsed_ms + wait_ms)
  laneState.hurried = Math.min(laneState.hurried + 1, max_patience)
}

/** Whether all is to be handed over again now; the next time comes later each time, until something is mined. */
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
