import type { TransactionError, TransactionErrorCode, TransactionReceipt } from '../../generated/openapi.ts'
import type { ReceiptView } from './decide.ts'
import { decodeError } from './decoding/decoded-call.ts'
import type { Effect } from './effect.ts'
import type { Proof } from './proof.ts'
import type { TransactionRow, TransactionUpdate } from './transaction-rows.ts'

/** Why a call reverts. */
export interface Revert {
  is_out_of_gas: boolean
  /** Decoded, printable; absent when the node does not say. */
  reason?: string
  /** In lower case hex; absent when the node does not say. */
  data?: string
}

/** The message of a revert whose reason is not known. */
const withoutReason = 'The execution reverted without a reason'

/** Longer revert data is not stored, because a part of it cannot be decoded. */
const maxRevertBytes = 4_096
const maxMessageLength = 1_000

/** The receipt as the contract shows it. */
export const receiptOf = (
  seen: Omit<ReceiptView, 'purpose'>,
): TransactionReceipt & { block_number: number; block_hash: string } => ({
  block_number: seen.block_number,
  block_hash: seen.block_hash,
  gas_used: seen.gas_used ?? null,
  effective_gas_price: seen.effective_gas_price?.toString() ?? null,
  fee: seen.fee?.toString() ?? null,
  l1_fee: seen.l1_fee?.toString() ?? null,
  // Nodes also return a contract address for a creation that reverted.
  contract_address: seen.succeeded ? (seen.contract_address ?? null) : null,
  logs_count: seen.logs_count ?? null,
})

/**
 * Why a transaction in a block has no effect. Out of gas: the replay says so, or all gas was used and the replay gives no other
 * reason.
 */
export function revertError(
  { gas_limit, fragments }: { gas_limit: number | null; fragments: string[] | null },
  { gas_used }: Pick<ReceiptView, 'gas_used'>,
  replayed: Revert | undefined,
): TransactionError {
  const usedAll = gas_limit !== null && gas_used !== undefined && gas_used >= gas_limit
  if (replayed?.is_out_of_gas || (usedAll && !replayed?.reason)) {
    return transactionError('out_of_gas', `Out of gas: its gas limit (${gas_limit}) was too low`)
  }
  const { data } = replayed ?? {}
  const reason = (fragments && data && decodeError(fragments, data)) || replayed?.reason
  const isShort = data !== undefined && data !== '0x' && data.length <= 2 + 2 * maxRevertBytes
  return { ...transactionError('reverted', reason ?? withoutReason), revert_data: isShort ? data : null }
}

/** The text of a revert in `status_reason`. */
export function revertText({ code, message }: TransactionError): string {
  if (code !== 'reverted') return message
  return (message === withoutReason ? 'Reverted' : `Reverted: ${message}`).slice(0, maxMessageLength)
}

export const transactionError = (code: TransactionErrorCode, message: string): TransactionError => ({
  code,
  message: message.slice(0, maxMessageLength),
  revert_data: null,
})

/** Of a transaction whose effect did not take place. */
export function missedError(effect: Effect, { block_number }: Pick<ReceiptView, 'block_number'>): TransactionError {
  if (effect.kind === 'forwarded')
    return transactionError(
      'not_forwarded',
      `The forwarder ${effect.forwarder} did not carry out the call of ${effect.signer}`,
    )
  const { account, delegate } = effect
  const text =
    `Nothing was executed: in block ${block_number} the account ${account} does not run the code ${delegate} (EIP-7702). ` +
    'Its authorization did not apply, or its delegation was changed. A value that it was sent has arrived'
  return transactionError('not_delegated', text)
}

/** A final transaction whose block is proven to be gone, or never to have had it. */
export const reopened = (
  { row_id, revision }: Pick<TransactionRow, 'row_id' | 'revision'>,
  _proof: Proof<{ block_hash: string } | { hash: string }>,
  statusReason: string,
): TransactionUpdate => ({
  row_id,
  revision,
  set: { status: 'submitted', block_number: null, block_hash: null, confirmed_at: null, status_reason: statusReason },
})
