import type { RelayerRow } from '../store/rows.ts'
import type { NetworkClient, SendingDependencies } from './dependencies.ts'
import { askEach, genesisOf, given, majorityOf } from './survey.ts'

/** How many nonces below and above the account's count are looked up to recognize a chain. */
const max_looked_up = 20

export interface ChainIdentity {
  /**
   * Whether the endpoints are on the chain that the account's nonces were used on. The first block decides, as most endpoints show
   * it. When it differs from the stored one, our own transactions decide: a chain that has one of them in a block is not a new one,
   * and the stored hash was false. Undefined: unknown.
   */
  isSame(relayer: RelayerRow, each: NetworkClient['each'], latest: number): Promise<boolean | undefined>
}

/** Recognizes a chain that was restarted. */
export function createChainIdentity({ store }: Pick<SendingDependencies, 'store'>): ChainIdentity {
  return {
    async isSame(relayer, each, latest) {
      const { chain_id, address } = relayer
      const { genesis_hash } = await store.getAccount(chain_id, address)
      const genesis = await genesisOf(each)
      if (genesis === undefined) return undefined
      if (genesis === genesis_hash) return true
      const isFirst = genesis_hash === null || !(await store.isSettledFrom(chain_id, address, 0))
      if (!isFirst && !(await hasOurs(relayer, each, latest))) return false
      await store.setGenesis(chain_id, address, genesis)
      return true
    },
  }

  /** Rows around the account's count on chain: just below it if the chain is the same, and from it on if the chain is shorter. */
  async function hasOurs({ chain_id, address }: RelayerRow, each: NetworkClient['each'], latest: number) {
    const from = Math.max(0, latest - max_looked_up)
    const rows = await store.holders(chain_id, address, from, latest + max_looked_up, 2 * max_looked_up)
    const hashes = rows.flatMap(({ hash, block_hash }) => (hash !== null && block_hash !== null ? [hash] : []))
    if (hashes.length === 0) return false
    const answers = given(await askEach(each, (node) => node.receipts(hashes)))
    const having = answers.filter((receipts) => receipts.some((receipt) => receipt !== undefined))
    return having.length >= majorityOf(answers.length)
  }
}
