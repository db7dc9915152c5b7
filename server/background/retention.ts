import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Prunable, Store } from '../store/store.ts'

export interface RetentionDependencies {
  store: Pick<Store, 'prune'>
  /** Milliseconds since the Unix epoch; undefined while the clock may be ahead: then nothing is removed. */
  readClock(): Promise<number | undefined>
  /** How many days rows of each kind are kept; 0: forever. */
  days: Record<Prunable, number>
  /** Whether this process holds the lease of this work. */
  claim(): Promise<boolean>
  logger: Logger
}

export interface Retention {
  /** Removes expired rows in small steps. Resolves to the number of removed rows by kind. */
  sweep(): Promise<Record<Prunable, number>>
  /** Starts no more steps, and waits for the step in progress. */
  stop(): Promise<void>
}

const day_ms = 86_400_000
const sweep_ms = 3_600_000
/** The pause between two steps (a few milliseconds each), in which other database transactions run. */
const rest_ms = 20

/** Sweeps at once and every hour. */
export function createRetention({ store, days, claim, readClock, logger }: RetentionDependencies): Retention {
  const stopping = new AbortController()

  async function sweep(): Promise<Record<Prunable, number>> {
    const removed: Record<Prunable, number> = { deliveries: 0, events: 0, idempotency: 0, transactions: 0 }
    const time = (await claim()) ? await readClock() : undefined
    if (time === undefined) return removed
    // Deliveries go first, because an event is kept while a delivery refers to it.
    for (const kind of Object.keys(removed) as Prunable[]) {
      if (days[kind] === 0) continue
      const before = new Date(time - days[kind] * day_ms).toISOString()
      let after: number | undefined = 0
      while (after !== undefined && !stopping.signal.aborted && (await claim())) {
        const pruned = await store.prune(kind, before, after)
        removed[kind] += pruned.removed
        after = pruned.next
        if (after !== undefined) await pause(rest_ms, undefined, { signal: stopping.signal }).catch(() => undefined)
      }
    }
    const isNothing = Object.values(removed).every((count) => count === 0)
    logger[isNothing ? 'debug' : 'info'](removed, 'expired rows removed')
    return removed
  }

  let sweeping: Promise<unknown> = Promise.resolve()
  const begin = () => {
    sweeping = sweeping.then(sweep).catch((error) => logger.error({ err: error }, 'removing expired rows failed'))
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
