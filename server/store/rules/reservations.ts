import type { Account } from '../../core/sending-rows.ts'
import { accountOf } from '../acceptance.ts'
import { type ReservationSums, sumsAfter } from '../reservation.ts'
import { readAccounts } from './accounts.ts'
import type { Session } from './session.ts'
import { sql } from './statement.ts'

/** The most transactions between a node's count and the last known one. */
const max_unseen = 1_000

const set = sql(
  (engine) => `
  INSERT INTO accounts (chain_id, address, next_nonce, reserved, released)
  ${
    engine === 'sqlite'
      ? 'VALUES ($chain_id, $address, 0, $reserved, $released)'
      : `SELECT chain_id, address, 0, reserved, released FROM json_to_recordset($rows::json)
         AS changed (chain_id bigint, address text, reserved text, released text)`
  }
  ON CONFLICT (chain_id, address) DO UPDATE SET reserved = excluded.reserved, released = excluded.released`,
)
const selectUnseen = sql<{ reserved: string }>(`
  SELECT reserved FROM transactions
  WHERE chain_id = $chain_id AND "from" = $address AND nonce >= $from AND nonce < $latest AND reserved IS NOT NULL`)

const none: ReservationSums = { reserved: '0', released: '0' }

/** A change of the column `reserved` of a row. */
export interface ReservationChange {
  account: Account
  before: string | null
  after: string | null
}

/** Follows changes of the column `reserved`, under the locks of the relayers. */
export async function changeReservations(session: Session, all: ReservationChange[]): Promise<void> {
  const changes = all.filter(({ before, after }) => before !== after)
  if (changes.length === 0) return
  const accounts = new Map(changes.map(({ account }) => [accountOf(account), account]))
  const sums = new Map<string, ReservationSums>(await readAccounts(session, [...accounts.values()]))
  for (const { account, before, after } of changes) {
    const name = accountOf(account)
    sums.set(name, sumsAfter(sums.get(name) ?? none, before, after))
  }
  const rows = [...accounts].map(([name, { chain_id, address }]) => ({ chain_id, address, ...sums.get(name) }))
  await session.runOf(set, rows)
}

/** The sum for nonces below `latest`: those transactions are mined, and their rows do not show it yet. */
export async function unseenBelow(session: Session, { chain_id, address }: Account, latest: number): Promise<string> {
  const rows = await session.all(selectUnseen, { chain_id, address, from: latest - max_unseen, latest })
  return rows.reduce((sum, { reserved }) => sum + BigInt(reserved), 0n).toString()
}
