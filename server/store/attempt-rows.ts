import type { AuditEntry } from '../core/rows.ts'
import type { Attempt, TransactionRow } from '../core/sending-rows.ts'

/** The columns of an attempt without its bytes. */
export const attemptColumns =
  'number, purpose, nonce, hash, gas_price, max_fee_per_gas, max_priority_fee_per_gas, gas_limit, taken_at, created_at, refusal, refusal_kind'

/** The audit entry of a signature that the service makes in the background, for a transaction that a caller requested. */
export const signatureEntry = (
  { relayer_id }: TransactionRow,
  { purpose, hash }: Pick<Attempt, 'purpose' | 'hash'>,
  at: number,
  key_request_id: string | undefined,
): AuditEntry => ({
  at,
  caller: 'service',
  operation: purpose === 'send' ? 'signTransactionToSend' : 'signTransactionToCancel',
  relayer_id,
  subject: hash,
  result: 200,
  request_id: null,
  ...(key_request_id !== undefined && { key_request_id }),
})
