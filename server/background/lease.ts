import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Store } from '../store/store.ts'

/**
 * The right of one process to do a kind of background work, when several processes share a store. Losing the lease during the work
 * is safe, because every change is compare-and-set.
 */
export interface Lease {
  /** Whether this process holds the lease; takes or renews it when necessary. */
  claim(): Promise<boolean>
  release(): Promise<void>
}

const duration_ms = 6_000
const renew_ms = 2_000

/** The owners in this process: two services in one process (in tests) are two owners. */
const alive = new Set<string>()

export function createLease(store: Store, name: string): Lease {
  const owner = `${hostname()} ${process.pid} ${randomUUID()}`
  alive.add(owner)
  let claimedAt = Number.NEGATIVE_INFINITY
  /** One call of the store for all who ask meanwhile. */
  let claiming: Promise<boolean> | undefined

  async function take(): Promise<boolean> {
    // The lease lasts from before the call.
    const time = performance.now()
    if (!(await store.takeLease(name, owner, duration_ms, isAlive))) return false
    claimedAt = time
    return true
  }

  return {
    async claim() {
      if (performance.now() - claimedAt < renew_ms) return true
      claiming ??= take().finally(() => {
        claiming = undefined
      })
      return claiming
    },
    async release() {
      alive.delete(owner)
      await claiming?.catch(() => undefined)
      await store.dropLease(name, owner)
    },
  }
}

/** An ended process of this host is detected at once; a process of another host counts as alive until its lease expires. */
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
