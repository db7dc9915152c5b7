export interface DatabaseClock {
  /** Milliseconds since the Unix epoch. The database must have been heard. */
  now(): number
  /** The database's clock showed `database_ms` between `asked_ms`, of this process's monotonic clock, and the present. */
  heard(database_ms: number, asked_ms: number): void
}

/**
 * The wall clock of all servers: the database's, as the dedicated client hears it several times a second. The clock of a server's own
 * machine may be wrong, and would then end daily limits, API keys or rows for all servers. Between two answers, this process's monotonic
 * clock goes on.
 */
export function createDatabaseClock(elapsed: () => number = () => performance.now()): DatabaseClock {
  /** What the database's clock is ahead of the monotonic one. */
  let ahead_ms: number | undefined

  return {
    now: () => Math.floor((ahead_ms as number) + elapsed()),
    // An answer proves a range, which is wide when this process was stalled. A known difference within it stays.
    heard(database_ms, asked_ms) {
      const [least_ms, most_ms] = [database_ms - elapsed(), database_ms - asked_ms]
      ahead_ms = Math.min(Math.max(ahead_ms ?? least_ms, least_ms), most_ms)
    },
  }
}
