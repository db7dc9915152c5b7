import type { Transaction, TransactionStatus } from '../../generated/openapi.ts'
import type { TransactionRow } from '../store/sending-rows.ts'

const inNoBlock: ReadonlySet<TransactionStatus> = new Set(['pending', 'sent', 'submitted'])
const max_reason_length = 1_000

/**
 * Adds to a waiting transaction without its own reason the reason of the relayer's first waiting transaction. It is added when the
 * row is read, because thousands of rows would have to be written each time the first one changes.
 */
export function behind(transaction: Transaction, first: TransactionRow | undefined): Transaction {
  const { id, status, status_reason, nonce } = transaction
  if (!first || first.waiting_for === null || first.id === id || !inNoBlock.has(status) || nonce === null)
    return transaction
  if (nonce < (first.nonce as number) || status_reason?.includes('Waits: ')) return transaction
  const its = first.status_reason?.replace(/^.*?Waits: /s, '') ?? ''
  const waits = `Waits: nonce ${first.nonce} comes first (transaction ${first.id}): ${its}`
  const reason = [status_reason, waits].filter(Boolean).join('; ')
  return { ...transaction, status_reason: reason.slice(0, max_reason_length) }
}
