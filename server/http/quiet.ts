import { setTimeout as pause } from 'node:timers/promises'

export interface Quiet {
  /** Notes a request. */
  end(): void
  /** Resolves when no request has arrived for `quiet_ms`. */
  reached(): Promise<void>
}

/** Work that can wait, such as compiling checks ahead of their first use, runs while no requests arrive. */
export function createQuiet(
  quiet_ms: number,
  elapsed: () => number,
  sleep: (ms: number) => Promise<unknown> = pause,
): Quiet {
  let ended_at = Number.NEGATIVE_INFINITY
  return {
    end() {
      ended_at = elapsed()
    },
    async reached() {
      for (;;) {
        const rest_ms = ended_at + quiet_ms - elapsed()
        if (rest_ms <= 0) return
        await sleep(rest_ms)
      }
    },
  }
}
