import { repriceMs } from '../domain/decide.ts'
import type { Tier } from '../domain/fees.ts'
import type { Advance } from './chain-state.ts'
import { newWindow, noteMined, type Window } from './window.ts'

const firstRetryMs = 500
const maxRetryMs = 10_000
const maxPatience = 64

/** What a lane broadcast, and what the nodes' pools hold. It is a cache. Times are milliseconds of the monotonic clock. */
export interface MempoolState {
  /** Broadcast all signed transactions again. True after a start, when it is unknown which of them the nodes still have. */
  resend: boolean
  /** When to broadcast again the bytes that no node has accepted. */
  retry_at: number
  retry_ms: number
  /** Consecutive blocks without a transaction of ours, and how many of them cause the next broadcast of all. */
  idle_blocks: number
  patience: number
  /** Transactions that were broadcast in this round. */
  sent_now: Set<number>
  /** Transactions whose newest bytes no node accepted when they were last broadcast. */
  not_taken: Set<number>
  /** By transaction: when its newest bytes were last broadcast or looked up. */
  looked_at: Map<number, number>
  /** By transaction: the bytes that private relays were given, and the chain's height then. */
  given_to_relays: Map<number, { hash: string; height: number }>
  /** By transaction: since when all that was broadcast was refused for good. */
  refused_since: Map<number, number>
  window: Window
  /** The account's count including the pool, and when it was read. */
  pooled: number
  pooled_at: number
}

export const newMempoolState = (window: Window = newWindow()): MempoolState => ({
  resend: true,
  retry_at: 0,
  retry_ms: firstRetryMs,
  idle_blocks: 0,
  patience: 1,
  sent_now: new Set(),
  not_taken: new Set(),
  looked_at: new Map(),
  given_to_relays: new Map(),
  refused_since: new Map(),
  window,
  pooled: 0,
  pooled_at: Number.NEGATIVE_INFINITY,
})

export function sawBlocks(pool: MempoolState, { isMined, isIdle, isLowered }: Advance): void {
  if (isMined) {
    pool.idle_blocks = 0
    pool.patience = 1
    pool.retry_at = 0
    pool.retry_ms = firstRetryMs
    noteMined(pool.window)
  } else if (isIdle) pool.idle_blocks += 1
  pool.resend ||= isLowered
}

/** Whether to broadcast all signed transactions again. The interval grows until a transaction is mined. */
export function isStalled(pool: MempoolState): boolean {
  if (pool.idle_blocks < pool.patience) return false
  pool.idle_blocks = 0
  pool.patience = Math.min(pool.patience * 2, maxPatience)
  return true
}

export function beginRound(pool: MempoolState): void {
  pool.sent_now.clear()
}

/** Forgets transactions that are no longer in flight. */
export function keepOnly(pool: MempoolState, open: ReadonlySet<number>): void {
  for (const rowId of pool.not_taken) if (!open.has(rowId)) pool.not_taken.delete(rowId)
  for (const known of [pool.looked_at, pool.given_to_relays, pool.refused_since])
    for (const rowId of known.keys()) if (!open.has(rowId)) known.delete(rowId)
}

export function noteSent(pool: MempoolState, rowId: number, elapsed: number): void {
  pool.sent_now.add(rowId)
  noteKnown(pool, rowId, elapsed)
}

/** A node has it. */
export function noteKnown(pool: MempoolState, rowId: number, elapsed: number): void {
  pool.not_taken.delete(rowId)
  pool.looked_at.set(rowId, elapsed)
}

/** Returns for how many milliseconds it has been refused. */
export function noteRefused(pool: MempoolState, rowId: number, elapsed: number): number {
  const since = pool.refused_since.get(rowId) ?? elapsed
  pool.refused_since.set(rowId, since)
  return elapsed - since
}

/** Relays count from the first time that they get the same bytes. */
export function noteGiven(pool: MempoolState, rowId: number, hash: string, height: number): void {
  if (pool.given_to_relays.get(rowId)?.hash !== hash) pool.given_to_relays.set(rowId, { hash, height })
}

/** Whether relays that drop a transaction after this number of blocks have dropped it. */
export function isDropped(pool: MempoolState, rowId: number, height: number, dropsAfterBlocks: number): boolean {
  const since = pool.given_to_relays.get(rowId)?.height
  return since !== undefined && height - since >= dropsAfterBlocks && !pool.not_taken.has(rowId)
}

/** The transactions of a broadcast that no node accepted. */
export function noteNotTaken(pool: MempoolState, rowIds: number[], elapsed: number): void {
  for (const rowId of rowIds) pool.not_taken.add(rowId)
  if (rowIds.length > 0) {
    pool.retry_at = elapsed + pool.retry_ms
    pool.retry_ms = Math.min(pool.retry_ms * 2, maxRetryMs)
  } else {
    pool.retry_ms = firstRetryMs
  }
}

/** Whether the tier's time has passed since the newest bytes were broadcast or looked up. */
export function isSilent(pool: MempoolState, rowId: number, tier: Tier, elapsed: number): boolean {
  const at = pool.looked_at.get(rowId)
  return at !== undefined && elapsed - at >= repriceMs[tier]
}

export function notePooled(pool: MempoolState, pooled: number, elapsed: number): void {
  pool.pooled = pooled
  pool.pooled_at = elapsed
}
