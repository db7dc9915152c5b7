import { accountOf } from '../acceptance.ts'
import type { Account } from '../sending-rows.ts'
import type { Store } from '../store.ts'
import { readAccounts } from './accounts.ts'
import { type Connection, sql } from './connection.ts'
import { lockRelayers } from './locks.ts'
import { nonceCompaction } from './nonce-compaction.ts'
import { readTogether } from './read-together.ts'
import { unseenBelow } from './reservations.ts'

type Nonces = Pick<Store, 'getAccount' | 'reservedBelow' | 'raiseNonce' | 'abandoned' | 'compactNonces' | 'setGenesis'>

const unused = { next_nonce: 0, used_below: 0, genesis_hash: null, reserved: '0', released: '0' }

const raise = sql(`
  INSERT INTO accounts AS known (chain_id, address, next_nonce, used_below)
  VALUES ($chain_id, $address, $nonce, $used_below)
  ON CONFLICT (chain_id, address) DO UPDATE SET next_nonce = greatest(known.next_nonce, excluded.next_nonce),
    used_below = greatest(known.used_below, excluded.used_below)`)
const updateGenesis = sql(
  'UPDATE accounts SET genesis_hash = $genesis_hash WHERE chain_id = $chain_id AND address = $address',
)

/** The nonce counters of accounts. */
export function nonces(connection: Connection): Nonces {
  const { read, write } = connection
  // Every submission asks several times.
  const accountAt = readTogether(accountOf, (accounts: Account[]) => readAccounts(read, accounts))
  return {
    async getAccount(chain_id, address) {
      const found = await accountAt({ chain_id, address })
      if (!found) return unused
      const { next_nonce, used_below, genesis_hash, reserved, released } = found
      return { next_nonce, used_below, genesis_hash, reserved, released }
    },
    reservedBelow: (account, latest) => unseenBelow(read, account, latest),
    raiseNonce: (chain_id, address, nonce, isProven) =>
      write(async (transaction) => {
        await lockRelayers(transaction, [{ accounts: [{ chain_id, address }] }])
        await transaction.run(raise, { chain_id, address, nonce, used_below: isProven ? nonce : 0 })
      }),
    setGenesis: (chain_id, address, genesis_hash) =>
      write(async (transaction) => {
        await lockRelayers(transaction, [{ accounts: [{ chain_id, address }] }])
        await transaction.run(updateGenesis, { chain_id, address, genesis_hash })
      }),
    ...nonceCompaction(connection),
  }
}
