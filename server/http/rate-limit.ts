import { ApiError } from '../errors.ts'

/**
 * A generic cell rate algorithm (as in ATM and redis-cell): one number a caller, the time at which its bucket is empty
 * again. Exact, without timers, and a caller who waits `Retry-After` is let through.
 */
export interface RateLimit {
  /** Takes one request of the caller's, and returns the headers that tell it how it stands. Throws ApiError (429). */
  take(caller_id: string): Record<string, string>
}

const max_callers = 10_000

/** `perSecond`: requests a second over time; `burst`: how many may come at once. `now` in milliseconds. */
export function createRateLimit(perSecond: number, burst: number, now: () => number): RateLimit {
  const interval_ms = 1_000 / perSecond
  const tolerance_ms = interval_ms * burst
  // Sums of fractions of a millisecond: without room for their rounding a burst is one request short now and then.
  const rounding_ms = interval_ms / 1_000
  const window_s = Math.ceil(tolerance_ms / 1_000)
  const policy = `"default";q=${burst};w=${window_s}`
  const emptyAt = new Map<string, number>()

  return {
    take(caller_id) {
      const time = now()
      const empty = Math.max(emptyAt.get(caller_id) ?? 0, time) + interval_ms
      const room_ms = time + tolerance_ms - empty
      if (room_ms < -rounding_ms) {
        const wait_s = Math.ceil(-room_ms / 1_000)
        throw new ApiError('too_many_requests', 'Too Many Requests', [], {
          'Retry-After': String(wait_s),
          RateLimit: `"default";r=0;t=${wait_s}`,
          'RateLimit-Policy': policy,
        })
      }
      // A caller that is not in the map has an empty bucket, so forgetting the idle ones changes nothing for them.
      if (emptyAt.size >= max_callers) for (const [id, at] of emptyAt) if (at <= time) emptyAt.delete(id)
      emptyAt.set(caller_id, empty)
      const remaining = Math.max(0, Math.floor((room_ms + rounding_ms) / interval_ms))
      return {
        RateLimit: `"default";r=${remaining};t=${Math.ceil((empty - time) / 1_000)}`,
        'RateLimit-Policy': policy,
      }
    },
  }
}
