import { setTimeout as pause } from 'node:timers/promises'

const deadlineMs = 180_000
const pollMs = 40

/** Polls until `holds` returns true, and calls `between` after each other poll. After the deadline, throws an error with `what`. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  between: () => unknown = () => {},
): Promise<void> {
  const end = performance.now() + deadlineMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not reached within ${deadlineMs} ms: ${what}`)
    await between()
    await pause(pollMs)
  }
}
