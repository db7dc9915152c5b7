import type { Account } from '../../domain/transaction-rows.ts'
import type { AccountRow, AccountState } from './accounts.ts'
import { readAccount, readAccounts } from './accounts.ts'
import type { KeyedReads } from './database.ts'
import { type Database, greatest, sql } from './database.ts'
import { accountOf } from './insert-transaction.ts'
import { readAccountAt } from './reservations.ts'

const setForeign = sql(`
  INSERT INTO accounts AS known (chain_id, address, next_nonce, foreign_nonce, foreign_hash, foreign_at)
  VALUES ($chain_id, $address, 0, $nonce, $hash::text, $at)
  ON CONFLICT (chain_id, address) DO UPDATE SET foreign_nonce = excluded.foreign_nonce,
    foreign_hash = excluded.foreign_hash, foreign_at = excluded.foreign_at
  WHERE known.foreign_nonce IS DISTINCT FROM excluded.foreign_nonce
    OR (known.foreign_hash IS DISTINCT FROM excluded.foreign_hash AND excluded.foreign_hash IS NOT NULL)`)

const raise = sql(
  (engine) => `
  INSERT INTO accounts AS known (chain_id, address, next_nonce, used_below)
  VALUES ($chain_id, $address, $nonce, $used_below)
  ON CONFLICT (chain_id, address) DO UPDATE SET next_nonce = ${greatest[engine]}(known.next_nonce, excluded.next_nonce),
    used_below = ${greatest[engine]}(known.used_below, excluded.used_below)`,
)
const updateGenesis = sql(
  'UPDATE accounts SET genesis_hash = $genesis_hash WHERE chain_id = $chain_id AND address = $address',
)

/** Every submission asks several times. */
const accounts: KeyedReads<Account, string, AccountRow> = {
  nameOf: accountOf,
  readAll: ({ read }, wanted) => readAccounts(read, wanted),
}

/**
 * `reserved`: the most wei that its unfinished transactions can still cost. `released`: the sum of all amounts that ever left
 * `reserved`, because transactions were mined or withdrawn. `used_below`: every lower nonce is proven to be used. `compared_count`:
 * the count on chain when it was last compared with this database (unknown-store.ts); null: never.
 */
export async function getAccount(database: Database, chainId: number, address: string): Promise<AccountState> {
  return readAccount(await database.readTogether(accounts, { chain_id: chainId, address }))
}

/** Remembers a transaction of the account that this service did not send. Resolves to whether it is a new one. */
export const noteForeign = (
  database: Database,
  account: Account,
  foreign: { nonce: number; hash: string | null },
): Promise<boolean> =>
  database.write(async (transaction) => {
    await transaction.lockRelayers({ accounts: [account] })
    const at = new Date(database.effects.now()).toISOString()
    return (await transaction.run(setForeign, { ...account, ...foreign, at })) > 0
  })

/**
 * The account as `getAccount`, beside a block at which the chain counts `latest` of its transactions. `committed`: the most that its
 * transactions may still take from its balance at this block. Not those below `latest`: they are mined, and their rows may not show it
 * yet. But those from `latest` on whose rows are in a block: the node that counts lags behind.
 */
export const accountAt = (
  database: Database,
  account: Account,
  latest: number,
): Promise<AccountState & { committed: string }> => readAccountAt(database.read, account, latest)

/** Raises the nonce counter. `isProven`: signed bytes prove it, and the counter is never lowered below `nonce` again. */
export const raiseNonce = (
  database: Database,
  { chain_id, address }: Account,
  nonce: number,
  isProven: boolean,
): Promise<void> =>
  database.write(async (transaction) => {
    await transaction.lockRelayers({ accounts: [{ chain_id, address }] })
    await transaction.run(raise, { chain_id, address, nonce, used_below: isProven ? nonce : 0 })
  })

export const setGenesis = (database: Database, chainId: number, address: string, genesisHash: string): Promise<void> =>
  database.write(async (transaction) => {
    await transaction.lockRelayers({ accounts: [{ chain_id: chainId, address }] })
    await transaction.run(updateGenesis, { chain_id: chainId, address, genesis_hash: genesisHash })
  })
