import type { Reach } from './parts.ts'

/**
 * What a relayer's lane remembers between two rounds. All of it can be found out again from the store and the chain; nothing of
 * it is needed to be right, only to be quick. Its times are milliseconds of the clock that never goes back.
 */
export interface Memory {
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
  /** By transaction: when to look again for what used its nonce. */
  trace_at: Map<number, number>
}

export interface Head {
  number: number
  hash: string
  parent_hash: string
}

export const first_retry_ms = 500
export const max_retry_ms = 10_000
const max_patience = 64
const min_look_ms = 100
const max_look_ms = 3_000
const default_blocktime_ms = 1_000
const max_lags = 5

export const newMemory = (): Memory => ({
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
  trace_at: new Map(),
})

/** A fifth of a block's time: a block is seen soon, and a wait costs few calls. */
export const lookInterval_ms = ({ network }: Pick<Reach, 'network'>): number =>
  Math.min(Math.max((network.average_blocktime_ms ?? default_blocktime_ms) / 5, min_look_ms), max_look_ms)

/**
 * Takes in what the chain looks like now, and whether the block that was the newest is in it no more. False when that is from
 * before what was seen already (nodes behind one address are not always level) and not to be acted on; should it stay so, it
 * is the truth.
 */
export async function takeIn(
  memory: Memory,
  chain: Pick<Reach['chain'], 'blockHash'>,
  { head, latest }: { head: Head; latest: number },
): Promise<boolean> {
  const before = memory.head
  const reorganized = before !== undefined && (await isReorganized(before, head, chain))
  const isBehind = before !== undefined && (head.number < before.number || (latest < memory.latest && !reorganized))
  memory.lags = isBehind ? memory.lags + 1 : 0
  if (isBehind && memory.lags < max_lags) return false

  if (before && latest > memory.latest) {
    memory.idle_blocks = 0
    memory.patience = 1
  } else if (before && head.number > before.number) {
    memory.idle_blocks += 1
  }
  memory.head = head
  memory.latest = latest
  memory.lags = 0
  memory.recheck ||= reorganized || isBehind
  return true
}

/** Whether all is to be handed over again now; the next time comes later each time, until something is mined. */
export function isStalled(memory: Memory): boolean {
  if (memory.idle_blocks < memory.patience) return false
  memory.idle_blocks = 0
  memory.patience = Math.min(memory.patience * 2, max_patience)
  return true
}

async function isReorganized(before: Head, head: Head, chain: Pick<Reach['chain'], 'blockHash'>): Promise<boolean> {
  if (head.hash === before.hash) return false
  if (head.number === before.number + 1) return head.parent_hash !== before.hash
  if (head.number === before.number) return true
  if (head.number < before.number) return (await chain.blockHash(head.number)) !== head.hash
  return (await chain.blockHash(before.number)) !== before.hash
}
