import type { Move, TransactionRow } from '../../core/sending-rows.ts'
import { afterHead, isDueToPublish, isPrivate } from '../../core/submission.ts'
import { proveHead } from '../../evm/proofs.ts'
import type { Commit } from './commit.ts'
import type { Lane, SenderDependencies } from './lane.ts'

/** Releases the bytes of `private_then_public` transactions, by the proven height of the chain: a release cannot be taken back. */
export function createPublish({ now }: Pick<SenderDependencies, 'now'>, commit: Commit) {
  /** `rows`: in no block. Resolves to whether the bytes of any were released. */
  return async ({ networkClient, seen }: Lane, rows: TransactionRow[]): Promise<boolean> => {
    const height = seen.head?.number ?? 0
    const due = rows.filter((row) => row.status !== 'pending' && isDueToPublish(row, height))
    const proof = due.length === 0 ? undefined : await proveHead(networkClient)
    if (!proof) return false
    const moves = due.flatMap((row): Move[] => {
      const submission = row.submission && afterHead(row.submission, proof, now())
      if (!submission) return []
      const { row_id, revision } = row
      const isTold = submission.public_since !== null && row.intent === 'send'
      const status_reason = `Public from block ${proof.fact.head}: the private relays had it for ${submission.after_blocks} blocks`
      return [{ row_id, revision, set: { submission, ...(isTold && { status_reason }) } }]
    })
    return (await commit(moves)).some((row) => row !== undefined && !isPrivate(row))
  }
}
