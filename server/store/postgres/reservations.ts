import { type ReservationSums, sumsAfter } from '../reservation.ts'
import type { Account } from '../sending-rows.ts'
import { type Session, sql } from './connection.ts'

/** The most transactions between a node's count and the last known one. */
const max_unseen = 1_000

const select = sql<ReservationSums>(
  'SELECT reserved, released FROM accounts WHERE chain_id = $chain_id AND address = $address',
)
const set = sql(`
  INSERT INTO accounts (chain_id, address, next_nonce, reserved, released)
  VALUES ($chain_id, $address, 0, $reserved, $released)
  ON CONFLICT (chain_id, address) DO UPDATE SET reserved = excluded.reserved, released = excluded.released`)
const selectUnseen = sql<{ reserved: string }>(`
  SELECT reserved FROM transactions
  WHERE chain_id = $chain_id AND "from" = $address AND nonce >= $from AND nonce < $latest AND reserved IS NOT NULL`)

const sumsOf = async (session: Session, { chain_id, address }: Account): Promise<ReservationSums> =>
  (await session.one(select, { chain_id, address })) ?? { reserved: '0', released: '0' }

/** What accepted, unfinished transactions of an account can still cost. */
export const reservedSum = async (session: Session, account: Account): Promise<string> =>
  (await sumsOf(session, account)).reserved

/** Follows the column `reserved` of a row, from its value before to its value after, under the lock of the relayer. */
export async function changeReservation(
  session: Session,
  account: Account,
  before: string | null,
  after: string | null,
): Promise<void> {
  if (before === after) return
  const { chain_id, address } = account
  await session.run(set, { chain_id, address, ...sumsAfter(await sumsOf(session, account), before, after) })
}

/** The sum for nonces below `latest`: those transactions are mined, and their rows do not show it yet. */
export async function unseenBelow(session: Session, { chain_id, address }: Account, latest: number): Promise<string> {
  const rows = await session.all(selectUnseen, { chain_id, address, from: latest - max_unseen, latest })
  return rows.reduce((sum, { reserved }) => sum + BigInt(reserved), 0n).toString()
}
