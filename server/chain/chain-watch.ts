import { BoundedMap } from '../lib/cache.ts'
import type { Head } from './chain.ts'

/** The newest block, and the account's transaction count on chain. */
interface Poll {
  head: Head
  latest: number
}

interface Questions {
  head(): Promise<Head>
  latestNonce(address: string): Promise<number>
}

/** The last answer for an account. */
interface Known {
  /** The poll of the last result. */
  poll: Shared
  head_hash: string
  latest: number
  /** How often the count was read at this head. */
  asked: number
  /** The highest count so far, and the number of consecutive lower counts since. */
  highest: number
  lower: number
}

interface Shared {
  at: number
  head: Promise<Head>
}

/** Nodes behind one URL may differ: one has a block before another has its transactions. */
const asksPerHead = 2
/** A count that decreases is read again at every poll, so often that callers may believe it. */
const maxLower = 6
const maxRemembered = 10_000

/**
 * Reads the head once per poll, for any number of relayers. Reads the accounts' counts in one batch, only at a new head or when a
 * relayer polls again at once because something has happened. `now`: monotonic milliseconds.
 */
export class ChainWatch {
  readonly #chain: Questions
  readonly #now: () => number
  readonly #accounts = new BoundedMap<string, Known>(maxRemembered)
  #current: Shared | undefined
  #height: number | undefined

  constructor(chain: Questions, now: () => number) {
    this.#chain = chain
    this.#now = now
  }

  /** The height of the last answer; undefined: none yet. */
  height(): number | undefined {
    return this.#height
  }

  /**
   * Returns the result of the last poll if it is at most `maxAgeMs` old and new to the address. Otherwise polls again, which all
   * concurrent callers share. Throws RpcError or RpcUnavailable.
   */
  async poll(address: string, maxAgeMs: number): Promise<Poll> {
    const known = this.#accounts.get(address)
    const isFresh = this.#current !== undefined && this.#now() - this.#current.at < maxAgeMs
    const isHurried = isFresh && known?.poll === this.#current
    if (this.#current === undefined || !isFresh || isHurried) this.#current = this.#begin()
    const poll = this.#current
    const head = await poll.head
    this.#height = head.number
    const isKnown = known?.head_hash === head.hash && known.asked >= asksPerHead && known.latest >= known.highest
    if (known && isKnown && !isHurried) {
      known.poll = poll
      return { head, latest: known.latest }
    }
    // All waiters for one head continue in the same turn of the event loop, so their calls form one batch.
    const latest = await this.#chain.latestNonce(address)
    this.#accounts.set(address, next(known, poll, head, latest))
    return { head, latest }
  }

  #begin(): Shared {
    const started: Shared = { at: this.#now(), head: this.#chain.head() }
    started.head.catch(() => {
      if (this.#current === started) this.#current = undefined
    })
    return started
  }
}

function next(known: Known | undefined, poll: Shared, { hash }: Head, latest: number): Known {
  const asked = known?.head_hash === hash ? known.asked + 1 : 1
  const lower = known && latest < known.highest ? known.lower + 1 : 0
  const highest = lower > 0 && lower < maxLower ? (known as Known).highest : latest
  return { poll, head_hash: hash, latest, asked, highest, lower: lower < maxLower ? lower : 0 }
}
