export type Lane = ReturnType<typeof createLane>

/** The sequence of the rounds of one row. */
export function createLane() {
  let wanted = true
  let working = false
  let rouse: (() => void) | undefined
  let waiters: { rounds: number; resolve(): void }[] = []
  let close = () => {}
  const ended = new Promise<void>((resolve) => {
    close = resolve
  })

  function end(): void {
    working = false
    for (const waiter of waiters) waiter.rounds -= 1
    for (const { rounds, resolve } of waiters) if (rounds <= 0) resolve()
    waiters = waiters.filter(({ rounds }) => rounds > 0)
  }

  return {
    ended,
    wake() {
      wanted = true
      rouse?.()
    },
    isWanted: () => wanted,
    begin() {
      wanted = false
      working = true
    },
    end,
    /** The last round has ended. */
    close() {
      end()
      close()
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
