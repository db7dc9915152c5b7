import { setTimeout as pause } from 'node:timers/promises'
import { openSlowSockets, type SlowSockets } from './slow-sockets.ts'

// The attacker, a separate process: takes an Attack as its only argument, reports when all sockets are open, and prints how long the
// sockets of each kind lasted.

export interface Attack {
  url: string
  token: string
  count: number
  /** When it gives up. */
  deadline_ms: number
}

export interface Damage {
  lasted: SlowSockets['lasted']
  left: number
}

if (import.meta.main) {
  const { url, token, count, deadline_ms }: Attack = JSON.parse(process.argv[2] ?? '')
  const slow = await openSlowSockets(url, token, count)
  process.stderr.write(`${count} slow sockets are open\n`)
  await Promise.race([slow.done, pause(deadline_ms)])
  const damage: Damage = { lasted: slow.lasted, left: slow.left() }
  process.stdout.write(JSON.stringify(damage), () => process.exit(0))
}
