import type { Transaction, TransactionStatus } from '../../generated/openapi.ts'
import type { TransactionRow } from '../core/sending-rows.ts'
import { type ShownColumns, shownTransaction } from '../core/shown-transaction.ts'
import { shownReason } from '../core/wait-reason.ts'

const inNoBlock: ReadonlySet<TransactionStatus> = new Set(['pending', 'sent', 'submitted'])
const max_reason_length = 1_000

/**
 * A transaction as the contract shows it. One that waits without its own reason gets that of the relayer's first waiting transaction.
 * It is added when the row is read, because thousands of rows would have to be written each time the first one changes.
 */
export function behind(row: ShownColumns, first: TransactionRow | undefined): Transaction {
  const shown = shownTransaction(row)
  const { id, status, waiting_for, nonce } = row
  if (!first || first.waiting_for === null || first.id === id || !inNoBlock.has(status) || nonce === null) return shown
  if (nonce < (first.nonce as number) || waiting_for !== null) return shown
  const wait_text = `nonce ${first.nonce} comes first (transaction ${first.id}): ${first.wait_text ?? ''}`
  const reason = shownReason({ ...row, waiting_for: 'earlier_nonce', wait_text })
  return { ...shown, status_reason: reason?.slice(0, max_reason_length) ?? null }
}
