import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Store } from '../store/store.ts'

/** Work that one process does, of the several that may share a store. Losing it does no harm: every change is compare-and-set. */
export interface Lease {
  /** Whether it is ours now; takes or renews it when need be. */
  claim(): boolean
  release(): void
}

const duration_ms = 6_000
const renew_ms = 2_000

/** The owners in this very process: two services in one process are two owners. */
const alive = new Set<string>()

export function createLease(store: Store, name: string): Lease {
  const owner = `${hostname()} ${process.pid} ${randomUUID()}`
  alive.add(owner)
  let claimedAt = Number.NEGATIVE_INFINITY

  return {
    claim() {
      const time = performance.now()
      if (time - claimedAt < renew_ms) return true
      if (!store.takeLease(name, owner, duration_ms, isAlive)) return false
      claimedAt = time
      return true
    },
    release() {
      alive.delete(owner)
      store.dropLease(name, owner)
    },
  }
}

/** On this host a process that is gone is known to be gone; of another host's we only know when its lease ends. */
function isAlive(owner: string): boolean {
  const [host, pid] = owner.split(' ')
  if (host !== hostname()) return true
  if (Number(pid) === process.pid) return alive.has(owner)
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
