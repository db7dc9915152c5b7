import type { Account } from '../../core/sending-rows.ts'
import { accountOf } from '../acceptance.ts'
import { accountColumns, type StoredAccount } from '../account-rows.ts'
import type { ReservationSums } from '../reservation.ts'
import type { Session } from './session.ts'
import { sql } from './statement.ts'

export type AccountRow = Account & ReservationSums & StoredAccount

const account = (chain_id: string, address: string) =>
  `SELECT chain_id, address, ${accountColumns} FROM accounts WHERE chain_id = ${chain_id} AND address = ${address}`
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
