import type { Logger } from 'pino'

/**
 * The one loop of background work. What is to be done is known by keys (a relayer, a target); each key has a lane of its
 * own, so a slow one delays no other, and within a lane one piece of work follows the other.
 */
export interface Worker {
  /** There is something to do for the key, now. */
  wake(key: number): void
  /** Something in this process may have made work: looks for it in this turn of the event loop. */
  look(): void
  /** Runs the key's work once, now, after what may be under way, and waits for it. */
  run(key: number): Promise<void>
  /** Ends after the pieces of work that are under way. */
  stop(): Promise<void>
}

export interface WorkerDependencies {
  /** Does what can be done and answers in how many milliseconds to look again; undefined when nothing is left. */
  work(key: number, signal: AbortSignal): Promise<number | undefined>
  /** The keys that have work, as the store knows them. */
  find(): Promise<number[]>
  /** Whether this process is the one that does it. */
  claim(): boolean
  /** Moves when another process has changed the store. */
  version(): number
  logger: Logger
}

// Looking for other processes' commits costs two microseconds; what they accept is under way after this long.
const watch_ms = 25
// Whoever did the work may have died without a word.
const find_ms = 1_000
const failure_ms = 1_000

export function createWorker({ work, find, claim, version, logger }: WorkerDependencies): Worker {
  const lanes = new Map<number, Lane>()
  const stopping = new AbortController()
  let seen = version()
  let foundAt = Number.NEGATIVE_INFINITY

  const wake = (key: number) => {
    if (stopping.signal.aborted || !mayWork()) return
    const lane = lanes.get(key)
    if (lane) return lane.wake()
    const created = createLane()
    lanes.set(key, created)
    void follow(key, created)
  }

  /** A store that does not answer for a moment ends no lane's hope: the work is found again. */
  function mayWork(): boolean {
    try {
      return claim()
    } catch (error) {
      logger.error({ err: error }, 'claiming background work failed')
      return false
    }
  }

  async function follow(key: number, lane: Lane): Promise<void> {
    while (!stopping.signal.aborted && mayWork()) {
      lane.begin()
      const wait_ms = await attempt(key)
      lane.end()
      if (wait_ms === undefined && !lane.isWanted()) break
      await lane.sleep(wait_ms ?? 0, stopping.signal)
    }
    lanes.delete(key)
    lane.end()
  }

  async function attempt(key: number): Promise<number | undefined> {
    try {
      return await work(key, stopping.signal)
    } catch (error) {
      logger.error({ err: error, key }, 'background work failed')
      return failure_ms
    }
  }

  let isLooking = false
  const look = async (force: boolean) => {
    const current = version()
    // Not by the wall clock, which may be set back.
    const time = performance.now()
    if (!force && current === seen && time - foundAt < find_ms) return
    seen = current
    foundAt = time
    for (const key of await find()) wake(key)
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
    async run(key) {
      wake(key)
      await lanes.get(key)?.round()
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
  let wanted = false
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
    /** Until a round that begins after now has ended (or, when nothing is under way and none begins, at once on stop). */
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
