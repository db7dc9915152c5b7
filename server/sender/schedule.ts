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

const first_failure_ms = 500
const max_failure_ms = 10_000
const min_poll_ms = 100
const max_poll_ms = 3_000
const default_blocktime_ms = 1_000
const min_rest_poll_ms = 1_000
const max_rest_poll_ms = 30_000
const min_watch_ms = 600_000
const max_immediate = 64

type Network = Pick<NetworkClient, 'network'>

export const newSchedule = (): Schedule => ({
  poll_at: 0,
  failure_ms: first_failure_ms,
  immediate: 0,
  rest_since: undefined,
})

/** A fifth of the block time: new blocks are seen soon, at the cost of few calls. */
export const pollInterval_ms = ({ network }: Network): number =>
  Math.min(Math.max((network.average_blocktime_ms ?? default_blocktime_ms) / 5, min_poll_ms), max_poll_ms)

/** Times are aligned to a grid, so that all relayers of a network read the chain at the same moment and share one request. */
export function pollNext(schedule: Schedule, network: Network, elapsed: number): void {
  const interval_ms = pollInterval_ms(network)
  schedule.poll_at = Math.floor(elapsed / interval_ms + 1.5) * interval_ms
}

export function pollAfter(schedule: Schedule, wait_ms: number, elapsed: number): void {
  schedule.poll_at = elapsed + wait_ms
}

/** Confirmed transactions are checked every two blocks. */
export const restInterval_ms = ({ network }: Network): number =>
  Math.min(Math.max((network.average_blocktime_ms ?? default_blocktime_ms) * 2, min_rest_poll_ms), max_rest_poll_ms)

/** Limits the watch in time, for chains that produce no blocks. */
export const watchLimit_ms = ({ network }: Network, blocks: number): number =>
  Math.max(4 * blocks * (network.average_blocktime_ms ?? default_blocktime_ms), min_watch_ms)

/** Reads the chain again at once; without a new block in between, after growing delays. */
export function pollSoon(schedule: Schedule, elapsed: number): void {
  const wait_ms = Math.min(min_poll_ms * 2 ** (schedule.immediate - 1), max_poll_ms)
  schedule.poll_at = Math.min(schedule.poll_at, schedule.immediate === 0 ? 0 : elapsed + wait_ms)
  schedule.immediate = Math.min(schedule.immediate + 1, max_immediate)
}

export function sawNewBlock(schedule: Schedule): void {
  schedule.immediate = 0
}

export function succeeded(schedule: Schedule): void {
  schedule.failure_ms = first_failure_ms
}

/** The nodes failed. `random`: 0 to 1, which spreads the relayers. */
export function failed(schedule: Schedule, elapsed: number, random: number): void {
  schedule.failure_ms = Math.min(schedule.failure_ms * 2, max_failure_ms)
  schedule.poll_at = elapsed + schedule.failure_ms * (0.75 + random / 2)
}
