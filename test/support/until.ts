import { setTimeout as pause } from 'node:timers/promises'

const deadline_ms = 180_000
const poll_ms = 40

/** Polls until `holds` returns true, and calls `between` after each other poll. After the deadline, throws an error with `what`. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  between: () => unknown = () => {},
): Promise<void> {
  const end = performance.now() + deadline_ms
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not reached within ${deadline_ms} ms: ${what}`)
    await between()
    await pause(poll_ms)
  }
}
