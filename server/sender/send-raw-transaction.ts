import type { TransactionError } from '../../generated/openapi.ts'
import type { Mempool } from '../chain/mempool.ts'
import { type RpcError, rpcKindOf } from '../chain/rpc.ts'
import { highestTaken } from '../domain/attempts.ts'
import { isEnough, minReplacementFee, pricesOf } from '../domain/fees.ts'
import { errorOf } from '../domain/outcome.ts'
import { isPrivate } from '../domain/submission.ts'
import type { Attempt, TransactionRow, TransactionUpdate } from '../domain/transaction-rows.ts'
import { isSameWait, type Wait, waitColumns } from '../domain/wait-reason.ts'
import { cheapWait, doubtedRefusal, endingReason, laterWait, refusal, verdictOf } from './broadcast-errors.ts'
import type { SenderContext } from './context.ts'
import { askGas } from './gas-limit.ts'

export interface Broadcast {
  row: TransactionRow
  attempt: Pick<Attempt, 'number' | 'hash' | 'raw'> & Partial<Pick<Attempt, 'taken_at' | 'purpose'>>
  /** It was signed in this round, so no node can have it yet. */
  isFirst: boolean
}

export interface BroadcastResult {
  moves: TransactionUpdate[]
  /** Transactions that no node will ever accept, as their bytes or several endpoints prove. */
  hopeless: Hopeless[]
  /** The rows whose bytes were not accepted: broadcast them again later. */
  again: number[]
  /** A node reported a nonce as used: read the chain now. */
  poll: boolean
  /** The nonces whose bytes a node has. */
  taken: Set<number>
  /** The lowest nonce that a node refused because it holds no more; undefined: none. */
  full_at: number | undefined
  /** Transactions whose bytes a node had before this service sent them: another service signs with the same key. */
  foreign: { nonce: number; hash: string }[]
}

export interface Hopeless {
  row: TransactionRow
  reason: string
  error: TransactionError
  /** Nodes confirm it when they are asked for its gas, so the policy `max_gap_fills_per_hour` does not limit it. */
  isConfirmed: boolean
}

/** The relayer's state during a broadcast. */
export interface BroadcastState {
  /** The account's transaction count on chain: the nonce that a block accepts next. */
  next: number
  cap: bigint | undefined
  /** A node has told how many nonces it holds. */
  is_limited: boolean
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

type BroadcastDependencies = Pick<SenderContext, 'store' | 'now'>

/** Sends signed, durable bytes to the nodes, in the order of their nonces. */
export async function broadcast(
  dependencies: BroadcastDependencies,
  mempool: Mempool,
  state: BroadcastState,
  wanted: Broadcast[],
): Promise<BroadcastResult> {
  const lists = { moves: [], hopeless: [], again: [], foreign: [] }
  const result: BroadcastResult = { ...lists, poll: false, taken: new Set(), full_at: undefined }
  const errors: (Error | undefined)[] = []
  while (errors.length < wanted.length) {
    const raws = nextBatch(wanted, errors.length)
    errors.push(...(await mempool.send(raws, state.everywhere)))
  }
  for (const [index, one] of wanted.entries()) await judge(dependencies, mempool, state, one, errors[index], result)
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
async function judge(
  dependencies: BroadcastDependencies,
  mempool: Mempool,
  state: BroadcastState,
  { row, attempt, isFirst }: Broadcast,
  error: Error | undefined,
  result: BroadcastResult,
): Promise<void> {
  const kind = error && (rpcKindOf(error) ?? 'unknown')
  const text = (error?.message ?? '').slice(0, maxTextLength)
  const verdict = verdictOf(kind)
  const refused: Refused = { attempt, text, kind: kind ?? 'unknown' }
  if (verdict !== 'accepted') result.again.push(row.row_id)
  switch (verdict) {
    case 'accepted':
      result.taken.add(row.nonce as number)
      // A node that failed before may have passed them on. Then only one endpoint's answer is new.
      if (isFirst && kind === 'already_known' && (error as RpcError).isFirstAnswer) {
        result.foreign.push({ nonce: row.nonce as number, hash: attempt.hash })
      }
      result.moves.push(...acceptedMoves(dependencies, row, attempt.taken_at ? [] : [attempt.number]))
      break
    case 'used':
      result.poll = true
      break
    case 'contested':
      result.moves.push(...(await contestedMoves(dependencies, mempool, row, refused)))
      break
    case 'cheap': {
      const set = {
        reprice_at: row.status === 'sent' ? 0 : Math.min(row.reprice_at, dependencies.now() + repriceSoonMs),
      }
      result.moves.push(...waitMoves(row, refused, cheapWait(row, state.cap, text), state.next, set))
      break
    }
    case 'refused':
      await weighRefusal(dependencies, mempool, state, { row, refused, error }, result)
      break
    case 'later':
      if (isLimit(kind, row.nonce as number, state, result)) {
        result.full_at = Math.min(result.full_at ?? Infinity, row.nonce as number)
      }
      result.moves.push(...waitMoves(row, refused, laterWait(kind, text, isPrivate(row)), state.next))
      break
  }
}

/** A nonce that is too high, though the one below was taken, is beyond what the node holds. Otherwise a lower one may be missing there. */
const isLimit = (kind: string | undefined, nonce: number, state: BroadcastState, { taken }: BroadcastResult): boolean =>
  kind === 'pool_full' || (kind === 'nonce_too_high' && (state.is_limited || taken.has(nonce - 1)))

/** A refusal for good ends a transaction, unless the nodes agree to another gas limit, or a single node may be wrong. */
async function weighRefusal(
  { store }: BroadcastDependencies,
  mempool: Mempool,
  state: BroadcastState,
  { row, refused, error }: { row: TransactionRow; refused: Refused; error: Error | undefined },
  result: BroadcastResult,
): Promise<void> {
  const { attempt, text, kind } = refused
  const isOfGas = kind === 'gas_limit_too_low' || kind === 'gas_limit_too_high'
  const wait = doubtedRefusal(text, attempt.raw)
  // A withdrawal cannot be withdrawn. When its gas limit is refused, the gas is estimated again.
  if (row.intent !== 'send') {
    result.moves.push(...waitMoves(row, refused, wait, state.next, isOfGas ? { resign: true } : {}))
    return
  }
  const data = isOfGas && row.data_row_id !== null ? await store.dataOf(row.row_id) : null
  const answer = isOfGas ? await askGas(mempool, row, data, kind === 'gas_limit_too_high') : undefined
  if (answer && 'gas_limit' in answer) {
    const { row_id, revision } = row
    const refusal = { number: attempt.number, refusal: text, kind }
    result.moves.push({ row_id, revision, set: { gas_limit: answer.gas_limit, resign: true }, refused: refusal })
    return
  }
  const reason = answer?.reason ?? endingReason(error, attempt.raw, state.isRefusedLong(row))
  if (reason === undefined) result.moves.push(...waitMoves(row, refused, wait, state.next))
  else result.hopeless.push({ row, reason, error: errorOf(kind, reason), isConfirmed: answer !== undefined })
}

/** A node's refusal of an attempt. */
interface Refused {
  attempt: Broadcast['attempt']
  text: string
  kind: string
}

/** Reasons to wait that end when a node accepts the bytes. Reasons that come from a policy are ended by pricing. */
const endsWhenAccepted = new Set<string | null>(['node', 'funds', 'unreachable', 'private_relay', 'contested_nonce'])

function acceptedMoves({ now }: BroadcastDependencies, row: TransactionRow, taken: number[]): TransactionUpdate[] {
  const { row_id, revision } = row
  const isNew = row.status === 'sent'
  const sentAt = row.sent_at ?? new Date(now()).toISOString()
  const set: TransactionUpdate['set'] = {
    ...(isNew && { status: 'submitted', sent_at: sentAt }),
    ...((isNew || endsWhenAccepted.has(row.waiting_for)) && waitColumns(row, null)),
  }
  return taken.length > 0 || Object.keys(set).length > 0 ? [{ row_id, revision, set, taken }] : []
}

/**
 * Handles "replacement underpriced": the node has another transaction with this nonce. The hashes of all attempts show whether it
 * is one of ours. If it is, the transaction is signed again at once for at least 10 % more. If it is unknown, it is not outbid,
 * because nothing proves that it exists.
 */
async function contestedMoves(
  dependencies: BroadcastDependencies,
  mempool: Mempool,
  row: TransactionRow,
  { attempt, text, kind }: Refused,
): Promise<TransactionUpdate[]> {
  const { store } = dependencies
  const own = (await store.attempts(row.row_id)).filter(
    ({ nonce, purpose }) => nonce === row.nonce && (purpose === 'cancel' || !row.submission?.is_original_private),
  )
  const isKnown = await Promise.all(own.map(({ hash }) => mempool.isKnown(hash)))
  const known = own.filter((_, index) => isKnown[index])
  const taken = known.filter(({ taken_at }) => taken_at === null).map(({ number }) => number)
  if (known.some(({ number }) => number === attempt.number)) return acceptedMoves(dependencies, row, taken)

  const highest = highestTaken(
    own.map((one) => ({ ...one, taken_at: known.includes(one) ? (one.taken_at ?? 'now') : one.taken_at })),
    row.nonce,
  )
  if (highest === undefined) {
    const words = `a node has another transaction with nonce ${row.nonce}, which this service does not know: ${text}`
    const wait: Wait = { waiting_for: 'contested_nonce', text: words }
    return waitMoves(row, { attempt, text, kind }, wait, row.nonce as number)
  }
  const signed = pricesOf(own.find(({ number }) => number === attempt.number) ?? row)
  const isHigher = signed !== undefined && isEnough(signed, minReplacementFee(highest, signed.kind))
  const [move] = acceptedMoves(dependencies, row, taken)
  const wait = isHigher ? waitColumns(row, refusal(text)) : {}
  const { row_id, revision } = row
  const refused = isHigher ? { refused: { number: attempt.number, refusal: text, kind } } : {}
  return [{ row_id, revision, taken, set: { ...move?.set, ...wait, ...(!isHigher && { resign: true }) }, ...refused }]
}

/**
 * Records why a transaction waits, when the reason has changed; for the first in line also when its figures have changed. For later
 * transactions an outage is not recorded, because they wait for the first.
 */
function waitMoves(
  row: TransactionRow,
  { attempt, text, kind }: Refused,
  wait: Wait,
  next: number,
  set: TransactionUpdate['set'] = {},
): TransactionUpdate[] {
  const { row_id, revision, nonce } = row
  const isSame = row.waiting_for === wait.waiting_for && (nonce !== next || isSameWait(row, wait))
  const isOutage = wait.waiting_for === 'unreachable' || wait.waiting_for === 'private_relay'
  const isTold = !isSame && (nonce === next || !isOutage)
  if (!isTold) return Object.keys(set).length > 0 ? [{ row_id, revision, set }] : []
  const refused = isOutage ? {} : { refused: { number: attempt.number, refusal: text, kind } }
  return [{ row_id, revision, set: { ...set, ...waitColumns(row, wait) }, ...refused }]
}
