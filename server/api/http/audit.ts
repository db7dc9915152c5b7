import type { Logger } from 'pino'
import { errorOf } from '../../domain/errors.ts'
import type { Observer } from '../../domain/observer.ts'
import { failureIn, isRuleChange } from '../../domain/refusals.ts'
import type { AuditEntry, PendingAuditEntry } from '../../domain/rows.ts'
import { looksLikeToken } from '../../lib/ids.ts'
import { firstRefusal } from '../../store/queries/audit.ts'
import type { Store } from '../../store/store.ts'
import type { Operation } from './contract.ts'
import { statusOf } from './errors.ts'
import type { RequestContext } from './request-context.ts'

interface Recorder {
  /**
   * Creates the entry before the operation runs. Throws DomainError (503) for a recorded operation while the trail cannot be written.
   */
  begin(context: RequestContext, path: Record<string, string>): PendingAuditEntry
  /** Completes the entry. A change of the store has recorded it in its own commit; any other entry goes into the next batch. */
  end(auditEntry: PendingAuditEntry, httpStatus: number, error?: unknown): void
}

/**
 * A signature's entry is written this long after its response, or before the next work after that. A kill -9 in between loses it.
 */
const flushMs = 50
const maxWaiting = 10_000
const retryMs = 1_000
const headMs = 60_000

interface AuditContext {
  store: Pick<Store, 'appendAudit' | 'auditHead'>
  /** Milliseconds since the epoch. */
  now(): number
  /** Monotonic milliseconds. */
  elapsed(): number
  logger: Logger
  observer?: Pick<Observer, 'auditWritable'>
}

/**
 * The audit trail: every operation that changes something or signs, as the contract declares it (`x-audit`). Entries of signatures are
 * batched, because a commit for each would cost more than the signature. Equal refusals, and requests that change nothing again, are
 * counted: a key that stands in web pages cannot fill the trail.
 */
export class Audit {
  readonly #context: AuditContext
  readonly #waiting: AuditEntry[] = []
  /** When the oldest of them was added, by `elapsed`. */
  #waitingSince = 0
  #timer: NodeJS.Timeout | undefined
  #isBroken = false
  #told: number
  /** The entries that are being written. After a failure, which may have written them, the store gets the same array again. */
  #batch: AuditEntry[] = []
  /** One batch at a time, so that the entries stay in their order. */
  #writing: Promise<void> | undefined
  readonly #repeats: CountedEntries
  readonly #heads = setInterval(() => this.#tellHead(), headMs).unref()

  private constructor(context: AuditContext, told: number) {
    this.#context = context
    this.#told = told
    this.#repeats = new CountedEntries((entry) => this.#add(entry), context.elapsed)
  }

  static async open(context: AuditContext): Promise<Audit> {
    return new Audit(context, (await context.store.auditHead()).up_to)
  }

  /** Returns the recorder of an operation. */
  of(operation: Operation): Recorder {
    const { audited } = operation
    const isRecorded = audited !== 'none'
    const subject = subjectOf(operation)
    return {
      begin: ({ caller, request_id }, path) => {
        if (isRecorded && (this.#isBroken || this.#waiting.length >= maxWaiting)) throw unwritable()
        return {
          at: this.#context.now(),
          caller: caller?.id ?? '',
          operation: operation.id,
          relayer_id: idIn(path.relayer_id),
          subject: idIn(subject === undefined ? undefined : path[subject]),
          http_status: operation.status,
          request_id,
          recorded: false,
          pool_id: path.pool_id,
          sponsorship_id: path.sponsorship_id,
        }
      },
      end: (auditEntry, httpStatus, error) => {
        if (!isRecorded) return
        if (auditEntry.recorded) return this.#flushFor(auditEntry)
        // What was noted of a change that was refused was not changed.
        if (error !== undefined) Object.assign(auditEntry, failureIn(error, auditEntry), { changes: undefined })
        auditEntry.http_status = httpStatus
        auditEntry.recorded = true
        // What does not exist is no id: it may be a secret that was pasted into the path.
        if (httpStatus === statusOf.not_found) Object.assign(auditEntry, { relayer_id: null, subject: null })
        if (audited === 'signature' && httpStatus < firstRefusal) this.#add(auditEntry)
        else this.#repeats.count(auditEntry)
      },
    }
  }

  /**
   * Writes the entries when the oldest one is overdue. Called before each request, each operation and each background task, because
   * a busy event loop delays timers. After a failure only the timer retries.
   */
  flushOverdue(): void {
    this.#repeats.flushOverdue()
    if (this.#waiting.length > 0 && !this.#isBroken && this.#context.elapsed() - this.#waitingSince >= flushMs)
      void this.#flush()
  }

  /** What was refused before a rule was changed is counted before its change. */
  #flushFor({ operation }: AuditEntry): void {
    if (isRuleChange(operation)) this.#repeats.flush()
  }

  /** Writes the remaining entries. */
  async stop(): Promise<void> {
    clearInterval(this.#heads)
    this.#repeats.stop()
    await this.#writing
    await this.#flush()
    clearTimeout(this.#timer)
    // Nothing else will write them.
    if (this.#waiting.length > 0) this.#context.logger.error({ entries: this.#waiting }, 'audit entries not written')
    await this.#tellHead()
  }

  #flush(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#batch.length === 0) this.#batch = this.#waiting.slice()
    if (this.#batch.length === 0) return
    try {
      await this.#context.store.appendAudit(this.#batch)
      this.#waiting.splice(0, this.#batch.length)
      this.#batch = []
      if (this.#isBroken) this.#context.observer?.auditWritable?.(true)
      this.#isBroken = false
      // Entries that came during the write.
      if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#flush(), flushMs)
    } catch (error) {
      if (!this.#isBroken) this.#context.observer?.auditWritable?.(false)
      this.#isBroken = true
      this.#context.logger.error({ err: error }, 'audit trail not writable')
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => this.#flush(), retryMs)
    }
  }

  #add(entry: AuditEntry): void {
    if (this.#waiting.length === 0) this.#waitingSince = this.#context.elapsed()
    this.#waiting.push(entry)
    this.#timer ??= setTimeout(() => this.#flush(), flushMs)
  }

  /** The heads in the log let an auditor detect later that the end of the trail is missing. */
  async #tellHead() {
    try {
      const { chain, up_to, hash } = await this.#context.store.auditHead()
      if (up_to === this.#told) return
      this.#told = up_to
      this.#context.logger.info({ chain, up_to, hash: Buffer.from(hash).toString('hex') }, 'audit head')
    } catch (error) {
      this.#context.logger.error({ err: error }, 'audit trail not readable')
    }
  }
}

const idIn = (value: string | undefined): string | null => (value === undefined || looksLikeToken(value) ? null : value)

/** The last path parameter other than the relayer. */
const subjectOf = ({ path }: Operation): string | undefined =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).findLast((name) => name !== 'relayer_id')

const unwritable = () =>
  errorOf('unavailable', 'audit', 'the audit trail cannot be written; try again later', { retry_after_s: 1 })

/** Equal entries of this time are one, beside the first. */
const countMs = 60_000
const lookMs = 10_000
/** Callers, operations and results that are counted at once. */
const maxCounted = 10_000

interface Counted {
  /** By `elapsed`. */
  until: number
  /** The entries since the first, as one; undefined: there was none. */
  later: AuditEntry | undefined
}

/**
 * Counts equal entries: those of a caller, an operation, a status and a rule that refuses. The first is added at once, and those of the
 * next minute as one entry with their number. It has the ids that all of them had, and the time and the request of the last. A kill -9
 * loses that number.
 */
class CountedEntries {
  readonly #add: (entry: AuditEntry) => void
  readonly #elapsed: () => number
  readonly #counted = new Map<string, Counted>()
  #nextLook = 0
  readonly #timer = setInterval(() => this.#flush(false), lookMs).unref()

  constructor(add: (entry: AuditEntry) => void, elapsed: () => number) {
    this.#add = add
    this.#elapsed = elapsed
  }

  count(entry: AuditEntry): void {
    const { resource, id, rule } = entry.refused_by ?? {}
    const key = JSON.stringify([
      entry.caller,
      entry.operation,
      entry.http_status,
      entry.failure?.code,
      resource,
      id,
      rule,
    ])
    const known = this.#counted.get(key)
    if (known) {
      known.later = known.later ? together(known.later, entry) : { ...entry, count: 1 }
      return
    }
    if (this.#counted.size >= maxCounted) this.#flush(true)
    this.#counted.set(key, { until: this.#elapsed() + countMs, later: undefined })
    this.#add(entry)
  }

  /** Adds all counts now; who goes on is counted again. */
  flush(): void {
    for (const its of this.#counted.values()) {
      if (its.later) this.#add(its.later)
      its.later = undefined
    }
  }

  /** Called before each request. */
  flushOverdue(): void {
    if (this.#counted.size > 0 && this.#elapsed() >= this.#nextLook) this.#flush(false)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#flush(true)
  }

  /** Adds the counts whose time has ended. `isLast`: of all. */
  #flush(isLast: boolean): void {
    this.#nextLook = this.#elapsed() + lookMs
    for (const [key, its] of this.#counted) {
      if (!isLast && this.#elapsed() < its.until) continue
      if (its.later) this.#add(its.later)
      // Who goes on gets no entry of its own again.
      if (its.later && !isLast) this.#counted.set(key, { until: this.#elapsed() + countMs, later: undefined })
      else this.#counted.delete(key)
    }
  }
}

function together(known: AuditEntry, { at, relayer_id, subject, request_id, failure }: AuditEntry): AuditEntry {
  return {
    ...known,
    ...(failure && { failure }),
    at,
    request_id,
    relayer_id: known.relayer_id === relayer_id ? relayer_id : null,
    subject: known.subject === subject ? subject : null,
    count: (known.count ?? 1) + 1,
  }
}
