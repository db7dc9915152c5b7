import type { RelayerRow } from '../../core/rows.ts'
import type { AccountSnapshot } from '../../evm/snapshot.ts'
import type { SendingDependencies } from '../dependencies.ts'

type Account = Awaited<ReturnType<SendingDependencies['store']['getAccount']>>

export interface Funds {
  balance: bigint
  /** The most that all unfinished transactions and a new one may cost together, in wei. */
  funds: bigint
  account: Account
}

export interface FundsReader {
  /** The funds by a snapshot that is remembered for a second. */
  byMemory(relayer: RelayerRow, remembered: AccountSnapshot): Promise<Funds>
  /** The funds by a snapshot that was just taken. */
  at(relayer: RelayerRow, snapshot: AccountSnapshot): Promise<Funds>
}

/**
 * The funds of an account. The cost of a mined transaction leaves the balance at once, and the reserved sum only when its receipt
 * is seen. In between it must not count twice, and an older balance must not include amounts that were spent since.
 */
export function createFundsReader(store: SendingDependencies['store']): FundsReader {
  /** The funds when a remembered snapshot was first used. */
  const first = new WeakMap<AccountSnapshot, Promise<Funds>>()

  async function at({ chain_id, address }: RelayerRow, { latest, balance }: AccountSnapshot): Promise<Funds> {
    const { committed, ...account } = await store.accountAt({ chain_id, address }, latest)
    return { balance, funds: balance - BigInt(committed) + BigInt(account.reserved), account }
  }

  return {
    at,
    async byMemory(relayer, remembered) {
      const known = first.get(remembered) ?? at(relayer, remembered)
      first.set(remembered, known)
      const before = await known
      const account = await store.getAccount(relayer.chain_id, relayer.address)
      const released = BigInt(account.released) - BigInt(before.account.released)
      return { balance: before.balance, funds: before.funds - released, account }
    },
  }
}
