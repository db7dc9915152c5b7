import { setTimeout as pause } from 'node:timers/promises'

const deadline_ms = 120_000

export async function until(holds: () => boolean | Promise<boolean>, every_ms = 1): Promise<void> {
  const end = performance.now() + deadline_ms
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`It does not come true within ${deadline_ms} ms: ${holds}`)
    await pause(every_ms)
  }
}
