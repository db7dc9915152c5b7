import type { Logger } from 'pino'
import { ApiError } from '../errors.ts'
import type { AuditEntry, PendingAuditEntry } from '../store/rows.ts'
import type { Store } from '../store/store.ts'
import type { Operation } from './contract.ts'
import type { RequestContext } from './request-context.ts'

export interface Audit {
  /** What records an operation. */
  of(operation: Operation): Recorder
  /**
   * Writes now when the oldest entry is overdue. Called before each request and each piece of background work: while those fill a
   * turn of the event loop, its timers do not run.
   */
  flushOverdue(): void
  /** Writes what is left. */
  stop(): void
}

interface Recorder {
  /** What a request is about to do. Throws ApiError (503) for what would be recorded while the trail cannot be written. */
  begin(context: RequestContext, path: Record<string, string>): PendingAuditEntry
  /** How it ended. In the trail by now when it changed the store, else with the next lot. */
  end(auditEntry: PendingAuditEntry, result: number): void
}

/** A signature is in the trail this long after its answer, or before the next work begins after that; kill -9 in between loses its entry. */
const flush_ms = 50
const max_waiting = 10_000
const retry_ms = 1_000
const head_ms = 60_000

type AuditStore = Pick<Store, 'appendAudit' | 'auditHead'>

/**
 * The trail of what is done: every operation that changes something or signs. A signature has no database transaction of its own,
 * and one for each would cost more than the signature; so they are gathered.
 * `now`: milliseconds of the epoch. `elapsed`: milliseconds, never going back.
 */
export function createAudit(store: AuditStore, now: () => number, elapsed: () => number, logger: Logger): Audit {
  let waiting: AuditEntry[] = []
  /** When the oldest of them came, by `elapsed`. */
  let waitingSince = 0
  let timer: NodeJS.Timeout | undefined
  let isBroken = false
  let told = store.auditHead().up_to

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (waiting.length === 0) return
    try {
      store.appendAudit(waiting)
      waiting = []
      isBroken = false
    } catch (error) {
      isBroken = true
      logger.error({ err: error }, 'the audit trail cannot be written')
      timer = setTimeout(flush, retry_ms)
    }
  }

  // A trail that cannot be written is tried again by the timer alone.
  const flushOverdue = () => {
    if (waiting.length > 0 && !isBroken && elapsed() - waitingSince >= flush_ms) flush()
  }

  /** Whoever keeps the log can tell later that nothing is missing at the end of the trail. */
  const tellHead = () => {
    try {
      const { up_to, hash } = store.auditHead()
      if (up_to === told) return
      told = up_to
      logger.info({ up_to, hash: Buffer.from(hash).toString('hex') }, 'audit head')
    } catch (error) {
      logger.error({ err: error }, 'the audit trail cannot be read')
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
    stop() {
      clearInterval(heads)
      flush()
      clearTimeout(timer)
      tellHead()
    },
  }
}

/** What only reads asks for that role, or is a GET. */
const isAudited = ({ method, guarded, roles }: Operation): boolean =>
  guarded && method !== 'get' && !roles.includes('read')

/** The last that its path names beside the relayer. */
const subjectOf = ({ path }: Operation): string | undefined =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).findLast((name) => name !== 'relayer_id')

const unwritable = () =>
  new ApiError('unavailable', 'Service Unavailable', [{ path: 'audit', message: 'The audit trail cannot be written' }])
