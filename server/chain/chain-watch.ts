import { BoundedMap } from '../lib/bounded-map.ts'
import type { Head } from './chain.ts'

/** The newest block, and the account's transaction count on chain. */
export interface Poll {
  head: Head
  latest: number
}

/** Reads the chain once for all relayers of a network. */
export interface ChainWatch {
  /**
   * Returns the result of the last poll if it is at most `max_age_ms` old and new to the address. Otherwise polls again, which all
   * concurrent callers share. Throws RpcError or RpcUnavailable.
   */
  poll(address: string, maxAgeMs: number): Promise<Poll>
  /** The height of the last answer; undefined: none yet. */
  height(): number | undefined
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
export function createChainWatch(chain: Questions, now: () => number): ChainWatch {
  const accounts = new BoundedMap<string, Known>(maxRemembered)
  let current: Shared | undefined
  let height: number | undefined

  function begin(): Shared {
    const started: Shared = { at: now(), head: chain.head() }
    started.head.catch(() => {
      if (current === started) current = undefined
    })
    return started
  }

  return {
    height: () => height,
    async poll(address, maxAgeMs) {
      const known = accounts.get(address)
      const isFresh = current !== undefined && now() - current.at < maxAgeMs
      const isHurried = isFresh && known?.poll === current
      if (current === undefined || !isFresh || isHurried) current = begin()
      const poll = current
      const head = await poll.head
      height = head.number
      const isKnown = known?.head_hash === head.hash && known.asked >= asksPerHead && known.latest >= known.highest
      if (known && isKnown && !isHurried) {
        known.poll = poll
        return { head, latest: known.latest }
      }
      // All waiters for one head continue in the same turn of the event loop, so their calls form one batch.
      const latest = await chain.latestNonce(address)
      accounts.set(address, next(known, poll, head, latest))
      return { head, latest }
    },
  }
}

function next(known: Known | undefined, poll: Shared, { hash }: Head, latest: number): Known {
  const asked = known?.head_hash === hash ? known.asked + 1 : 1
  const lower = known && latest < known.highest ? known.lower + 1 : 0
  const highest = lower > 0 && lower < maxLower ? (known as Known).highest : latest
  return { poll, head_hash: hash, latest, asked, highest, lower: lower < maxLower ? lower : 0 }
}
