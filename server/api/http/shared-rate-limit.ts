import { setImmediate as turn } from 'node:timers/promises'
import type { TakeTokens } from '../../store/store.ts'
import {
  type Bucket,
  bucketReader,
  checkCount,
  type Limit,
  type LimitedCaller,
  moreFor,
  type RateLimit,
  rateLimited,
} from './rate-limit.ts'

/** A server takes requests from the shared bucket for so much time at once. */
const batchS = 0.05
/** An empty bucket is asked again after this time; until then requests are refused here. */
const pauseMs = 50
/** Requests that were taken and not used in this time go back. */
const keepMs = 1_000
const maxCallers = 10_000

/** The requests that a server has taken from the bucket of a caller. */
interface LocalBucket {
  /** Below 0: used and not yet taken. */
  tokens: number
  filled_at_ms: number
  again_at_ms: number
  /** The time from the last fill until the bucket is empty. */
  empty_in_ms: number
  filling: Promise<void>
  next: { wanted: number; filled: Promise<void> } | undefined
}

/**
 * A rate limit that holds over all servers together: the bucket of each caller is in the database, and each server takes requests from
 * it in batches. Callers that wait in one turn of the event loop share a batch. After a refusal the database is not asked until the pause
 * is over. `ask` rejects while the database is down; then nothing is admitted. `now`: milliseconds.
 */
export class SharedRateLimit implements RateLimit {
  readonly #ask: TakeTokens
  readonly #now: () => number
  readonly #bucketFor: ReturnType<typeof bucketReader>
  readonly #buckets = new Map<string, LocalBucket>()

  constructor(usual: Limit, ask: TakeTokens, now: () => number) {
    this.#ask = ask
    this.#now = now
    this.#bucketFor = bucketReader(usual)
  }

  async take({ id, rate_limit }: LimitedCaller, count = 1) {
    const bucket = this.#bucketFor(rate_limit)
    const { burst, interval_ms, tolerance_ms, policy } = bucket
    checkCount(count, burst)
    const local = this.#localBucketOf(id)
    for (let isFilled = false; ; isFilled = true) {
      const timeMs = this.#now()
      const passedMs = timeMs - local.filled_at_ms
      // The requests that were just taken are used, also after a pause of this process.
      const has = local.tokens >= count && (isFilled || passedMs < keepMs)
      const fullMs = Math.max(0, local.empty_in_ms - passedMs)
      if (has) {
        local.tokens -= count
        const left = Math.min(burst, Math.floor(local.tokens + (tolerance_ms - fullMs) / interval_ms + 0.001))
        const resetS = Math.ceil(((burst - left) * interval_ms) / 1_000)
        return { RateLimit: `"default";r=${Math.max(0, left)};t=${resetS}`, 'RateLimit-Policy': policy }
      }
      if (isFilled || timeMs < local.again_at_ms) {
        const waitMs = fullMs + (count - local.tokens) * interval_ms - tolerance_ms
        throw rateLimited(Math.max(1, Math.ceil(waitMs / 1_000)), policy)
      }
      await this.#fill(local, id, bucket, count)
    }
  }

  weigh({ id, rate_limit }: LimitedCaller, bytes: number) {
    const more = moreFor(bytes)
    if (!(more > 0)) return
    const { burst, interval_ms, max_debt_ms } = this.#bucketFor(rate_limit)
    const local = this.#localBucketOf(id)
    local.tokens = Math.max(local.tokens - more, -(burst + max_debt_ms / interval_ms))
  }

  #localBucketOf(id: string): LocalBucket {
    const known = this.#buckets.get(id)
    if (known) return known
    if (this.#buckets.size >= maxCallers) this.#forgetIdle()
    const made = {
      tokens: 0,
      filled_at_ms: 0,
      again_at_ms: 0,
      empty_in_ms: 0,
      filling: Promise.resolve(),
      next: undefined,
    }
    this.#buckets.set(id, made)
    return made
  }

  #forgetIdle(): void {
    const time = this.#now()
    for (const [id, { tokens, filled_at_ms, next }] of this.#buckets) {
      if (tokens >= 0 && next === undefined && time - filled_at_ms > keepMs) this.#buckets.delete(id)
    }
  }

  /** One database call for all waiting requests. Requests that arrive during the call wait for the next one. */
  #fill(local: LocalBucket, id: string, bucket: Bucket, count: number): Promise<void> {
    if (!local.next) {
      const mine = { wanted: 0, filled: Promise.resolve() }
      local.next = mine
      mine.filled = local.filling
        .catch(() => undefined)
        .then(() => turn())
        .then(() => {
          local.next = undefined
          return this.#take(local, id, bucket, mine.wanted)
        })
      local.filling = mine.filled
    }
    local.next.wanted += count
    return local.next.filled
  }

  async #take(
    local: LocalBucket,
    id: string,
    { interval_ms, tolerance_ms, max_debt_ms }: Bucket,
    needed: number,
  ): Promise<void> {
    const kept = local.tokens
    local.tokens = 0
    const wanted = Math.max(needed, Math.ceil((batchS * 1_000) / interval_ms))
    try {
      const { granted, empty_in_ms } = await this.#ask(id, { interval_ms, tolerance_ms, max_debt_ms }, -kept, wanted)
      local.tokens += granted
      local.filled_at_ms = this.#now()
      local.empty_in_ms = empty_in_ms
      if (granted < needed) local.again_at_ms = local.filled_at_ms + pauseMs
    } catch (error) {
      local.tokens += Math.min(0, kept)
      throw error
    }
  }
}
