import type { Logger } from 'pino'
import { StoreUnavailable } from '../domain/errors.ts'

/** The kinds of background work that servers share. */
export type WorkKind = 'sender' | 'deliverer' | 'bulk changes' | 'retention' | 'gauges' | 'funding' | 'settlement'

/**
 * The part of one kind of background work that this process does. Work belongs to rows (the sender's to relayers, each of which is an
 * account; the funding's to the relayers that get funds; the deliverer's to notifications; the settlement's to facilitators; the others' to
 * row 0). A row has one worker at a time among all processes and servers.
 */
export interface WorkShare {
  /**
   * Takes this process's part of the rows that have work, which are all of them among all servers. `own`: those that it may work on.
   * `surplus`: rows to give back, because others have too few, or because they have had no work for a while.
   */
  divide(rowIds: number[]): Promise<{ own: number[]; surplus: number[] }>
  /** Whether this process may work on the row. Takes it when it is free and this process has no more than its share. */
  claim(rowId: number): Promise<boolean>
  /** Whether this process may work on the row, by the monotonic clock: asked directly before each signature. */
  holds(rowId: number): boolean
  /** A number that is another one after the row was lost and taken again: another process may have worked on it meanwhile. */
  lease(rowId: number): number | undefined
  /** The rows that this process has. */
  held(): number[]
  /** Runs `work` on a row. Once the row is another's, changes of the store inside `work` are rejected with LeaseLost. */
  under<T>(rowId: number, work: () => Promise<T>): Promise<T>
  giveBack(rowId: number): Promise<void>
  /** Takes no more rows. */
  leave(): void
  /** Gives all rows back, and takes no more. */
  release(): Promise<void>
  /** `freed`: called when rows may have become free. */
  watch(freed: () => void): void
}

/** Another process may work on the row now: this one must stop. */
export class LeaseLost extends Error {
  constructor() {
    super('Another process has taken this work over')
  }
}

export interface WorkerContext {
  /** Does all that is possible now. Resolves to the milliseconds until the next run; undefined: no work is left. */
  work(rowId: number, signal: AbortSignal): Promise<number | undefined>
  /** The row ids that have work in the store. */
  find(): Promise<number[]>
  /** The part of the rows that this process works on. */
  share: WorkShare
  /** Called when this process no longer works on a row, before another one may. */
  leave?(rowId: number): Promise<void>
  /** Changes when another process has changed the store. */
  version(): number
  /** A monotonic clock in milliseconds. */
  elapsed(): number
  logger: Logger
  /** Called when work, or the search for it, failed; it is tried again. */
  failed?(): void
}

// Polling for commits of other processes costs 2 us. Work that they accept starts after at most this time.
const watchMs = 25
// The process that held the lease may have been killed, so the store is searched even without a change.
const findMs = 1_000
const failureMs = 1_000

/**
 * The loop of background work. Work belongs to a row (a relayer, a notification), which is given by its row id. Each row has a lane: work
 * of one lane runs in sequence, and lanes run concurrently, so a slow row delays no other.
 */
export class Worker {
  readonly #context: WorkerContext
  readonly #lanes = new Map<number, RowQueue>()
  /** The lease under which a row was worked on last. */
  readonly #leases = new Map<number, number | undefined>()
  /** The rows that are being given back. */
  readonly #leaving = new Map<number, Promise<void>>()
  readonly #stopping = new AbortController()
  readonly #watch: NodeJS.Timeout
  #seen: number
  #foundAt = Number.NEGATIVE_INFINITY
  #isPolling = false
  #polling = Promise.resolve()

  constructor(context: WorkerContext) {
    this.#context = context
    this.#seen = context.version()
    this.#watch = setInterval(() => this.#pollNow(false), watchMs)
    this.#pollNow(true)
    context.share.watch(() => this.poll())
  }

  /** Runs the work of a row as soon as its lane is free. */
  wake(rowId: number): void {
    if (this.#stopping.signal.aborted || this.#leaving.has(rowId)) return
    const lane = this.#lanes.get(rowId)
    lane?.wake()
    if (lane) return
    const created = new RowQueue()
    this.#lanes.set(rowId, created)
    void this.#follow(rowId, created)
  }

  /** Searches the store for work in this turn of the event loop, after a change by this process. */
  poll(): void {
    if (this.#isPolling || this.#stopping.signal.aborted) return
    this.#isPolling = true
    setImmediate(() => {
      this.#isPolling = false
      this.#pollNow(true)
    })
  }

  /** Runs the work of a row once, after any run in progress, and resolves when it has ended. */
  async run(rowId: number): Promise<void> {
    this.wake(rowId)
    await this.#lanes.get(rowId)?.round()
  }

  /** Starts no more work, and resolves when the work in progress has ended and all rows are given back. */
  async stop(): Promise<void> {
    const { share } = this.#context
    clearInterval(this.#watch)
    this.#stopping.abort()
    share.leave()
    await this.#polling
    await Promise.all([...new Set([...this.#lanes.keys(), ...share.held()])].map((rowId) => this.#give(rowId)))
    await share.release()
  }

  /** While the database is down, everything fails for the one reason that the store has logged. */
  #logFailure(error: unknown, message: string, rowId?: number): void {
    const isLogged = error instanceof StoreUnavailable && error.isLogged
    this.#context.logger[isLogged ? 'debug' : 'error']({ err: error, row_id: rowId }, message)
    this.#context.failed?.()
  }

  /** When the store does not answer, the lane ends; the periodic search finds its work again. */
  async #mayWork(rowId: number): Promise<boolean> {
    if (this.#stopping.signal.aborted || this.#leaving.has(rowId)) return false
    try {
      if (!(await this.#context.share.claim(rowId))) return false
      await this.#forgetFormerLease(rowId)
      return !this.#stopping.signal.aborted && !this.#leaving.has(rowId)
    } catch (error) {
      this.#logFailure(error, 'lease claim failed', rowId)
      return false
    }
  }

  /** The state of the row in memory is invalid when another process may have worked on it since. */
  async #forgetFormerLease(rowId: number): Promise<void> {
    const lease = this.#context.share.lease(rowId)
    if (this.#leases.has(rowId) && this.#leases.get(rowId) !== lease) await this.#left(rowId)
    this.#leases.set(rowId, lease)
  }

  async #follow(rowId: number, lane: RowQueue): Promise<void> {
    let isMine = await this.#mayWork(rowId)
    const hasWorked = isMine
    while (isMine) {
      lane.begin()
      const waitMs = await this.#attempt(rowId)
      lane.end()
      if (waitMs === undefined && !lane.isWanted()) break
      await lane.sleep(waitMs ?? 0, this.#stopping.signal)
      isMine = await this.#mayWork(rowId)
    }
    // The state of the row in memory is invalid after another process has worked on it.
    if (hasWorked && !isMine) await this.#left(rowId)
    this.#lanes.delete(rowId)
    lane.close()
  }

  async #attempt(rowId: number): Promise<number | undefined> {
    const { share, work, logger } = this.#context
    try {
      return await share.under(rowId, () => work(rowId, this.#stopping.signal))
    } catch (error) {
      if (error instanceof LeaseLost) logger.info({ row_id: rowId }, 'background work taken over by another server')
      else this.#logFailure(error, 'background work failed', rowId)
      return failureMs
    }
  }

  async #left(rowId: number): Promise<void> {
    this.#leases.delete(rowId)
    await this.#context.leave?.(rowId).catch((error) => this.#logFailure(error, 'lease release failed', rowId))
  }

  /** Ends the row's lane after its round, and gives the row back. */
  #give(rowId: number): Promise<void> {
    const giving = this.#leaving.get(rowId) ?? this.#giveBack(rowId).finally(() => this.#leaving.delete(rowId))
    this.#leaving.set(rowId, giving)
    return giving
  }

  async #giveBack(rowId: number): Promise<void> {
    const lane = this.#lanes.get(rowId)
    lane?.wake()
    await (lane ? lane.ended : this.#left(rowId))
    try {
      await this.#context.share.giveBack(rowId)
    } catch (error) {
      this.#logFailure(error, 'lease return failed', rowId)
    }
  }

  #pollNow(force: boolean): void {
    this.#polling = this.#search(force).catch((error) => this.#logFailure(error, 'work poll failed'))
  }

  async #search(force: boolean): Promise<void> {
    const { version, elapsed, share, find } = this.#context
    const current = version()
    const time = elapsed()
    if (!force && current === this.#seen && time - this.#foundAt < findMs) return
    this.#seen = current
    this.#foundAt = time
    const { own, surplus } = await share.divide(await find())
    for (const rowId of surplus) void this.#give(rowId)
    for (const rowId of own) this.wake(rowId)
  }
}

/** The sequence of the rounds of one row. */
class RowQueue {
  #isWanted = true
  #isWorking = false
  #rouse: (() => void) | undefined
  #waiters: { rounds: number; resolve(): void }[] = []
  readonly #ended = Promise.withResolvers<void>()
  /** Resolves when the last round has ended. */
  readonly ended = this.#ended.promise

  wake(): void {
    this.#isWanted = true
    this.#rouse?.()
  }

  isWanted(): boolean {
    return this.#isWanted
  }

  begin(): void {
    this.#isWanted = false
    this.#isWorking = true
  }

  end(): void {
    this.#isWorking = false
    for (const waiter of this.#waiters) waiter.rounds -= 1
    for (const { rounds, resolve } of this.#waiters) if (rounds <= 0) resolve()
    this.#waiters = this.#waiters.filter(({ rounds }) => rounds > 0)
  }

  /** The last round has ended. */
  close(): void {
    this.end()
    this.#ended.resolve()
  }

  /** Resolves when a round that starts after now has ended, or at once when no round runs and none is requested. */
  round(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (!this.#isWorking && !this.#isWanted) resolve()
    else this.#waiters.push({ rounds: this.#isWorking && this.#isWanted ? 2 : 1, resolve })
    return promise
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const finish = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', finish)
      this.#rouse = undefined
      resolve()
    }
    const timer = setTimeout(finish, ms)
    this.#rouse = finish
    signal.addEventListener('abort', finish)
    if (this.#isWanted || signal.aborted) finish()
    return promise
  }
}
