import { accountColumns, readAccount, type StoredAccount } from '../account-rows.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { nonceCompaction } from './nonce-compaction.ts'
import { createReservations } from './reservations.ts'

type Nonces = Pick<
  Store,
  'getAccount' | 'noteForeign' | 'reservedBelow' | 'raiseNonce' | 'abandoned' | 'compactNonces' | 'setGenesis'
>

/** The nonce counters of accounts. */
export function nonces(connection: Connection, now: () => number): Nonces {
  const { db, write } = connection
  const reservations = createReservations(db)
  const select = db.prepare<[number, string], StoredAccount>(
    `SELECT ${accountColumns} FROM accounts WHERE chain_id = ? AND address = ?`,
  )
  const setForeign = db.prepare<[object]>(`
    INSERT INTO accounts (chain_id, address, next_nonce, foreign_nonce, foreign_hash, foreign_at)
    VALUES ($chain_id, $address, 0, $nonce, $hash, $at)
    ON CONFLICT DO UPDATE SET foreign_nonce = $nonce, foreign_hash = $hash, foreign_at = $at
    WHERE foreign_nonce IS NOT $nonce OR (foreign_hash IS NOT $hash AND $hash IS NOT NULL)`)
  const raise = db.prepare<[number, string, number, number]>(`
    INSERT INTO accounts (chain_id, address, next_nonce, used_below) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET next_nonce = max(next_nonce, excluded.next_nonce),
      used_below = max(used_below, excluded.used_below)`)
  const setGenesis = db.prepare<[string, number, string]>(
    'UPDATE accounts SET genesis_hash = ? WHERE chain_id = ? AND address = ?',
  )
  return {
    getAccount: async (chain_id, address) => readAccount(select.get(chain_id, address)),
    noteForeign: async (account, foreign) =>
      write(() => setForeign.run({ ...account, ...foreign, at: new Date(now()).toISOString() }).changes > 0),
    reservedBelow: async (account, latest) => reservations.unseenBelow(account, latest),
    raiseNonce: async (chain_id, address, nonce, isProven) =>
      write(() => void raise.run(chain_id, address, nonce, isProven ? nonce : 0)),
    setGenesis: async (chain_id, address, genesis_hash) =>
      write(() => void setGenesis.run(genesis_hash, chain_id, address)),
    ...nonceCompaction(connection),
  }
}
