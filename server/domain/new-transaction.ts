import type { Transaction, TransactionWarning } from '../../generated/openapi.ts'
import type { SentTransaction } from './errors.ts'
import type { NewPayment } from './payments.ts'
import type { OverLimit, Spend, Sponsored, TransactionRow, WholeTransactionRow } from './transaction-rows.ts'

export type NewTransaction = Pick<
  WholeTransactionRow,
  | 'id'
  | 'relayer_row_id'
  | 'network'
  | 'relayer_id'
  | 'chain_id'
  | 'from'
  | 'to'
  | 'value'
  | 'data'
  | 'gas_limit'
  | 'gas_price'
  | 'max_fee_per_gas'
  | 'max_priority_fee_per_gas'
  | 'speed'
  | 'valid_until'
  | 'intent'
  | 'type'
  | 'status_reason'
> & {
  data_fee?: string | null
  coin_spent?: string | null
  /** The prices per gas that the caller gave; absent or null: the service chooses them. */
  fee_ceiling?: string | null
  tip_ceiling?: string | null
  /** Absent: no. */
  gas_is_given?: boolean
  is_sweep?: boolean
  /** The caller's; absent: none. */
  reference?: string | null
  /** Absent: none. */
  fragments?: TransactionRow['fragments']
  call?: TransactionRow['call']
  metadata?: TransactionRow['metadata']
  submission?: TransactionRow['submission']
  access_list?: TransactionRow['access_list']
  authorization_list?: TransactionRow['authorization_list']
  /** Only to fill a gap; absent: the account's next nonce. */
  nonce?: number
  /** The transaction is created only if this is the account's next nonce. */
  expected_nonce?: number
  /** `pool_row_id`: the key belongs to this pool, not to the relayer. */
  idempotency?: Once & { pool_row_id?: number }
  /** No other transaction of the chain may have it; absent: none. */
  deduplication_id?: string | null
  /** It replaces a transaction of another relayer, which keeps its row and the same `deduplication_id`. */
  is_moved?: true
  ordering_key?: string | null
  /** The amounts that daily limits count; absent: none. */
  spending?: Spend[]
  /** The most that it and all unfinished transactions may cost together, in wei; absent: no limit. */
  funds?: string
  /** Part of the response and of each replay of it; absent: none. */
  warnings?: TransactionWarning[]
  /** Absent: no limit. */
  capacity?: Capacity
  /** Absent: no sponsorship pays for it. `exclusive_key`: null: any number of its unfinished transactions may exist. */
  sponsored?: Omit<Sponsored, 'bucket'> & { exclusive_key: string | null }
  /** Absent: it refills no relayer. */
  refill?: NewRefill
  /** Absent: it settles no payment. */
  payment?: NewPayment
}

/** The idempotency key of a caller, and the hash of what was asked with it. */
export interface Once {
  caller: string
  key: string
  body_hash: string
}

/** The refill of a relayer. It is accepted only while none is open, and `after` (a row id; null: none) is the newest. */
export interface NewRefill {
  relayer_row_id: number
  /** `coin`, or a token's address. */
  asset: string
  amount: string
  after: number | null
}

/** A transaction that one of several relayers of a pool takes. All candidates have the same id and idempotency key. */
export interface PoolTransaction {
  pool_row_id: number
  pool_id: string
  ordering_key: string | null
  /** At least one, the preferred first. `weight`: at least 1. */
  candidates: { transaction: NewTransaction; weight: number }[]
}

/** `pinned`: another relayer than the first candidate has the unfinished transactions with this ordering key. */
export type PoolInsertResult = InsertResult | { outcome: 'pinned' }

/** The result of accepting several transactions together. */
export type BatchCreation =
  | { outcome: 'created' | 'replayed'; transactions: Transaction[] }
  | Mismatch
  /** Nothing was accepted: the first transaction that could not be. */
  | { outcome: 'refused'; index: number; creation: PoolInsertRefusal }

/** The limits for the unfinished transactions of a relayer: their number, and the bytes of their data together. */
export interface Capacity {
  max_pending: number
  max_pending_bytes: number
}

/** A limit for the unfinished transactions of a relayer is exceeded. */
export interface AtCapacity {
  outcome: 'at_capacity'
  policy: keyof Capacity
  limit: number
}

/** The result for a repeated request. */
export type Replay = InsertSuccess | Mismatch

export interface InsertSuccess {
  outcome: 'created' | 'replayed'
  transaction: Transaction
  row_id: number
}

/** The idempotency key was used with another body, for this transaction. */
export interface Mismatch {
  outcome: 'mismatch'
  sent: SentTransaction
}

export type InsertResult =
  | InsertSuccess
  | Mismatch
  /** The requested nonce is already in use. */
  | { outcome: 'held' }
  /** The next nonce is not the expected one. */
  | { outcome: 'other_nonce'; next_nonce: number }
  /** The relayer was deleted meanwhile. */
  | { outcome: 'relayer_gone' }
  /** Another transaction of the chain has its `deduplication_id`. */
  | { outcome: 'already_sent'; sent: SentTransaction }
  /** Another unfinished transaction has its `exclusive_key`. */
  | { outcome: 'exclusive_key_taken' }
  /** Another refill of the relayer is open, or was accepted meanwhile. */
  | { outcome: 'refilled' }
  /** The unfinished transactions leave too little of the funds. */
  | { outcome: 'too_little'; reserved: string }
  | OverLimit
  | AtCapacity

/** Nothing was accepted. */
export type InsertRefusal = Exclude<InsertResult, InsertSuccess>
export type PoolInsertRefusal = InsertRefusal | { outcome: 'pinned' }

export interface Unfinished {
  count: number
  /** The bytes of data. */
  bytes: number
}

/** The limit that is exceeded when `more` is added to the unfinished transactions; undefined: none. */
export function exceededBy(now: Unfinished, more: Unfinished, capacity: Capacity): AtCapacity | undefined {
  const { max_pending, max_pending_bytes } = capacity
  if (more.count > 0 && now.count + more.count > max_pending) {
    return { outcome: 'at_capacity', policy: 'max_pending', limit: max_pending }
  }
  if (more.bytes > 0 && now.bytes + more.bytes > max_pending_bytes) {
    return { outcome: 'at_capacity', policy: 'max_pending_bytes', limit: max_pending_bytes }
  }
  return undefined
}
