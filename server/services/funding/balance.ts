import { askEach, type Chain, majorityOf, reachedByMost } from '../../chain/chain.ts'
import type { Snapshot } from '../../chain/snapshot.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import type { NetworkClient, SenderContext } from '../../sender/context.ts'
import type { Refill } from '../../store/queries/treasuries.ts'

/** To show it only: what decides takes a snapshot. `asset`: `coin`, or a token's address. */
export const balanceOf = (chain: Pick<Chain, 'balance' | 'tokenBalance'>, asset: string, owner: string) =>
  asset === 'coin' ? chain.balance(owner) : chain.tokenBalance(asset, owner)

type Store = SenderContext['store']

/**
 * What a relayer has, by most of its nodes: of the chain's coin, less what its unfinished transactions may still cost. `behind`: most
 * nodes answer, and too few have the last refill and the relayer's own transactions: they lag, or a block was removed. Undefined: most
 * do not answer. So one lagging or lying node starts no refill.
 */
export async function availableTo(
  relayer: RelayerRow,
  { each }: NetworkClient,
  store: Store,
  { asset, refills }: { asset: string; refills: Refill[] },
): Promise<bigint | 'behind' | undefined> {
  const answers = await askEach(each, async (node) => {
    const snapshot = await node.snapshot()
    return (await hasRefills(snapshot, refills)) ? availableAt(snapshot, relayer, store, asset) : 'behind'
  })
  const amounts = answers.map((answer) => (answer === 'behind' ? undefined : answer))
  const isAnswered = answers.filter((answer) => answer !== undefined).length >= majorityOf(answers.length)
  return reachedByMost(amounts) ?? (isAnswered ? 'behind' : undefined)
}

/** Whether the chain counts the nonces of all refills that are in a block, as their rows say. */
async function hasRefills(snapshot: Snapshot, refills: Refill[]): Promise<boolean> {
  const mined = refills.flatMap(({ from, mined_nonce }) =>
    from === null || mined_nonce === null ? [] : { from, mined_nonce },
  )
  const highest = Map.groupBy(mined, ({ from }) => from)
  const counts = [...highest].map(async ([from, its]) => {
    const latest = await snapshot.latestNonce(from)
    return its.every(({ mined_nonce }) => mined_nonce < latest)
  })
  return (await Promise.all(counts)).every(Boolean)
}

async function availableAt(
  snapshot: Snapshot,
  { chain_id, address }: RelayerRow,
  store: Store,
  asset: string,
): Promise<bigint | 'behind'> {
  const [latest, balance] = await Promise.all([snapshot.latestNonce(address), snapshot.balance(address, asset)])
  if (await store.hasMinedFrom(chain_id, address, latest)) return 'behind'
  if (asset !== 'coin') return balance
  const { committed } = await store.accountAt({ chain_id, address }, latest)
  return balance - BigInt(committed)
}
