import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { DeliveryAttempt } from '../../generated/openapi.ts'
import { notificationNotFound } from '../domain/errors.ts'
import type { Observer } from '../domain/observer.ts'
import type { DueDelivery, Target } from '../domain/rows.ts'
import type { Store } from '../store/store.ts'
import type { AttemptRequest, AttemptResult } from './attempt.ts'
import { type Verdict, verdictOf } from './schedule.ts'
import { signatureHeaders } from './signature.ts'

const maxInFlight = 10
const maxAhead = 100
const maxSleepMs = 60_000
const graceMs = 2_000
/** From a delivery whose outcome cannot be stored until its next attempt. */
const notStoredMs = 5_000

interface DelivererContext {
  store: Store
  observer: Observer
  send(request: AttemptRequest): Promise<AttemptResult>
  /** Opens a sealed signing key of a notification. */
  open(sealed: Uint8Array, row: string): Uint8Array
  makeId(): string
  /** Milliseconds since the epoch. */
  now(): number
  /** The multiplier of the schedule: 1, less in tests. */
  scale: number
  /** Wakes the worker of the target. */
  wake(notificationRowId: number): void
  logger: Logger
}

/** Delivers the outbox: at most ten deliveries at once per target, and one at a time per transaction. */
export class Deliverer {
  readonly #context: DelivererContext
  readonly #underWay = new Map<number, Map<number, Promise<void>>>()
  #stopping = false

  constructor(context: DelivererContext) {
    this.#context = context
  }

  /** Starts the due deliveries of a target, and returns the milliseconds until the next call; undefined when nothing is left. */
  async work(rowId: number): Promise<number | undefined> {
    const { store, now } = this.#context
    const target = await store.getTarget(rowId)
    if (!target || target.disabled_reason !== null || this.#stopping) return undefined
    const own = this.#underWay.get(rowId) ?? new Map<number, Promise<void>>()
    this.#underWay.set(rowId, own)
    if (own.size < maxInFlight) {
      const due = await store.dueDeliveries(rowId, now(), maxAhead)
      for (const delivery of due.filter((one) => !own.has(one.row_id)).slice(0, maxInFlight - own.size)) {
        const delivering = this.#deliver(target, delivery).finally(() => {
          own.delete(delivery.row_id)
          this.#context.wake(rowId)
        })
        own.set(delivery.row_id, delivering)
      }
    }
    const next = await store.nextDueAt(rowId)
    if (next === undefined && own.size === 0) {
      this.#underWay.delete(rowId)
      return undefined
    }
    // A finished delivery wakes this worker, so deliveries that are already due need no timer.
    const waitMs = (next ?? Number.POSITIVE_INFINITY) - now()
    return waitMs > 0 ? Math.min(waitMs, maxSleepMs) : maxSleepMs
  }

  /** Waits for a target's deliveries in flight for a short grace period, because another server delivers to it from now on. */
  async leave(rowId: number): Promise<void> {
    const left = [...(this.#underWay.get(rowId)?.values() ?? [])]
    const grace = new Promise((resolve) => setTimeout(resolve, graceMs).unref())
    await Promise.race([Promise.all(left), grace])
  }

  /** Sends a test event once, immediately. */
  async test(rowId: number): Promise<DeliveryAttempt> {
    const target = await this.#context.store.getTarget(rowId)
    if (!target) throw notificationNotFound()
    const id = this.#context.makeId()
    const payload = { payload_type: 'test', notification_id: target.id }
    const body = JSON.stringify({
      id,
      event: 'test',
      payload,
      timestamp: new Date(this.#context.now()).toISOString(),
      sequence: 0,
    })
    return (await this.#perform(target, id, body, 1)).attempt
  }

  /** Starts no more deliveries, and waits for those in flight for a short grace period. The next start repeats the others. */
  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all([...this.#underWay.keys()].map((rowId) => this.leave(rowId)))
  }

  async #deliver(target: Target, delivery: DueDelivery): Promise<void> {
    const { store, now, scale } = this.#context
    try {
      const body = await store.bodyOf(delivery.row_id)
      if (body === undefined) return
      const { attempt, result } = await this.#perform(target, delivery.event_id, body, delivery.attempts + 1)
      const { failing_since, url, signing_key } = (await store.getTarget(target.row_id)) ?? target
      const since = failing_since === null ? undefined : Date.parse(failing_since)
      const circumstances = { failing_since: since, now: now(), random: Math.random(), scale }
      const verdict = verdictOf(result, { failures: delivery.failures, ...circumstances })
      // The URL or the key was changed during the attempt, which enables it: the new ones are tried at once.
      const isChanged = url !== target.url || !isDeepStrictEqual(signing_key, target.signing_key)
      const isOld = verdict.disable !== undefined && isChanged
      const outcome: Verdict = isOld ? { status: 'pending', failures: 0, next_at: now() } : verdict
      await store.recordDelivery({
        delivery_row_id: delivery.row_id,
        notification_row_id: target.row_id,
        attempt,
        failures_before: delivery.failures,
        ...outcome,
      })
      this.#context.observer.delivered?.(outcome.status, attempt.duration_ms)
    } catch (error) {
      this.#context.logger.error({ err: error, delivery: delivery.row_id }, 'delivery outcome not stored')
      // It is still due. While the database cannot be written, the target does not get it again and again.
      await new Promise((resolve) => setTimeout(resolve, notStoredMs * scale).unref())
    }
  }

  async #perform(target: Target, id: string, body: string, number: number) {
    const started = this.#context.now()
    const timestamp = Math.floor(started / 1_000)
    const keys = { key: this.#keyOf(target, target.signing_key), former: this.#formerKeyOf(target) }
    const headers = {
      'Content-Type': 'application/json',
      'User-Agent': 'evm-relayer-service',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      ...signatureHeaders({ ...keys, id, timestamp, body }),
    }
    const post = () => this.#context.send({ url: target.url, headers, body })
    const work = { host: URL.parse(target.url)?.host ?? '', event_id: id, number }
    const result = await (this.#context.observer.attempt ? this.#context.observer.attempt(work, post) : post())
    const { status, error, answer } = result
    const durationMs = Math.max(0, Math.round(this.#context.now() - started))
    const attempt: DeliveryAttempt = {
      number,
      attempted_at: new Date(started).toISOString(),
      duration_ms: durationMs,
      http_status: status,
      error_message: error,
      response_body: answer,
    }
    return { attempt, result }
  }

  #keyOf({ id }: Target, sealed: Uint8Array | null): string | undefined {
    return sealed === null ? undefined : Buffer.from(this.#context.open(sealed, `notifications:${id}`)).toString('utf8')
  }

  #formerKeyOf(target: Target): string | undefined {
    return target.former_until !== null && target.former_until > this.#context.now()
      ? this.#keyOf(target, target.former_key)
      : undefined
  }
}
