import { setImmediate as turn } from 'node:timers/promises'

/** Turns of the event loop without a sign of life after which all that can be done without time passing is done. */
const quietTurns = 8
/** A request to the service goes through a socket: only after as long without a sign of life time passes for it. */
const patienceMs = 8
/** The step of the clock. Requests often wait for a response of a node that never arrives. */
const stepMs = 250

export interface VirtualClock {
  /** Milliseconds of the epoch, as the service's wall clock. */
  now(): number
  /** Milliseconds, never going back. */
  elapsed(): number
  /** Something happens that may lead to more without time passing. */
  active(): void
  /** Lets time pass in as many equal steps, and after each lets all be done that is due. */
  advance(ms: number, steps: number): Promise<void>
  /** Waits for the promise; time passes only while nothing else happens. */
  during<T>(promise: Promise<T>): Promise<T>
  restore(): void
}

interface Timer {
  at: number
  every_ms: number | undefined
  run(): void
}

/**
 * Time that passes only when a test says so. While it is installed `setTimeout` and `setInterval` of this process belong to
 * it; those that Node uses itself, for its sockets, do not. `isBusy`: something is under way that takes no virtual time.
 */
export function installClock(start: number, isBusy: () => boolean = () => false): VirtualClock {
  const original = { setTimeout, setInterval, clearTimeout, clearInterval }
  const timers = new Map<number, Timer>()
  let time = 0
  let ids = 0
  let activity = 0

  const schedule = (run: () => void, ms: number, everyMs?: number) => {
    ids += 1
    const id = ids
    timers.set(id, { at: time + Math.max(ms, 1), every_ms: everyMs, run })
    const handle = {
      id,
      ref: () => handle,
      unref: () => handle,
      hasRef: () => true,
      refresh: () => handle,
      close: () => handle,
      [Symbol.toPrimitive]: () => id,
      [Symbol.dispose]: () => void timers.delete(id),
    }
    return handle
  }
  const clear = (handle: unknown, otherwise: (handle: never) => void) => {
    const { id } = (handle ?? {}) as { id?: number }
    if (id === undefined) otherwise(handle as never)
    else timers.delete(id)
  }
  const msOf = (ms: unknown) => Number(ms) || 0

  Object.assign(globalThis, {
    setTimeout: (run: (...values: unknown[]) => void, ms?: number, ...values: unknown[]) =>
      schedule(() => run(...values), msOf(ms)),
    setInterval: (run: (...values: unknown[]) => void, ms?: number, ...values: unknown[]) =>
      schedule(() => run(...values), msOf(ms), Math.max(msOf(ms), 1)),
    clearTimeout: (handle: unknown) => clear(handle, original.clearTimeout),
    clearInterval: (handle: unknown) => clear(handle, original.clearInterval),
  })

  /** Each timer that is due, once, in order. */
  function fire(): void {
    const due = [...timers].filter(([, { at }]) => at <= time).sort(([, a], [, b]) => a.at - b.at)
    for (const [id, timer] of due) {
      if (timers.get(id) !== timer) continue
      if (timer.every_ms === undefined) timers.delete(id)
      else timer.at = time + timer.every_ms
      timer.run()
    }
  }

  async function settle(): Promise<void> {
    let seen = activity
    for (let quiet = 0; quiet < quietTurns; quiet += 1) {
      await turn()
      if (activity !== seen || isBusy()) quiet = 0
      seen = activity
    }
  }

  return {
    now: () => start + time,
    elapsed: () => time,
    active() {
      activity += 1
    },
    async advance(ms, steps) {
      await settle()
      for (let step = 0; step < steps; step += 1) {
        time += ms / steps
        fire()
        await settle()
      }
    },
    async during(promise) {
      let isDone = false
      const done = () => {
        isDone = true
      }
      promise.then(done, done)
      let seen = activity
      let since = performance.now()
      while (!isDone) {
        await turn()
        if (activity !== seen) {
          seen = activity
          since = performance.now()
        } else if (performance.now() - since > patienceMs) {
          time += stepMs
          fire()
          since = performance.now()
        }
      }
      return promise
    },
    restore: () => void Object.assign(globalThis, original),
  }
}
