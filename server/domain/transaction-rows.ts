import type {
  DecodedCall,
  Metadata,
  Transaction,
  TransactionHistoryEntry,
  TransactionStatus,
  WaitReason,
} from '../../generated/openapi.ts'
import type { Ending, Intent } from './decide.ts'
import type { Effect } from './effect.ts'
import type { UnfinishedStatus } from './statuses.ts'
import type { PrivateSubmission } from './submission.ts'
import type { TransactionType } from './transaction-form.ts'

export type { Intent } from './decide.ts'

export interface TransactionFilter {
  /** Empty: any. */
  status: TransactionStatus[]
  /** RFC 3339, UTC, milliseconds. */
  created_after?: string
  created_before?: string
  reference?: string
  metadata?: { name: string; value: string }
  /** Lower case, as the two below. Of any of its attempts. */
  hash?: string
  to?: string
  nonce_from?: number
  nonce_to?: number
  /** What the search finds by this text. */
  search?: string
  /** The pool that it was sent through. */
  pool_row_id?: number
}

/** What of a transaction is made from its row, or has another form in it. */
export type Derived =
  | 'call'
  | 'metadata'
  | 'ended_at'
  | 'is_canceling'
  | 'speed_percentile'
  | 'submission'
  | 'wait_reason'
  | 'revision'

/** A transaction row without `data`, which may be large. */
export interface TransactionRow extends Omit<Transaction, 'data' | Derived> {
  /** The caller's names and values; null: none. */
  metadata: Metadata | null
  /** What decodes the data, as human-readable ABI; null: nothing is known of it. */
  fragments: string[] | null
  /** The call that the data is, decoded when the data was written: a read decodes nothing. Null: it is not known. */
  call: DecodedCall | null
  /** Null: public from the beginning. */
  submission: PrivateSubmission | null
  row_id: number
  /** Who asked for it, as in the audit trail. It never changes. */
  caller: string
  /** The size of its data, and the row id of its stored version. */
  data_bytes: number
  data_row_id: number | null
  relayer_row_id: number
  chain_id: number
  intent: Intent
  /** It never changes, except by a replacement request. */
  type: TransactionType
  /** The highest price, and the highest priority fee, that the request gave, in wei per unit of gas; null: the service chooses. */
  fee_ceiling: string | null
  tip_ceiling: string | null
  /** What a rollup charges for the data besides the gas, in wei, by the estimate at its acceptance; null: nothing. */
  data_fee: string | null
  /** What a call of the coin's token takes from the balance besides the value, in wei; null: nothing. */
  coin_spent: string | null
  /** The caller asked to replace what another sender has put into the pool at its nonce. */
  replaces_external: boolean
  /** How often a caller has replaced its content. */
  replacements: number
  /** The gas limit is the request's, and never changes; otherwise the nodes' estimate, which may be raised. */
  gas_is_given: boolean
  /** It sends all that the highest fee leaves: a higher price makes the value lower. */
  is_sweep: boolean
  /** The newest attempt does not match the requested content: sign again. */
  resign: boolean
  /** The block in which it was last seen. */
  block_number: number | null
  block_hash: string | null
  /** Why it ended, or is withdrawn, apart from why it waits. The contract shows both as `status_reason`. */
  status_reason: string | null
  /** Why it makes no progress, as a word and as a sentence; null while it does. A move that sets only `status_reason` clears both. */
  wait_reason: WaitReason | null
  wait_text: string | null
  /** The reasons to wait that were reported by an event; each is reported once. */
  waits_told: WaitReason[]
  /** The most wei that it can still cost; null once it is in a block or final. */
  reserved: string | null
  /** What callers and reorganizations changed of it, the oldest first; null: nothing. */
  history: StoredHistoryEntry[] | null
  /** When its status or `wait_reason` last changed. */
  changed_at: string
  /** Which sponsorship pays for it; null: none. */
  sponsored: Sponsored | null
  /** Of several unfinished transactions of a chain only one may have it. */
  exclusive_key: string | null
  /** The pool that it was sent through; null: none. It never changes. */
  pool_row_id: number | null
  /** When to reprice it, in milliseconds since the Unix epoch. */
  reprice_at: number
  revision: number
}

/** How a transaction counts for the limits of a sponsorship. */
export interface Sponsored {
  /** Null: a facilitator pays for it (payments.ts). */
  sponsorship_row_id: number | null
  /** Lower case. Null: not known. */
  user: string | null
  /** What it counts until it is mined, in wei. */
  charge: string
  /** The time step that it is counted in: of its acceptance, and of its end once it is final. */
  bucket: number
  /** What its success needs beyond the receipt; absent: nothing. Its content never changes. */
  effect?: Effect
  /** Under which names it is counted, by `holderOf`. */
  holders: string[]
}

export interface WholeTransactionRow extends TransactionRow {
  data: string | null
}

export interface Account {
  chain_id: number
  address: string
}

/** An amount that a daily limit counts: in wei, or in the token's smallest unit. */
export interface Spend {
  policy:
    | ('max_value_per_day' | 'token_limits' | 'max_fee_per_day' | 'funding')
    | ('max_fee_per_day' | 'user_limits/max_fee_per_day' | 'user_limits/max_calls_per_day')
    | (`assets/${number}/max_amount_per_day` | 'max_transactions_per_hour')
  /** `wei`, `fee` (wei too), a token's address, that of refills (funding.ts), or `calls` of a sponsorship's user or an API key. */
  asset: string
  amount: string
  /** Undefined: it was paid already, and counts whatever the limit. */
  limit: string | undefined
  /**
   * Whose limit it is, if not the account's: `pool N`, a sponsorship's (policies/sponsored-calls.ts), a facilitator's (payments.ts), or an
   * API key's (budgets.ts).
   */
  holder?: string
  /** Absent: a day. */
  window?: 'hour'
}

/** An amount exceeds a daily limit. */
export interface OverLimit {
  outcome: 'over_limit'
  spend: Spend & { limit: string }
  /** The remaining amount. */
  left: string
  /** When the limit has room for the amount, if nothing more is spent. RFC 3339. Undefined: no time is known. */
  resets_at: string | undefined
}

/** A signed version of a transaction. It is stored before it is sent to a node. */
export interface Attempt extends AttemptRow {
  raw: Uint8Array
}

/** An attempt without its bytes, which may be large. */
export interface AttemptRow {
  /** From 1. */
  number: number
  purpose: 'send' | 'cancel'
  nonce: number
  hash: string
  gas_price: string | null
  max_fee_per_gas: string | null
  max_priority_fee_per_gas: string | null
  gas_limit: number
  /** Of what it does (contentHash), and its signature: a read does not parse the bytes. */
  content_hash: string
  sig: string
  /** When a node was first known to have these bytes (accepted, already known, or found by hash); null: no node is known to have them. */
  taken_at: string | null
  /** When it was signed. */
  created_at: string
  /** The last error with which a node refused these bytes, and its kind (chain/rpc-error.ts). */
  refusal_message: string | null
  refusal_kind: string | null
}

export interface TransactionUpdate {
  row_id: number
  revision: number
  /** Everything but a final status, which `end` sets. What is signed with another intent has a ceiling of its own. */
  set: Partial<
    Omit<
      WholeTransactionRow,
      | 'intent'
      | 'status'
      | 'row_id'
      | 'id'
      | 'relayer_row_id'
      | 'relayer_id'
      | 'chain_id'
      | 'from'
      | 'pool_row_id'
      | 'revision'
      | 'waits_told'
      | 'data_bytes'
      | 'data_row_id'
    > & { status: UnfinishedStatus }
  > &
    ({ intent?: never } | Pick<TransactionRow, 'intent' | 'fee_ceiling' | 'tip_ceiling'>)
  end?: Ending
  attempt?: Omit<Attempt, 'taken_at' | 'refusal_message' | 'refusal_kind' | 'created_at'>
  /** The key service's id of the request for the attempt's signature, for its audit entry. */
  key_request_id?: string
  /**
   * The amounts that daily limits count for the transaction from now on, if they are higher than before. When a limit is exceeded,
   * the move has no effect, as with a changed revision.
   */
  spending?: Spend[]
  /** The numbers of attempts that a node is now known to have. */
  taken?: number[]
  /** Why a node refused an attempt. */
  refused?: { number: number; refusal_message: string; kind: string }
}

/** The revision of a row after one update: of a second update in the same commit. */
export const revisionAfter = ({ revision }: { revision: number }): number => revision + 1

export interface WithdrawalBatch {
  relayer_row_id: number
  below_nonce: number
  limit: number
  intent: Exclude<Intent, 'send'>
  reason: string
}

/** Transaction ids. `refused`: already withdrawn. */
export interface WithdrawnBatch {
  withdrawn: string[]
  refused: string[]
  next_below: number | undefined
}

/** An entry as it is stored; the name of the caller is read with it. */
type StoredHistoryEntry = Omit<TransactionHistoryEntry, 'caller_name'>

const maxEntries = 20
const maxTextLength = 200

/** The history with another entry: a transaction that changes more often keeps the newest ones. */
export const withEntry = (
  history: StoredHistoryEntry[] | null,
  entry: Pick<TransactionHistoryEntry, 'occurred_at' | 'event'> & Partial<StoredHistoryEntry>,
): StoredHistoryEntry[] => [
  ...(history ?? []).slice(1 - maxEntries),
  { caller: null, block_number: null, changes: [], ...entry },
]

interface Content {
  to: string | null
  value: string
  data: string | null
}
const members = ['to', 'value', 'data'] as const

/** The members of the content that a replacement changes. */
export const changesOfContent = (before: Content, after: Content): TransactionHistoryEntry['changes'] =>
  members
    .filter((member) => before[member] !== after[member])
    .map((member) => ({ member, before: shortened(before[member]), after: shortened(after[member]) }))

const shortened = (text: string | null): string | null =>
  text === null || text.length <= maxTextLength ? text : `${text.slice(0, 74)}… (${text.length / 2 - 1} bytes)`
