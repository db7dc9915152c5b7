import type Database from 'better-sqlite3'
import type { Account } from '../../core/sending-rows.ts'
import { sumsAfter } from '../reservation.ts'

/** The most transactions between a node's count and the last known one. */
const max_unseen = 1_000

/** What accepted, unfinished transactions can still cost, summed by account. */
export interface Reservations {
  /** Must be called inside the database transaction that changes a row, with the column's values before and after. */
  change(account: Account, before: string | null, after: string | null): void
  sumOf(account: Account): string
  /** The sum for nonces below `latest`: those transactions are mined, and their rows do not show it yet. */
  unseenBelow(account: Account, latest: number): string
}

export function createReservations(db: Database.Database): Reservations {
  const select = db.prepare<[number, string], { reserved: string; released: string }>(
    'SELECT reserved, released FROM accounts WHERE chain_id = ? AND address = ?',
  )
  const set = db.prepare<[number, string, string, string]>(`
    INSERT INTO accounts (chain_id, address, next_nonce, reserved, released) VALUES (?, ?, 0, ?, ?)
    ON CONFLICT DO UPDATE SET reserved = excluded.reserved, released = excluded.released`)
  const selectUnseen = db
    .prepare<[number, string, number, number], string>(`
      SELECT reserved FROM transactions
      WHERE chain_id = +? AND "from" = +? AND nonce >= +? AND nonce < +? AND reserved IS NOT NULL`)
    .pluck()

  const sumsOf = ({ chain_id, address }: Account) => select.get(chain_id, address) ?? { reserved: '0', released: '0' }

  return {
    sumOf: (account) => sumsOf(account).reserved,
    change(account, before, after) {
      if (before === after) return
      const { reserved, released } = sumsAfter(sumsOf(account), before, after)
      set.run(account.chain_id, account.address, reserved, released)
    },
    unseenBelow: ({ chain_id, address }, latest) =>
      selectUnseen
        .all(chain_id, address, latest - max_unseen, latest)
        .reduce((sum, reserved) => sum + BigInt(reserved), 0n)
        .toString(),
  }
}
