import type { TransactionError } from '../../generated/openapi.ts'
import type { Attempt, Move, TransactionRow } from '../store/sending-rows.ts'
import { highestTaken, type NetworkClient, pricesOf, type SendingDependencies } from './dependencies.ts'
import { errorOf } from './outcome.ts'
import { doubtedRefusal, endingReason, type RefusalDependencies, refusal } from './refusal.ts'
import { type Wait, waitColumns } from './wait-reason.ts'

export interface Broadcast {
  row: TransactionRow
  attempt: Pick<Attempt, 'number' | 'hash' | 'raw'> & Partial<Pick<Attempt, 'taken_at'>>
}

export interface BroadcastResult {
  moves: Move[]
  /** Transactions that no node will ever accept, as their bytes or several endpoints prove. */
  hopeless: Hopeless[]
  /** The rows whose bytes were not accepted: broadcast them again later. */
  again: number[]
  /** A node reported a nonce as used: read the chain now. */
  poll: boolean
  /** The lowest nonce that a node refused because its pool was full; undefined: none. */
  full_at: number | undefined
}

export interface Hopeless {
  row: TransactionRow
  reason: string
  error: TransactionError
}

/** The relayer's state during a broadcast. */
export interface BroadcastState {
  /** The account's transaction count on chain: the nonce that a block accepts next. */
  next: number
  cap: bigint | undefined
  /** Every endpoint gets the bytes. */
  everywhere: boolean
}

/** The meaning of a node's answer to signed bytes. */
type Verdict = 'taken' | 'used' | 'refused' | 'contested' | 'cheap' | 'later'

const verdictOf: Record<string, Verdict> = {
  already_known: 'taken',
  nonce_too_low: 'used',
  replacement_underpriced: 'contested',
  underpriced: 'cheap',
  gas_limit_too_low: 'refused',
  gas_limit_too_high: 'refused',
  rejected: 'refused',
}

/** The delay before repricing an attempt that a node calls underpriced while it has an earlier attempt. */
const reprice_soon_ms = 5_000
const max_text_length = 900

/**
 * One JSON-RPC batch: a node that gets several batches at once may see later nonces first. In a request the bytes are hex, which
 * doubles their size.
 */
const max_at_once = 100
const max_bytes_at_once = 192 * 1024

type BroadcastDependencies = Pick<SendingDependencies, 'store' | 'fees' | 'now'> & RefusalDependencies

/** Sends signed, durable bytes to the nodes, in the order of their nonces. */
export async function broadcast(
  dependencies: BroadcastDependencies,
  chain: NetworkClient['chain'],
  state: BroadcastState,
  wanted: Broadcast[],
): Promise<BroadcastResult> {
  const result: BroadcastResult = { moves: [], hopeless: [], again: [], poll: false, full_at: undefined }
  const errors: (Error | undefined)[] = []
  while (errors.length < wanted.length) {
    const raws = nextBatch(wanted, errors.length)
    errors.push(...(await chain.send(raws, state.everywhere)))
  }
  for (const [index, one] of wanted.entries()) await judge(dependencies, chain, state, one, errors[index], result)
  return result
}

function nextBatch(wanted: Broadcast[], from: number): Uint8Array[] {
  const raws: Uint8Array[] = []
  let bytes = 0
  for (const { attempt } of wanted.slice(from, from + max_at_once)) {
    bytes += attempt.raw.length
    if (raws.length > 0 && bytes > max_bytes_at_once) break
    raws.push(attempt.raw)
  }
  return raws
}

/** Adds the consequences of an answer to the result. */
async function judge(
  dependencies: BroadcastDependencies,
  chain: NetworkClient['chain'],
  state: BroadcastState,
  { row, attempt }: Broadcast,
  error: Error | undefined,
  result: BroadcastResult,
): Promise<void> {
  const kind = error && (dependencies.kindOf(error) ?? 'unknown')
  const told = (error?.message ?? '').slice(0, max_text_length)
  const verdict = kind === undefined ? 'taken' : (verdictOf[kind] ?? 'later')
  if (verdict !== 'taken') result.again.push(row.row_id)
  switch (verdict) {
    case 'taken':
      result.moves.push(...takenMoves(dependencies, row, attempt.taken_at ? [] : [attempt.number]))
      break
    case 'used':
      result.poll = true
      break
    case 'contested':
      result.moves.push(...(await contestedMoves(dependencies, chain, row, attempt, told)))
      break
    case 'cheap': {
      const price = pricesOf(row)
      const isCapped = state.cap !== undefined && price !== undefined && dependencies.fees.most(price) >= state.cap
      const wait: Wait = isCapped
        ? {
            waiting_for: 'price_cap',
            text: `the policy gas_price_cap (${state.cap}) is below the price that the chain requires: ${told}`,
          }
        : { waiting_for: 'base_fee', text: `its price is below the price that the chain requires: ${told}` }
      const set = {
        reprice_at: row.status === 'sent' ? 0 : Math.min(row.reprice_at, dependencies.now() + reprice_soon_ms),
      }
      result.moves.push(...waitMoves(row, attempt, wait, told, state.next, set))
      break
    }
    case 'refused': {
      // A withdrawal cannot be withdrawn.
      const reason = row.intent === 'send' ? endingReason(dependencies, error, attempt.raw) : undefined
      if (reason !== undefined) result.hopeless.push({ row, reason, error: errorOf(kind ?? 'rejected', reason) })
      else
        result.moves.push(...waitMoves(row, attempt, doubtedRefusal(dependencies, told, attempt.raw), told, state.next))
      break
    }
    case 'later':
      if (kind === 'pool_full') result.full_at = Math.min(result.full_at ?? Infinity, row.nonce as number)
      result.moves.push(...waitMoves(row, attempt, laterWait(kind, told), told, state.next))
      break
  }
}

function laterWait(kind: string | undefined, told: string): Wait {
  if (kind === 'unreachable') return { waiting_for: 'unreachable', text: told }
  if (kind === 'insufficient_funds') return { waiting_for: 'funds', text: `the balance is too low: ${told}` }
  return refusal(told)
}

/** Reasons to wait that end when a node accepts the bytes. Reasons that come from a policy are ended by pricing. */
const endsWhenTaken = new Set<string | null>(['node', 'funds', 'unreachable', 'contested_nonce'])

function takenMoves({ now }: BroadcastDependencies, row: TransactionRow, taken: number[]): Move[] {
  const { row_id, revision } = row
  const isNew = row.status === 'sent'
  const sent_at = row.sent_at ?? new Date(now()).toISOString()
  const set: Move['set'] = {
    ...(isNew && { status: 'submitted', sent_at }),
    ...((isNew || endsWhenTaken.has(row.waiting_for)) && waitColumns(row, null)),
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
  chain: NetworkClient['chain'],
  row: TransactionRow,
  attempt: Broadcast['attempt'],
  told: string,
): Promise<Move[]> {
  const { store, fees } = dependencies
  const own = (await store.attempts(row.row_id)).filter(({ nonce }) => nonce === row.nonce)
  const isKnown = await Promise.all(own.map(({ hash }) => chain.isKnown(hash).catch(() => false)))
  const known = own.filter((_, index) => isKnown[index])
  const taken = known.filter(({ taken_at }) => taken_at === null).map(({ number }) => number)
  if (known.some(({ number }) => number === attempt.number)) return takenMoves(dependencies, row, taken)

  const highest = highestTaken(
    own.map((one) => ({ ...one, taken_at: known.includes(one) ? (one.taken_at ?? 'now') : one.taken_at })),
    row.nonce,
  )
  if (highest === undefined) {
    const text = `a node has another transaction with nonce ${row.nonce}, which this service does not know: ${told}`
    return waitMoves(row, attempt, { waiting_for: 'contested_nonce', text }, told, row.nonce as number)
  }
  const least = fees.bump(highest, highest, undefined)
  const signed = pricesOf(own.find(({ number }) => number === attempt.number) ?? row)
  const isEnough = least !== undefined && signed !== undefined && fees.isEnough(signed, least)
  const [move] = takenMoves(dependencies, row, taken)
  const wait = isEnough ? waitColumns(row, refusal(told)) : {}
  const { row_id, revision } = row
  const refused = isEnough ? { refused: { number: attempt.number, refusal: told } } : {}
  return [{ row_id, revision, taken, set: { ...move?.set, ...wait, ...(!isEnough && { resign: true }) }, ...refused }]
}

/**
 * Records why a transaction waits, when the reason has changed; for the first in line also when its figures have changed. For later
 * transactions an outage is not recorded, because they wait for the first.
 */
function waitMoves(
  row: TransactionRow,
  attempt: Broadcast['attempt'],
  wait: Wait,
  told: string,
  next: number,
  set: Move['set'] = {},
): Move[] {
  const { row_id, revision, nonce } = row
  const columns = waitColumns(row, wait)
  const isSame = row.waiting_for === wait.waiting_for && (nonce !== next || row.status_reason === columns.status_reason)
  const isOutage = wait.waiting_for === 'unreachable'
  const isTold = !isSame && (nonce === next || !isOutage)
  if (!isTold) return Object.keys(set).length > 0 ? [{ row_id, revision, set }] : []
  const refused = isOutage ? {} : { refused: { number: attempt.number, refusal: told } }
  return [{ row_id, revision, set: { ...set, ...columns }, ...refused }]
}
