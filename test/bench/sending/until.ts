import { setTimeout as pause } from 'node:timers/promises'

const deadlineMs = 120_000

export async function until(holds: () => boolean | Promise<boolean>, everyMs = 1): Promise<void> {
  const end = performance.now() + deadlineMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`It does not come true within ${deadlineMs} ms: ${holds}`)
    await pause(everyMs)
  }
}
