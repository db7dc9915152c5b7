import type { Relayer, Transaction, TransactionReceipt } from '../../generated/openapi.ts'
import { percentileOf } from './fees.ts'
import { firstWindow } from './nonce-window.ts'
import type { RelayerRow } from './rows.ts'
import { isFinal, isUnmined } from './statuses.ts'
import { shownSubmission } from './submission.ts'
import type { Derived, TransactionRow } from './transaction-rows.ts'
import { showRpcUrls } from './values.ts'
import { shownReason, type WaitColumns } from './wait-reason.ts'

/** A relayer's row as the contract shows it, in responses and in events. */
export function showRelayer({
  row_id: _,
  chain_id: __,
  funding: ___,
  coin_token: ____,
  ...relayer
}: RelayerRow): Relayer {
  const notificationId = relayer.notification_ids[0] ?? null
  return { ...relayer, notification_id: notificationId, custom_rpc_urls: showRpcUrls(relayer.custom_rpc_urls) }
}

type Block = { block_number: number | null; block_hash: string | null }

/** What the contract's form of a row is made of. */
export type ShownColumns = Omit<Transaction, Derived> &
  Pick<TransactionRow, 'call' | 'metadata' | 'submission' | 'changed_at' | 'intent' | 'replacements'> &
  Block &
  WaitColumns

/** A row as the contract shows it. */
export const shownTransaction = (row: ShownColumns): Transaction => ({
  id: row.id,
  network: row.network,
  relayer_id: row.relayer_id,
  hash: row.hash,
  from: row.from,
  to: row.to,
  value: row.value,
  data: row.data,
  call: row.data === null ? null : row.call,
  nonce: row.nonce,
  type: row.type,
  gas_limit: row.gas_limit,
  gas_price: row.gas_price,
  max_fee_per_gas: row.max_fee_per_gas,
  max_priority_fee_per_gas: row.max_priority_fee_per_gas,
  status: row.status,
  status_reason: shownReason(row),
  wait_reason: row.wait_reason,
  is_canceling: row.intent !== 'send' && isUnmined(row.status),
  valid_until: row.valid_until,
  moved_to_transaction_id: row.moved_to_transaction_id,
  created_at: row.created_at,
  sent_at: row.sent_at,
  confirmed_at: row.confirmed_at,
  ended_at: isFinal(row.status) ? (row.confirmed_at ?? row.changed_at) : null,
  signature: row.signature,
  speed: row.speed,
  speed_percentile: row.speed && percentileOf[row.speed],
  receipt: currentReceipt(row),
  error: row.status === 'failed' || row.status === 'mined' ? row.error : null,
  reference: row.reference,
  deduplication_id: row.deduplication_id,
  ordering_key: row.ordering_key,
  pool_id: row.pool_id,
  metadata: row.metadata,
  submission: shownSubmission(row.submission),
  revision: revisionOfContent(row),
  access_list: row.access_list,
  authorization_list: row.authorization_list,
})

/** Changes with each replacement of the content, and with nothing that the service does by itself. */
export const revisionOfContent = ({ replacements }: Pick<TransactionRow, 'replacements'>): string =>
  `${replacements + 1}`

/** The receipt of the block that a row is in. A stored receipt of another block is out of date: a reorganization has removed that block. */
const currentReceipt = ({ block_hash, receipt }: Pick<Transaction, 'receipt'> & Block): TransactionReceipt | null =>
  block_hash !== null && receipt?.block_hash === block_hash ? receipt : null

const maxReasonLength = 1_000
const signedLater = 'this one is signed when the nodes have accepted the ones before it'

/**
 * A transaction as the contract shows it. One that waits without its own reason gets that of the relayer's first waiting transaction, and
 * one that is not signed yet, because nodes have not taken those before it, says so. It is added when the row is read, because thousands
 * of rows would have to be written each time the first one changes. `poolRowId`: given when a pool shows it: then of another transaction
 * only its nonce is shown, unless that was sent through the pool too.
 */
export function shownBehind(
  row: ShownColumns,
  first: TransactionRow | undefined,
  poolRowId?: number | null,
): Transaction {
  const shown = shownTransaction(row)
  const { id, status, wait_reason, nonce } = row
  if (!first || first.id === id || !isUnmined(status) || nonce === null || wait_reason !== null) return shown
  const isWaiting = first.wait_reason !== null
  const ahead = nonce - (first.nonce as number)
  if (ahead < 0 || !(isWaiting || (status === 'pending' && ahead >= firstWindow))) return shown
  const isShown = isOfPool(first, poolRowId)
  const why = !isWaiting ? `: ${signedLater}` : isShown ? `: ${first.wait_text ?? ''}` : ''
  const waitText = `nonce ${first.nonce} comes first${isShown ? ` (${first.reference ?? `transaction ${first.id}`})` : ''}${why}`
  const reason = shownReason({ ...row, wait_reason: 'earlier_nonce', wait_text: waitText })
  return { ...shown, status_reason: reason?.slice(0, maxReasonLength) ?? null, wait_reason: 'earlier_nonce' }
}

/** Whether it was sent through the pool; of no pool (undefined): any. */
export const isOfPool = (row: Pick<TransactionRow, 'pool_row_id'>, poolRowId: number | null | undefined): boolean =>
  poolRowId === undefined || row.pool_row_id === poolRowId
