import type { Head } from '../chain/chain.ts'
import type { NetworkClient } from './context.ts'

const maxLags = 5

/** What the chain showed a lane. It is a cache: all of it can be read again. */
export interface ChainState {
  /** The newest block that was seen, and the account's transaction count at it. */
  head: Head | undefined
  latest: number
  /** Consecutive answers from nodes that lag behind. */
  lags: number
  /** Look up mined transactions again. True after a start, when it is unknown whether their blocks are still in the chain. */
  recheck: boolean
  /** By transaction that a node has: how many blocks left it out. */
  left_out: Map<number, LeftOut>
  /** Transactions of which some endpoint has a receipt, while the asked node denies it. */
  shown: Set<number>
  /** The number of open gaps below a signed nonce. */
  gaps: number
}

interface LeftOut {
  /** Of the newest attempt. */
  hash: string | null
  payable: boolean
  blocks: number
}

/** How a new answer differs from the one before. */
export interface Advance {
  isNewBlock: boolean
  /** Transactions of the account were mined since. */
  isMined: boolean
  /** New blocks, and none of them has a transaction of the account. */
  isIdle: boolean
  /** The account's count fell: transactions below the former count were not broadcast. */
  isLowered: boolean
  isReorganized: boolean
}

export const newChainState = (): ChainState => ({
  head: undefined,
  latest: 0,
  lags: 0,
  recheck: true,
  left_out: new Map(),
  shown: new Set(),
  gaps: 0,
})

/**
 * Takes in the chain's head and the account's count, and checks whether the previous head is still in the chain. Undefined when the
 * answer is older than an earlier one and must be ignored: nodes behind one URL may lag. When older answers persist, they are
 * accepted; a lower count by most endpoints (`isWitnessed`) at once.
 */
export async function takeIn(
  seen: ChainState,
  chain: Pick<NetworkClient['chain'], 'blockHash'>,
  { head, latest, isWitnessed = false }: { head: Head; latest: number; isWitnessed?: boolean },
): Promise<Advance | undefined> {
  const before = seen.head
  const isReorganized = before !== undefined && (await isReplaced(before, head, chain))
  const isLower = latest < seen.latest && !isReorganized && !isWitnessed
  const isBehind = before !== undefined && (head.number < before.number || isLower)
  seen.lags = isBehind ? seen.lags + 1 : 0
  if (isBehind && seen.lags < maxLags) return undefined

  const isMined = before !== undefined && latest > seen.latest
  const advance: Advance = {
    isNewBlock: before?.hash !== head.hash,
    isMined,
    isIdle: before !== undefined && !isMined && head.number > before.number,
    isLowered: latest < seen.latest,
    isReorganized: isReorganized || isBehind,
  }
  seen.head = head
  seen.latest = latest
  seen.lags = 0
  seen.recheck ||= advance.isReorganized
  return advance
}

/**
 * At a new block, counts the blocks that left out a transaction which a node has: those in which it was the account's next one, or
 * in which its price was below the base fee.
 */
export function countLeftOut(
  seen: ChainState,
  rows: { row: { row_id: number; hash: string | null }; nonce: number; payable: boolean }[],
): void {
  const counted = new Map<number, LeftOut>()
  for (const { row, nonce, payable } of rows) {
    const { row_id, hash } = row
    if (payable && nonce !== seen.latest) continue
    const before = seen.left_out.get(row_id)
    const isSame = before?.hash === hash && before.payable === payable
    counted.set(row_id, { hash, payable, blocks: isSame ? before.blocks + 1 : 0 })
  }
  seen.left_out = counted
}

async function isReplaced(
  before: Head,
  head: Head,
  chain: Pick<NetworkClient['chain'], 'blockHash'>,
): Promise<boolean> {
  if (head.hash === before.hash) return false
  if (head.number === before.number + 1) return head.parent_hash !== before.hash
  if (head.number === before.number) return true
  if (head.number < before.number) return (await chain.blockHash(head.number)) !== head.hash
  return (await chain.blockHash(before.number)) !== before.hash
}
