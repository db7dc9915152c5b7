import type { Logger } from 'pino'

interface BelievedClockDependencies {
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

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** Between two reads of one process, corrections of the wall clock are a few seconds. A larger difference is a jump. */
const maxJumpMs = hourMs
/** After a longer downtime the stored time does not confirm the wall clock. */
const maxAbsenceMs = dayMs
/** Long enough for an operator to see the warning and to correct the clock. */
const doubtMs = dayMs

/**
 * The wall clock for work that deletes by age. A clock that is ahead would delete young rows, so after a jump forward, or a start
 * far ahead of the stored time, the clock is trusted only after a day of monotonic time. A clock that is behind is trusted, because
 * it deletes less.
 */
export class BelievedClock {
  readonly #context: BelievedClockDependencies
  #last: { wall_ms: number; elapsed_ms: number } | undefined
  #doubtedAtMs: number | undefined

  constructor(context: BelievedClockDependencies) {
    this.#context = context
  }

  /** Milliseconds since the Unix epoch; undefined while the wall clock may be ahead. */
  async read(): Promise<number | undefined> {
    const [wallMs, elapsedMs] = [this.#context.now(), this.#context.elapsed()]
    const due = await this.#expected(elapsedMs)
    this.#last = { wall_ms: wallMs, elapsed_ms: elapsedMs }
    if (due && wallMs - due.wall_ms > due.tolerance_ms) {
      this.#doubtedAtMs = elapsedMs
      const times = { now: new Date(wallMs).toISOString(), expected: new Date(due.wall_ms).toISOString() }
      this.#context.logger.warn(times, 'clock ahead of the expected time: nothing is deleted by age for 24 hours')
    }
    if (this.#doubtedAtMs !== undefined && elapsedMs - this.#doubtedAtMs < doubtMs) return undefined
    this.#doubtedAtMs = undefined
    await this.#context.store.believeTime(wallMs)
    return wallMs
  }

  /** The expected wall clock time, and the tolerance for a clock that is ahead. */
  async #expected(elapsedMs: number) {
    if (this.#last) return { wall_ms: this.#last.wall_ms + elapsedMs - this.#last.elapsed_ms, tolerance_ms: maxJumpMs }
    const believedMs = await this.#context.store.believedTime()
    return believedMs === undefined ? undefined : { wall_ms: believedMs, tolerance_ms: maxAbsenceMs }
  }
}
