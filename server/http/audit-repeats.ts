import type { AuditEntry } from '../core/rows.ts'

/** Equal entries of this time are one, beside the first. */
const count_ms = 60_000
const look_ms = 10_000
/** Callers, operations and results that are counted at once. */
const max_counted = 10_000

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
    nextLook = elapsed() + look_ms
    for (const [key, its] of counted) {
      if (!isLast && elapsed() < its.until) continue
      if (its.later) add(its.later)
      // Who goes on gets no entry of its own again.
      if (its.later && !isLast) counted.set(key, { until: elapsed() + count_ms, later: undefined })
      else counted.delete(key)
    }
  }
  const timer = setInterval(settle, look_ms, false).unref()

  return {
    count(entry: AuditEntry): void {
      const key = `${entry.caller} ${entry.operation} ${entry.result}`
      const known = counted.get(key)
      if (known) {
        known.later = known.later ? together(known.later, entry) : { ...entry, count: 1 }
        return
      }
      if (counted.size >= max_counted) settle(true)
      counted.set(key, { until: elapsed() + count_ms, later: undefined })
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
