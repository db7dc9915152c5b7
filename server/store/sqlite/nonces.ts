import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { nonceCounter } from './nonce-counter.ts'
import { createReservations } from './reservations.ts'

type Nonces = Pick<Store, 'getAccount' | 'reservedBelow' | 'raiseNonce' | 'abandoned' | 'compactNonces' | 'setGenesis'>

/** The most gaps that `compactNonces` reports. */
const max_gaps = 100

const unused = { next_nonce: 0, used_below: 0, genesis_hash: null, reserved: '0', released: '0' }

/** The columns of a transaction that `compactNonces` reads. */
interface Held {
  key: number
  nonce: number
  is_signed: 0 | 1
}

/** The nonce counters of accounts. */
export function nonces({ db, write }: Connection): Nonces {
  const { setNonce } = nonceCounter(db)
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
  const highestInBlock = db
    .prepare<[number, string, number], number | null>(`
      SELECT max(nonce) FROM transactions
      WHERE chain_id = +? AND "from" = +? AND nonce >= +? AND block_hash IS NOT NULL`)
    .pluck()
  const selectHeld = db.prepare<[number, string, number], Held>(`
    SELECT key, nonce, status <> 'pending' OR hash IS NOT NULL AS is_signed FROM transactions
    WHERE chain_id = +? AND "from" = +? AND nonce >= +? ORDER BY nonce`)
  const selectAbandoned = db.prepare<
    [number, string, number],
    { key: number; revision: number; reason: string | null }
  >(`
    SELECT key, revision, status_reason AS reason FROM transactions
    WHERE chain_id = +? AND "from" = +? AND nonce >= +? AND block_hash IS NULL
      AND status IN ('confirmed', 'failed', 'canceled', 'expired') ORDER BY nonce LIMIT ${max_gaps}`)
  const renumber = db.prepare<[number, number]>(
    'UPDATE transactions SET nonce = ?, revision = revision + 1 WHERE key = ?',
  )

  return {
    getAccount: async (chain_id, address) => select.get(chain_id, address) ?? unused,
    reservedBelow: async (account, latest) => reservations.unseenBelow(account, latest),
    raiseNonce: async (chain_id, address, nonce, isProven) =>
      write(() => void raise.run(chain_id, address, nonce, isProven ? nonce : 0)),
    setGenesis: async (chain_id, address, genesis_hash) =>
      write(() => void setGenesis.run(genesis_hash, chain_id, address)),

    abandoned: async (chain_id, address, latest) => {
      const inBlock = highestInBlock.get(chain_id, address, latest) ?? null
      return selectAbandoned.all(chain_id, address, inBlock === null ? latest : inBlock + 1)
    },
    compactNonces: async (chain_id, address, latest) =>
      write(() => {
        const { used_below = 0 } = select.get(chain_id, address) ?? {}
        const inBlock = highestInBlock.get(chain_id, address, latest) ?? null
        const from = Math.max(latest, used_below, inBlock === null ? 0 : inBlock + 1)
        const held = selectHeld.all(chain_id, address, from)
        const signed = new Set(held.filter(({ is_signed }) => is_signed === 1).map(({ nonce }) => nonce))
        const highestSigned = Math.max(from - 1, ...lastOf(signed))

        // Each transaction keeps its nonce or gets a lower one, in order, so no two have the same nonce at any time.
        let free = from
        let moved = 0
        for (const { key, nonce, is_signed } of held) {
          if (is_signed === 1) continue
          while (signed.has(free)) free += 1
          if (free !== nonce) {
            renumber.run(free, key)
            moved += 1
          }
          free += 1
        }
        setNonce.run(chain_id, address, Math.max(free, highestSigned + 1))

        const gaps: number[] = []
        for (let nonce = free; nonce < highestSigned && gaps.length < max_gaps; nonce += 1) {
          if (!signed.has(nonce)) gaps.push(nonce)
        }
        return { moved, gaps }
      }),
  }
}

/** `numbers`: in ascending order. */
const lastOf = (numbers: Set<number>): number[] => {
  const last = [...numbers].at(-1)
  return last === undefined ? [] : [last]
}
