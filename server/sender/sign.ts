import type { TransactionError } from '../../generated/openapi.ts'
import type { CallRequest } from '../chain/chain.ts'
import type { Mempool } from '../chain/mempool.ts'
import { isRpcFailure } from '../chain/rpc.ts'
import { aboveRefused, contentHash, highestOutbid, highestTaken, takenOf } from '../domain/attempts.ts'
import { repriceMs } from '../domain/decide.ts'
import { type Envelope, serializeUnsigned } from '../domain/encoding/envelope.ts'
import {
  applyMaxFee,
  bump,
  type Ceiling,
  gwei,
  isAbove,
  isEnough,
  isNear,
  liftedTo,
  limit,
  limitTo,
  type Market,
  minReplacementFee,
  most,
  type PriceKind,
  type Prices,
  priceColumns,
  pricesOf,
  quote,
  type Tier,
  under,
  wholePrices,
} from '../domain/fees.ts'
import { transactionError } from '../domain/outcome.ts'
import { capOf, feeOf, feeSpending, multipleOf } from '../domain/policies/fee-policies.ts'
import type { RelayerRow } from '../domain/rows.ts'
import { isReleasedWhenSigned, releasedCancellation } from '../domain/submission.ts'
import { formOf, plainForm, priceKindOf } from '../domain/transaction-form.ts'
import type { TransactionRequest } from '../domain/transaction-request.ts'
import type { Attempt, AttemptRow, Spend, TransactionRow, TransactionUpdate } from '../domain/transaction-rows.ts'
import { isSameWait, tooLow, type Wait, waitColumns } from '../domain/wait-reason.ts'
import type { RelayerSigner } from '../keys/keyring.ts'
import { LeaseLost } from '../store/worker.ts'
import { ceilingOf, type NetworkClient, tierOf } from './context.ts'
import type { TickContext } from './relayer-state.ts'

/** A cancellation is urgent, because the original may be mined at any moment. */
export const withdrawalTier = 'fast'
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
type Purpose = 'send' | 'cancel'

/** What to sign. `slow`: again, at another price. `signal`: a signature that is not requested yet is not needed any more when it aborts. */
interface SignRequest {
  row: TransactionRow
  purpose: Purpose
  slow: boolean
  signal?: AbortSignal | undefined
}

/** What is signed apart from the nonce and the prices. */
interface Content {
  to: string | null
  value: bigint
  data: string | null
  gas_limit: number
}

/**
 * Signs a transaction: for the first time, with new content (a replacement or a cancellation), or (`slow`) at another price.
 *
 * Pricing: when a node has an attempt, a new one must pay 10 % more for both fees. When no node has one, the current market price
 * or the requested price is used, even if it is lower than before. The prices that a request gave are never exceeded; repricing is
 * limited by the policies `gas_price_cap`, `max_fee_per_transaction` and `max_fee_multiplier`. At a limit the transaction waits with the
 * reason. Nothing is signed when the price would be nearly the same. The form of the transaction stays. Undefined: nothing changes.
 */
export async function sign(
  context: SignContext,
  { relayer, signer }: RelayerSigner,
  client: Client,
  request: SignRequest,
): Promise<Signed | undefined> {
  const { store, now, observer, holds } = context
  const { row, purpose, slow, signal } = request
  const { row_id, revision } = row
  const attempts = revision === 0 ? [] : await store.attempts(row_id)
  const last = attempts.at(-1)
  const repriceAt = () => now() + repriceMs[tierOf(row)]
  const later = () => ({ row_id, revision, set: { reprice_at: repriceAt() } })
  const content =
    purpose === 'send' ? await requested(context, client, row, slow) : await selfTransfer(client, row, last)
  if ('wait_reason' in content) return waiting(row, content, now())
  if ('reason' in content) return hopeless(row, content.reason, now())
  const prices = await priceOf(relayer, client.market, { ...request, content, attempts })
  if (prices === 'at_ceiling') return { isNew: false, update: later() }
  if ('wait_reason' in prices) return holding(context, request, { content, attempts, wait: prices })
  if (purpose === 'send' && row.is_sweep) content.value = sweptBy(row, content.gas_limit, prices)
  if (content.value < 0n) return waiting(row, nothingLeft, now())
  if (slow && last && isAsGood(last, row, purpose, { prices, gas_limit: content.gas_limit })) {
    // The attempt is broadcast again when a node has only an older one. When no node has any, the status `sent` causes it.
    if (row.status !== 'submitted') return { update: later(), isNew: false }
    return { update: later(), isNew: false, bytes: { ...last, raw: await store.rawOf(row_id, last.number) } }
  }

  const dataFee = BigInt(row.data_fee ?? 0)
  const fee = feeOf({ gas_limit: content.gas_limit, prices, data_fee: dataFee })
  const spending = feeSpending(relayer, fee, await context.budgets.find(row.caller))
  if (spending.length > 0) {
    const over = await store.wouldExceed({ chain_id: row.chain_id, address: row.from }, spending, row_id)
    if (over) return waiting(row, waitForBudget(over.spend), now())
  }
  const form = purpose === 'send' ? formOf(row.type, row, prices) : plainForm(prices)
  const envelope: Envelope = { chain_id: row.chain_id, nonce: row.nonce as number, ...content, ...form }
  const unsigned = serializeUnsigned(envelope)
  // This process may have been stopped for a while. New bytes that are signed all the same are not stored, and so not broadcast.
  if (!holds(row.relayer_row_id)) throw new LeaseLost()
  const made = await signer.sign(unsigned.digest, unsigned.preimage, signal)
  const { raw, hash, signature } = unsigned.finish(made)
  const signed = { raw, hash, sig: signature.sig, content_hash: contentHash(content) }
  observer.signed?.('sent_transaction')

  const { gas_limit } = content
  const number = (last?.number ?? 0) + 1
  const attempt = { number, purpose, nonce: envelope.nonce, ...signed, gas_limit, ...priceColumns(prices) }
  return {
    isNew: true,
    bytes: attempt,
    update: {
      row_id,
      revision,
      attempt,
      ...(made.request_id !== undefined && { key_request_id: made.request_id }),
      ...(spending.length > 0 && { spending }),
      set: {
        ...(row.status === 'pending' && { status: 'sent' }),
        ...waitColumns(row, null),
        ...(purpose === 'cancel' && isReleasedWhenSigned(row) && { submission: releasedCancellation(row, now()) }),
        hash,
        signature,
        resign: false,
        reprice_at: repriceAt(),
        ...priceColumns(prices),
        // A transfer that fills a gap has no gas limit before.
        ...((purpose === 'send' || row.gas_limit === null) && { gas_limit }),
        ...(purpose === 'send' && row.is_sweep && { value: `${content.value}` }),
      },
    },
  }
}

/** The rules of gas may have changed since it was accepted, or since it was signed if it makes no progress. */
async function requested(
  { store, now }: SignContext,
  client: Client,
  row: TransactionRow,
  slow: boolean,
): Promise<Content | { reason: string }> {
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
): Promise<Content | Wait> {
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

async function priceOf(
  relayer: RelayerRow,
  market: () => Promise<Market>,
  { row, purpose, slow, content, attempts }: SignRequest & { content: Content; attempts: AttemptRow[] },
): Promise<Prices | Wait | 'at_ceiling'> {
  const { gas_limit } = content
  const taken = highestTaken(attempts, row.nonce)
  const cap = capOf(relayer, gas_limit, BigInt(row.data_fee ?? 0))
  const ceiling = ceilingOf(row)
  // Prices from the acceptance, or from a replacement request, are used unchanged.
  const given = purpose === 'send' && !slow ? pricesOf(row) : undefined
  const tier = purpose === 'send' ? tierOf(row) : withdrawalTier
  const kind = purpose === 'send' ? priceKindOf(row.type) : (taken?.kind ?? kindFor(relayer))
  const isSweep = purpose === 'send' && row.is_sweep
  const asked = given ?? (await askedFor(market, tier, kind, isSweep))
  const wanted = given ?? (purpose === 'send' ? withCeiling(row, asked, ceiling) : limitTo(asked, ceiling))
  if (!taken) return untaken(relayer, aboveRefused(attempts, row.nonce), wanted, { ceiling, cap, tier, market })
  if (given && isReplacing(given, taken)) return limit(given, cap)
  const before = (slow && highestOutbid(attempts, row.nonce)) || taken
  const raised = bump(before, wanted, under(ceiling, cap))
  if (!raised) {
    return atLimit(relayer, row, await market(), { least: minReplacementFee(before, kind), gas_limit, cap })
  }
  // What nobody asked for stays within `max_fee_multiplier`; another content, or a cancellation, outbids what a node has.
  const isUnasked = most(before) > most(taken) || isRepeated(attempts, { row, purpose, content })
  return isUnasked && isAbove(raised, await market(), tier, multipleOf(relayer)) ? aboveMultiple(relayer) : raised
}

/** Whether a node may have an attempt of the same effect: then only its gas limit or its price is new. */
function isRepeated(
  attempts: AttemptRow[],
  { row, purpose, content }: Pick<SignRequest, 'row' | 'purpose'> & { content: Content },
): boolean {
  const wanted = contentHash(content)
  const own = takenOf(attempts, row.nonce).filter((one) => one.purpose === purpose)
  return own.some(({ content_hash }) => row.is_sweep || content_hash === wanted)
}

/** Records the reason to wait; undefined when the row has it already. */
function waiting(row: TransactionRow, wait: Wait, now: number): Signed | undefined {
  const repriceAt = now + atLimitMs
  if (isSameWait(row, wait) && row.reprice_at > now && row.reprice_at <= repriceAt) return undefined
  const set = { reprice_at: repriceAt, ...waitColumns(row, wait) }
  return { isNew: false, update: { row_id: row.row_id, revision: row.revision, set } }
}

/**
 * Nothing new may be signed at a price that outbids what nodes may have. If an earlier version of that does the same by the present rules of
 * gas, they are given it again: they may have dropped it, and the newest one is not what they take.
 */
async function holding(
  { store, now }: SignContext,
  { row, purpose }: SignRequest,
  { content, attempts, wait }: { content: Content; attempts: AttemptRow[]; wait: Wait },
): Promise<Signed | undefined> {
  const waits = waiting(row, wait, now())
  const wanted = contentHash(content)
  const held = takenOf(attempts, row.nonce).findLast(
    ({ content_hash, gas_limit, ...one }) =>
      one.purpose === purpose && content_hash === wanted && (gas_limit ?? 0) >= content.gas_limit,
  )
  if (!waits || !held || held.number === attempts.at(-1)?.number) return waits
  return { ...waits, bytes: { ...held, raw: await store.rawOf(row.row_id, held.number) } }
}

/** Whether an attempt that no node has accepted is as good as a new one. */
function isAsGood(
  last: AttemptRow,
  row: TransactionRow,
  purpose: Purpose,
  { prices, gas_limit }: { prices: Prices; gas_limit: number },
): boolean {
  const signed = pricesOf(last)
  if (!signed || last.taken_at !== null || last.purpose !== purpose || last.nonce !== row.nonce || row.resign) {
    return false
  }
  if (last.gas_limit !== gas_limit) return false
  return isNear(signed, prices) && (row.status === 'sent' || isEnough(signed, prices))
}

/** The market's prices. A sweep pays its whole price. */
async function askedFor(
  market: () => Promise<Market>,
  tier: Tier,
  kind: PriceKind | undefined,
  isSweep: boolean,
): Promise<Prices> {
  const current = await market()
  return isSweep ? wholePrices(most(quote(current, tier, 'legacy')), kind ?? current.kind) : quote(current, tier, kind)
}

/** What a sweep sends at a price: it costs no more than before. Negative: the fee is more than all that is left. */
function sweptBy(row: TransactionRow, gasLimit: number, prices: Prices): bigint {
  const before = BigInt(row.gas_limit ?? 0) * most(pricesOf(row) ?? prices)
  return BigInt(row.value) + before - BigInt(gasLimit) * most(prices)
}

const nothingLeft: Wait = { wait_reason: 'funds', text: 'the fee would be more than all that is left' }

/** The market's prices, or (`least`) what nodes may take after they called earlier ones too low, within the policies. */
async function untaken(
  relayer: RelayerRow,
  least: Prices | undefined,
  wanted: Prices,
  {
    ceiling,
    cap,
    tier,
    market,
  }: { ceiling: Ceiling; cap: bigint | undefined; tier: Tier; market: () => Promise<Market> },
): Promise<Prices | Wait> {
  if (least === undefined) return limit(wanted, cap)
  const raised = limitTo(liftedTo(wanted, least), under(ceiling, cap))
  return isAbove(raised, await market(), tier, multipleOf(relayer)) ? aboveMultiple(relayer) : raised
}

/**
 * A caller who gives a price means that one. A row below its ceiling was priced by the service, as a refill is: it follows the market up to
 * the ceiling, and not to the ceiling at once.
 */
function withCeiling(row: TransactionRow, quoted: Prices, ceiling: Ceiling): Prices {
  const own = pricesOf(row)
  const isChosen = own !== undefined && ceiling.fee !== undefined && most(own) < ceiling.fee
  return isChosen ? limitTo(quoted, ceiling) : applyMaxFee(quoted, ceiling)
}

const isReplacing = (given: Prices, taken: Prices): boolean => isEnough(given, minReplacementFee(taken, given.kind))

export const kindFor = ({ policies }: RelayerRow) => (policies.eip1559_pricing === false ? 'legacy' : undefined)

/** What a limit of the price means: the lower one of the prices that the request gave and of the policies decides. */
function atLimit(
  relayer: RelayerRow,
  row: TransactionRow,
  market: Market,
  { least, gas_limit, cap }: { least: Prices; gas_limit: number; cap: bigint | undefined },
): Wait | 'at_ceiling' {
  const { fee, tip } = ceilingOf(row)
  if (tip !== undefined || (fee !== undefined && (cap === undefined || fee <= cap))) {
    const baseFee = market.kind === 'eip1559' ? market.base_fee : 0n
    const ceiling = fee ?? (tip as bigint)
    if (fee !== undefined && fee < baseFee) return tooLow(fee, `the base fee is ${gwei(baseFee)}`)
    // Only slow: a node has it, and its price is the one that the caller gave.
    if (!row.resign) return 'at_ceiling'
    const why = `a node has an earlier version, which takes at least ${gwei(most(least))} to replace`
    return { ...tooLow(ceiling, why), wait_reason: 'replacement_underpriced' }
  }
  const { gas_price_cap, max_fee_per_transaction } = relayer.policies
  if (gas_price_cap !== undefined && capOf(relayer, gas_limit, BigInt(row.data_fee ?? 0)) === BigInt(gas_price_cap)) {
    const text = `the policy gas_price_cap (${gwei(gas_price_cap)}) leaves no room for a higher price`
    return { wait_reason: 'price_cap', text }
  }
  const text = `the policy max_fee_per_transaction (${max_fee_per_transaction} wei) leaves no room for a higher price`
  return { wait_reason: 'fee_budget', text }
}

const aboveMultiple = (relayer: RelayerRow): Wait => ({
  wait_reason: 'fee_multiplier',
  text: `a higher price would be more than ${multipleOf(relayer)} times the market price (policy max_fee_multiplier)`,
})

const waitForBudget = ({ holder, limit }: Spend): Wait => ({
  wait_reason: 'fee_budget',
  text: `${holder === undefined ? 'the policy' : 'the budget of its API key:'} max_fee_per_day (${limit} wei) leaves no room for its fee`,
})

/** A gas limit that the nodes agree to, or why they never do; undefined: the present one, as far as they tell. */
type GasAnswer = { gas_limit: number } | { reason: string } | undefined

/**
 * Asks the nodes again for the gas of a transaction that is in no block: rules may have changed since it was accepted. An estimated limit is
 * raised, and lowered when nodes call it too high; a given one is the caller's.
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

/** What a transaction does, as a call that nodes estimate. */
export const callOf = (
  from: string,
  {
    to,
    value,
    data,
    access_list,
    authorization_list,
  }: Pick<TransactionRequest, 'to' | 'value' | 'data' | 'access_list' | 'authorization_list'>,
): CallRequest => ({ from, to, value: BigInt(value), data, access_list, authorization_list })
