import type { Caller } from '../../domain/operation.ts'
import { ApiError } from './errors.ts'

/** A resource that each process has a limited amount of and that callers share (event streams, bytes of bodies). */
export interface Shares {
  /** Throws DomainError: 429 when the caller's key exceeds its share, 503 when nothing is left. */
  hold(caller: Pick<Caller, 'id' | 'roles'>, amount: number): Held
}

/** The amount that one caller holds. */
export interface Held {
  /** Adds to the part. Throws as `hold` does and then adds nothing. */
  add(amount: number): void
  /** Returns the whole part; a second call does nothing. */
  release(): void
}

/** `name`: the path in `details`. `limit`: for all callers together. `each`: for one API key. */
export interface ShareLimits {
  name: string
  limit: number
  each: number
}

const retryAfterS = 1

/**
 * Divides the resource among the keys that ask. A key may hold at most `each`, and never more than it leaves free: the more keys hold a
 * part, the smaller it is (a half of the rest for the next key), so that some keys together cannot take everything. A key that holds
 * more than that when others come gets nothing until it has released some.
 *
 * A key that may manage API keys is not limited to a share: it could revoke all other keys anyway.
 */
export function createShares({ name, limit, each }: ShareLimits): Shares {
  const heldBy = new Map<string, number>()
  let heldByAll = 0

  return {
    hold({ id, roles }, amount) {
      const isLimited = !roles.has('administer')
      let own = 0

      const held: Held = {
        add(amount) {
          const before = heldBy.get(id) ?? 0
          if (isLimited && before + amount > each) {
            throw refusal(
              'rate_limited',
              'Too Many Requests',
              name,
              `one API key may hold at most ${each} at once; try again when its other requests end`,
            )
          }
          if (heldByAll + amount > limit) {
            throw refusal(
              'unavailable',
              'Service Unavailable',
              name,
              `the service holds at most ${limit} at once for all callers; try again later`,
            )
          }
          if (isLimited && before + amount > limit - heldByAll) {
            throw refusal(
              'rate_limited',
              'Too Many Requests',
              name,
              'other API keys hold so much that this one may hold no more; try again when its other requests end',
            )
          }
          own += amount
          heldByAll += amount
          heldBy.set(id, before + amount)
        },
        release() {
          const left = (heldBy.get(id) ?? 0) - own
          if (left > 0) heldBy.set(id, left)
          else heldBy.delete(id)
          heldByAll -= own
          own = 0
        },
      }
      held.add(amount)
      return held
    },
  }
}

const refusal = (code: 'rate_limited' | 'unavailable', message: string, path: string, reason: string) =>
  new ApiError(code, message, [{ path, message: reason }], { 'Retry-After': String(retryAfterS) })

/** The characters per second that all event streams of one API key may read. */
const charactersASecond = 8_000_000
const maxCallers = 10_000

/**
 * Limits the pace at which past events are read: an API key may have many streams, and validating and encoding their events takes
 * CPU time that all callers share. Returns the milliseconds to wait before the caller's next event.
 */
export function createStreamPace(now: () => number): (caller: Pick<Caller, 'id'>, characters: number) => number {
  const freeAt = new Map<string, number>()

  return ({ id }, characters) => {
    const time = now()
    if (freeAt.size >= maxCallers) for (const [other, at] of freeAt) if (at <= time) freeAt.delete(other)
    const free = Math.max(freeAt.get(id) ?? 0, time) + (1_000 * characters) / charactersASecond
    freeAt.set(id, free)
    return free - time
  }
}
