import { setTimeout as pause } from 'node:timers/promises'

const deadlineMs = 180_000
const minPollMs = 10
const maxPollMs = 250
/** Of the time that has passed: what takes long is asked for less often, and is seen a little later. */
const pollPart = 0.1
/** With `between`, whose calls are part of the test. */
const betweenMs = 40

/** Polls until `holds` returns true, and calls `between` after each other poll. After the deadline, throws an error with `what`. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  between?: () => unknown,
): Promise<void> {
  const began = performance.now()
  while (!(await holds())) {
    const passedMs = performance.now() - began
    if (passedMs > deadlineMs) throw new Error(`not reached within ${deadlineMs} ms: ${what}`)
    await between?.()
    await pause(between ? betweenMs : Math.min(Math.max(passedMs * pollPart, minPollMs), maxPollMs))
  }
}
