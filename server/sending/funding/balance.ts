import { reachedByMost } from '../../core/majority.ts'
import type { RelayerRow } from '../../core/rows.ts'
import { askEach, pollNode } from '../../evm/ask-each.ts'
import type { Chain } from '../../evm/chain.ts'
import type { NetworkClient, SendingDependencies } from '../dependencies.ts'

/** `asset`: a token's address; null: the coin of the chain. Throws RpcError or RpcUnavailable. */
export const balanceOf = (chain: Pick<Chain, 'balance' | 'tokenBalance'>, asset: string | null, owner: string) =>
  asset === null ? chain.balance(owner) : chain.tokenBalance(asset, owner)

/**
 * What a relayer has, by most of its nodes: of the chain's coin, less what its unfinished transactions may still cost. Undefined when most
 * do not answer, or have not seen the block `from_block` yet, which contains the last refill: one lagging or lying node starts no refill.
 */
export async function availableTo(
  { chain_id, address }: RelayerRow,
  { each }: NetworkClient,
  store: SendingDependencies['store'],
  asset: string | null,
  from_block: number,
): Promise<bigint | undefined> {
  const answers = await askEach(each, async (node) => {
    const { head, latest } = await pollNode(node, address)
    if (head < from_block) throw new Error('The node lags behind')
    return { latest, balance: await balanceOf(node, asset, address) }
  })
  const { reserved } = await store.getAccount(chain_id, address)
  const amounts = answers.map(async (its) => {
    if (!its || asset !== null) return its?.balance
    const unseen = await store.reservedBelow({ chain_id, address }, its.latest)
    return its.balance + BigInt(unseen) - BigInt(reserved)
  })
  return reachedByMost(await Promise.all(amounts))
}
