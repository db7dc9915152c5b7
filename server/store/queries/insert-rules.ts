import type { Transaction } from '../../../generated/openapi.ts'
import type { SentTransaction } from '../../domain/errors.ts'
import {
  exceededBy,
  type InsertResult,
  type NewRefill,
  type NewTransaction,
  type PoolInsertRefusal,
  type PoolInsertResult,
  type PoolTransaction,
  type Replay,
  type Unfinished,
} from '../../domain/new-transaction.ts'
import type { NewPayment } from '../../domain/payments.ts'
import { shownTransaction } from '../../domain/show.ts'
import type { Account, Sponsored, TransactionRow } from '../../domain/transaction-rows.ts'
import { accountOf, type ReservationSums, reservedOf, sumsAfter } from './accounts.ts'
import type { DailyLimits } from './daily-limits.ts'
import {
  bytesOf,
  hexOf,
  type InsertedRow,
  newRow,
  readShown,
  readTransaction,
  recallRow,
  rememberRow,
  type ShownRow,
} from './transaction-rows.ts'

/** The state that is read before several transactions are accepted together. It follows each acceptance, and is written once for all. */
export interface InsertState {
  /** Row ids to assign. */
  row_ids: { transactions: number[]; data: number[] }
  /** By `keyOf`. */
  known: Map<string, KnownAnswer>
  relayers: Map<number, InsertRelayer>
  /** By `accountOf`; absent: it never had a transaction. */
  accounts: Map<string, InsertAccount>
  /** Used nonces, by `nonceOf`. */
  held: Set<string>
  limits: Pick<DailyLimits, 'spend' | 'write' | 'bucket'>
  accepted: InsertedTransaction[]
  /** The exclusive keys that unfinished sponsored transactions have, of those that are wanted, by `exclusiveName`. */
  exclusive: Set<string>
  /** The transactions that have one of the wanted ids, by `deduplicationOf`. */
  sent: Map<string, SentTransaction>
  /** The newest refill of each relayer that is to be refilled; absent: it has none. */
  refills: Map<number, NewestRefill>
}

/** `is_open`: some refill of the relayer is. */
export interface NewestRefill {
  row_id: number
  is_open: 0 | 1
}

interface InsertRelayer {
  last_sequence: number
  unfinished: Unfinished
}

interface InsertAccount extends Account, ReservationSums {
  next_nonce: number
  isChanged: boolean
}

/** The rows of one accepted transaction. */
export interface InsertedTransaction {
  row: InsertedRow
  shown: TransactionRow
  data: Buffer | null
  known: (KnownAnswer & { caller: string; key: string; pool_row_id?: number }) | undefined
  /** No other transaction of the chain may have its `deduplication_id`. */
  is_deduplicated: boolean
  refill: NewRefill | undefined
  payment: NewPayment | undefined
}

/** When it is accepted, who asked for it, as in the audit trail, and through which pool (null: of a relayer itself). */
interface Origin {
  created_at: string
  caller: string
  pool_row_id: number | null
  pool_id: string | null
}

/** Whose idempotency key it is, as the column `relayer_row_id` holds it: a relayer, or a pool as minus its row id. */
export const idempotencyScope = (relayerRowId: number, poolRowId: number | undefined): number =>
  poolRowId === undefined ? relayerRowId : -poolRowId
export const keyOf = (
  relayerRowId: number,
  { caller, key, pool_row_id }: { caller: string; key: string; pool_row_id?: number },
): string => JSON.stringify([idempotencyScope(relayerRowId, pool_row_id), caller, key])
export const nonceOf = (account: Account, nonce: number): string => `${accountOf(account)} ${nonce}`
export const exclusiveName = (chainId: number, exclusiveKey: string): string => `${chainId} ${exclusiveKey}`
/** The name that no other unfinished transaction may have, if it has one. */
export const exclusiveNamesOf = ({ chain_id, sponsored }: NewTransaction): string[] =>
  sponsored?.exclusive_key == null ? [] : [exclusiveName(chain_id, sponsored.exclusive_key)]

/** The name of its `deduplication_id`, if it has one. */
export const deduplicationOf = ({ chain_id, deduplication_id, is_moved }: NewTransaction): string | undefined =>
  deduplication_id == null || is_moved ? undefined : `${chain_id} id ${deduplication_id}`

/** Accepts one transaction, if nothing is against it. The caller holds the locks of all relayers. */
export function insertTransaction(state: InsertState, origin: Origin, wanted: NewTransaction): InsertResult {
  const plan = planInsert(state, wanted)
  if ('outcome' in plan) return plan
  const counted = wanted.spending ? state.limits.spend(plan.account, wanted.spending) : { spent: null }
  if ('outcome' in counted) return counted
  take(state, plan)
  return record(state, origin, wanted, { ...plan, ...counted })
}

/** What a transaction takes, if nothing is against it. */
interface InsertPlan {
  relayer: InsertRelayer
  /** As it is then. */
  account: InsertAccount
  nonce: number
  bytes: number
  reserved: string | null
  exclusive_name: string | undefined
  refill: NewRefill | undefined
}

/** Whether something is against a transaction, apart from daily limits, and otherwise what it takes. Pure. */
function planInsert(
  state: InsertState,
  wanted: NewTransaction,
): InsertPlan | Exclude<InsertResult, { outcome: 'created' }> {
  const { relayer_row_id, idempotency, funds, capacity, expected_nonce, refill } = wanted
  const known = idempotency && state.known.get(keyOf(relayer_row_id, idempotency))
  if (known) return answerAgain(known, idempotency.body_hash)
  const deduplication = deduplicationOf(wanted)
  const sent = deduplication === undefined ? undefined : state.sent.get(deduplication)
  if (sent) return { outcome: 'already_sent', sent }

  const relayer = state.relayers.get(relayer_row_id)
  if (!relayer) return { outcome: 'relayer_gone' }
  const place = { chain_id: wanted.chain_id, address: wanted.from }
  const account = state.accounts.get(accountOf(place)) ?? { ...place, ...unused }
  const nonce = wanted.nonce ?? account.next_nonce
  if (expected_nonce !== undefined && expected_nonce !== nonce) return { outcome: 'other_nonce', next_nonce: nonce }
  if (state.held.has(nonceOf(place, nonce))) return { outcome: 'held' }
  const [exclusiveName] = exclusiveNamesOf(wanted)
  if (exclusiveName !== undefined && state.exclusive.has(exclusiveName)) return { outcome: 'exclusive_key_taken' }
  if (refill && !isNext(state.refills.get(refill.relayer_row_id), refill)) return { outcome: 'refilled' }
  const reserved = reservedOf({ ...wanted, status: 'pending', block_hash: null })
  if (funds !== undefined && BigInt(reserved ?? 0) + BigInt(account.reserved) > BigInt(funds)) {
    return { outcome: 'too_little', reserved: account.reserved }
  }
  const bytes = bytesOf(wanted.data)
  const exceeded = capacity && exceededBy(relayer.unfinished, { count: 1, bytes }, capacity)
  if (exceeded) return exceeded
  const nextNonce = wanted.nonce === undefined ? nonce + 1 : account.next_nonce
  return {
    relayer,
    account: { ...account, ...sumsAfter(account, null, reserved), next_nonce: nextNonce, isChanged: true },
    nonce,
    bytes,
    reserved,
    exclusive_name: exclusiveName,
    refill,
  }
}

/** The state after it: the next transaction finds it so. */
function take(state: InsertState, { relayer, account, nonce, bytes, exclusive_name, refill }: InsertPlan): void {
  relayer.last_sequence += 1
  relayer.unfinished = { count: relayer.unfinished.count + 1, bytes: relayer.unfinished.bytes + bytes }
  state.accounts.set(accountOf(account), account)
  state.held.add(nonceOf(account, nonce))
  if (exclusive_name !== undefined) state.exclusive.add(exclusive_name)
  if (refill) state.refills.set(refill.relayer_row_id, { row_id: 0, is_open: 1 })
}

/** The row, and the answer to this request and to its repetitions. */
function record(
  state: InsertState,
  { created_at, caller, pool_row_id, pool_id }: Origin,
  wanted: NewTransaction,
  { relayer, nonce, bytes, reserved, spent }: InsertPlan & { spent: string | null },
): InsertResult {
  const { spending, funds, capacity, expected_nonce, is_moved, ...kept } = wanted
  const { idempotency, sponsored, refill, payment, data, warnings = [], ...columns } = kept
  const row = newRow({
    ...columns,
    row_id: nextRowId(state.row_ids.transactions),
    data_bytes: bytes,
    data_row_id: data === null ? null : nextRowId(state.row_ids.data),
    sequence: relayer.last_sequence,
    nonce,
    // Half of a surrogate pair is no character, and no database stores it.
    reference: wanted.reference?.toWellFormed() ?? null,
    created_at,
    changed_at: created_at,
    caller,
    pool_row_id,
    pool_id,
    reserved,
    spent,
    sponsored: sponsored ? sponsoredOf(sponsored, state.limits.bucket) : null,
    exclusive_key: sponsored?.exclusive_key ?? null,
  })
  const shown = { ...readTransaction(row), data }
  const dataBytes = data === null ? null : Buffer.from(data.slice(2), 'hex')
  const answer = idempotency && {
    ...idempotency,
    answer: JSON.stringify(rememberAnswer(row, warnings)),
    data: dataBytes,
    transaction_row_id: row.row_id,
  }
  if (answer) state.known.set(keyOf(row.relayer_row_id, answer), answer)
  const deduplication = deduplicationOf(wanted)
  if (deduplication !== undefined) {
    const { id, relayer_id, pool_id } = row
    state.sent.set(deduplication, { id, relayer_id, pool_id })
  }
  const isDeduplicated = deduplication !== undefined
  state.accepted.push({ row, shown, data: dataBytes, known: answer, is_deduplicated: isDeduplicated, refill, payment })
  return { outcome: 'created', transaction: { ...shownTransaction(shown), warnings }, row_id: row.row_id }
}

/** Of an account that never had a transaction. */
const unused = { next_nonce: 0, reserved: '0', released: '0', isChanged: false }

const isNext = (newest: NewestRefill | undefined, { after }: NewRefill): boolean =>
  newest === undefined ? after === null : newest.is_open === 0 && newest.row_id === after

const sponsoredOf = (
  { exclusive_key: _, ...its }: NonNullable<NewTransaction['sponsored']>,
  bucket: number,
): Sponsored => ({
  ...its,
  bucket,
})

function nextRowId(rowIds: number[]): number {
  const rowId = rowIds.shift()
  if (rowId === undefined) throw new Error('Too few row ids were assigned')
  return rowId
}

/** What an answer is made of again: the row as it was accepted, and in a batch its data. */
interface StoredAnswer extends Required<Pick<Transaction, 'warnings'>> {
  row: ReturnType<typeof rememberRow>
  data?: string | null
}

export const rememberAnswer = (row: ShownRow, warnings: StoredAnswer['warnings']): StoredAnswer => ({
  row: rememberRow(row),
  warnings,
})

export const answerOf = ({ row, warnings }: StoredAnswer, data: string | null): Transaction => ({
  ...shownTransaction(readShown(recallRow(row), data)),
  warnings,
})

/** The key may have been used for one transaction, or for a batch. */
function mismatchOf(answer: string) {
  const [stored] = [JSON.parse(answer)].flat() as [StoredAnswer]
  const { id, relayer_id, pool_id } = answerOf(stored, null)
  return { outcome: 'mismatch', sent: { id, relayer_id, pool_id } } as const
}

/** The response to a repeated batch. */
export function answerBatchAgain({ body_hash, answer }: KnownAnswer, wantedHash: string) {
  if (body_hash !== wantedHash) return mismatchOf(answer)
  const stored: StoredAnswer[] = JSON.parse(answer)
  return { outcome: 'replayed', transactions: stored.map((its) => answerOf(its, its.data ?? null)) } as const
}

/** A row of the table `idempotency`, with the data that it names. `answer`: a StoredAnswer; several of a batch. */
export interface KnownAnswer {
  body_hash: string
  answer: string
  data: Uint8Array | null
  transaction_row_id: number
}

/** The response to a repeated request. */
export function answerAgain({ body_hash, answer, data, transaction_row_id }: KnownAnswer, wantedHash: string): Replay {
  if (body_hash !== wantedHash) return mismatchOf(answer)
  const transaction = answerOf(JSON.parse(answer), hexOf(data))
  return { outcome: 'replayed', transaction, row_id: transaction_row_id }
}

/** Undoes a batch: a member was refused. */
export class Refused extends Error {
  readonly index: number
  readonly creation: PoolInsertRefusal

  constructor(index: number, creation: PoolInsertRefusal) {
    super('A member of a batch was refused')
    this.index = index
    this.creation = creation
  }
}

/** What the choice of a relayer depends on, beside the state. It follows each choice. */
export interface PoolState {
  /** By `orderOf`: the relayer that has an unfinished transaction with this ordering key, or an earlier one of its own. */
  pinned: Map<string, number>
  /** The newest transaction of each relayer that has one, by the relayer's row id. */
  newest: Map<number, number>
}

/** A transaction that was accepted with an ordering key. */
export interface Order {
  transaction_row_id: number
  pool_row_id: number
  ordering_key: string
}

export const orderOf = (poolRowId: number, orderingKey: string): string => `${poolRowId} ${orderingKey}`

/**
 * Accepts a transaction for the candidate with the fewest unfinished transactions for its weight; among equals for the one that was idle
 * the longest. A candidate that its funds or limits refuse is passed over. If all are, the refusal of the first candidate is returned.
 */
export function acceptInPool(
  state: InsertState,
  { pinned, newest }: PoolState,
  origin: Pick<Origin, 'created_at' | 'caller'>,
  { pool_row_id, pool_id, ordering_key, candidates }: PoolTransaction,
): { creation: PoolInsertResult; order?: Order } {
  const [first] = candidates as [PoolTransaction['candidates'][number]]
  const { idempotency } = first.transaction
  const known = idempotency && state.known.get(keyOf(first.transaction.relayer_row_id, idempotency))
  if (known) return { creation: answerAgain(known, idempotency.body_hash) }

  const name = ordering_key === null ? undefined : orderOf(pool_row_id, ordering_key)
  const wanted = name === undefined ? undefined : pinned.get(name)
  // The order of the candidates is older than this.
  if (wanted !== undefined && first.transaction.relayer_row_id !== wanted) return { creation: { outcome: 'pinned' } }
  const share = ({ relayer_row_id }: NewTransaction, weight: number) =>
    (state.relayers.get(relayer_row_id)?.unfinished.count ?? 0) / weight
  const age = ({ relayer_row_id }: NewTransaction) => newest.get(relayer_row_id) ?? 0
  const best = [...(wanted === undefined ? candidates : [first])].sort(
    (a, b) =>
      share(a.transaction, a.weight) - share(b.transaction, b.weight) || age(a.transaction) - age(b.transaction),
  )
  let refusal: InsertResult | undefined
  for (const { transaction } of best) {
    const creation = insertTransaction(state, { ...origin, pool_row_id, pool_id }, transaction)
    if (creation.outcome !== 'created') {
      if (transaction === first.transaction) refusal = creation
      continue
    }
    const { relayer_row_id } = transaction
    newest.set(relayer_row_id, creation.row_id)
    if (name === undefined || ordering_key === null) return { creation }
    pinned.set(name, relayer_row_id)
    return { creation, order: { transaction_row_id: creation.row_id, pool_row_id, ordering_key } }
  }
  return { creation: refusal as InsertResult }
}
