import type { NetworkClient } from './context.ts'

/** When a lane reads the chain again. Times are milliseconds of the monotonic clock. */
export interface Schedule {
  poll_at: number
  /** The delay after the next failure of the nodes. */
  failure_ms: number
  /** Consecutive immediate reads of the chain without a new block in between. */
  immediate: number
  /** The time since which no transaction is unfinished. Confirmed ones are still watched for reorganizations. */
  rest_since: number | undefined
}

const firstFailureMs = 500
const maxFailureMs = 10_000
const minPollMs = 100
const maxPollMs = 3_000
const defaultBlocktimeMs = 1_000
const minRestPollMs = 1_000
const maxRestPollMs = 30_000
const minWatchMs = 600_000
const maxImmediate = 64

type Network = Pick<NetworkClient, 'network'>

export const newSchedule = (): Schedule => ({
  poll_at: 0,
  failure_ms: firstFailureMs,
  immediate: 0,
  rest_since: undefined,
})

/** A fifth of the block time: new blocks are seen soon, at the cost of few calls. */
export const pollIntervalMs = ({ network }: Network): number =>
  Math.min(Math.max((network.average_blocktime_ms ?? defaultBlocktimeMs) / 5, minPollMs), maxPollMs)

/** Times are aligned to a grid, so that all relayers of a network read the chain at the same moment and share one request. */
export function pollNext(schedule: Schedule, network: Network, elapsed: number): void {
  const intervalMs = pollIntervalMs(network)
  schedule.poll_at = Math.floor(elapsed / intervalMs + 1.5) * intervalMs
}

export function pollAfter(schedule: Schedule, waitMs: number, elapsed: number): void {
  schedule.poll_at = elapsed + waitMs
}

/** Confirmed transactions are checked every two blocks. */
export const restIntervalMs = ({ network }: Network): number =>
  Math.min(Math.max((network.average_blocktime_ms ?? defaultBlocktimeMs) * 2, minRestPollMs), maxRestPollMs)

/** Limits the watch in time, for chains that produce no blocks. */
export const watchLimitMs = ({ network }: Network, blocks: number): number =>
  Math.max(4 * blocks * (network.average_blocktime_ms ?? defaultBlocktimeMs), minWatchMs)

/** Reads the chain again at once; without a new block in between, after growing delays. */
export function pollSoon(schedule: Schedule, elapsed: number): void {
  const waitMs = Math.min(minPollMs * 2 ** (schedule.immediate - 1), maxPollMs)
  schedule.poll_at = Math.min(schedule.poll_at, schedule.immediate === 0 ? 0 : elapsed + waitMs)
  schedule.immediate = Math.min(schedule.immediate + 1, maxImmediate)
}

export function sawNewBlock(schedule: Schedule): void {
  schedule.immediate = 0
}

export function succeeded(schedule: Schedule): void {
  schedule.failure_ms = firstFailureMs
}

/** The nodes failed. `random`: 0 to 1, which spreads the relayers. */
export function failed(schedule: Schedule, elapsed: number, random: number): void {
  schedule.failure_ms = Math.min(schedule.failure_ms * 2, maxFailureMs)
  schedule.poll_at = elapsed + schedule.failure_ms * (0.75 + random / 2)
}
