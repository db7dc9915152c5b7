import type { Proof } from '../../core/proof.ts'
import type { RelayerRow } from '../../core/rows.ts'
import { proveAnyMined, proveGenesis, type Witnesses } from '../../evm/proofs.ts'
import type { SendingDependencies } from '../dependencies.ts'

/** How many nonces below and above the account's count are looked up to recognize a chain. */
const max_looked_up = 20

/** Undefined: not proven, because too few endpoints show the first block. */
export type Identity = { isSame: boolean; proof: Proof<unknown> } | undefined

/**
 * Whether the endpoints are on the chain that the account's nonces were used on. The first block decides, as most endpoints show it.
 * When it differs from the stored one, our own transactions decide: a chain that has one of them in a block is not a new one, and the
 * stored hash was false.
 */
export function createChainIdentity({ store }: Pick<SendingDependencies, 'store'>) {
  return async function identify(relayer: RelayerRow, witnesses: Witnesses, latest: number): Promise<Identity> {
    const { chain_id, address } = relayer
    const { genesis_hash } = await store.getAccount(chain_id, address)
    const genesis = await proveGenesis(witnesses)
    if (genesis === undefined) return undefined
    if (genesis.fact.genesis_hash === genesis_hash) return { isSame: true, proof: genesis }
    const isFirst = genesis_hash === null || !(await store.isSettledFrom(chain_id, address, 0))
    const ours = isFirst ? undefined : await proveOurs(relayer, witnesses, latest)
    if (!isFirst && !ours) return { isSame: false, proof: genesis }
    await store.setGenesis(chain_id, address, genesis.fact.genesis_hash)
    return { isSame: true, proof: ours ?? genesis }
  }

  /** Rows around the account's count on chain: just below it if the chain is the same, and from it on if the chain is shorter. */
  async function proveOurs({ chain_id, address }: RelayerRow, witnesses: Witnesses, latest: number) {
    const from = Math.max(0, latest - max_looked_up)
    const rows = await store.holders(chain_id, address, from, latest + max_looked_up, 2 * max_looked_up)
    const hashes = rows.flatMap(({ hash, block_hash }) => (hash !== null && block_hash !== null ? [hash] : []))
    return hashes.length === 0 ? undefined : proveAnyMined(witnesses, hashes)
  }
}
