import type { Account } from '../../domain/transaction-rows.ts'
import type { AccountState } from './accounts.ts'
import { accountColumns, readAccount, readAccounts, type StoredAccount } from './accounts.ts'
import { type Session, sql } from './database.ts'
import { accountOf } from './insert-transaction.ts'
import { costOf, type ReservationSums, sumsAfter, type Taken } from './reserved-amount.ts'

/** The most transactions between a node's count and the last known one, in either direction. */
const maxApart = 1_000

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
// One statement, so that no amount is in both or in neither.
const selectAt = sql<StoredAccount & { nonce: number | null } & Taken>(`
  SELECT ${accountColumns}, its.* FROM accounts LEFT JOIN (
    SELECT nonce, value, gas_limit, gas_price, max_fee_per_gas, data_fee, coin_spent FROM transactions
    WHERE chain_id = $chain_id AND "from" = $address AND nonce >= $from AND nonce < $to
      AND CASE WHEN nonce < $latest THEN reserved IS NOT NULL ELSE block_hash IS NOT NULL END
  ) AS its ON true
  WHERE accounts.chain_id = $chain_id AND address = $address`)

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

/** See `accountAt` of the store. */
export async function readAccountAt(
  session: Session,
  { chain_id, address }: Account,
  latest: number,
): Promise<AccountState & { committed: string }> {
  const place = { chain_id, address, from: latest - maxApart, to: latest + maxApart }
  const rows = await session.all(selectAt, { ...place, latest })
  const account = readAccount(rows[0])
  const committed = rows.reduce((sum, { nonce, ...row }) => {
    if (nonce === null) return sum
    const cost = BigInt(costOf(row))
    return nonce < latest ? sum - cost : sum + cost
  }, BigInt(account.reserved))
  return { ...account, committed: `${committed}` }
}
