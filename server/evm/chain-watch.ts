import type { Head } from './chain.ts'

/** The newest block, and how many transactions of the account are in the chain. */
export interface Look {
  head: Head
  latest: number
}

/** One look at the chain for all relayers of a network. */
export interface ChainWatch {
  /**
   * Answers from the present look while that is not older than `max_age_ms`; else, and when the address has seen it already,
   * with a new one, which all share that ask meanwhile. Throws RpcError or RpcUnavailable.
   */
  look(address: string, max_age_ms: number): Promise<Look>
}

interface Questions {
  head(): Promise<Head>
  latestNonce(address: string): Promise<number>
}

/** Of an account, as it was told last. */
interface Known {
  /** The look that was answered last. */
  look: Shared
  head_hash: string
  latest: number
  /** How often the count was asked for at this head. */
  asked: number
  /** The highest count so far, and how often in a row a lower one was told since. */
  highest: number
  lower: number
}

interface Shared {
  at: number
  head: Promise<Head>
}

/** Nodes behind one URL may differ: one knows a block, and another does not have its transactions yet. */
const asks_per_head = 2
/** A count that goes back is asked for at every look, until those who look may take it for the truth. */
const max_lower = 6
const max_remembered = 10_000

/**
 * The head is asked for once per look, whatever number of relayers wait. The counts of accounts follow in one batch, and only at a
 * new head, or when the same relayer looks twice at once because something has happened. `now`: milliseconds, never going back.
 */
export function createChainWatch(chain: Questions, now: () => number): ChainWatch {
  const accounts = new Map<string, Known>()
  let current: Shared | undefined

  function begin(): Shared {
    const started: Shared = { at: now(), head: chain.head() }
    started.head.catch(() => {
      if (current === started) current = undefined
    })
    return started
  }

  return {
    async look(address, max_age_ms) {
      const known = accounts.get(address)
      const isFresh = current !== undefined && now() - current.at < max_age_ms
      const isHurried = isFresh && known?.look === current
      if (current === undefined || !isFresh || isHurried) current = begin()
      const look = current
      const head = await look.head
      const isKnown = known?.head_hash === head.hash && known.asked >= asks_per_head && known.latest >= known.highest
      if (known && isKnown && !isHurried) {
        known.look = look
        return { head, latest: known.latest }
      }
      // All that wait for the same head ask in the same turn of the event loop, and so in the same batch.
      const latest = await chain.latestNonce(address)
      if (accounts.size >= max_remembered && !known) accounts.clear()
      accounts.set(address, next(known, look, head, latest))
      return { head, latest }
    },
  }
}

function next(known: Known | undefined, look: Shared, { hash }: Head, latest: number): Known {
  const asked = known?.head_hash === hash ? known.asked + 1 : 1
  const lower = known && latest < known.highest ? known.lower + 1 : 0
  const highest = lower > 0 && lower < max_lower ? (known as Known).highest : latest
  return { look, head_hash: hash, latest, asked, highest, lower: lower < max_lower ? lower : 0 }
}
