import { setTimeout as pause } from 'node:timers/promises'

export interface Quiet {
  /** A request has arrived. */
  noteRequest(): void
  /** Resolves when no request has arrived for `quiet_ms`. */
  reached(): Promise<void>
}

/** Work that can wait, such as compiling checks ahead of their first use, runs while no requests arrive. */
export function createQuiet(
  quietMs: number,
  elapsed: () => number,
  sleep: (ms: number) => Promise<unknown> = pause,
): Quiet {
  let requestAt = Number.NEGATIVE_INFINITY
  return {
    noteRequest() {
      requestAt = elapsed()
    },
    async reached() {
      for (;;) {
        const restMs = requestAt + quietMs - elapsed()
        if (restMs <= 0) return
        await sleep(restMs)
      }
    },
  }
}
