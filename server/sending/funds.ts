import type { RelayerRow } from '../store/rows.ts'
import type { NetworkClient, SendingDependencies } from './dependencies.ts'

type Account = Awaited<ReturnType<SendingDependencies['store']['getAccount']>>

export interface Funds {
  balance: bigint
  /** What all that is accepted and unfinished, and a new transaction, may cost together. */
  funds: bigint
  account: Account
}

export interface FundsReader {
  /** The funds by a balance that is remembered for a second; `remembered`: the object of `Reach.funds`, `before`: from before it. */
  byMemory(relayer: RelayerRow, remembered: { balance: bigint }, before: Account): Promise<Funds>
  /** The funds by the balance of now. */
  byChain(relayer: RelayerRow, chain: NetworkClient['chain']): Promise<Funds>
}

/**
 * What an account can spend. What is mined leaves the balance before its receipt is seen, and the reserved sum after it: in between it
 * must not count twice, and a balance from before must not count what was spent since.
 */
export function createFundsReader(store: SendingDependencies['store']): FundsReader {
  /** The sum of all that was released, from before a remembered balance was read. */
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
      // Read in one turn of the event loop, so that nothing is in both or in neither.
      const [unseen, account] = await Promise.all([
        store.reservedBelow({ chain_id, address }, latest),
        store.getAccount(chain_id, address),
      ])
      return { balance, funds: balance + BigInt(unseen), account }
    },
  }
}
