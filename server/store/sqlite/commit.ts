import type Sqlite from 'better-sqlite3'
import { errorOf } from '../../domain/errors.ts'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import {
  CommitEntries,
  type DatabaseTransaction,
  type GroupedChange,
  type Session,
  type StoreDependencies,
  UnknownOutcome,
} from '../queries/database.ts'
import { countRefusals } from '../queries/refusals.ts'
import type { Trail } from './audit.ts'
import type { SqliteRights } from './rights.ts'
import { createSession } from './session.ts'

interface CommitDependencies {
  effects: StoreDependencies
  trail: Trail
  rights: Pick<SqliteRights, 'seal' | 'ended'>
  /** Called when the disk has failed: this process must not write any more. */
  broken(error: unknown): void
  /** The duration of each commit. */
  committed: ((durationMs: number) => void) | undefined
}

/**
 * Runs `work` in one database transaction, with its audit entries. A deferred transaction that turns into a write fails at once under
 * another writer; this one takes the write lock at its beginning, and waits its turn. The caller runs one at a time.
 */
export function createCommit(db: Sqlite.Database, { effects, trail, rights, broken, committed }: CommitDependencies) {
  const [begin, end, rollback] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT'), db.prepare('ROLLBACK')]
  const totalChanges = db.prepare<[], number>('SELECT total_changes()').pluck()
  const session = createSession(db)
  const changes = () => totalChanges.get() as number
  const nothing = async () => {}

  async function once<T>(
    its: PendingAuditEntry | undefined,
    work: (dbTransaction: DatabaseTransaction) => T | Promise<T>,
  ) {
    const entries = new CommitEntries()
    const before: (() => Promise<void>)[] = []
    const after: (() => void)[] = []
    let isOpen = true
    const dbTransaction: DatabaseTransaction = {
      effects,
      ...whileOpen(session, () => isOpen),
      lockRelayers: nothing,
      lockNotifications: nothing,
      record: (entry, about) => entries.record(entry, about),
      async attributed(entry, change) {
        const changesBefore = entry && changes()
        const done = await change()
        // A refused change has no effect, so it gets no audit entry.
        if (entry && changes() !== changesBefore) entries.record(entry)
        return done
      },
      beforeCommit: (change) => void before.push(change),
      afterCommit: (call) => void after.push(call),
      changes,
    }
    let [atCommit, isCommitted] = [false, false]
    let done: T
    try {
      begin.run()
      done = await dbTransaction.attributed(its, async () => work(dbTransaction))
      for (const change of before) await change()
      await rights.seal(session)
      await countRefusals(session, entries.all)
      trail.append(entries.all)
      atCommit = true
      end.run()
      isCommitted = true
    } catch (error) {
      if (db.inTransaction) rollback.run()
      throw failureOf(error, atCommit)
    } finally {
      isOpen = false
      rights.ended(isCommitted)
    }
    entries.committed()
    for (const call of after) call()
    return done
  }

  /** The error that a failed database transaction is reported by. `atCommit`: COMMIT itself has failed. */
  function failureOf(error: unknown, atCommit: boolean): unknown {
    if (isUntrustworthy(error)) {
      broken(error)
      if (atCommit) return unknownOutcome()
    }
    return codeOf(error) === 'SQLITE_FULL' ? diskFull() : error
  }

  return async <T>(
    its: PendingAuditEntry | undefined,
    work: (dbTransaction: DatabaseTransaction) => T | Promise<T>,
  ) => {
    const started = performance.now()
    try {
      return await once(its, work)
    } finally {
      committed?.(performance.now() - started)
    }
  }
}

/** Work that goes on after another part of it has failed must not change anything outside of its database transaction. */
function whileOpen(session: Session, isOpen: () => boolean): Session {
  const over = () => Promise.reject(new Error('The database transaction has ended'))
  return {
    all: (statement, values) => (isOpen() ? session.all(statement, values) : over()),
    one: (statement, values) => (isOpen() ? session.one(statement, values) : over()),
    run: (statement, values) => (isOpen() ? session.run(statement, values) : over()),
    allOf: (statement, records, values) => (isOpen() ? session.allOf(statement, records, values) : over()),
    runOf: (statement, records, values) => (isOpen() ? session.runOf(statement, records, values) : over()),
  }
}

const codeOf = (error: unknown): string => (error as { code?: string }).code ?? ''

/**
 * After a failed fsync the kernel may drop the pages that it could not write, and SQLite would continue to commit on top of them.
 * After that only data that is read again from the disk is correct.
 */
export const isUntrustworthy = (error: unknown): boolean => /^SQLITE_(?:IOERR|CORRUPT|NOTADB)/.test(codeOf(error))

/** With Retry-After, because SQLite has undone the database transaction. */
const diskFull = () => errorOf('unavailable', 'store', 'The disk is full', { retry_after_s: 1 })

/** The log may have all pages of the database transaction. Then the next process that opens the file finds it committed. */
const unknownOutcome = () =>
  new UnknownOutcome(
    'The disk failed during the commit, so whether this request took effect is unknown; repeat a transaction only with its Idempotency-Key',
  )

/** The longest time that one commit blocks the event loop. The rest is committed in its next turn. */
const maxCommitMs = 10

type Write = <T>(work: (dbTransaction: DatabaseTransaction) => Promise<T>) => Promise<T>

interface Waiting {
  make(dbTransaction: DatabaseTransaction): Promise<unknown>
  resolve(value: never): void
  reject(error: unknown): void
}

/**
 * Group commit: the changes that are requested in one turn of the event loop, by any method, are committed with one fsync. Each keeps
 * its own audit entry. When one of them fails, they are committed one by one, so that only that one fails. When the outcome of the commit
 * is unknown, all of them fail, because they may have been committed.
 */
export class GroupCommit {
  readonly #write: Write
  readonly #elapsed: () => number
  readonly #queue: Waiting[] = []

  /** `elapsed`: the monotonic clock, in milliseconds. */
  constructor(write: Write, elapsed: () => number = () => performance.now()) {
    this.#write = write
    this.#elapsed = elapsed
  }

  change<In, Out, Ahead>(
    { readAhead, make }: Pick<GroupedChange<In, Out, Ahead>, 'readAhead' | 'make'>,
    input: In,
    auditEntry?: PendingAuditEntry,
  ): Promise<Out> {
    return new Promise((resolve, reject) => {
      const makeOne = async (dbTransaction: DatabaseTransaction) =>
        (await make(dbTransaction, [{ auditEntry, input }], await readAhead(dbTransaction, [input])))[0]
      this.#queue.push({ make: makeOne, resolve, reject })
      if (this.#queue.length === 1) setImmediate(() => this.#commitSome())
    })
  }

  async #commitSome(): Promise<void> {
    const results: unknown[] = []
    let taken = 0
    let failed: { error: unknown } | undefined
    try {
      await this.#write(async (dbTransaction) => {
        const end = this.#elapsed() + maxCommitMs
        for (const { make } of this.#queue) {
          if (taken > 0 && this.#elapsed() > end) break
          taken += 1
          results.push(await make(dbTransaction))
        }
      })
    } catch (error) {
      failed = { error }
    }
    // When none was processed, the database transaction could not begin, so all of them fail.
    const batch = this.#queue.splice(0, taken || this.#queue.length)
    if (this.#queue.length > 0) setImmediate(() => this.#commitSome())
    if (!failed) for (const [index, { resolve }] of batch.entries()) resolve(results[index] as never)
    else if (taken <= 1 || failed.error instanceof UnknownOutcome) for (const { reject } of batch) reject(failed.error)
    else for (const { make, resolve, reject } of batch) void this.#write(make).then(resolve as never, reject)
  }
}
