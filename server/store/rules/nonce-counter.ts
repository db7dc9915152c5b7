import type { Account } from '../../core/sending-rows.ts'
import type { Session } from './session.ts'
import { sql } from './statement.ts'

const select = sql<{ next_nonce: number }>(
  'SELECT next_nonce FROM accounts WHERE chain_id = $chain_id AND address = $address',
)
const set = sql(`
  INSERT INTO accounts (chain_id, address, next_nonce) VALUES ($chain_id, $address, $nonce)
  ON CONFLICT (chain_id, address) DO UPDATE SET next_nonce = excluded.next_nonce`)

/** The nonce that the account's next transaction gets; undefined: it never had one. */
export const nextNonce = async (session: Session, { chain_id, address }: Account): Promise<number | undefined> =>
  (await session.one(select, { chain_id, address }))?.next_nonce

export const setNonce = async (session: Session, { chain_id, address }: Account, nonce: number): Promise<void> =>
  void (await session.run(set, { chain_id, address, nonce }))
