import type { Caller } from '../../domain/operation.ts'
import { ApiError, phraseOf, retryAfter } from './errors.ts'

/** The amount that one caller holds. */
export interface Held {
  /** Adds to the part. Throws as `hold` does and then adds nothing. */
  add(amount: number): void
  /** Returns the whole part; a second call does nothing. */
  readonly release: () => void
}

/** `name`: the path in `details`. `limit`: for all callers together. `each`: for one API key. */
interface ShareLimits {
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
export class Shares {
  readonly #limits: ShareLimits
  readonly #heldBy = new Map<string, number>()
  #heldByAll = 0

  constructor(limits: ShareLimits) {
    this.#limits = limits
  }

  /** Throws DomainError: 429 when the caller's key exceeds its share, 503 when nothing is left. */
  hold({ id, roles }: Pick<Caller, 'id' | 'roles'>, amount: number): Held {
    const held = new HeldPart(this, { id, isLimited: !roles.has('administer') })
    held.add(amount)
    return held
  }

  /** Throws as `hold` does. */
  take(id: string, amount: number, isLimited: boolean): void {
    const { name, limit, each } = this.#limits
    const before = this.#heldBy.get(id) ?? 0
    if (isLimited && before + amount > each)
      throw refusal('rate_limited', name, `one API key may hold at most ${each} at once; ${later}`)
    if (this.#heldByAll + amount > limit) {
      const message = `the service holds at most ${limit} at once for all callers; try again later`
      throw refusal('unavailable', name, message)
    }
    if (isLimited && before + amount > limit - this.#heldByAll)
      throw refusal('rate_limited', name, `other API keys hold so much that this one may hold no more; ${later}`)
    this.#heldByAll += amount
    this.#heldBy.set(id, before + amount)
  }

  giveBack(id: string, amount: number): void {
    const left = (this.#heldBy.get(id) ?? 0) - amount
    if (left > 0) this.#heldBy.set(id, left)
    else this.#heldBy.delete(id)
    this.#heldByAll -= amount
  }
}

class HeldPart implements Held {
  readonly #shares: Shares
  readonly #holder: { id: string; isLimited: boolean }
  #amount = 0

  constructor(shares: Shares, holder: { id: string; isLimited: boolean }) {
    this.#shares = shares
    this.#holder = holder
  }

  add(amount: number): void {
    this.#shares.take(this.#holder.id, amount, this.#holder.isLimited)
    this.#amount += amount
  }

  /** Also as a callback. */
  readonly release = (): void => {
    this.#shares.giveBack(this.#holder.id, this.#amount)
    this.#amount = 0
  }
}

const later = 'try again when its other requests end'
const refusal = (code: 'rate_limited' | 'unavailable', path: string, reason: string) =>
  new ApiError(code, phraseOf(code), [{ path, message: reason }], retryAfter(retryAfterS))

/** The characters per second that all event streams of one API key may read. */
const charactersASecond = 8_000_000
const maxCallers = 10_000

/**
 * Limits the pace at which past events are read: an API key may have many streams, and validating and encoding their events takes
 * CPU time that all callers share.
 */
export class StreamPace {
  readonly #now: () => number
  readonly #freeAt = new Map<string, number>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Returns the milliseconds to wait before the caller's next event. */
  waitMs({ id }: Pick<Caller, 'id'>, characters: number): number {
    const time = this.#now()
    if (this.#freeAt.size >= maxCallers)
      for (const [other, at] of this.#freeAt) if (at <= time) this.#freeAt.delete(other)
    const free = Math.max(this.#freeAt.get(id) ?? 0, time) + (1_000 * characters) / charactersASecond
    this.#freeAt.set(id, free)
    return free - time
  }
}
