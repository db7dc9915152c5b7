import type { RelayerRow } from '../store/rows.ts'
import type { Move, TransactionRow } from '../store/sending-rows.ts'
import type { NetworkClient, SendingDependencies } from './dependencies.ts'
import { receiptsOfMost } from './receipts-of-most.ts'
import type { Seen } from './state.ts'
import { askEach, given } from './survey.ts'

/** For how many blocks after its confirmation a transaction is watched. */
export const watched_blocks = 32
/** The most distinct blocks in one request. */
const max_blocks = 500

/** The fate of a block, by the majority of the endpoints that answer. */
export interface Fate {
  isReplaced: boolean
  /** By most endpoints, in a block that was not replaced. */
  receipt: Seen | null
}

interface Block {
  block_number: number | null
  block_hash: string | null
}

type Surveyed = Pick<NetworkClient, 'chain' | 'each' | 'network'>

/** Distinguishes a reorganization from a node that lags or follows a fork, by the endpoints' block hashes at the block's height. */
export function createReorganized({ store, observer }: Pick<SendingDependencies, 'store' | 'observer'>) {
  /** For transactions that were in a block and now have no receipt. */
  async function fatesOf({ each }: Pick<NetworkClient, 'each'>, rows: TransactionRow[]): Promise<Fate[]> {
    if (rows.length === 0) return []
    const replaced = await replacedOf(each, rows)
    const { seen } = await receiptsOfMost(each, await Promise.all(rows.map(({ row_id }) => store.attempts(row_id))))
    return rows.map(({ block_hash }, index) => {
      const receipt = seen[index] ?? null
      const isIn = receipt !== null && !replaced.has(receipt.block_hash)
      return { isReplaced: replaced.has(block_hash ?? ''), receipt: isIn ? receipt : null }
    })
  }

  /**
   * Reopens transactions that ended in a block which a reorganization replaced, deeper than the network's confirmations: they are
   * `submitted` again. Costs one call when the relayer's newest block is still in the chain. Resolves to whether any was reopened.
   */
  async function reopen(relayer: RelayerRow, { chain, each, network }: Surveyed, head: number): Promise<boolean> {
    const newest = await store.newestEnded(relayer.row_id)
    const from = head - network.required_confirmations - watched_blocks
    if (!newest || newest.number < from) return false
    if ((await chain.blockHash(newest.number)) === newest.hash) return false

    const rows = await store.endedSince(relayer.row_id, from)
    const replaced = await replacedOf(each, rows)
    const moves = rows.filter(({ block_hash }) => replaced.has(block_hash ?? '')).map(reopened)
    if (moves.length === 0) return false
    observer.nonceNoticed?.('confirmed transactions reopened', { relayer_id: relayer.id, count: moves.length })
    await store.move(moves)
    return true
  }

  return { fatesOf, reopen }
}

const reopened = ({ row_id, revision, intent }: TransactionRow): Move => ({
  row_id,
  revision,
  set: {
    status: 'submitted',
    block_number: null,
    block_hash: null,
    confirmed_at: null,
    status_reason:
      intent === 'send'
        ? 'A reorganization removed its block after it was final: it is sent again'
        : 'A reorganization removed the block of its cancellation after it was final: it is withdrawn again',
  },
})

/** The hashes of blocks that were replaced: at their height more endpoints have another block than have this one. */
async function replacedOf(each: NetworkClient['each'], blocks: Block[]): Promise<Set<string>> {
  const hashes = new Map<string, number>()
  for (const { block_number, block_hash } of blocks) {
    if (block_number !== null && block_hash !== null && hashes.size < max_blocks) hashes.set(block_hash, block_number)
  }
  const heights = [...new Set(hashes.values())]
  const answers = given(
    await askEach(each, async (chain) => {
      const found = await Promise.all(heights.map((height) => chain.blockHash(height)))
      return new Map(heights.map((height, index) => [height, found[index]]))
    }),
  )
  const isReplaced = ([hash, height]: [string, number]) => {
    const there = answers.map((answer) => answer.get(height)).filter((one) => one !== undefined)
    const same = there.filter((one) => one === hash).length
    return there.length - same > same
  }
  return new Set([...hashes].filter(isReplaced).map(([hash]) => hash))
}
