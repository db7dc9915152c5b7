import type { RelayerRow } from '../../core/rows.ts'
import type { NetworkClient, SendingDependencies } from '../dependencies.ts'

type Account = Awaited<ReturnType<SendingDependencies['store']['getAccount']>>

export interface Funds {
  balance: bigint
  /** The most that all unfinished transactions and a new one may cost together, in wei. */
  funds: bigint
  account: Account
}

export interface FundsReader {
  /**
   * The funds from a balance that is cached for a second. `remembered`: the result of `NetworkClient.funds`. `before`: `released`
   * before it.
   */
  byMemory(relayer: RelayerRow, remembered: { balance: bigint }, before: Account): Promise<Funds>
  /** The funds from the current balance. */
  byChain(relayer: RelayerRow, chain: NetworkClient['chain']): Promise<Funds>
}

/**
 * The funds of an account. The cost of a mined transaction leaves the balance at once, and the reserved sum only when its receipt
 * is seen. In between it must not count twice, and a cached balance must not include amounts that were spent since.
 */
export function createFundsReader(store: SendingDependencies['store']): FundsReader {
  /** The account's `released` sum from before a cached balance was read. */
  const releasedBefore = new WeakMap<object, bigint>()

  return {
    async byMemory({ chain_id, address }, remembered, before) {
      const account = await store.getAccount(chain_id, address)
      const known = releasedBefore.get(remembered)
      const released = known === undefined || known > BigInt(before.released) ? BigInt(before.released) : known
      releasedBefore.set(remembered, released)
      const { balance } = remembered
      return { balance, funds: balance + released - BigInt(account.released), account }
    },

    async byChain({ chain_id, address }, chain) {
      const [balance, latest] = await Promise.all([chain.balance(address), chain.latestNonce(address)])
      // Both are read in one turn of the event loop, so that no amount is in both or in neither.
      const [unseen, account] = await Promise.all([
        store.reservedBelow({ chain_id, address }, latest),
        store.getAccount(chain_id, address),
      ])
      return { balance, funds: balance + BigInt(unseen), account }
    },
  }
}
