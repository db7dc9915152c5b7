import { firstWindow } from '../domain/wait-reason.ts'

/** Accepted transactions with nonces beyond the largest window wait unsigned, in order. */
export const maxWindow = 600
/**
 * After a refusal, so many blocks use what it told before one nonce more is tried: of 16 a block, one in 64 sends is refused. Each further
 * refusal doubles the wait: a limit that stays is tried seldom.
 */
const firstWaitBlocks = 4
/** A limit that was lifted is noticed within so many blocks. */
const maxWaitBlocks = 64

/**
 * How many nonces beyond the account's count may be broadcast: what nodes hold of an account, as far as their answers tell. It is a cache,
 * which a lane keeps while it rests.
 */
export interface Window {
  size: number
  /** A node has refused a nonce, and none was taken beyond the window since. */
  is_limited: boolean
  /** A nonce at its end was broadcast since the last block. */
  is_used: boolean
  /** Blocks that used the window since it last changed, and how many of them end the wait for the next try. */
  blocks: number
  wait_blocks: number
  /** By how much it last grew beyond what a refusal told; 0: not since the refusal. */
  step: number
}

export const newWindow = (): Window => ({
  size: firstWindow,
  is_limited: false,
  is_used: false,
  blocks: 0,
  wait_blocks: firstWaitBlocks,
  step: 0,
})

/** Nodes have answered a broadcast. `taken`: the nonces that one has; `full_at`: the lowest nonce that one does not hold any more. */
export function noteAnswers(
  window: Window,
  latest: number,
  { taken, full_at }: { taken: Iterable<number>; full_at: number | undefined },
): void {
  const held = Math.max(0, ...taken) + 1 - latest
  window.is_used ||= held >= window.size || full_at !== undefined
  if (full_at !== undefined) narrow(window, Math.max(full_at - latest, 1))
  // After a start, nodes may hold more than the window.
  else if (held >= window.size && !window.is_limited) window.size = Math.min(Math.max(held, window.size * 2), maxWindow)
}

function narrow(window: Window, told: number): void {
  const isAgain = window.is_limited && told < window.size
  if (isAgain) window.wait_blocks = Math.min(window.wait_blocks * 2, maxWaitBlocks)
  Object.assign(window, { size: Math.min(told, window.size), is_limited: true, blocks: 0, step: 0 })
}

/** A block has transactions of ours. While tries are not refused, each next one is twice as large. */
export function noteMined(window: Window): void {
  if (!window.is_used) return
  window.is_used = false
  window.blocks += 1
  if (!window.is_limited || (window.step === 0 && window.blocks < window.wait_blocks)) return
  if (window.step > 0) window.wait_blocks = firstWaitBlocks
  window.step = Math.max(window.step * 2, 1)
  window.size = Math.min(window.size + window.step, maxWindow)
  window.is_limited = window.size < maxWindow
}

/** How many nonces nodes may hold: as long as none has refused one, what an earlier process has broadcast may be more than the window. */
export const heldByNodes = ({ size, is_limited }: Window): number => (is_limited ? size : maxWindow)
