import { proveHead } from '../chain/proofs.ts'
import { isUnmined } from '../domain/statuses.ts'
import { afterHead, isDueToPublish, isPrivate } from '../domain/submission.ts'
import type { TransactionRow, TransactionUpdate } from '../domain/transaction-rows.ts'
import { waitColumns } from '../domain/wait-reason.ts'
import { given } from '../lib/majority.ts'
import type { Commit } from './commit.ts'
import type { Decided, SenderDependencies, Tick } from './lane.ts'

/** Releases the bytes of `private_then_public` transactions, by the proven height of the chain: a release cannot be taken back. */
export function createReleasePrivate({ now }: Pick<SenderDependencies, 'now'>, commit: Commit) {
  /** Resolves to the same steps, for the rows as they are then. The round broadcasts what was released. */
  return async ({ networkClient, seen, pool }: Tick, decided: Decided[]): Promise<Decided[]> => {
    const height = seen.head?.number ?? 0
    const isSigned = ({ status }: TransactionRow) => isUnmined(status) && status !== 'pending'
    // What a caller has released, which no node has yet.
    for (const { row } of decided) if (!isPrivate(row) && pool.given_to_relays.delete(row.row_id)) pool.resend = true
    const due = decided.flatMap(({ row }) => (isSigned(row) && isDueToPublish(row, height) ? row : []))
    const proof = due.length === 0 ? undefined : await proveHead(networkClient)
    if (!proof) return decided
    const moves = due.flatMap((row): TransactionUpdate[] => {
      const submission = row.submission && afterHead(row.submission, proof, now())
      if (!submission) return []
      const { row_id, revision } = row
      if (submission.public_since === null) return [{ row_id, revision, set: { submission } }]
      const statusReason = `Public from block ${proof.fact.head}: the private relays had it for ${submission.after_blocks} blocks`
      const reason = row.intent === 'send' && { status_reason: statusReason }
      // What it waited for at the relays has ended.
      return [{ row_id, revision, set: { submission, ...waitColumns(row, null), ...reason } }]
    })
    const changed = new Map(given(await commit(moves)).map((row) => [row.row_id, row]))
    pool.resend ||= changed.values().some((row) => !isPrivate(row))
    return decided.map(({ row, step }) => ({ row: changed.get(row.row_id) ?? row, step }))
  }
}
