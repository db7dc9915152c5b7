import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Prunable, Store } from '../store/store.ts'

export interface RetentionDependencies {
  store: Pick<Store, 'prune'>
  /** The time, in milliseconds of the epoch; undefined while the clock may be ahead of it: then nothing is removed. */
  readClock(): number | undefined
  /** How many days each is kept; 0: for ever. */
  days: Record<Prunable, number>
  /** Whether this process is the one that does it. */
  claim(): boolean
  logger: Logger
}

export interface Retention {
  /** Removes whatever is too old now, in small steps; how many of each. */
  sweep(): Promise<Record<Prunable, number>>
  /** Begins nothing more, and waits for the step under way. */
  stop(): Promise<void>
}

const day_ms = 86_400_000
const sweep_ms = 3_600_000
/** Between two steps of some milliseconds each, for those who wait for the disk. */
const rest_ms = 20

/** Sweeps when it is made, and every hour from then on. */
export function createRetention({ store, days, claim, readClock, logger }: RetentionDependencies): Retention {
  const stopping = new AbortController()

  async function sweep(): Promise<Record<Prunable, number>> {
    const removed: Record<Prunable, number> = { deliveries: 0, events: 0, idempotency: 0, transactions: 0 }
    const time = claim() ? readClock() : undefined
    if (time === undefined) return removed
    // Deliveries before the events that they hold.
    for (const kind of Object.keys(removed) as Prunable[]) {
      if (days[kind] === 0) continue
      const before = new Date(time - days[kind] * day_ms).toISOString()
      let after: number | undefined = 0
      while (after !== undefined && !stopping.signal.aborted && claim()) {
        const pruned = await store.prune(kind, before, after)
        removed[kind] += pruned.removed
        after = pruned.next
        if (after !== undefined) await pause(rest_ms, undefined, { signal: stopping.signal }).catch(() => undefined)
      }
    }
    const isNothing = Object.values(removed).every((count) => count === 0)
    logger[isNothing ? 'debug' : 'info'](removed, 'what was too old is removed')
    return removed
  }

  let sweeping: Promise<unknown> = Promise.resolve()
  const begin = () => {
    sweeping = sweeping.then(sweep).catch((error) => logger.error({ err: error }, 'removing what is too old failed'))
  }
  const timer = setInterval(begin, sweep_ms)
  begin()

  return {
    sweep,
    async stop() {
      clearInterval(timer)
      stopping.abort()
      await sweeping
    },
  }
}
