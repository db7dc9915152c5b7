import type { PendingAuditEntry } from '../../core/rows.ts'

/** The audit entry of the method of the store that is being called. */
export interface AuditContext {
  /** Commits the entry with the changes of the method that `work` calls before its first `await`. */
  withAudit<T>(auditEntry: PendingAuditEntry, work: () => T): T
  /** Must be called before the first `await` of the method. */
  currentAuditEntry(): PendingAuditEntry | undefined
}

export function createAuditContext(): AuditContext {
  let current: PendingAuditEntry | undefined
  return {
    withAudit(auditEntry, work) {
      current = auditEntry
      try {
        return work()
      } finally {
        current = undefined
      }
    },
    currentAuditEntry: () => current,
  }
}
