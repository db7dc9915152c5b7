import { StoreUnavailable } from '../../domain/errors.ts'
import type { PendingAuditEntry } from '../../domain/rows.ts'
import { type DatabaseTransaction, type GroupedChange, type Requested, UnknownOutcome } from '../queries/database.ts'
import { LockHeld } from './failures.ts'
import type { Fence, Work } from './write.ts'

/** The most changes of one commit. */
const maxBatch = 200
/** The most rows that background work changes in one commit, unless a single change has more: requests wait for it. */
const maxBackgroundRows = 200
/** While requests come, background work pauses for this multiple of the duration of its last commit: it gets a third of the time. */
const pauseMultiplier = 2
/** A commit may have waited for another server. */
const maxPauseMs = 200
/** Commits of several servers for one relayer wait for each other: a few milliseconds each, and some tenths of a second under load. */
const lockMs = 200
/** The same for the parts of a batch that has waited so long: one that is taken for locked by mistake only gets commits of its own. */
const lockOfPartMs = 50

interface Waiting<ToLock> extends Requested<never> {
  fence: Fence | undefined
  toLock: ToLock
  change: Pick<GroupedChange<never, unknown>, 'isFirst' | 'readAhead' | 'make'>
  resolve(value: never): void
  reject(error: unknown): void
}

/** `ToLock`: what a change locks. */
interface Locks<ToLock> {
  /** Takes the locks of all changes of a commit at its beginning. */
  lock(dbTransaction: DatabaseTransaction, wanted: ToLock[]): Promise<void>
  /** Changes with one key lock the same rows. */
  keyOf(toLock: ToLock, fence: Fence | undefined): string
  /** How many rows a change concerns. */
  rowsOf?(toLock: ToLock): number
  /** How many connections may wait for locks beside the one that commits. */
  max_apart: number
}

export interface GroupConnection {
  /** The lease under which the present work runs. */
  currentFence(): Fence | undefined
  /** A database transaction under fences that were captured earlier. `lockMs`: throws LockHeld when a lock takes longer. */
  writeFor<T, Ahead>(work: Work<T, Ahead>, fences: readonly Fence[], lockMs?: number): Promise<T>
}

/**
 * Group commit: the changes that are requested while the previous commit is under way, by any method, share the next one. Each keeps its
 * own audit entry and its fence. When one of them fails, they are committed one by one, so that only that one fails; while the database
 * is down, all of them fail. When a lock takes long, they are committed by key: those of the key that is locked go on waiting apart, with
 * what is requested for it meanwhile, and the others are committed beside them. Requests go before background work, because their callers
 * wait.
 */
export class GroupCommit<ToLock> {
  readonly #connection: GroupConnection
  readonly #locks: Locks<ToLock>
  readonly #requests: Waiting<ToLock>[] = []
  readonly #background: Waiting<ToLock>[] = []
  #isCommitting = false
  #resuming: NodeJS.Timeout | undefined
  /** When background work may go on, unless no request was committed since its last commit. */
  #resumesAt = 0
  #hasRequests = false
  /** By key: what waits for a lock that another database transaction holds. */
  readonly #apart = new Map<string, Waiting<ToLock>[]>()

  constructor(connection: GroupConnection, locks: Locks<ToLock>) {
    this.#connection = connection
    this.#locks = locks
  }

  change<In, Out, Ahead>(
    change: GroupedChange<In, Out, Ahead, ToLock>,
    input: In,
    auditEntry?: PendingAuditEntry,
  ): Promise<Out> {
    return new Promise((resolve, reject) => {
      const fence = this.#connection.currentFence()
      const toLock = change.toLock(input)
      const waiting = { auditEntry, fence, toLock, input: input as never, change: change as never, resolve, reject }
      if (isBackground(waiting)) this.#background.push(waiting)
      else this.#requests.push(waiting)
      this.#start()
    })
  }

  #start(): void {
    clearTimeout(this.#resuming)
    if (this.#isCommitting) return
    this.#isCommitting = true
    setImmediate(() => void this.#commitAll())
  }

  /** Empty: background work pauses. */
  #nextBatch(): Waiting<ToLock>[] {
    const { rowsOf = () => 1 } = this.#locks
    const batch = this.#requests.splice(0, maxBatch)
    this.#hasRequests ||= batch.length > 0
    if (this.#hasRequests && performance.now() < this.#resumesAt) return batch
    let rows = 0
    for (const { toLock } of this.#background.slice(0, maxBatch - batch.length)) {
      rows += rowsOf(toLock)
      if (rows > maxBackgroundRows && rows > rowsOf(toLock)) break
      batch.push(this.#background.shift() as Waiting<ToLock>)
    }
    return batch
  }

  async #commitAll(): Promise<void> {
    for (let batch = this.#nextBatch(); batch.length > 0; batch = this.#nextBatch()) {
      const beganAt = performance.now()
      const here =
        this.#apart.size === 0
          ? batch
          : batch.filter((waiting) => !this.#apart.get(this.#keyOf(waiting))?.push(waiting))
      if (here.length > 0) await this.#commitSome(here, lockMs)
      const endedAt = performance.now()
      if (!batch.some(isBackground)) continue
      this.#resumesAt = endedAt + Math.min(pauseMultiplier * (endedAt - beganAt), maxPauseMs)
      this.#hasRequests = false
    }
    this.#isCommitting = false
    if (this.#background.length === 0) return
    this.#resuming = setTimeout(() => this.#start(), Math.max(0, this.#resumesAt - performance.now()))
  }

  #keyOf({ toLock, fence }: Waiting<ToLock>): string {
    return this.#locks.keyOf(toLock, fence)
  }

  /** `lockMs`: they are split when a lock takes longer. */
  async #commitSome(batch: Waiting<ToLock>[], lockMs?: number): Promise<void> {
    try {
      await commitTogether(this.#connection, { lock: this.#locks.lock, lock_ms: lockMs }, batch)
    } catch (error) {
      // Changes that may have been committed are not made again, and none is made while the database is down.
      const isOfAll = error instanceof UnknownOutcome || error instanceof StoreUnavailable
      if (error instanceof LockHeld) await this.#split(batch)
      else if (batch.length === 1 || isOfAll) for (const { reject } of batch) reject(error)
      else for (const waiting of batch) await this.#commitSome([waiting], lockMs)
    }
  }

  async #split(batch: Waiting<ToLock>[]): Promise<void> {
    const byKey = Map.groupBy(batch, (waiting) => this.#keyOf(waiting))
    if (byKey.size > 1) for (const its of byKey.values()) await this.#commitSome(its, lockOfPartMs)
    else if (this.#apart.size >= this.#locks.max_apart) await this.#commitSome(batch)
    else for (const [key, its] of byKey) void this.#commitApart(key, its)
  }

  async #commitApart(key: string, waiting: Waiting<ToLock>[]): Promise<void> {
    this.#apart.set(key, waiting)
    while (waiting.length > 0) await this.#commitSome(waiting.splice(0, maxBatch))
    this.#apart.delete(key)
  }
}

/** Background work runs under a lease; requests have none. */
const isBackground = ({ fence }: { fence: Fence | undefined }): boolean => fence !== undefined

async function commitTogether<ToLock>(
  connection: GroupConnection,
  { lock, lock_ms }: Pick<Locks<ToLock>, 'lock'> & { lock_ms: number | undefined },
  batch: Waiting<ToLock>[],
): Promise<void> {
  const fences = batch.flatMap(({ fence }) => fence ?? [])
  const byMethod = [...Map.groupBy(batch, ({ change }) => change)].sort(
    ([a], [b]) => Number(b.isFirst === true) - Number(a.isFirst === true),
  )
  const results = await connection.writeFor(
    {
      // The locks are sent first, so that the reads see everything that was committed before the locks were free.
      async readAhead(dbTransaction) {
        const locking = lock(
          dbTransaction,
          batch.map(({ toLock }) => toLock),
        )
        const reading = byMethod.map(([change, its]) =>
          change.readAhead(
            dbTransaction,
            its.map(({ input }) => input),
          ),
        )
        const [, ...ahead] = await Promise.all([locking, ...reading])
        return ahead
      },
      async make(dbTransaction, ahead) {
        const done = new Map<Waiting<ToLock>, unknown>()
        for (const [index, [change, its]] of byMethod.entries()) {
          const results = await change.make(dbTransaction, its, ahead[index])
          for (const [at, one] of its.entries()) done.set(one, results[at])
        }
        return done
      },
    },
    fences,
    lock_ms,
  )
  for (const one of batch) one.resolve(results.get(one) as never)
}
