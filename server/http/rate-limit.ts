import { ApiError } from '../errors.ts'
import type { Caller } from '../operation.ts'

/**
 * A generic cell rate algorithm (as in ATM and redis-cell): one number a caller, the time at which its bucket is empty
 * again. Exact, without timers, and a caller who waits `Retry-After` is let through.
 */
export interface RateLimit {
  /** Takes one request of the caller's, and returns the headers that tell it how it stands. Throws ApiError (429). */
  take(caller: Pick<Caller, 'id' | 'rate_limit'>): Record<string, string>
}

export interface Limit {
  /** Requests a second over time. */
  per_second: number
  /** How many may come at once. */
  burst: number
}

const max_callers = 10_000

/** `usual`: for callers without a limit of their own. `processes`: each lets its share through. `now` in milliseconds. */
export function createRateLimit(usual: Limit, processes: number, now: () => number): RateLimit {
  const usualBucket = bucketOf(usual, processes)
  const buckets = new WeakMap<Limit, Bucket>()
  const emptyAt = new Map<string, number>()

  const bucketFor = (limit: Limit | null): Bucket => {
    if (limit === null) return usualBucket
    const known = buckets.get(limit)
    if (known) return known
    const bucket = bucketOf(limit, processes)
    buckets.set(limit, bucket)
    return bucket
  }

  return {
    take({ id, rate_limit }) {
      const { interval_ms, tolerance_ms, rounding_ms, policy } = bucketFor(rate_limit)
      const time = now()
      // Never fuller than full: the limit may have been a larger one until now.
      const before = Math.min(emptyAt.get(id) ?? 0, time + tolerance_ms)
      const empty = Math.max(before, time) + interval_ms
      const room_ms = time + tolerance_ms - empty
      if (room_ms < -rounding_ms) {
        const wait_s = Math.ceil(-room_ms / 1_000)
        throw new ApiError('rate_limited', 'Too Many Requests', [], {
          'Retry-After': String(wait_s),
          RateLimit: `"default";r=0;t=${wait_s}`,
          'RateLimit-Policy': policy,
        })
      }
      // A caller that is not in the map has an empty bucket, so forgetting the idle ones changes nothing for them.
      if (emptyAt.size >= max_callers) for (const [other, at] of emptyAt) if (at <= time) emptyAt.delete(other)
      emptyAt.set(id, empty)
      const remaining = Math.max(0, Math.floor((room_ms + rounding_ms) / interval_ms))
      return {
        RateLimit: `"default";r=${remaining};t=${Math.ceil((empty - time) / 1_000)}`,
        'RateLimit-Policy': policy,
      }
    },
  }
}

type Bucket = ReturnType<typeof bucketOf>

function bucketOf(limit: Limit, processes: number) {
  const interval_ms = (1_000 * processes) / limit.per_second
  const burst = Math.max(1, Math.floor(limit.burst / processes))
  const tolerance_ms = interval_ms * burst
  return {
    interval_ms,
    tolerance_ms,
    // Sums of fractions of a millisecond: without room for their rounding a burst is one request short now and then.
    rounding_ms: interval_ms / 1_000,
    policy: `"default";q=${burst};w=${Math.ceil(tolerance_ms / 1_000)}`,
  }
}
