import { badRequest } from '../../domain/errors.ts'
import type { Caller } from '../../domain/operation.ts'
import { ApiError, retryAfter } from './errors.ts'

export interface RateLimit {
  /**
   * Counts requests of the caller and returns the rate limit headers. Throws DomainError: 429, with nothing counted; 400 for more than the
   * burst, which could never be admitted.
   */
  take(caller: LimitedCaller, count?: number): Headers | Promise<Headers>
  /** Counts a request with a large body or response as several, once for each 64 KiB. */
  weigh(caller: LimitedCaller, bytes: number): void
}

export type LimitedCaller = Pick<Caller, 'id' | 'rate_limit'>
type Headers = Record<string, string>

export interface Limit {
  /** Sustained requests per second. */
  per_second: number
  /** Requests that may arrive at once. */
  burst: number
}

const maxCallers = 10_000
/** The size of requests and responses together that counts as one request. */
export const bytesEach = 64 * 1024
/** The longest time that a caller waits because of large requests and responses in the past. */
const maxDebtMs = 60_000
/** Above the count of all bodies and responses that one process holds at once (Shares). */
const maxOwed = 4_096

/**
 * The generic cell rate algorithm (GCRA). It keeps one number per caller: the time at which its bucket is empty again. It is exact
 * and needs no timers. A caller that waits for `Retry-After` is admitted. `usual`: the limit of callers without their own.
 * `now`: milliseconds.
 */
export class LocalRateLimit {
  readonly #usual: Limit
  readonly #now: () => number
  readonly #bucketFor: (limit: Limit | null) => {
    burst: number
    interval_ms: number
    tolerance_ms: number
    max_debt_ms: number
    rounding_ms: number
    policy: string
  }
  readonly #emptyAt = new Map<string, number>()

  constructor(usual: Limit, now: () => number) {
    this.#usual = usual
    this.#now = now
    this.#bucketFor = bucketReader(this.#usual)
  }

  take({ id, rate_limit }: LimitedCaller, count = 1): Headers {
    const { interval_ms, tolerance_ms, max_debt_ms, rounding_ms, policy, burst } = this.#bucketFor(rate_limit)
    checkCount(count, burst)
    const time = this.#now()
    // Its limit may have been larger before.
    const before = Math.min(this.#emptyAt.get(id) ?? 0, time + tolerance_ms + max_debt_ms)
    const empty = Math.max(before, time) + interval_ms * count
    const roomMs = time + tolerance_ms - empty
    if (roomMs < -rounding_ms) {
      throw rateLimited(Math.ceil(-roomMs / 1_000), policy)
    }
    // A caller that is not in the map has an empty bucket, so idle callers can be removed.
    if (this.#emptyAt.size >= maxCallers)
      for (const [other, at] of this.#emptyAt) if (at <= time) this.#emptyAt.delete(other)
    this.#emptyAt.set(id, empty)
    const remaining = Math.max(0, Math.floor((roomMs + rounding_ms) / interval_ms))
    return {
      RateLimit: `"default";r=${remaining};t=${Math.ceil((empty - time) / 1_000)}`,
      'RateLimit-Policy': policy,
    }
  }

  weigh({ id, rate_limit }: LimitedCaller, bytes: number): void {
    const more = moreFor(bytes)
    if (!(more > 0)) return
    const { interval_ms, tolerance_ms, max_debt_ms } = this.#bucketFor(rate_limit)
    const time = this.#now()
    const empty = Math.max(this.#emptyAt.get(id) ?? 0, time) + more * interval_ms
    this.#emptyAt.set(id, Math.min(empty, time + tolerance_ms + max_debt_ms))
  }
}

/** The number of additional requests that a request with this many bytes counts as. */
export const moreFor = (bytes: number): number => Math.floor(bytes / bytesEach)

export function checkCount(count: number, burst: number): void {
  if (count > burst) throw badRequest([], `must have at most ${burst} calls, the burst of the rate limit`)
}

export const rateLimited = (waitS: number, policy: string) =>
  new ApiError(
    'rate_limited',
    'Too Many Requests',
    [{ path: 'rate_limit', message: `is reached; wait for ${waitS} s` }],
    {
      ...retryAfter(waitS),
      RateLimit: `"default";r=0;t=${waitS}`,
      'RateLimit-Policy': policy,
    },
  )

export type Bucket = ReturnType<typeof bucketOf>

/** The bucket of a limit; null: the default limit. */
export function bucketReader(usual: Limit): (limit: Limit | null) => Bucket {
  const usualBucket = bucketOf(usual)
  const buckets = new WeakMap<Limit, Bucket>()
  return (limit) => {
    if (limit === null) return usualBucket
    const known = buckets.get(limit)
    if (known) return known
    const bucket = bucketOf(limit)
    buckets.set(limit, bucket)
    return bucket
  }
}

function bucketOf({ per_second, burst }: Limit) {
  const intervalMs = 1_000 / per_second
  const toleranceMs = intervalMs * burst
  return {
    burst,
    interval_ms: intervalMs,
    tolerance_ms: toleranceMs,
    max_debt_ms: Math.min(maxDebtMs, maxOwed * intervalMs),
    // Tolerance for rounding in sums of fractions: without it a burst is sometimes one request short.
    rounding_ms: intervalMs / 1_000,
    policy: `"default";q=${burst};w=${Math.ceil(toleranceMs / 1_000)}`,
  }
}
