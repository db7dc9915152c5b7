import type Database from 'better-sqlite3'
import type { StoreDependencies } from '../store-dependencies.ts'
import type { Connection } from './connection.ts'

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
