import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Prunable } from '../store/queries/retention.ts'
import type { Store } from '../store/store.ts'
import type { WorkShare } from '../store/worker.ts'

/** Rows with an age, in the order of their removal, and the entries of the audit trail. */
type Kind = Prunable | 'audit'
// Deliveries go first, because an event is kept while a delivery refers to it.
const prunable: readonly Prunable[] = ['deliveries', 'events', 'idempotency', 'transactions']

interface RetentionDependencies {
  store: Pick<Store, 'prune' | 'pruneActivity' | 'pruneAudit'>
  /** Milliseconds since the Unix epoch; undefined while the clock may be ahead: then nothing is removed. */
  readClock(): Promise<number | undefined>
  /** How many days rows of each kind are kept; 0: forever. */
  days: Record<Kind, number>
  /** This process sweeps while it has row 0 of this work. */
  share: Pick<WorkShare, 'claim' | 'under'>
  logger: Logger
}

const dayMs = 86_400_000
const sweepMs = 3_600_000
/** The pause between two steps (a few milliseconds each), in which other database transactions run. */
const restMs = 20
/** All of this work is one row's. */
const row = 0

/** Sweeps at once and every hour. */
export class Retention {
  readonly #context: RetentionDependencies
  readonly #stopping = new AbortController()
  #sweeping: Promise<unknown> = Promise.resolve()
  readonly #timer = setInterval(() => this.#begin(), sweepMs)

  constructor(context: RetentionDependencies) {
    this.#context = context
    this.#begin()
  }

  /** Removes expired rows in small steps, and sums up the activity of former days. Resolves to the number of removed rows by kind. */
  async sweep(): Promise<Record<Kind, number>> {
    const removed = { deliveries: 0, events: 0, idempotency: 0, transactions: 0, audit: 0 }
    if (await this.#context.share.claim(row)) await this.#context.share.under(row, () => this.#sweepInto(removed))
    return removed
  }

  /** Starts no more steps, and waits for the step in progress. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopping.abort()
    await this.#sweeping
  }

  #rest() {
    return pause(restMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
  }

  async #sweepInto(removed: Record<Kind, number>): Promise<void> {
    const time = await this.#context.readClock()
    if (time === undefined) return
    const nowS = Math.floor(time / 1_000)
    while (
      !this.#stopping.signal.aborted &&
      (await this.#context.share.claim(row)) &&
      (await this.#context.store.pruneActivity(nowS)).more
    )
      await this.#rest()
    for (const kind of prunable) {
      if (this.#context.days[kind] === 0) continue
      const before = new Date(time - this.#context.days[kind] * dayMs).toISOString()
      let after: number | undefined = 0
      while (after !== undefined && !this.#stopping.signal.aborted && (await this.#context.share.claim(row))) {
        const pruned = await this.#context.store.prune(kind, before, after)
        removed[kind] += pruned.removed
        after = pruned.next
        if (after !== undefined) await this.#rest()
      }
    }
    let hasMore = this.#context.days.audit > 0
    while (hasMore && !this.#stopping.signal.aborted && (await this.#context.share.claim(row))) {
      const pruned = await this.#context.store.pruneAudit(time - this.#context.days.audit * dayMs)
      removed.audit += pruned.removed
      hasMore = pruned.more
      if (hasMore) await this.#rest()
    }
    const isNothing = Object.values(removed).every((count) => count === 0)
    this.#context.logger[isNothing ? 'debug' : 'info'](removed, 'expired rows removed')
  }

  #begin() {
    this.#sweeping = this.#sweeping
      .then(() => this.sweep())
      .catch((error) => this.#context.logger.error({ err: error }, 'retention sweep failed'))
  }
}
