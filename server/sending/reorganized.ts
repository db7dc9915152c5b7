import type { AttemptRow, Move, RelayerRow, TransactionRow } from '../store/rows.ts'
import type { NetworkClient, SendingDependencies } from './dependencies.ts'
import type { Seen } from './state.ts'
import { askEach, given } from './survey.ts'

/** For how many blocks beyond its confirmation a transaction is watched. */
export const watched_blocks = 32
/** Distinct blocks that one question covers. */
const max_blocks = 500

/** What became of a block: by more endpoints than say the opposite. */
export interface Fate {
  isReplaced: boolean
  /** In another block, by most endpoints that have a receipt. */
  receipt: Seen | null
}

interface Block {
  block_number: number | null
  block_hash: string | null
}

type Surveyed = Pick<NetworkClient, 'chain' | 'each' | 'network'>

/** Tells a reorganization from a node that lags or follows a fork: by the hash that the endpoints have at the block's height. */
export function createReorganized({ store, observer }: Pick<SendingDependencies, 'store' | 'observer'>) {
  /** Of transactions that were in a block and have no receipt now. */
  async function fatesOf({ each }: Pick<NetworkClient, 'each'>, rows: TransactionRow[]): Promise<Fate[]> {
    if (rows.length === 0) return []
    const replaced = await replacedOf(each, rows)
    return Promise.all(
      rows.map(async (row) => {
        if (!replaced.has(row.block_hash ?? '')) return { isReplaced: false, receipt: null }
        return { isReplaced: true, receipt: await receiptOf(each, await store.attempts(row.key), replaced) }
      }),
    )
  }

  /**
   * Reopens what has ended in a block that a reorganization replaced, deeper than the network's confirmations: it is `submitted`
   * again, and goes on from there. One call when the newest block of the relayer's is still there. Whether anything was reopened.
   */
  async function reopen(relayer: RelayerRow, { chain, each, network }: Surveyed, head: number): Promise<boolean> {
    const newest = await store.newestEnded(relayer.key)
    const from = head - network.required_confirmations - watched_blocks
    if (!newest || newest.number < from) return false
    if ((await chain.blockHash(newest.number)) === newest.hash) return false

    const rows = await store.endedSince(relayer.key, from)
    const replaced = await replacedOf(each, rows)
    const moves = rows.filter(({ block_hash }) => replaced.has(block_hash ?? '')).map(reopened)
    if (moves.length === 0) return false
    observer.nonceNoticed?.('confirmed transactions reopened', { relayer_id: relayer.id, count: moves.length })
    await store.move(moves)
    return true
  }

  return { fatesOf, reopen }
}

const reopened = ({ key, revision, intent }: TransactionRow): Move => ({
  key,
  revision,
  set: {
    status: 'submitted',
    block_number: null,
    block_hash: null,
    confirmed_at: null,
    status_reason:
      intent === 'send'
        ? 'Its block left the chain after it had ended: it is sent again'
        : 'The block of its withdrawal left the chain after it had ended: it is withdrawn again',
  },
})

/** The hashes of blocks at whose height more endpoints have another block than have this one. */
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

/** Of any of its byte strings, in the block that most endpoints name; null when most have none. */
async function receiptOf(
  each: NetworkClient['each'],
  attempts: AttemptRow[],
  replaced: Set<string>,
): Promise<Seen | null> {
  const answers = given(await askEach(each, (chain) => chain.receipts(attempts.map(({ hash }) => hash))))
  const seen = answers.flatMap((receipts) => {
    const index = receipts.findIndex((receipt) => receipt !== undefined && !replaced.has(receipt.block_hash))
    const [receipt, attempt] = [receipts[index], attempts[index]]
    return receipt && attempt ? [{ ...receipt, hash: attempt.hash, purpose: attempt.purpose }] : []
  })
  const byBlock = Map.groupBy(seen, ({ block_hash }) => block_hash)
  const most = [...byBlock.values()].sort((a, b) => b.length - a.length)[0] ?? []
  return most.length * 2 > answers.length ? (most[0] as Seen) : null
}
