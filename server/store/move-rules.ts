import type { Move, TransactionRow } from '../core/sending-rows.ts'
import { isFinal } from '../core/statuses.ts'
import { bucketAt } from './spending-rules.ts'
import { bytesOf } from './transaction-rows.ts'

/** The most bytes that the moves of one database transaction write: some milliseconds. */
export const max_move_bytes = 1_000_000

export const bytesOfMove = ({ set, attempt }: Move): number => bytesOf(set.data ?? null) + (attempt?.raw.length ?? 0)

/** Moves in batches for one database transaction each, in their order. A batch ends with the move that reaches `max_move_bytes`. */
export function batchesOfMoves(moves: Move[]): Move[][] {
  const batches: Move[][] = []
  let bytes = max_move_bytes
  for (const move of moves) {
    if (bytes >= max_move_bytes) {
      batches.push([])
      bytes = 0
    }
    batches.at(-1)?.push(move)
    bytes += bytesOfMove(move)
  }
  return batches
}

/** The row after a move, except for its data and the amount that is reserved for it. `now`: milliseconds since the Unix epoch. */
export function movedRow(before: TransactionRow, { set, end }: Pick<Move, 'set' | 'end'>, now: number): TransactionRow {
  const { data: _, ...others } = set
  const status = end?.status ?? set.status ?? before.status
  const after: TransactionRow = { ...before, ...waitOf(set), ...others, status, revision: before.revision + 1 }
  if (isFinal(after.status)) Object.assign(after, { waiting_for: null, wait_text: null })
  // Until it ends, it counts however old it is (spending-book.ts); what it paid counts for a day from its end.
  const isEnded = isFinal(after.status) && !isFinal(before.status)
  if (isEnded && after.sponsored) after.sponsored = { ...after.sponsored, bucket: bucketAt(now) }
  const isChanged = after.status !== before.status || after.waiting_for !== before.waiting_for
  if (isChanged) after.changed_at = new Date(now).toISOString()
  return after
}

/** Setting a reason clears why it waits, unless that is set too. */
const waitOf = ({ status_reason }: Move['set']): Pick<Move['set'], 'waiting_for' | 'wait_text'> =>
  status_reason === undefined ? {} : { waiting_for: null, wait_text: null }
