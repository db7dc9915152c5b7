import type { Pool } from 'pg'
import type { AuditEntry, PendingAuditEntry } from '../../domain/rows.ts'
import type { Transaction } from '../queries/session.ts'
import { UnknownOutcome } from '../store-errors.ts'
import type { Trail } from './audit.ts'
import { isLockTimeout, isUnanswered, LockHeld, repeated } from './failures.ts'
import { type Begin, type Fence, lockNotifications, lockRelayers } from './fence.ts'
import { createSession } from './session.ts'

export interface WriteDependencies {
  pool: Pool
  /** Throws DomainError (503) while the database is down. */
  check(): void
  begin: Begin
  trail: Pick<Trail, 'lock' | 'append'>
  /** The duration of each commit. */
  committed?: ((durationMs: number) => void) | undefined
}

/** The work of a database transaction. */
export interface Work<T, Ahead> {
  /** Takes locks and reads. It changes nothing, because it is sent with BEGIN, before the leases are known to be held. */
  readAhead(transaction: Transaction): Promise<Ahead>
  make(transaction: Transaction, ahead: Ahead): Promise<T>
}

/**
 * Runs `work` in one database transaction, under the leases of `fences`: throws LeaseLost when one of them is another server's, and
 * LockHeld when a statement has waited for a lock for `lock_ms`.
 * It is repeated as a whole after a deadlock or a serialization failure: nothing of it may leave it before the commit. Throws DomainError
 * (503): StoreUnavailable when the database cannot be used, and UnknownOutcome when the answer to COMMIT is lost.
 */
export function createWrite({ pool, check, begin, trail, committed }: WriteDependencies) {
  async function once<T, Ahead>(
    auditEntry: PendingAuditEntry | undefined,
    work: Work<T, Ahead>,
    fences: readonly Fence[],
    lockMs?: number,
  ): Promise<T> {
    const client = await pool.connect()
    let changes = 0
    const entries: (AuditEntry | PendingAuditEntry)[] = []
    const before: (() => Promise<void>)[] = []
    const after: (() => void)[] = []
    const session = createSession(client, (rows) => {
      changes += rows
    })
    /** The entries are sent with COMMIT: when PostgreSQL refuses them, it answers COMMIT with ROLLBACK. */
    async function commit(): Promise<void> {
      const locked = entries.length > 0 ? await trail.lock(session) : undefined
      const [written, ended] = await Promise.allSettled([
        locked && trail.append(session, entries, locked),
        client.query('COMMIT'),
      ])
      if (written.status === 'rejected' && !isUnanswered(written.reason)) throw written.reason
      if (ended.status === 'rejected') throw isUnanswered(ended.reason) ? new UnknownOutcome() : ended.reason
      // PostgreSQL answers ROLLBACK when an error was caught and the database transaction was continued.
      if (ended.value.command !== 'COMMIT') throw new Error('The database transaction was rolled back')
    }
    const transaction: Transaction = {
      ...session,
      lockRelayers: (wanted) => lockRelayers(session, [wanted]),
      lockNotifications: (rowIds) => lockNotifications(session, rowIds),
      record: (entry) => void entries.push(entry),
      async attributed(entry, its) {
        const beforeChanges = changes
        const done = await its()
        // A refused change has no effect, so it gets no audit entry.
        if (entry && changes !== beforeChanges) entries.push(entry)
        return done
      },
      beforeCommit: (its) => void before.push(its),
      afterCommit: (its) => void after.push(its),
      changes: () => changes,
    }
    let lost: Error | undefined
    let result: T
    try {
      // They are sent together, and run one after the other.
      const [begun, ahead] = await Promise.allSettled([
        client.query(begin.text(fences, lockMs)),
        work.readAhead(transaction),
      ])
      if (begun.status === 'rejected') throw begun.reason
      begin.check(fences, begun.value)
      if (ahead.status === 'rejected') throw ahead.reason
      result = await transaction.attributed(auditEntry, () => work.make(transaction, ahead.value))
      for (const its of before) await its()
      await commit()
    } catch (error) {
      if (error instanceof UnknownOutcome) lost = error
      else
        await client.query('ROLLBACK').catch((failure: Error) => {
          lost = failure
        })
      throw lockMs !== undefined && isLockTimeout(error) ? new LockHeld() : error
    } finally {
      client.release(lost)
    }
    for (const entry of entries) if ('recorded' in entry) entry.recorded = true
    for (const its of after) its()
    return result
  }

  return async <T, Ahead>(
    auditEntry: PendingAuditEntry | undefined,
    work: Work<T, Ahead>,
    fences: readonly Fence[] = [],
    lockMs?: number,
  ): Promise<T> => {
    const started = performance.now()
    try {
      return await repeated(check, () => once(auditEntry, work, fences, lockMs))
    } finally {
      committed?.(performance.now() - started)
    }
  }
}
