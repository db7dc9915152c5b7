import type { Logger } from 'pino'
import { ApiError } from '../core/errors.ts'
import type { Observer } from '../core/observer.ts'
import type { AuditEntry, PendingAuditEntry } from '../core/rows.ts'
import type { Store } from '../store/store.ts'
import type { Operation } from './contract.ts'
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
   * Creates the entry before the operation runs. Throws ApiError (503) for a recorded operation while the trail cannot be written.
   */
  begin(context: RequestContext, path: Record<string, string>): PendingAuditEntry
  /** Completes the entry. A change of the store has recorded it in its own commit; any other entry goes into the next batch. */
  end(auditEntry: PendingAuditEntry, result: number): void
}

/**
 * A signature's entry is written this long after its response, or before the next work after that. A kill -9 in between loses it.
 */
const flush_ms = 50
const max_waiting = 10_000
const retry_ms = 1_000
const head_ms = 60_000

type AuditStore = Pick<Store, 'appendAudit' | 'auditHead'>

/**
 * The audit trail: every operation that changes something or signs. Entries of signatures are batched, because a commit for each
 * would cost more than the signature.
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
      if (waiting.length > 0) timer ??= setTimeout(flush, flush_ms)
    } catch (error) {
      if (!isBroken) observer.auditWritable?.(false)
      isBroken = true
      logger.error({ err: error }, 'audit trail not writable')
      clearTimeout(timer)
      timer = setTimeout(flush, retry_ms)
    }
  }

  // After a failure only the timer retries.
  const flushOverdue = () => {
    if (waiting.length > 0 && !isBroken && elapsed() - waitingSince >= flush_ms) void flush()
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
  const heads = setInterval(tellHead, head_ms).unref()

  return {
    of(operation) {
      const isRecorded = isAudited(operation)
      const subject = subjectOf(operation)
      return {
        begin({ caller, request_id }, path) {
          if (isRecorded && (isBroken || waiting.length >= max_waiting)) throw unwritable()
          return {
            at: now(),
            caller: caller?.id ?? '',
            operation: operation.id,
            relayer_id: path.relayer_id ?? null,
            subject: (subject === undefined ? undefined : path[subject]) ?? null,
            result: operation.status,
            request_id,
            recorded: false,
          }
        },
        end(auditEntry, result) {
          if (!isRecorded || auditEntry.recorded) return
          auditEntry.result = result
          auditEntry.recorded = true
          if (waiting.length === 0) waitingSince = elapsed()
          waiting.push(auditEntry)
          timer ??= setTimeout(flush, flush_ms)
        },
      }
    },
    flushOverdue,
    async stop() {
      clearInterval(heads)
      await writing
      await flush()
      clearTimeout(timer)
      // Nothing else will write them.
      if (waiting.length > 0) logger.error({ entries: waiting }, 'audit entries not written')
      await tellHead()
    },
  }
}

/** An operation that only reads requires the role `read` or is a GET. */
export const isAudited = ({ method, guarded, roles }: Operation): boolean =>
  guarded && method !== 'get' && !roles.includes('read')

/** The last path parameter other than the relayer. */
const subjectOf = ({ path }: Operation): string | undefined =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).findLast((name) => name !== 'relayer_id')

const unwritable = () =>
  new ApiError(
    'unavailable',
    'Service Unavailable',
    [{ path: 'audit', message: 'the audit trail cannot be written; try again later' }],
    { 'Retry-After': '1' },
  )
