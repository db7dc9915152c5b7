import type { TransactionError } from '../../generated/openapi.ts'
import { askEach, type Chain, given, majorityOf, type Receipts } from '../chain/chain.ts'
import { deniesAll, newestOf, proveReceipts, surveyBlocks, type Witnesses } from '../chain/proofs.ts'
import { decide, isDone, type ReceiptView, type Step } from '../domain/decide.ts'
import { readCall } from '../domain/decoding/decoded-call.ts'
import { readSigned, type SignedContent } from '../domain/decoding/transaction.ts'
import { effectOf } from '../domain/effect.ts'
import { missedError, receiptOf, reopened, revertError, revertText } from '../domain/outcome.ts'
import type { KeyBudget } from '../domain/policies/budgets.ts'
import { feeSpending } from '../domain/policies/fee-policies.ts'
import type { Proof } from '../domain/proof.ts'
import type { RelayerRow } from '../domain/rows.ts'
import {
  type AttemptRow,
  revisionAfter,
  type TransactionRow,
  type TransactionUpdate,
} from '../domain/transaction-rows.ts'
import { quorumWait, waitColumns } from '../domain/wait-reason.ts'
import { BoundedMap } from '../lib/cache.ts'
import { commit, type NetworkClient, type SenderContext } from './context.ts'
import { type Tick, type TickContext, transactionState } from './relayer-state.ts'

/** For how many blocks after its confirmation a transaction is watched. */
export const watchedBlocks = 32

/** A node that lags behind its own newest block has caught up after so many blocks. */
const denialBlocks = 6

/** A transaction is in a block, or it is final. */
export type ShownStep = Extract<Step, { do: 'note' | 'end' }>

type AsMined = Partial<
  Pick<TransactionRow, 'hash' | 'signature' | 'gas_price' | 'max_fee_per_gas' | 'max_priority_fee_per_gas'>
> & { content?: SignedContent }

/**
 * The updates of a row by a receipt. The row shows the attempt that was mined: it may have an earlier price, or the content from before a
 * replacement.
 */
export async function updatesByReceipt(
  context: SenderContext,
  { held, networkClient: { chain } }: Tick,
  row: TransactionRow,
  step: ShownStep,
): Promise<TransactionUpdate[]> {
  const { now, observer, budgets } = context
  const seen = step.do === 'end' ? step.proof.fact : step.seen
  const { content, ...others } = await asMined(context, row, seen)
  const mined = content && { ...content, call: readCall(row.fragments, content.data) }
  const isSend = seen.purpose === 'send'
  const isMined = row.status === 'mined' && row.block_hash === seen.block_hash
  const whole = { ...row, ...content, ...(content && { data_bytes: content.data?.length ?? 0 }) }
  const isFailure = isSend && !isDone(seen)
  const found = isFailure ? await failureOf(context, chain, whole, { seen, isMined }) : undefined
  const reason = found ? revertText(found) : row.status_reason
  const isSuccess = isSend && isDone(seen)
  const { row_id, revision } = row
  const shown = {
    ...(isSend && mined),
    ...others,
    block_number: seen.block_number,
    block_hash: seen.block_hash,
    receipt: receiptOf(seen),
    sent_at: row.sent_at ?? new Date(now()).toISOString(),
    error: isSuccess ? null : (found ?? row.error),
  }

  // A cancellation in a block does not make its transaction `mined`: the requested transaction is not in the block.
  const noted: TransactionUpdate = {
    row_id,
    revision,
    set: {
      ...shown,
      status: isSend ? 'mined' : 'submitted',
      status_reason: isSuccess ? null : reason,
      // A node that does not show its effect: it is in the block, and its outcome is not known.
      ...(seen.outcome === 'unknown' && waitColumns(row, quorumWait(seen))),
    },
  }
  if (step.do === 'note') return [noted]
  if (seen.fee !== undefined) observer.paid?.(row.chain_id, seen.fee)
  const isConfirmed = step.status === 'confirmed'
  // Otherwise it is shown as mined first, in the same commit.
  const isOne = isMined || !isSend
  const ended: TransactionUpdate = {
    row_id,
    revision: isOne ? revision : revisionAfter(noted),
    ...paidMore(held.relayer, step.proof, await budgets.find(row.caller)),
    end: { status: step.status, proof: step.proof },
    set: {
      ...shown,
      status_reason: isConfirmed ? null : reason,
      confirmed_at: isConfirmed ? new Date(now()).toISOString() : null,
    },
  }
  return isOne ? [ended] : [noted, ended]
}

/** The columns of the attempt that is in the block; empty when the row shows this attempt already. */
async function asMined({ store }: SenderContext, row: TransactionRow, seen: ReceiptView): Promise<AsMined> {
  if (row.hash === seen.hash && !row.resign) return {}
  const attempt = (await store.attempts(row.row_id)).find(({ hash }) => hash === seen.hash) as AttemptRow
  const { content, signature } = readSigned(await store.rawOf(row.row_id, attempt.number))
  const { hash, gas_price, max_fee_per_gas, max_priority_fee_per_gas } = attempt
  return { content, signature, hash, gas_price, max_fee_per_gas, max_priority_fee_per_gas }
}

/** Why it had no effect. The reason of a revert is asked for once, while the node still has the state. */
async function failureOf(
  { store }: SenderContext,
  chain: NetworkClient['chain'],
  mined: TransactionRow,
  { seen, isMined }: { seen: ReceiptView; isMined: boolean },
): Promise<TransactionError | undefined> {
  const effect = seen.succeeded ? effectOf(mined) : undefined
  if (effect) return missedError(effect, seen)
  if (isMined) return undefined
  const row = { data: await store.dataOf(mined.row_id), ...mined }
  const { from, to, data, access_list, authorization_list } = row
  const call = { from, to, value: BigInt(row.value), data, access_list, authorization_list }
  const gas = row.gas_limit === null ? {} : { gas: row.gas_limit }
  return revertError(row, seen, await chain.replay({ ...call, ...gas }, seen.block_number).catch(() => undefined))
}

/**
 * A rollup may charge more for the data than was estimated at the acceptance. What was paid then counts for `max_fee_per_day`, also
 * above the limit.
 */
function paidMore(
  relayer: RelayerRow,
  { fact: { fee, l1_fee } }: Proof<ReceiptView>,
  budget: KeyBudget | undefined,
): Pick<TransactionUpdate, 'spending'> {
  if (l1_fee === undefined || fee === undefined) return {}
  const spending = feeSpending(relayer, fee, budget).map((spend) => ({ ...spend, limit: undefined }))
  return spending.length > 0 ? { spending } : {}
}

/**
 * Distinguishes a reorganization from a node that lags or follows a fork, by the endpoints' block hashes at the block's height. For
 * transactions that were in a block and now have no receipt: whether its block is likely to be replaced, or to be one that never had it (a
 * node had lied), and the receipt that most answering endpoints have in a block that is not. All are hints: they start a broadcast, and end
 * nothing.
 */
export async function fatesOf(
  { store }: SenderContext,
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

/**
 * Reopens transactions that ended in a block which a reorganization replaced, deeper than the network's confirmations: they are `submitted`
 * again. Costs one call when the relayer's newest block is still in the chain. Resolves to whether any was reopened.
 */
export async function reopen(
  { store, observer }: SenderContext,
  { held: { relayer }, networkClient, state }: Tick,
): Promise<boolean> {
  const newest = await store.newestEnded(relayer.row_id)
  const from = state.height - networkClient.network.required_confirmations - watchedBlocks
  if (!newest || newest.number < from) return false
  if ((await networkClient.chain.blockHash(newest.number)) === newest.hash) return false

  const rows = await store.endedSince(relayer.row_id, from)
  const blocks = await surveyBlocks(networkClient, rows)
  const updates = rows.flatMap((row) => {
    const proof = blocks.get(row.block_hash ?? '')?.proof
    return proof ? reopened(row, proof, whyReopened(row)) : []
  })
  if (updates.length === 0) return false
  observer.nonceNoticed?.('confirmed transactions reopened', { relayer_id: relayer.id, count: updates.length })
  await store.move(updates)
  return true
}

const whyReopened = ({ intent }: TransactionRow): string =>
  intent === 'send'
    ? 'A reorganization removed its block after it was final: it is sent again'
    : 'A reorganization removed the block of its cancellation after it was final: it is withdrawn again'

const firstWaitMs = 60_000
const maxWaitMs = 3_600_000
const recheckedMs = 24 * 3_600_000
const maxRows = 100
/** The shortest interval between two reads of the rows. */
const readAgainMs = 30_000
const maxRemembered = 10_000

interface Case {
  since: number
  poll_at: number
  wait_ms: number
}

/**
 * Signed transactions that failed without being in a block, because another transaction was proven at their nonces. A deep reorganization
 * may bring theirs back: the rows are looked up for a day, at growing intervals, and corrected when a majority of all endpoints has the
 * receipt of an attempt with enough confirmations.
 */
export class FailedUnmined {
  readonly #context: TickContext
  readonly #cases = new BoundedMap<number, Case>(maxRemembered)
  /** By relayer: when its rows are read again. */
  readonly #readAt = new BoundedMap<number, number>(maxRemembered)

  constructor(context: TickContext) {
    this.#context = context
  }

  /** Looks up the rows that are due, and corrects them. Resolves to whether a row has changed. */
  async correct(tick: Tick): Promise<boolean> {
    const { elapsed } = this.#context
    const { row_id } = tick.held.relayer
    if (elapsed() < (this.#readAt.get(row_id) ?? 0)) return false
    this.#readAt.set(row_id, elapsed() + readAgainMs)
    let isChanged = false
    for (const { row, known } of await this.#open(row_id)) {
      if (elapsed() < known.poll_at) continue
      known.wait_ms = Math.min(known.wait_ms * 2, maxWaitMs)
      known.poll_at = elapsed() + known.wait_ms
      isChanged = (await this.#correctOne(tick, row)) || isChanged
    }
    return isChanged
  }

  /** Milliseconds until the next lookup; undefined: nothing is left to look up. */
  async dueIn(relayerRowId: number): Promise<number | undefined> {
    const polls = (await this.#open(relayerRowId)).map(({ known }) => known.poll_at)
    return polls.length === 0 ? undefined : Math.max(0, Math.min(...polls) - this.#context.elapsed())
  }

  async #open(relayerRowId: number): Promise<{ row: TransactionRow; known: Case }[]> {
    const { store, elapsed } = this.#context
    const caseOf = ({ row_id }: TransactionRow) =>
      this.#cases.of(row_id, () => ({ since: elapsed(), poll_at: elapsed() + firstWaitMs, wait_ms: firstWaitMs }))
    return (await store.failedUnmined(relayerRowId, maxRows))
      .map((row) => ({ row, known: caseOf(row) }))
      .filter(({ known }) => elapsed() - known.since < recheckedMs)
  }

  async #correctOne(tick: Tick, row: TransactionRow): Promise<boolean> {
    const { store, now, observer } = this.#context
    const { networkClient, state } = tick
    const attempts = (await store.attempts(row.row_id)).filter(({ nonce }) => nonce === row.nonce)
    const [quorum] = await proveReceipts(networkClient, [{ attempts, effect: effectOf(row) }])
    if (quorum?.is !== 'proven') return false
    const observation = state.observation(tick, row, now(), { quorum })
    const step = decide({ ...transactionState(row), status: 'submitted' }, observation)
    if (step.do !== 'end') return false
    const { hash } = quorum.proof.fact
    observer.nonceNoticed?.('transaction corrected', { relayer_id: row.relayer_id, transaction_id: row.id, hash })
    await commit(this.#context, await updatesByReceipt(this.#context, tick, { ...row, error: null }, step))
    return true
  }
}
