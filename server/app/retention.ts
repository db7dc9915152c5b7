import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Prunable } from '../store/queries/retention.ts'
import type { Store } from '../store/store.ts'
import type { WorkShare } from '../store/worker.ts'

/** Rows with an age, in the order of their removal, and the entries of the audit trail. */
type Kind = Prunable | 'audit'
// Deliveries go first, because an event is kept while a delivery refers to it.
const prunable: readonly Prunable[] = ['deliveries', 'events', 'idempotency', 'transactions']

export interface RetentionDependencies {
  store: Pick<Store, 'prune' | 'pruneActivity' | 'pruneAudit'>
  /** Milliseconds since the Unix epoch; undefined while the clock may be ahead: then nothing is removed. */
  readClock(): Promise<number | undefined>
  /** How many days rows of each kind are kept; 0: forever. */
  days: Record<Kind, number>
  /** This process sweeps while it has row 0 of this work. */
  share: Pick<WorkShare, 'claim' | 'under'>
  logger: Logger
}

export interface Retention {
  /** Removes expired rows in small steps, and sums up the activity of former days. Resolves to the number of removed rows by kind. */
  sweep(): Promise<Record<Kind, number>>
  /** Starts no more steps, and waits for the step in progress. */
  stop(): Promise<void>
}

const dayMs = 86_400_000
const sweepMs = 3_600_000
/** The pause between two steps (a few milliseconds each), in which other database transactions run. */
const restMs = 20
/** All of this work is one row's. */
const row = 0

/** Sweeps at once and every hour. */
export function createRetention({ store, days, share, readClock, logger }: RetentionDependencies): Retention {
  const stopping = new AbortController()

  const rest = () => pause(restMs, undefined, { signal: stopping.signal }).catch(() => undefined)

  async function sweep(): Promise<Record<Kind, number>> {
    const removed = { deliveries: 0, events: 0, idempotency: 0, transactions: 0, audit: 0 }
    if (await share.claim(row)) await share.under(row, () => sweepInto(removed))
    return removed
  }

  async function sweepInto(removed: Record<Kind, number>): Promise<void> {
    const time = await readClock()
    if (time === undefined) return
    const nowS = Math.floor(time / 1_000)
    while (!stopping.signal.aborted && (await share.claim(row)) && (await store.pruneActivity(nowS)).more) await rest()
    for (const kind of prunable) {
      if (days[kind] === 0) continue
      const before = new Date(time - days[kind] * dayMs).toISOString()
      let after: number | undefined = 0
      while (after !== undefined && !stopping.signal.aborted && (await share.claim(row))) {
        const pruned = await store.prune(kind, before, after)
        removed[kind] += pruned.removed
        after = pruned.next
        if (after !== undefined) await rest()
      }
    }
    let hasMore = days.audit > 0
    while (hasMore && !stopping.signal.aborted && (await share.claim(row))) {
      const pruned = await store.pruneAudit(time - days.audit * dayMs)
      removed.audit += pruned.removed
      hasMore = pruned.more
      if (hasMore) await rest()
    }
    const isNothing = Object.values(removed).every((count) => count === 0)
    logger[isNothing ? 'debug' : 'info'](removed, 'expired rows removed')
  }

  let sweeping: Promise<unknown> = Promise.resolve()
  const begin = () => {
    sweeping = sweeping.then(sweep).catch((error) => logger.error({ err: error }, 'retention sweep failed'))
  }
  const timer = setInterval(begin, sweepMs)
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
