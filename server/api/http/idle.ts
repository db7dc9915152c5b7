import { setTimeout as pause } from 'node:timers/promises'

/** Work that can wait, such as compiling checks ahead of their first use, runs while no requests arrive. */
export class Quiet {
  readonly #elapsed: () => number
  readonly #sleep: (ms: number) => Promise<unknown>
  #requestAt = Number.NEGATIVE_INFINITY

  constructor(elapsed: () => number, sleep: (ms: number) => Promise<unknown> = pause) {
    this.#elapsed = elapsed
    this.#sleep = sleep
  }

  /** A request has arrived. */
  noteRequest(): void {
    this.#requestAt = this.#elapsed()
  }

  /** Resolves when no request has arrived for `quietMs`. */
  async reached(quietMs: number): Promise<void> {
    for (;;) {
      const restMs = this.#requestAt + quietMs - this.#elapsed()
      if (restMs <= 0) return
      await this.#sleep(restMs)
    }
  }
}
