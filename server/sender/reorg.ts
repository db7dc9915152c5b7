import { askEach } from '../chain/ask-each.ts'
import type { Chain, Receipts } from '../chain/chain.ts'
import { deniesAll, newestOf, surveyBlocks, type Witnesses } from '../chain/proofs.ts'
import type { ReceiptView } from '../domain/decide.ts'
import type { Proof } from '../domain/proof.ts'
import type { RelayerRow } from '../domain/rows.ts'
import type { AttemptRow, TransactionRow, TransactionUpdate } from '../domain/transaction-rows.ts'
import { given, majorityOf } from '../lib/majority.ts'
import type { NetworkClient, SenderContext } from './context.ts'

/** For how many blocks after its confirmation a transaction is watched. */
export const watchedBlocks = 32

/** A node that lags behind its own newest block has caught up after so many blocks. */
const denialBlocks = 6

/** Distinguishes a reorganization from a node that lags or follows a fork, by the endpoints' block hashes at the block's height. */
export function createReorg({ store, observer }: Pick<SenderContext, 'store' | 'observer'>) {
  /**
   * For transactions that were in a block and now have no receipt: whether its block is likely to be replaced, or to be one that never had
   * it (a node had lied), and the receipt that most answering endpoints have in a block that is not. All are hints: they start a broadcast,
   * and end nothing.
   */
  async function fatesOf(
    witnesses: Witnesses,
    rows: TransactionRow[],
  ): Promise<{ replaced: boolean; receipt: ReceiptView | null }[]> {
    const blocks = await surveyBlocks(witnesses, rows)
    const attempts = await Promise.all(rows.map(({ row_id }) => store.attempts(row_id)))
    const answers = await askEach(witnesses.each, (node) => receiptsOf(node, attempts.flat()))
    const isLikelyReplaced = (blockHash: string | null) => blocks.get(blockHash ?? '')?.isLikely === true
    return rows.map((row, index) => {
      const own = attempts[index] ?? []
      const receipt = shownByMost(given(answers), own)
      const isIn = receipt !== undefined && !isLikelyReplaced(receipt.block_hash)
      const isOut = isLikelyReplaced(row.block_hash) || isDeniedByMost(answers, own, row.block_number)
      return { replaced: isOut, receipt: isIn ? receipt : null }
    })
  }

  /**
   * Reopens transactions that ended in a block which a reorganization replaced, deeper than the network's confirmations: they are
   * `submitted` again. Costs one call when the relayer's newest block is still in the chain. Resolves to whether any was reopened.
   */
  async function reopen(
    relayer: RelayerRow,
    client: Pick<NetworkClient, 'chain' | 'each' | 'endpoints' | 'network'>,
    head: number,
  ): Promise<boolean> {
    const newest = await store.newestEnded(relayer.row_id)
    const from = head - client.network.required_confirmations - watchedBlocks
    if (!newest || newest.number < from) return false
    if ((await client.chain.blockHash(newest.number)) === newest.hash) return false

    const rows = await store.endedSince(relayer.row_id, from)
    const blocks = await surveyBlocks(client, rows)
    const moves = rows.flatMap((row) => {
      const proof = blocks.get(row.block_hash ?? '')?.proof
      return proof ? reopened(row, proof) : []
    })
    if (moves.length === 0) return false
    observer.nonceNoticed?.('confirmed transactions reopened', { relayer_id: relayer.id, count: moves.length })
    await store.move(moves)
    return true
  }

  return { fatesOf, reopen }
}

const reopened = (
  { row_id, revision, intent }: TransactionRow,
  _proof: Proof<{ block_hash: string }>,
): TransactionUpdate => ({
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

/** What one endpoint shows: its newest block, and then the receipts, which are at least as new. */
interface Shown {
  head: number
  receipts: Receipts
}

async function receiptsOf(node: Chain, attempts: AttemptRow[]): Promise<Shown> {
  const { number: head } = await node.head()
  return { head, receipts: await node.receipts(attempts.map(({ hash }) => hash)) }
}

/** The receipt of one of the attempts that more than half of the answering endpoints have. */
function shownByMost(answers: Shown[], attempts: AttemptRow[]): ReceiptView | undefined {
  const seen = given(answers.map(({ receipts }) => newestOf(attempts, receipts)))
  const groups = [...Map.groupBy(seen, ({ hash, block_hash }) => `${hash} ${block_hash}`).values()]
  return groups.find((group) => group.length >= majorityOf(answers.length))?.[0]
}

/** Whether more than half of ALL endpoints are well past the block, and have no receipt of any of the attempts. */
function isDeniedByMost(answers: (Shown | undefined)[], attempts: AttemptRow[], blockNumber: number | null): boolean {
  const denials = given(answers).filter(
    ({ head, receipts }) => blockNumber !== null && head >= blockNumber + denialBlocks && deniesAll(attempts, receipts),
  )
  return denials.length >= majorityOf(answers.length)
}
