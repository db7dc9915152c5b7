import { setTimeout as pause } from 'node:timers/promises'

export interface Quiet {
  /** A request has arrived. */
  noteRequest(): void
  /** Resolves when no request has arrived for `quiet_ms`. */
  reached(): Promise<void>
}

/** Work that can wait, such as compiling checks ahead of their first use, runs while no requests arrive. */
export function createQuiet(
  quiet_ms: number,
  elapsed: () => number,
  sleep: (ms: number) => Promise<unknown> = pause,
): Quiet {
  let request_at = Number.NEGATIVE_INFINITY
  return {
    noteRequest() {
      request_at = elapsed()
    },
    async reached() {
      for (;;) {
        const rest_ms = request_at + quiet_ms - elapsed()
        if (rest_ms <= 0) return
        await sleep(rest_ms)
      }
    },
  }
}
