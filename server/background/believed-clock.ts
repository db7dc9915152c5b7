import type { Logger } from 'pino'

export interface BelievedClockDependencies {
  store: {
    /** When the wall clock was last believed, in milliseconds of the epoch; undefined for a store without anything in it. */
    believedTime(): number | undefined
    believeTime(ms: number): void
  }
  /** Milliseconds of the epoch. */
  now(): number
  /** Milliseconds, never going back. */
  elapsed(): number
  logger: Logger
}

export interface BelievedClock {
  /** The time, in milliseconds of the epoch; undefined while the wall clock may be ahead of it. */
  read(): number | undefined
}

const hour_ms = 3_600_000
const day_ms = 24 * hour_ms
/** Between two looks of one process the wall clock and the monotonic clock differ by corrections of seconds. */
const max_jump_ms = hour_ms
/** A service that was off for longer has a clock that nobody has watched. */
const max_absence_ms = day_ms
/** Long enough for an operator to see the warning and to correct the clock. */
const doubt_ms = day_ms

/**
 * The wall clock for work that deletes by age: a clock that is ahead would delete what is young. After a jump forward, and after a
 * start far ahead of the time that the store knows, the clock is believed only when a day of monotonic time has passed since. A clock that
 * is behind is believed: it deletes less.
 */
export function createBelievedClock({ store, now, elapsed, logger }: BelievedClockDependencies): BelievedClock {
  let last: { wall_ms: number; elapsed_ms: number } | undefined
  let doubted_at_ms: number | undefined

  /** What the wall clock shows if nobody has changed it, and how far it may be ahead of that. */
  function expected(elapsed_ms: number) {
    if (last) return { wall_ms: last.wall_ms + elapsed_ms - last.elapsed_ms, tolerance_ms: max_jump_ms }
    const believed_ms = store.believedTime()
    return believed_ms === undefined ? undefined : { wall_ms: believed_ms, tolerance_ms: max_absence_ms }
  }

  return {
    read() {
      const [wall_ms, elapsed_ms] = [now(), elapsed()]
      const due = expected(elapsed_ms)
      last = { wall_ms, elapsed_ms }
      if (due && wall_ms - due.wall_ms > due.tolerance_ms) {
        doubted_at_ms = elapsed_ms
        const times = { now: new Date(wall_ms).toISOString(), expected: new Date(due.wall_ms).toISOString() }
        logger.warn(times, 'clock ahead of what was expected: nothing is deleted by age for 24 hours')
      }
      if (doubted_at_ms !== undefined && elapsed_ms - doubted_at_ms < doubt_ms) return undefined
      doubted_at_ms = undefined
      store.believeTime(wall_ms)
      return wall_ms
    },
  }
}
