import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { nonceCompaction } from './nonce-compaction.ts'
import { createReservations } from './reservations.ts'

type Nonces = Pick<Store, 'getAccount' | 'reservedBelow' | 'raiseNonce' | 'abandoned' | 'compactNonces' | 'setGenesis'>

const unused = { next_nonce: 0, used_below: 0, genesis_hash: null, reserved: '0', released: '0' }

/** The nonce counters of accounts. */
export function nonces(connection: Connection): Nonces {
  const { db, write } = connection
  const reservations = createReservations(db)
  const select = db.prepare<[number, string], Awaited<ReturnType<Store['getAccount']>>>(
    'SELECT next_nonce, used_below, genesis_hash, reserved, released FROM accounts WHERE chain_id = ? AND address = ?',
  )
  const raise = db.prepare<[number, string, number, number]>(`
    INSERT INTO accounts (chain_id, address, next_nonce, used_below) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET next_nonce = max(next_nonce, excluded.next_nonce),
      used_below = max(used_below, excluded.used_below)`)
  const setGenesis = db.prepare<[string, number, string]>(
    'UPDATE accounts SET genesis_hash = ? WHERE chain_id = ? AND address = ?',
  )
  return {
    getAccount: async (chain_id, address) => select.get(chain_id, address) ?? unused,
    reservedBelow: async (account, latest) => reservations.unseenBelow(account, latest),
    raiseNonce: async (chain_id, address, nonce, isProven) =>
      write(() => void raise.run(chain_id, address, nonce, isProven ? nonce : 0)),
    setGenesis: async (chain_id, address, genesis_hash) =>
      write(() => void setGenesis.run(genesis_hash, chain_id, address)),
    ...nonceCompaction(connection),
  }
}
