import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import type { StoreWorld } from './events.ts'
import { createReservations } from './reservations.ts'

/** Nonce counters, and the leases of work that one process does. */
export function accounts(
  { db, write }: Connection,
  { now }: StoreWorld,
): Pick<Store, 'getAccount' | 'reservedBelow' | 'raiseNonce' | 'setGenesis' | 'takeLease' | 'dropLease'> {
  const select = db.prepare<[number, string], Awaited<ReturnType<Store['getAccount']>>>(
    'SELECT next_nonce, genesis_hash, reserved, released FROM accounts WHERE chain_id = ? AND address = ?',
  )
  const reservations = createReservations(db)
  const raise = db.prepare<[number, string, number]>(`
    INSERT INTO accounts (chain_id, address, next_nonce) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET next_nonce = max(next_nonce, excluded.next_nonce)`)
  const setGenesis = db.prepare<[string, number, string]>(
    'UPDATE accounts SET genesis_hash = ? WHERE chain_id = ? AND address = ?',
  )
  const selectLease = db.prepare<[string], { owner: string; until: number }>(
    'SELECT owner, until FROM leases WHERE name = ?',
  )
  const setLease = db.prepare<[string, string, number]>(`
    INSERT INTO leases (name, owner, until) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET owner = excluded.owner, until = excluded.until`)
  const dropLease = db.prepare<[string, string]>('DELETE FROM leases WHERE name = ? AND owner = ?')

  return {
    getAccount: async (chain_id, address) =>
      select.get(chain_id, address) ?? { next_nonce: 0, genesis_hash: null, reserved: '0', released: '0' },
    reservedBelow: async (account, latest) => reservations.unseenBelow(account, latest),
    raiseNonce: async (chain_id, address, nonce) => write(() => void raise.run(chain_id, address, nonce)),
    setGenesis: async (chain_id, address, genesis_hash) =>
      write(() => void setGenesis.run(genesis_hash, chain_id, address)),
    takeLease: (name, owner, duration_ms, isAlive) => {
      const time = now()
      const mayTake = (lease: { owner: string; until: number } | undefined) =>
        // A lease from far ahead was written before the clock was set back: it says nothing.
        !lease ||
        lease.owner === owner ||
        lease.until <= time ||
        lease.until > time + 10 * duration_ms ||
        !isAlive(lease.owner)
      // Looked at before it is written, so that whoever only waits costs no commit.
      if (!mayTake(selectLease.get(name))) return false
      return write(() => {
        if (!mayTake(selectLease.get(name))) return false
        setLease.run(name, owner, time + duration_ms)
        return true
      })
    },
    dropLease: (name, owner) => write(() => void dropLease.run(name, owner)),
  }
}
