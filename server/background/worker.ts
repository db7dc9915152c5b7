import type { Logger } from 'pino'

/**
 * The loop of background work. Work belongs to a row (a relayer, a notification), which is given by its row id. Each row has a lane: work of one
 * lane runs in sequence, and lanes run concurrently, so a slow row delays no other.
 */
export interface Worker {
  /** Runs the work of a row as soon as its lane is free. */
  wake(row_id: number): void
  /** Searches the store for work in this turn of the event loop, after a change by this process. */
  look(): void
  /** Runs the work of a row once, after any run in progress, and resolves when it has ended. */
  run(row_id: number): Promise<void>
  /** Starts no more work, and resolves when the work in progress has ended. */
  stop(): Promise<void>
}

export interface WorkerDependencies {
  /** Does all that is possible now. Resolves to the milliseconds until the next run; undefined: no work is left. */
  work(row_id: number, signal: AbortSignal): Promise<number | undefined>
  /** The row ids that have work in the store. */
  find(): Promise<number[]>
  /** Whether this process holds the lease of this work. */
  claim(): Promise<boolean>
  /** Changes when another process has changed the store. */
  version(): number
  logger: Logger
}

// Polling for commits of other processes costs 2 us. Work that they accept starts after at most this time.
const watch_ms = 25
// The process that held the lease may have been killed, so the store is searched even without a change.
const find_ms = 1_000
const failure_ms = 1_000

export function createWorker({ work, find, claim, version, logger }: WorkerDependencies): Worker {
  const lanes = new Map<number, Lane>()
  const stopping = new AbortController()
  let seen = version()
  let foundAt = Number.NEGATIVE_INFINITY

  const wake = (row_id: number) => {
    if (stopping.signal.aborted) return
    const lane = lanes.get(row_id)
    if (lane) return lane.wake()
    const created = createLane()
    lanes.set(row_id, created)
    void follow(row_id, created)
  }

  /** When the store does not answer, the lane ends; the periodic search finds its work again. */
  async function mayWork(): Promise<boolean> {
    try {
      return (await claim()) && !stopping.signal.aborted
    } catch (error) {
      logger.error({ err: error }, 'claiming background work failed')
      return false
    }
  }

  async function follow(row_id: number, lane: Lane): Promise<void> {
    while (await mayWork()) {
      lane.begin()
      const wait_ms = await attempt(row_id)
      lane.end()
      if (wait_ms === undefined && !lane.isWanted()) break
      await lane.sleep(wait_ms ?? 0, stopping.signal)
    }
    lanes.delete(row_id)
    lane.end()
  }

  async function attempt(row_id: number): Promise<number | undefined> {
    try {
      return await work(row_id, stopping.signal)
    } catch (error) {
      logger.error({ err: error, row_id }, 'background work failed')
      return failure_ms
    }
  }

  let isLooking = false
  const look = async (force: boolean) => {
    const current = version()
    // The wall clock may be set back.
    const time = performance.now()
    if (!force && current === seen && time - foundAt < find_ms) return
    seen = current
    foundAt = time
    for (const row_id of await find()) wake(row_id)
  }
  let looking = Promise.resolve()
  const lookNow = (force: boolean) => {
    looking = look(force).catch((error) => logger.error({ err: error }, 'looking for work failed'))
  }
  const watch = setInterval(() => lookNow(false), watch_ms)
  lookNow(true)

  return {
    wake,
    look() {
      if (isLooking || stopping.signal.aborted) return
      isLooking = true
      setImmediate(() => {
        isLooking = false
        lookNow(true)
      })
    },
    async run(row_id) {
      wake(row_id)
      await lanes.get(row_id)?.round()
    },
    async stop() {
      clearInterval(watch)
      stopping.abort()
      await looking
      await Promise.all([...lanes.values()].map((lane) => lane.round()))
    },
  }
}

type Lane = ReturnType<typeof createLane>

function createLane() {
  let wanted = true
  let working = false
  let rouse: (() => void) | undefined
  let waiters: { rounds: number; resolve(): void }[] = []

  return {
    wake() {
      wanted = true
      rouse?.()
    },
    isWanted: () => wanted,
    begin() {
      wanted = false
      working = true
    },
    end() {
      working = false
      for (const waiter of waiters) waiter.rounds -= 1
      for (const { rounds, resolve } of waiters) if (rounds <= 0) resolve()
      waiters = waiters.filter(({ rounds }) => rounds > 0)
    },
    /** Resolves when a round that starts after now has ended, or at once when no round runs and none is requested. */
    round: () =>
      new Promise<void>((resolve) => {
        if (!working && !wanted) resolve()
        else waiters.push({ rounds: working && wanted ? 2 : 1, resolve })
      }),
    sleep: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const finish = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', finish)
          rouse = undefined
          resolve()
        }
        const timer = setTimeout(finish, ms)
        rouse = finish
        signal.addEventListener('abort', finish)
        if (wanted || signal.aborted) finish()
      }),
  }
}
