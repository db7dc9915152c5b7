import type { TransactionError } from '../../generated/openapi.ts'
import { callOf } from '../chain/gas.ts'
import type { Mempool } from '../chain/mempool.ts'
import { isRpcFailure } from '../chain/rpc.ts'
import { contentHash } from '../domain/attempts.ts'
import { repriceMs } from '../domain/decide.ts'
import { type Envelope, serializeUnsigned } from '../domain/encoding/envelope.ts'
import { priceColumns, tierOf } from '../domain/fees.ts'
import { transactionError } from '../domain/outcome.ts'
import { feeOf, feeSpending } from '../domain/policies/fee-policies.ts'
import { planSignature, type SignaturePlan, type SignedParts, type SigningFacts } from '../domain/signature-plan.ts'
import { isReleasedWhenSigned, releasedCancellation } from '../domain/submission.ts'
import { formOf, plainForm } from '../domain/transaction-form.ts'
import type { Attempt, AttemptRow, Spend, TransactionRow, TransactionUpdate } from '../domain/transaction-rows.ts'
import { isSameWait, type Wait, waitColumns } from '../domain/wait-reason.ts'
import type { RelayerSigner } from '../keys/keyring.ts'
import { LeaseLost } from '../store/worker.ts'
import type { NetworkClient } from './context.ts'
import type { TickContext } from './relayer-state.ts'

const atLimitMs = 15_000

/** Signed bytes, with what is known of them. */
export type SignedBytes = Pick<Attempt, 'number' | 'hash' | 'raw'> & Partial<Pick<Attempt, 'taken_at' | 'purpose'>>

/** The update of a row, and the bytes to broadcast after it is committed. */
export interface Signed {
  update: TransactionUpdate
  bytes?: SignedBytes
  /** Whether the bytes are new: then they may be broadcast only after the update is committed. */
  isNew: boolean
  /** Nothing is signed: its gas limit is too low. */
  hopeless?: Hopeless
}

/** A transaction that no node will ever accept. */
export interface Hopeless {
  row: TransactionRow
  reason: string
  error: TransactionError
  /** Nodes confirm it when they are asked for its gas, so the policy `max_gap_fills_per_hour` does not limit it. */
  isConfirmed: boolean
}

type SignContext = Pick<TickContext, 'store' | 'budgets' | 'now' | 'observer' | 'holds'>
type Client = Pick<NetworkClient, 'gas' | 'market' | 'mempoolOf'>

/** What to sign. `slow`: again, at another price. `signal`: a signature that is not requested yet is not needed any more when it aborts. */
interface SignRequest extends Pick<SigningFacts, 'row' | 'purpose' | 'slow'> {
  signal?: AbortSignal | undefined
}

/**
 * Signs a transaction: for the first time, with new content (a replacement or a cancellation), or (`slow`) at another price. The form of
 * the transaction stays. Undefined: nothing changes.
 */
export async function sign(
  context: SignContext,
  { relayer, signer }: RelayerSigner,
  client: Client,
  request: SignRequest,
): Promise<Signed | undefined> {
  const { store, now } = context
  const { row, purpose, slow } = request
  const attempts = row.revision === 0 ? [] : await store.attempts(row.row_id)
  const content =
    purpose === 'send'
      ? await requestedContent(context, client, row, slow)
      : await selfTransfer(client, row, attempts.at(-1))
  if ('wait_reason' in content) return waiting(row, content, now())
  if ('reason' in content) return hopeless(row, content.reason, now())
  const plan = await planWithinBudget(context, client, { relayer, row, purpose, slow, content, attempts })
  if (plan.do === 'sign')
    return makeAttempt(context, signer, request, { ...plan, number: (attempts.at(-1)?.number ?? 0) + 1 })
  const changed = plan.do === 'wait' ? waiting(row, plan.wait, now()) : postponed(row, now())
  if (!changed || !plan.again) return changed
  return { ...changed, bytes: { ...plan.again, raw: await store.rawOf(row.row_id, plan.again.number) } }
}

type SignPlan = Extract<SignaturePlan, { do: 'sign' }> & { spending: Spend[] }

/** The market is asked only where the prices depend on it. What a day's budget forbids waits; the commit checks it again. */
async function planWithinBudget(
  { store, budgets }: SignContext,
  { market }: Client,
  facts: SigningFacts,
): Promise<Exclude<SignaturePlan, { do: 'sign' }> | SignPlan> {
  const plan = planSignature(facts) ?? planSignature(facts, await market())
  if (plan.do !== 'sign') return plan
  const { relayer, row } = facts
  const { content, prices } = plan
  const fee = feeOf({ gas_limit: content.gas_limit, prices, data_fee: BigInt(row.data_fee ?? 0) })
  const spending = feeSpending(relayer, fee, await budgets.find(row.caller))
  if (spending.length > 0) {
    const over = await store.wouldExceed({ chain_id: row.chain_id, address: row.from }, spending, row.row_id)
    if (over) return { do: 'wait', wait: waitForBudget(over.spend) }
  }
  return { ...plan, spending }
}

/** Uses the key. The bytes are stored with the update, and broadcast after it. */
async function makeAttempt(
  { now, observer, holds }: SignContext,
  signer: RelayerSigner['signer'],
  { row, purpose, signal }: SignRequest,
  { number, content, prices, spending }: SignPlan & { number: number },
): Promise<Signed> {
  const isSend = purpose === 'send'
  const form = isSend ? formOf(row.type, row, prices) : plainForm(prices)
  const envelope: Envelope = { chain_id: row.chain_id, nonce: row.nonce as number, ...content, ...form }
  const unsigned = serializeUnsigned(envelope)
  // This process may have been stopped for a while. New bytes that are signed all the same are not stored, and so not broadcast.
  if (!holds(row.relayer_row_id)) throw new LeaseLost()
  const made = await signer.sign(unsigned.digest, unsigned.preimage, signal)
  const { raw, hash, signature } = unsigned.finish(made)
  observer.signed?.('sent_transaction')

  const { gas_limit } = content
  const priced = priceColumns(prices)
  const signed = { raw, hash, sig: signature.sig, content_hash: contentHash(content) }
  const attempt = { number, purpose, nonce: envelope.nonce, ...signed, gas_limit, ...priced }
  return {
    isNew: true,
    bytes: attempt,
    update: {
      row_id: row.row_id,
      revision: row.revision,
      attempt,
      ...(made.request_id !== undefined && { key_request_id: made.request_id }),
      ...(spending.length > 0 && { spending }),
      set: {
        ...(row.status === 'pending' && { status: 'sent' }),
        ...waitColumns(row, null),
        ...(!isSend && isReleasedWhenSigned(row) && { submission: releasedCancellation(row, now()) }),
        hash,
        signature,
        resign: false,
        reprice_at: repriceAt(row, now()),
        ...priced,
        // A transfer that fills a gap has no gas limit before.
        ...((isSend || row.gas_limit === null) && { gas_limit }),
        ...(isSend && row.is_sweep && { value: `${content.value}` }),
      },
    },
  }
}

const repriceAt = (row: TransactionRow, now: number): number => now + repriceMs[tierOf(row)]

const postponed = (row: TransactionRow, now: number): Signed => ({
  isNew: false,
  update: { row_id: row.row_id, revision: row.revision, set: { reprice_at: repriceAt(row, now) } },
})

/** Records the reason to wait; undefined when the row has it already. */
function waiting(row: TransactionRow, wait: Wait, now: number): Signed | undefined {
  const retryAt = now + atLimitMs
  if (isSameWait(row, wait) && row.reprice_at > now && row.reprice_at <= retryAt) return undefined
  const set = { reprice_at: retryAt, ...waitColumns(row, wait) }
  return { isNew: false, update: { row_id: row.row_id, revision: row.revision, set } }
}

/** The rules of gas may have changed since it was accepted, or since it was signed if it makes no progress. */
async function requestedContent(
  { store, now }: SignContext,
  client: Client,
  row: TransactionRow,
  slow: boolean,
): Promise<SignedParts | { reason: string }> {
  const data = row.data_row_id === null ? null : await store.dataOf(row.row_id)
  const { gas } = client.mempoolOf(row)
  const isOld = row.status === 'pending' && (await gas.isOutdated(now() - Date.parse(row.created_at)))
  const answer = slow || isOld ? await askGas({ gas }, row, data) : undefined
  if (answer && 'reason' in answer) return answer
  const { gas_limit } = answer ?? { gas_limit: row.gas_limit as number }
  return { to: row.to, value: BigInt(row.value), data, gas_limit }
}

function hopeless(row: TransactionRow, reason: string, now: number): Signed {
  const { row_id, revision } = row
  const error = transactionError('gas_limit_too_low', reason)
  const update = { row_id, revision, set: { reprice_at: now + atLimitMs } }
  return { isNew: false, update, hopeless: { row, reason, error, isConfirmed: true } }
}

/**
 * The zero-value transfer to the account itself that uses a nonce. Its gas is estimated each time: some rollups add their own costs,
 * and the account may have code. Without an estimate it is signed as before, if it was.
 */
async function selfTransfer(
  { gas }: Client,
  { from }: TransactionRow,
  last: AttemptRow | undefined,
): Promise<SignedParts | Wait> {
  const transfer = { to: from, value: 0n, data: null }
  try {
    return { ...transfer, gas_limit: await gas.limit({ from, ...transfer }) }
  } catch (error) {
    if (!isRpcFailure(error)) throw error
    if (last?.purpose === 'cancel' && last.gas_limit !== null && last.taken_at !== null)
      return { ...transfer, gas_limit: last.gas_limit }
    const text = `the gas of the transfer that uses its nonce cannot be estimated: ${(error as Error).message}`
    // Other calls are answered, so that it is not `unreachable`: the first in line loses that reason with the next answer.
    return { wait_reason: 'node', text }
  }
}

const waitForBudget = ({ holder, limit }: Spend): Wait => ({
  wait_reason: 'fee_budget',
  text: `${holder === undefined ? 'the policy' : 'the budget of its API key:'} max_fee_per_day (${limit} wei) leaves no room for its fee`,
})

/** A gas limit that the nodes agree to, or why they never do; undefined: the present one, as far as they tell. */
type GasAnswer = { gas_limit: number } | { reason: string } | undefined

/**
 * Asks the nodes again for the gas of a transaction that is in no block: rules may have changed since it was accepted. An estimated limit
 * is raised, and lowered when nodes call it too high; a given one is the caller's.
 */
export async function askGas(
  { gas }: Pick<Mempool, 'gas'>,
  row: TransactionRow,
  data: string | null,
  isTooHigh = false,
): Promise<GasAnswer> {
  const gasLimit = row.gas_limit as number
  const call = callOf(row.from, { ...row, data })
  try {
    if (row.gas_is_given) {
      const shortage = await gas.shortageOf({ ...call, gas: gasLimit })
      return shortage && { reason: `Its gas limit (${gasLimit}) is too low: the transaction ${shortage.text}` }
    }
    // Without a margin it may be below what the nodes call too high.
    const asked = await (isTooHigh ? gas.estimate(call) : gas.limit(call))
    return (isTooHigh ? asked < gasLimit : asked > gasLimit) ? { gas_limit: asked } : undefined
  } catch (error) {
    if (!isRpcFailure(error)) throw error
    return undefined
  }
}
