import type { Logger } from 'pino'
import { errorOf } from '../../domain/errors.ts'
import type { Observer } from '../../domain/observer.ts'
import type { AuditEntry, PendingAuditEntry } from '../../domain/rows.ts'
import { looksLikeToken } from '../../lib/token.ts'
import { firstRefusal } from '../../store/queries/audit.ts'
import type { Store } from '../../store/store.ts'
import type { Operation } from './contract.ts'
import { statusOf } from './errors.ts'
import type { RequestContext } from './request-context.ts'

export interface Audit {
  /** Returns the recorder of an operation. */
  of(operation: Operation): Recorder
  /**
   * Writes the entries when the oldest one is overdue. Called before each request, each operation and each background task, because
   * a busy event loop delays timers.
   */
  flushOverdue(): void
  /** Writes the remaining entries. */
  stop(): Promise<void>
}

interface Recorder {
  /**
   * Creates the entry before the operation runs. Throws DomainError (503) for a recorded operation while the trail cannot be written.
   */
  begin(context: RequestContext, path: Record<string, string>): PendingAuditEntry
  /** Completes the entry. A change of the store has recorded it in its own commit; any other entry goes into the next batch. */
  end(auditEntry: PendingAuditEntry, result: number): void
}

/**
 * A signature's entry is written this long after its response, or before the next work after that. A kill -9 in between loses it.
 */
const flushMs = 50
const maxWaiting = 10_000
const retryMs = 1_000
const headMs = 60_000

type AuditStore = Pick<Store, 'appendAudit' | 'auditHead'>

/**
 * The audit trail: every operation that changes something or signs, as the contract declares it (`x-audit`). Entries of signatures are
 * batched, because a commit for each would cost more than the signature. Equal refusals, and requests that change nothing again, are
 * counted: a key that stands in web pages cannot fill the trail.
 * `now`: milliseconds since the epoch. `elapsed`: monotonic milliseconds.
 */
export async function createAudit(
  store: AuditStore,
  now: () => number,
  elapsed: () => number,
  logger: Logger,
  observer: Pick<Observer, 'auditWritable'> = {},
): Promise<Audit> {
  const waiting: AuditEntry[] = []
  /** When the oldest of them was added, by `elapsed`. */
  let waitingSince = 0
  let timer: NodeJS.Timeout | undefined
  let isBroken = false
  let told = (await store.auditHead()).up_to

  /** The entries that are being written. After a failure, which may have written them, the store gets the same array again. */
  let batch: AuditEntry[] = []
  /** One batch at a time, so that the entries stay in their order. */
  let writing: Promise<void> | undefined
  const flush = (): Promise<void> => {
    writing ??= write().finally(() => {
      writing = undefined
    })
    return writing
  }

  async function write(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (batch.length === 0) batch = waiting.slice()
    if (batch.length === 0) return
    try {
      await store.appendAudit(batch)
      waiting.splice(0, batch.length)
      batch = []
      if (isBroken) observer.auditWritable?.(true)
      isBroken = false
      // Entries that came during the write.
      if (waiting.length > 0) timer ??= setTimeout(flush, flushMs)
    } catch (error) {
      if (!isBroken) observer.auditWritable?.(false)
      isBroken = true
      logger.error({ err: error }, 'audit trail not writable')
      clearTimeout(timer)
      timer = setTimeout(flush, retryMs)
    }
  }

  function add(entry: AuditEntry): void {
    if (waiting.length === 0) waitingSince = elapsed()
    waiting.push(entry)
    timer ??= setTimeout(flush, flushMs)
  }
  const repeats = createRepeats(add, elapsed)

  // After a failure only the timer retries.
  const flushOverdue = () => {
    repeats.settleOverdue()
    if (waiting.length > 0 && !isBroken && elapsed() - waitingSince >= flushMs) void flush()
  }

  /** The heads in the log let an auditor detect later that the end of the trail is missing. */
  const tellHead = async () => {
    try {
      const { chain, up_to, hash } = await store.auditHead()
      if (up_to === told) return
      told = up_to
      logger.info({ chain, up_to, hash: Buffer.from(hash).toString('hex') }, 'audit head')
    } catch (error) {
      logger.error({ err: error }, 'audit trail not readable')
    }
  }
  const heads = setInterval(tellHead, headMs).unref()

  return {
    of(operation) {
      const { audited } = operation
      const isRecorded = audited !== 'none'
      const subject = subjectOf(operation)
      return {
        begin({ caller, request_id }, path) {
          if (isRecorded && (isBroken || waiting.length >= maxWaiting)) throw unwritable()
          return {
            at: now(),
            caller: caller?.id ?? '',
            operation: operation.id,
            relayer_id: idIn(path.relayer_id),
            subject: idIn(subject === undefined ? undefined : path[subject]),
            result: operation.status,
            request_id,
            recorded: false,
          }
        },
        end(auditEntry, result) {
          if (!isRecorded || auditEntry.recorded) return
          auditEntry.result = result
          auditEntry.recorded = true
          // What does not exist is no id: it may be a secret that was pasted into the path.
          if (result === statusOf.not_found) Object.assign(auditEntry, { relayer_id: null, subject: null })
          if (audited === 'signature' && result < firstRefusal) add(auditEntry)
          else repeats.count(auditEntry)
        },
      }
    },
    flushOverdue,
    async stop() {
      clearInterval(heads)
      repeats.stop()
      await writing
      await flush()
      clearTimeout(timer)
      // Nothing else will write them.
      if (waiting.length > 0) logger.error({ entries: waiting }, 'audit entries not written')
      await tellHead()
    },
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
 * Counts equal entries: those of a caller, an operation and a result. The first is added at once, and those of the next minute as one
 * entry with their number. It has the ids that all of them had, and the time and the request of the last. A kill -9 loses that number.
 */
export function createRepeats(add: (entry: AuditEntry) => void, elapsed: () => number) {
  const counted = new Map<string, Counted>()
  let nextLook = 0

  /** Adds the counts whose time has ended. `isLast`: of all. */
  function settle(isLast: boolean): void {
    nextLook = elapsed() + lookMs
    for (const [key, its] of counted) {
      if (!isLast && elapsed() < its.until) continue
      if (its.later) add(its.later)
      // Who goes on gets no entry of its own again.
      if (its.later && !isLast) counted.set(key, { until: elapsed() + countMs, later: undefined })
      else counted.delete(key)
    }
  }
  const timer = setInterval(settle, lookMs, false).unref()

  return {
    count(entry: AuditEntry): void {
      const key = `${entry.caller} ${entry.operation} ${entry.result}`
      const known = counted.get(key)
      if (known) {
        known.later = known.later ? together(known.later, entry) : { ...entry, count: 1 }
        return
      }
      if (counted.size >= maxCounted) settle(true)
      counted.set(key, { until: elapsed() + countMs, later: undefined })
      add(entry)
    },
    /** Called before each request. */
    settleOverdue(): void {
      if (counted.size > 0 && elapsed() >= nextLook) settle(false)
    },
    stop(): void {
      clearInterval(timer)
      settle(true)
    },
  }
}

function together(known: AuditEntry, { at, relayer_id, subject, request_id }: AuditEntry): AuditEntry {
  return {
    ...known,
    at,
    request_id,
    relayer_id: known.relayer_id === relayer_id ? relayer_id : null,
    subject: known.subject === subject ? subject : null,
    count: (known.count ?? 1) + 1,
  }
}
