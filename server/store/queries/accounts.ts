import type { Account } from '../../domain/transaction-rows.ts'
import { type Session, sql } from './database.ts'
import { accountOf } from './insert-transaction.ts'
import type { ReservationSums } from './reserved-amount.ts'

/** The state of an account. */
export interface AccountState {
  next_nonce: number
  used_below: number
  compared_count: number | null
  genesis_hash: string | null
  reserved: string
  released: string
  /** The last transaction of the account that this service did not send; null: none was seen. */
  foreign: { nonce: number; hash: string | null; noticed_at: string } | null
}

/** A row of the table `accounts`. */
export type StoredAccount = Omit<AccountState, 'foreign'> & {
  foreign_nonce: number | null
  foreign_hash: string | null
  foreign_at: string | null
}

export const accountColumns =
  'next_nonce, used_below, compared_count, genesis_hash, reserved, released, foreign_nonce, foreign_hash, foreign_at'

const unused: AccountState = {
  next_nonce: 0,
  used_below: 0,
  compared_count: null,
  genesis_hash: null,
  reserved: '0',
  released: '0',
  foreign: null,
}

/** An account without a row never had a transaction. */
export function readAccount(row: StoredAccount | undefined): AccountState {
  if (!row) return unused
  const { next_nonce, used_below, compared_count, genesis_hash, reserved, released } = row
  const { foreign_nonce, foreign_hash, foreign_at } = row
  const foreign =
    foreign_nonce === null || foreign_at === null
      ? null
      : { nonce: foreign_nonce, hash: foreign_hash, noticed_at: foreign_at }
  return { next_nonce, used_below, compared_count, genesis_hash, reserved, released, foreign }
}

export type AccountRow = Account & ReservationSums & StoredAccount

const account = (chainId: string, address: string) =>
  `SELECT chain_id, address, ${accountColumns} FROM accounts WHERE chain_id = ${chainId} AND address = ${address}`
const select = sql<AccountRow>({
  sqlite: account('$chain_id', '$address'),
  // OFFSET 0: each account is looked up by the index. A join would read the whole table while it is small.
  postgres: `
    SELECT its.* FROM json_to_recordset($rows::json) AS wanted (chain_id bigint, address text),
      LATERAL (${account('wanted.chain_id', 'wanted.address')} OFFSET 0) AS its`,
})

/** The rows of different accounts by `accountOf`. An account that never had a transaction has none. */
export async function readAccounts(session: Session, accounts: Account[]): Promise<Map<string, AccountRow>> {
  const rows = await session.allOf(
    select,
    accounts.map(({ chain_id, address }) => ({ chain_id, address })),
  )
  return new Map(rows.map((row) => [accountOf(row), row]))
}

const selectNonce = sql<{ next_nonce: number }>(
  'SELECT next_nonce FROM accounts WHERE chain_id = $chain_id AND address = $address',
)
const setNextNonce = sql(`
  INSERT INTO accounts (chain_id, address, next_nonce) VALUES ($chain_id, $address, $nonce)
  ON CONFLICT (chain_id, address) DO UPDATE SET next_nonce = excluded.next_nonce`)

/** The nonce that the account's next transaction gets; undefined: it never had one. */
export const nextNonce = async (session: Session, { chain_id, address }: Account): Promise<number | undefined> =>
  (await session.one(selectNonce, { chain_id, address }))?.next_nonce

export const setNonce = async (session: Session, { chain_id, address }: Account, nonce: number): Promise<void> =>
  void (await session.run(setNextNonce, { chain_id, address, nonce }))
