import type { Logger } from 'pino'

export interface BelievedClockDependencies {
  store: {
    /** The last wall clock time that was trusted, in milliseconds since the Unix epoch; undefined for an empty store. */
    believedTime(): Promise<number | undefined>
    believeTime(ms: number): Promise<void>
  }
  /** The wall clock: milliseconds since the Unix epoch. */
  now(): number
  /** A monotonic clock in milliseconds. */
  elapsed(): number
  logger: Logger
}

export interface BelievedClock {
  /** Milliseconds since the Unix epoch; undefined while the wall clock may be ahead. */
  read(): Promise<number | undefined>
}

const hour_ms = 3_600_000
const day_ms = 24 * hour_ms
/** Between two reads of one process, corrections of the wall clock are a few seconds. A larger difference is a jump. */
const max_jump_ms = hour_ms
/** After a longer downtime the stored time does not confirm the wall clock. */
const max_absence_ms = day_ms
/** Long enough for an operator to see the warning and to correct the clock. */
const doubt_ms = day_ms

/**
 * The wall clock for work that deletes by age. A clock that is ahead would delete young rows, so after a jump forward, or a start
 * far ahead of the stored time, the clock is trusted only after a day of monotonic time. A clock that is behind is trusted, because
 * it deletes less.
 */
export function createBelievedClock({ store, now, elapsed, logger }: BelievedClockDependencies): BelievedClock {
  let last: { wall_ms: number; elapsed_ms: number } | undefined
  let doubted_at_ms: number | undefined

  /** The expected wall clock time, and the tolerance for a clock that is ahead. */
  async function expected(elapsed_ms: number) {
    if (last) return { wall_ms: last.wall_ms + elapsed_ms - last.elapsed_ms, tolerance_ms: max_jump_ms }
    const believed_ms = await store.believedTime()
    return believed_ms === undefined ? undefined : { wall_ms: believed_ms, tolerance_ms: max_absence_ms }
  }

  return {
    async read() {
      const [wall_ms, elapsed_ms] = [now(), elapsed()]
      const due = await expected(elapsed_ms)
      last = { wall_ms, elapsed_ms }
      if (due && wall_ms - due.wall_ms > due.tolerance_ms) {
        doubted_at_ms = elapsed_ms
        const times = { now: new Date(wall_ms).toISOString(), expected: new Date(due.wall_ms).toISOString() }
        logger.warn(times, 'clock ahead of the expected time: nothing is deleted by age for 24 hours')
      }
      if (doubted_at_ms !== undefined && elapsed_ms - doubted_at_ms < doubt_ms) return undefined
      doubted_at_ms = undefined
      await store.believeTime(wall_ms)
      return wall_ms
    },
  }
}
