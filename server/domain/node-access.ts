import { errorOf } from './errors.ts'

/** The calls of nodes that one request may make, and those for each further call of a batch. */
const maxCalls = 500
const maxCallsMore = 10
/** So many calls are counted with the request itself. */
const freeCalls = 8

/**
 * The access of one request to nodes, under the share of its caller: a client for a request is to be had with it only (`clientFor`). It
 * bounds the calls that the request makes, and counts them in the caller's rate limit.
 */
export class NodeAccess {
  /** Requests with the same key share turns. */
  readonly key: string
  readonly #count: () => void
  #made = 0
  #free = freeCalls
  #most: number

  /** `count`: called for each call of a node that counts as a request. */
  constructor(key: string, count: () => void, most = maxCalls) {
    this.key = key
    this.#count = count
    this.#most = most
  }

  /** The request is counted as so many more. */
  extend(requests: number): void {
    this.#free += requests * freeCalls
    this.#most += requests * maxCallsMore
  }

  /** The request names so many URLs of nodes, each of which the service opens connections to: each counts as a request. */
  name(urls: number): void {
    for (let count = 0; count < urls; count += 1) this.#count()
  }

  /** Before each call of a node. Throws DomainError (429). */
  take(): void {
    if (this.#made >= this.#most) throw tooMany(`one request may make at most ${this.#most} calls of nodes`)
    this.#made += 1
    if (this.#made > this.#free) this.#count()
  }
}

/** The access of background work, which has turns of its own. */
export const serviceAccess = (): NodeAccess => new NodeAccess('service', () => undefined, Number.POSITIVE_INFINITY)

export interface TurnLimits {
  /** Of all keys together, and of one key. */
  limit: number
  each: number
  /** Of one key. */
  max_waiting?: number
}

/**
 * Turns for work that keys share. Each key has a queue of its own, and the keys take turns. A key never holds more than it leaves free, so
 * that some keys together leave a part for the next one.
 */
export class FairTurns {
  readonly #limits: Required<TurnLimits>
  readonly #held = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()
  #all = 0

  constructor(limits: TurnLimits) {
    this.#limits = { max_waiting: Number.POSITIVE_INFINITY, ...limits }
  }

  /** Throws DomainError (429) when too much work of the key waits. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    await this.#turn(key)
    try {
      return await work()
    } finally {
      this.#return(key)
    }
  }

  #turn(key: string): Promise<void> | undefined {
    const queue = this.#waiting.get(key) ?? []
    if (queue.length === 0 && this.#mayHold(key)) {
      this.#hold(key, 1)
      return undefined
    }
    const { max_waiting } = this.#limits
    if (queue.length >= max_waiting) throw tooMany(`${max_waiting} calls of this API key wait already`)
    this.#waiting.set(key, queue)
    return new Promise((resolve) => void queue.push(resolve))
  }

  #return(key: string): void {
    this.#hold(key, -1)
    for (const [next, queue] of this.#waiting) {
      if (this.#all >= this.#limits.limit) return
      if (!this.#mayHold(next)) continue
      this.#hold(next, 1)
      queue.shift()?.()
      // It comes last when the next turn is given.
      this.#waiting.delete(next)
      if (queue.length > 0) this.#waiting.set(next, queue)
    }
  }

  #hold(key: string, change: number): void {
    const own = (this.#held.get(key) ?? 0) + change
    this.#all += change
    if (own > 0) this.#held.set(key, own)
    else this.#held.delete(key)
  }

  #mayHold(key: string): boolean {
    const own = this.#held.get(key) ?? 0
    const { limit, each } = this.#limits
    return own < each && own < limit - this.#all
  }
}

const tooMany = (message: string) => errorOf('rate_limited', 'node_calls', message, { retry_after_s: 1 })
