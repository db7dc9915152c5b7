import { ApiError } from '../errors.ts'
import type { Caller } from '../operation.ts'

/** Something that all callers hold together (event streams, bytes of bodies), and of which each process has a limited number. */
export interface Shares {
  /** Throws ApiError: 429 when the caller's key holds its share already, 503 when all of them are held. */
  hold(caller: Pick<Caller, 'id' | 'roles'>, amount: number): Held
}

/** One caller's part of it. */
export interface Held {
  /** Adds to the part. Throws as `hold` does, and then adds nothing. */
  add(amount: number): void
  /** Gives the whole part back; a second call does nothing. */
  release(): void
}

/** Of what the path in `details` names. `limit`: for all callers together. `each`: for one API key. */
export interface ShareLimits {
  name: string
  limit: number
  each: number
}

const retry_after_s = 1

/** A key that may manage API keys has no share of its own: it could revoke all others anyway. */
export function createShares({ name, limit, each }: ShareLimits): Shares {
  const heldBy = new Map<string, number>()
  let heldByAll = 0

  return {
    hold({ id, roles }, amount) {
      const most = roles.has('administer') ? limit : each
      let own = 0

      const held: Held = {
        add(amount) {
          const before = heldBy.get(id) ?? 0
          if (before + amount > most && most < limit) {
            throw refusal(
              'rate_limited',
              'Too Many Requests',
              name,
              `one API key holds at most ${each} at once; try again when others end`,
            )
          }
          if (heldByAll + amount > limit) {
            throw refusal(
              'unavailable',
              'Service Unavailable',
              name,
              `the service holds at most ${limit} at once; try again later`,
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
  new ApiError(code, message, [{ path, message: reason }], { 'Retry-After': String(retry_after_s) })
