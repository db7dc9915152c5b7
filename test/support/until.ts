import { setTimeout as pause } from 'node:timers/promises'

const deadline_ms = 180_000
const poll_ms = 40

/** Looks again and again until it holds. `between` is done after each poll in vain. Throws, saying `what`, past the deadline. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  between: () => unknown = () => {},
): Promise<void> {
  const end = performance.now() + deadline_ms
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`It has not come to this in ${deadline_ms} ms: ${what}`)
    await between()
    await pause(poll_ms)
  }
}
