import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { sql } from '../queries/database.ts'
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
export function workShares(context: LeaseContext): Pick<Store, 'share'> {
  return { share: (kind) => (kind === 'gauges' ? everyProcess : createShare(context, kind)) }
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

function createShare(context: LeaseContext, kind: WorkKind): WorkShare {
  const owner = `${hostname()} ${process.pid} ${randomUUID()}`
  alive.add(owner)
  let claimedAt = Number.NEGATIVE_INFINITY
  let lease = 0
  /** One call of the store for all who ask meanwhile. */
  let claiming: Promise<boolean> | undefined

  async function take(): Promise<boolean> {
    // The lease lasts from before the call.
    const time = performance.now()
    if (!(await takeLease(context, { name: kind, owner }, isAlive))) return false
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
      await context.write((dbTransaction) => dbTransaction.run(dropLease, { name: kind, owner }))
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

/** What a lease is taken in: the database, and its clock. */
type LeaseContext = Pick<Connection, 'read' | 'write' | 'effects'>

interface Lease {
  owner: string
  until: number
}

const selectLease = sql<Lease>('SELECT owner, until FROM leases WHERE name = $name')
const setLease = sql(`
  INSERT INTO leases (name, owner, until) VALUES ($name, $owner, $until)
  ON CONFLICT DO UPDATE SET owner = excluded.owner, until = excluded.until`)
const dropLease = sql('DELETE FROM leases WHERE name = $name AND owner = $owner')

/** Takes or renews a lease. `isAlive`: whether the present owner may still be running. */
export async function takeLease(
  { read, write, effects }: LeaseContext,
  { name, owner }: { name: string; owner: string },
  isAlive: (owner: string) => boolean,
): Promise<boolean> {
  const time = effects.now()
  const mayTake = (lease: Lease | undefined) =>
    // A lease that expires far ahead was written before the clock was set back, and is ignored.
    !lease ||
    lease.owner === owner ||
    lease.until <= time ||
    lease.until > time + 10 * durationMs ||
    !isAlive(lease.owner)
  // Read before the write, so that a waiting process causes no commits.
  if (!mayTake(await read.one(selectLease, { name }))) return false
  return write(async (dbTransaction) => {
    if (!mayTake(await dbTransaction.one(selectLease, { name }))) return false
    await dbTransaction.run(setLease, { name, owner, until: time + durationMs })
    return true
  })
}
