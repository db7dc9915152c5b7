import type { Mempool } from '../chain/mempool.ts'
import { RpcError, rpcKindOf } from '../chain/rpc.ts'
import type { RpcErrorKind } from '../chain/rpc-error.ts'
import { highestTaken } from '../domain/attempts.ts'
import { contradictionOf, flawOf } from '../domain/decoding/transaction.ts'
import { ceilingOf, gwei, isEnough, minReplacementFee, most, pricesOf } from '../domain/fees.ts'
import { transactionError } from '../domain/outcome.ts'
import { isPrivate } from '../domain/submission.ts'
import type { TransactionRow, TransactionUpdate } from '../domain/transaction-rows.ts'
import { isRaiseForbidden, isSameWait, tooLow, type Wait, waitColumns } from '../domain/wait-reason.ts'
import type { SenderContext } from './context.ts'
import { askGas, type Hopeless, type SignedBytes } from './sign.ts'

export interface Broadcast {
  row: TransactionRow
  attempt: SignedBytes
  /** It was signed in this tick, so no node can have it yet. */
  isFirst: boolean
}

interface BroadcastResult {
  updates: TransactionUpdate[]
  /** Transactions that no node will ever accept, as their bytes or several endpoints prove. */
  hopeless: Hopeless[]
  /** The rows whose bytes were not accepted: broadcast them again later. */
  again: number[]
  /** A node reported a nonce as used: read the chain now. */
  poll: boolean
  /** The nonces whose bytes a node has. */
  taken: Set<number>
  /** The lowest nonce that a node refused because it holds no more; undefined: none. */
  fullAt: number | undefined
  /** Transactions whose bytes a node had before this service sent them: another service signs with the same key. */
  foreign: { nonce: number; hash: string }[]
}

/** The relayer's state during a broadcast. */
interface BroadcastState {
  /** The account's transaction count on chain: the nonce that a block accepts next. */
  next: number
  cap: bigint | undefined
  /** A node has told how many nonces it holds. */
  isLimited: boolean
  /** Every endpoint gets the bytes. */
  everywhere: boolean
  /** Whether these bytes were refused for good for minutes by the only node of the network. */
  isRefusedLong(row: TransactionRow): boolean
}

/** The delay before repricing an attempt that a node calls underpriced while it has an earlier attempt. */
const repriceSoonMs = 5_000
const maxTextLength = 900

/**
 * One JSON-RPC batch: a node that gets several batches at once may see later nonces first. In a request the bytes are hex, which
 * doubles their size.
 */
const maxAtOnce = 100
const maxBytesAtOnce = 192 * 1024

type BroadcastContext = Pick<SenderContext, 'store' | 'now'>

/** A broadcast while its answers are read. */
interface Answering {
  context: BroadcastContext
  mempool: Mempool
  state: BroadcastState
  result: BroadcastResult
}

/** A node's refusal of an attempt. */
interface Refused {
  row: TransactionRow
  attempt: Broadcast['attempt']
  text: string
  kind: string
  error: Error | undefined
}

/** Sends signed, durable bytes to the nodes, in the order of their nonces. */
export async function broadcast(
  context: BroadcastContext,
  mempool: Mempool,
  state: BroadcastState,
  wanted: Broadcast[],
): Promise<BroadcastResult> {
  const lists = { updates: [], hopeless: [], again: [], foreign: [] }
  const result: BroadcastResult = { ...lists, poll: false, taken: new Set(), fullAt: undefined }
  const errors: (Error | undefined)[] = []
  while (errors.length < wanted.length) {
    const raws = nextBatch(wanted, errors.length)
    errors.push(...(await mempool.send(raws, state.everywhere)))
  }
  const answering = { context, mempool, state, result }
  for (const [index, one] of wanted.entries()) await applySendResult(answering, one, errors[index])
  return result
}

function nextBatch(wanted: Broadcast[], from: number): Uint8Array[] {
  const raws: Uint8Array[] = []
  let bytes = 0
  for (const { attempt } of wanted.slice(from, from + maxAtOnce)) {
    bytes += attempt.raw.length
    if (raws.length > 0 && bytes > maxBytesAtOnce) break
    raws.push(attempt.raw)
  }
  return raws
}

/** Adds the consequences of an answer to the result. */
async function applySendResult(
  answering: Answering,
  { row, attempt, isFirst }: Broadcast,
  error: Error | undefined,
): Promise<void> {
  const { context, state, result } = answering
  const kind = error && (rpcKindOf(error) ?? 'unknown')
  const text = (error?.message ?? '').slice(0, maxTextLength)
  const verdict = verdictOf(kind)
  const refused: Refused = { row, attempt, text, kind: kind ?? 'unknown', error }
  if (verdict !== 'accepted') result.again.push(row.row_id)
  switch (verdict) {
    case 'accepted':
      result.taken.add(row.nonce as number)
      // A node that failed before may have passed them on. Then only one endpoint's answer is new.
      if (isFirst && kind === 'already_known' && (error as RpcError).isFirstAnswer) {
        result.foreign.push({ nonce: row.nonce as number, hash: attempt.hash })
      }
      result.updates.push(...acceptedUpdates(context, row, attempt.taken_at ? [] : [attempt.number]))
      break
    case 'used':
      result.poll = true
      break
    case 'contested':
      result.updates.push(...(await contestedUpdates(answering, refused)))
      break
    case 'cheap': {
      const repriceAt = row.status === 'sent' ? 0 : Math.min(row.reprice_at, context.now() + repriceSoonMs)
      const set = { reprice_at: repriceAt }
      const wait = cheapWait(row, state.cap, text)
      result.updates.push(
        ...(wait ? waitUpdates(refused, wait, state.next, set) : [{ row_id: row.row_id, revision: row.revision, set }]),
      )
      break
    }
    case 'refused':
      await weighRefusal(answering, refused)
      break
    case 'later':
      if (isLimit(kind, row.nonce as number, state, result)) {
        result.fullAt = Math.min(result.fullAt ?? Infinity, row.nonce as number)
      }
      result.updates.push(...waitUpdates(refused, laterWait(kind, text, isPrivate(row)), state.next))
      break
  }
}

/** A nonce that is too high, though the one below was taken, is beyond what the node holds. Otherwise a lower one may be missing there. */
const isLimit = (kind: string | undefined, nonce: number, state: BroadcastState, { taken }: BroadcastResult): boolean =>
  kind === 'pool_full' || (kind === 'nonce_too_high' && (state.isLimited || taken.has(nonce - 1)))

/** A refusal for good ends a transaction, unless the nodes agree to another gas limit, or a single node may be wrong. */
async function weighRefusal({ context, mempool, state, result }: Answering, refused: Refused): Promise<void> {
  const { row, attempt, text, kind, error } = refused
  const isOfGas = kind === 'gas_limit_too_low' || kind === 'gas_limit_too_high'
  const wait = doubtedRefusal(text, attempt.raw)
  // A withdrawal cannot be withdrawn. When its gas limit is refused, the gas is estimated again.
  if (row.intent !== 'send') {
    result.updates.push(...waitUpdates(refused, wait, state.next, isOfGas ? { resign: true } : {}))
    return
  }
  const data = isOfGas && row.data_row_id !== null ? await context.store.dataOf(row.row_id) : null
  const answer = isOfGas ? await askGas(mempool, row, data, kind === 'gas_limit_too_high') : undefined
  if (answer && 'gas_limit' in answer) {
    const { row_id, revision } = row
    const set = { gas_limit: answer.gas_limit, resign: true }
    result.updates.push({ row_id, revision, set, refused: refusalOf(refused) })
    return
  }
  const reason = answer?.reason ?? endingReason(error, attempt.raw, state.isRefusedLong(row))
  if (reason === undefined) result.updates.push(...waitUpdates(refused, wait, state.next))
  else {
    result.hopeless.push({
      row,
      reason,
      error: transactionError(isOfGas ? kind : 'rejected', reason),
      isConfirmed: answer !== undefined,
    })
    // The price of its cancellation depends on what nodes may still have.
    if (isOfGas)
      result.updates.push({ row_id: row.row_id, revision: row.revision, set: {}, refused: refusalOf(refused) })
  }
}

const refusalOf = ({ attempt, text, kind }: Refused) => ({ number: attempt.number, refusal_message: text, kind })

/** Reasons to wait that end when a node accepts the bytes. Reasons that come from a policy are ended by pricing. */
const endsWhenAccepted = new Set<string | null>(['node', 'funds', 'unreachable', 'private_relay', 'nonce_conflict'])

function acceptedUpdates({ now }: BroadcastContext, row: TransactionRow, taken: number[]): TransactionUpdate[] {
  const { row_id, revision } = row
  const isNew = row.status === 'sent'
  const sentAt = row.sent_at ?? new Date(now()).toISOString()
  const set: TransactionUpdate['set'] = {
    ...(isNew && { status: 'submitted', sent_at: sentAt }),
    ...((isNew || endsWhenAccepted.has(row.wait_reason)) && waitColumns(row, null)),
  }
  return taken.length > 0 || Object.keys(set).length > 0 ? [{ row_id, revision, set, taken }] : []
}

/**
 * Handles "replacement underpriced": the node has another transaction with this nonce. The hashes of all attempts show whether it
 * is one of ours. If it is, the transaction is signed again at once for at least 10 % more. If it is unknown, it is not outbid,
 * because nothing proves that it exists.
 */
async function contestedUpdates({ context, mempool }: Answering, refused: Refused): Promise<TransactionUpdate[]> {
  const { row, attempt, text } = refused
  const own = (await context.store.attempts(row.row_id)).filter(
    ({ nonce, purpose }) => nonce === row.nonce && (purpose === 'cancel' || !row.submission?.is_original_private),
  )
  const isKnown = await Promise.all(own.map(({ hash }) => mempool.isKnown(hash)))
  const known = own.filter((_, index) => isKnown[index])
  const taken = known.filter(({ taken_at }) => taken_at === null).map(({ number }) => number)
  if (known.some(({ number }) => number === attempt.number)) return acceptedUpdates(context, row, taken)

  const highest = highestTaken(
    own.map((one) => ({ ...one, taken_at: known.includes(one) ? (one.taken_at ?? 'now') : one.taken_at })),
    row.nonce,
  )
  if (highest === undefined) {
    const words = `a node has another transaction with nonce ${row.nonce}, which this service does not know: ${text}`
    const wait: Wait = { wait_reason: 'nonce_conflict', text: words }
    return waitUpdates(refused, wait, row.nonce as number)
  }
  const signed = pricesOf(own.find(({ number }) => number === attempt.number) ?? row)
  const isHigher = signed !== undefined && isEnough(signed, minReplacementFee(highest, signed.kind))
  const [update] = acceptedUpdates(context, row, taken)
  const change = isHigher ? waitColumns(row, refusal(text)) : { resign: true }
  const { row_id, revision } = row
  const set = { ...update?.set, ...change }
  return [{ row_id, revision, taken, set, ...(isHigher && { refused: refusalOf(refused) }) }]
}

/**
 * Records why a transaction waits, when the reason has changed; for the first in line also when its figures have changed. For later
 * transactions an outage is not recorded, because they wait for the first.
 */
function waitUpdates(
  refused: Refused,
  wait: Wait,
  next: number,
  set: TransactionUpdate['set'] = {},
): TransactionUpdate[] {
  const { row } = refused
  const { row_id, revision, nonce } = row
  const isSame = row.wait_reason === wait.wait_reason && (nonce !== next || isSameWait(row, wait))
  const isOutage = wait.wait_reason === 'unreachable' || wait.wait_reason === 'private_relay'
  const isTold = !isSame && (nonce === next || !isOutage)
  if (!isTold) {
    if (Object.keys(set).length === 0) return []
    return [{ row_id, revision, set, ...(set.resign && { refused: refusalOf(refused) }) }]
  }
  const columns = { ...set, ...waitColumns(row, wait) }
  return [{ row_id, revision, set: columns, ...(!isOutage && { refused: refusalOf(refused) }) }]
}

/** The meaning of a node's answer to signed bytes. */
type Verdict = 'accepted' | 'used' | 'refused' | 'contested' | 'cheap' | 'later'

const verdicts: Partial<Record<RpcErrorKind | 'unreachable', Verdict>> = {
  already_known: 'accepted',
  nonce_too_low: 'used',
  replacement_underpriced: 'contested',
  underpriced: 'cheap',
  gas_limit_too_low: 'refused',
  gas_limit_too_high: 'refused',
  rejected: 'refused',
}

/** `kind`: of the node's error; undefined: it accepted the bytes. */
const verdictOf = (kind: RpcErrorKind | 'unreachable' | 'unknown' | undefined): Verdict =>
  kind === undefined ? 'accepted' : (verdicts[kind as RpcErrorKind] ?? 'later')

/** A node that does not take the bytes now may take them later. `isPrivate`: private relays, beside which the nodes may answer. */
function laterWait(kind: string | undefined, text: string, isPrivate: boolean): Wait {
  if (kind === 'unreachable' && isPrivate)
    return { wait_reason: 'private_relay', text: `no private relay answers: ${text}` }
  if (kind === 'unreachable') return { wait_reason: 'unreachable', text }
  if (kind === 'insufficient_funds') return { wait_reason: 'funds', text: `the balance is too low: ${text}` }
  return refusal(text)
}

/** The chain requires a higher price than the attempt pays. Undefined: why it waits is told already. */
function cheapWait(row: TransactionRow, cap: bigint | undefined, text: string): Wait | undefined {
  // What a node has is priced again in a moment, and the newest block shows whether its price is below the base fee.
  if (isRaiseForbidden(row) || row.status === 'submitted') return undefined
  const price = pricesOf(row)
  const { fee } = ceilingOf(row)
  if (fee !== undefined && (cap === undefined || fee <= cap)) return tooLow(fee, `a node says "${text}"`)
  if (cap !== undefined && price !== undefined && most(price) >= cap) {
    const words = `the policy gas_price_cap (${gwei(cap)}) is below the price that the chain requires: ${text}`
    return { wait_reason: 'price_cap', text: words }
  }
  return { wait_reason: 'base_fee', text: `its price is below the price that the chain requires: ${text}` }
}

/**
 * Why a refusal ends a transaction: our own bytes prove it, or every healthy endpoint refuses them for good, and these are at least
 * two and more than half of all, or the only one, for minutes (`isLong`). Undefined: one node's refusal, which ends nothing, and one that
 * the bytes contradict. The transaction then waits, is broadcast again at growing intervals, and ends by `valid_until`, a cancellation or
 * a replacement.
 */
function endingReason(error: Error | undefined, raw: Uint8Array, isLong: boolean): string | undefined {
  const text = error?.message ?? ''
  const flaw = flawOf(raw)
  if (flaw !== undefined) return `It can never be accepted: ${flaw}. A node refused it: ${text}`
  if (error instanceof RpcError && error.isAgreed) return `All healthy endpoints refused it: ${text}`
  return isLong && contradictionOf(text, raw) === undefined ? `The node refused it again and again: ${text}` : undefined
}

const refusal = (text: string): Wait => ({ wait_reason: 'node', text: `nodes refuse it: ${text}` })

/** The reason to wait after a final refusal that ends nothing. */
function doubtedRefusal(text: string, raw: Uint8Array): Wait {
  const contradiction = contradictionOf(text, raw)
  return contradiction === undefined
    ? refusal(text)
    : { wait_reason: 'node', text: `the node says "${text}", although ${contradiction}` }
}
