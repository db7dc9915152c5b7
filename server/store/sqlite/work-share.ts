import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type Database from 'better-sqlite3'
import type { StoreDependencies } from '../queries/database.ts'
import type { Store } from '../store.ts'
import type { WorkKind, WorkShare } from '../worker.ts'
import type { Connection } from './connection.ts'

const durationMs = 6_000
const renewMs = 2_000

/** The owners in this process: two services in one process (in tests) are two owners. */
const alive = new Set<string>()

/**
 * One lease for all rows: one process at a time does the work. Losing the lease during the work is safe, because every change is
 * compare-and-set.
 */
export function workShares(leases: Leases): Pick<Store, 'share'> {
  return { share: (kind) => (kind === 'gauges' ? everyProcess : createShare(leases, kind)) }
}

/** Each process of the host has a port of its own for metrics, and may be the only one that is read. */
const everyProcess: WorkShare = {
  divide: async (rowIds) => ({ own: rowIds, surplus: [] }),
  claim: async () => true,
  holds: () => true,
  lease: () => undefined,
  held: () => [],
  under: (_, work) => work(),
  giveBack: async () => undefined,
  leave: () => undefined,
  release: async () => undefined,
  watch: () => undefined,
}

function createShare(leases: Leases, kind: WorkKind): WorkShare {
  const owner = `${hostname()} ${process.pid} ${randomUUID()}`
  alive.add(owner)
  let claimedAt = Number.NEGATIVE_INFINITY
  let lease = 0
  /** One call of the store for all who ask meanwhile. */
  let claiming: Promise<boolean> | undefined

  async function take(): Promise<boolean> {
    // The lease lasts from before the call.
    const time = performance.now()
    if (!(await leases.take(kind, owner, durationMs, isAlive))) return false
    if (time - claimedAt >= durationMs) lease += 1
    claimedAt = time
    return true
  }

  async function claim(): Promise<boolean> {
    if (performance.now() - claimedAt < renewMs) return true
    claiming ??= take().finally(() => {
      claiming = undefined
    })
    return claiming
  }

  return {
    divide: async (rowIds) => ({ own: rowIds.length > 0 && (await claim()) ? rowIds : [], surplus: [] }),
    claim,
    holds: () => performance.now() - claimedAt < durationMs,
    lease: () => lease,
    held: () => [],
    under: (_, work) => work(),
    giveBack: async () => undefined,
    leave: () => undefined,
    async release() {
      alive.delete(owner)
      await claiming?.catch(() => undefined)
      claimedAt = Number.NEGATIVE_INFINITY
      await leases.drop(kind, owner)
    },
    watch: () => undefined,
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

/** The leases of background work, by name. */
export interface Leases {
  /** Takes or renews a lease. `isAlive`: whether the present owner may still be running. */
  take(name: string, owner: string, durationMs: number, isAlive: (owner: string) => boolean): Promise<boolean>
  drop(name: string, owner: string): Promise<void>
}

export function createLeases(
  { db, reader, write }: Pick<Connection, 'db' | 'reader' | 'write'>,
  { now }: Pick<StoreDependencies, 'now'>,
): Leases {
  const select = (its: Database.Database) =>
    its.prepare<[string], { owner: string; until: number }>('SELECT owner, until FROM leases WHERE name = ?')
  const [selectLease, readLease] = [select(db), select(reader)]
  const setLease = db.prepare<[string, string, number]>(`
    INSERT INTO leases (name, owner, until) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET owner = excluded.owner, until = excluded.until`)
  const dropLease = db.prepare<[string, string]>('DELETE FROM leases WHERE name = ? AND owner = ?')

  return {
    async take(name, owner, durationMs, isAlive) {
      const time = now()
      const mayTake = (lease: { owner: string; until: number } | undefined) =>
        // A lease that expires far ahead was written before the clock was set back, and is ignored.
        !lease ||
        lease.owner === owner ||
        lease.until <= time ||
        lease.until > time + 10 * durationMs ||
        !isAlive(lease.owner)
      // Read before the write, so that a waiting process causes no commits.
      if (!mayTake(readLease.get(name))) return false
      return write(() => {
        if (!mayTake(selectLease.get(name))) return false
        setLease.run(name, owner, time + durationMs)
        return true
      })
    },
    drop: async (name, owner) => write(() => void dropLease.run(name, owner)),
  }
}
