import type { TransactionError } from '../../generated/openapi.ts'
import { isDone, type ReceiptView, type Step } from '../domain/decide.ts'
import { readCall } from '../domain/decoding/decoded-call.ts'
import { readSigned, type SignedContent } from '../domain/decoding/transaction.ts'
import { effectOf } from '../domain/effect.ts'
import { missedError, receiptOf, revertError, revertText } from '../domain/outcome.ts'
import { feeSpending } from '../domain/policies/fee-policies.ts'
import type { Proof } from '../domain/proof.ts'
import type { RelayerRow } from '../domain/rows.ts'
import type { AttemptRow, TransactionRow, TransactionUpdate, WholeTransactionRow } from '../domain/transaction-rows.ts'
import { unprovenWait, waitColumns } from '../domain/wait-reason.ts'
import type { NetworkClient, SenderContext } from './context.ts'
import type { Tick } from './lane.ts'

type SettlementDependencies = Pick<SenderContext, 'store' | 'now' | 'observer'>

/** A transaction is in a block, or it is final. */
export type Settling = Extract<Step, { do: 'note' | 'end' }>

type AsMined = Partial<
  Pick<TransactionRow, 'hash' | 'signature' | 'gas_price' | 'max_fee_per_gas' | 'max_priority_fee_per_gas'>
> & { content?: SignedContent }

/** Turns receipts into changes of transaction rows. */
export function createReceipts({ store, now, observer }: SettlementDependencies) {
  return {
    /** The row shows the attempt that was mined: it may have an earlier price, or the content from before a replacement. */
    async movesOf(
      { held, networkClient: { chain } }: Tick,
      row: TransactionRow,
      step: Settling,
    ): Promise<TransactionUpdate[]> {
      const seen = step.do === 'end' ? step.proof.fact : step.seen
      const block = { block_number: seen.block_number, block_hash: seen.block_hash, receipt: receiptOf(seen) }
      const { content, ...others } = await asMined(row, seen)
      const mined = content && { ...content, call: readCall(row.fragments, content.data) }
      const shown = { ...(seen.purpose === 'send' && mined), ...others }
      const isMined = row.status === 'mined' && row.block_hash === seen.block_hash
      const whole = { ...row, ...content, ...(content && { data_bytes: content.data?.length ?? 0 }) }
      const found =
        seen.purpose === 'cancel' || isDone(seen) ? undefined : await failureOf(chain, whole, { seen, isMined })
      const reason = found ? revertText(found) : row.status_reason
      const isSuccess = seen.purpose === 'send' && isDone(seen)
      const error = isSuccess ? null : (found ?? row.error)
      const sentAt = row.sent_at ?? new Date(now()).toISOString()
      const { row_id, revision } = row

      // A cancellation in a block does not make its transaction `mined`: the requested transaction is not in the block.
      const noted: TransactionUpdate = {
        row_id,
        revision,
        set: {
          ...shown,
          ...block,
          sent_at: sentAt,
          status: seen.purpose === 'send' ? 'mined' : 'submitted',
          status_reason: isSuccess ? null : reason,
          error,
          // A node that does not show its effect: it is in the block, and its outcome is not known.
          ...(seen.outcome === 'unknown' && waitColumns(row, unprovenWait(seen))),
        },
      }
      if (step.do === 'note') return [noted]
      if (seen.fee !== undefined) observer.paid?.(row.chain_id, seen.fee)
      const ended: TransactionUpdate = {
        row_id,
        revision: isMined || seen.purpose === 'cancel' ? revision : revision + 1,
        ...paidMore(held.relayer, step.proof),
        end: { status: step.status, proof: step.proof },
        set: {
          ...shown,
          ...block,
          sent_at: sentAt,
          status_reason: step.status === 'confirmed' ? null : reason,
          error,
          confirmed_at: step.status === 'confirmed' ? new Date(now()).toISOString() : null,
        },
      }
      return isMined || seen.purpose === 'cancel' ? [ended] : [noted, ended]
    },
  }

  /** The columns of the attempt that is in the block; empty when the row shows this attempt already. */
  async function asMined(row: TransactionRow, seen: ReceiptView): Promise<AsMined> {
    if (row.hash === seen.hash && !row.resign) return {}
    const attempt = (await store.attempts(row.row_id)).find(({ hash }) => hash === seen.hash) as AttemptRow
    const { content, signature } = readSigned(await store.rawOf(row.row_id, attempt.number))
    return { content, signature, hash: attempt.hash, ...pricesIn(attempt) }
  }

  /** Why it had no effect. The reason of a revert is asked for once, while the node still has the state. */
  async function failureOf(
    chain: NetworkClient['chain'],
    mined: TransactionRow,
    { seen, isMined }: { seen: ReceiptView; isMined: boolean },
  ): Promise<TransactionError | undefined> {
    const effect = seen.succeeded ? effectOf(mined) : undefined
    if (effect) return missedError(effect, seen)
    return isMined ? undefined : replayed(chain, { data: await store.dataOf(mined.row_id), ...mined }, seen)
  }

  async function replayed(
    chain: NetworkClient['chain'],
    row: WholeTransactionRow,
    seen: ReceiptView,
  ): Promise<TransactionError> {
    const { from, to, data, access_list, authorization_list } = row
    const call = { from, to, value: BigInt(row.value), data, access_list, authorization_list }
    const gas = row.gas_limit === null ? {} : { gas: row.gas_limit }
    return revertError(row, seen, await chain.replay({ ...call, ...gas }, seen.block_number).catch(() => undefined))
  }
}

/**
 * A rollup may charge more for the data than was estimated at the acceptance. What was paid then counts for `max_fee_per_day`, also
 * above the limit.
 */
function paidMore(
  relayer: RelayerRow,
  { fact: { fee, l1_fee } }: Proof<ReceiptView>,
): Pick<TransactionUpdate, 'spending'> {
  if (l1_fee === undefined || fee === undefined) return {}
  const [spend] = feeSpending(relayer, fee)
  return spend ? { spending: [{ ...spend, limit: undefined }] } : {}
}

const pricesIn = ({ gas_price, max_fee_per_gas, max_priority_fee_per_gas }: AttemptRow) => ({
  gas_price,
  max_fee_per_gas,
  max_priority_fee_per_gas,
})
