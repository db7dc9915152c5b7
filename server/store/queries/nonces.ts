import type { Account } from '../../domain/transaction-rows.ts'
import type { Store } from '../store.ts'
import { readAccount, readAccounts } from './accounts.ts'
import type { Database } from './database.ts'
import { accountOf } from './insert-transaction.ts'
import { nonceCompaction } from './nonce-compaction.ts'
import { readAccountAt } from './reservations.ts'
import { greatest, sql } from './session.ts'

type Nonces = Pick<
  Store,
  'getAccount' | 'noteForeign' | 'accountAt' | 'raiseNonce' | 'abandoned' | 'compactNonces' | 'setGenesis'
>

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

/** The nonce counters of accounts. */
export function nonces(database: Database, now: () => number): Nonces {
  const { read, write, readTogether } = database
  // Every submission asks several times.
  const accountAt = readTogether(accountOf, (accounts: Account[]) => readAccounts(read, accounts))
  return {
    async getAccount(chainId, address) {
      return readAccount(await accountAt({ chain_id: chainId, address }))
    },
    noteForeign: (account, foreign) =>
      write(async (transaction) => {
        await transaction.lockRelayers({ accounts: [account] })
        const at = new Date(now()).toISOString()
        return (await transaction.run(setForeign, { ...account, ...foreign, at })) > 0
      }),
    accountAt: (account, latest) => readAccountAt(read, account, latest),
    raiseNonce: (chainId, address, nonce, isProven) =>
      write(async (transaction) => {
        await transaction.lockRelayers({ accounts: [{ chain_id: chainId, address }] })
        await transaction.run(raise, { chain_id: chainId, address, nonce, used_below: isProven ? nonce : 0 })
      }),
    setGenesis: (chainId, address, genesisHash) =>
      write(async (transaction) => {
        await transaction.lockRelayers({ accounts: [{ chain_id: chainId, address }] })
        await transaction.run(updateGenesis, { chain_id: chainId, address, genesis_hash: genesisHash })
      }),
    ...nonceCompaction(database),
  }
}
