import type {
  AcceptedTransaction,
  ApiKey,
  Delivery,
  DeliveryAttempt,
  Notification,
  Relayer,
  Signer,
  Transaction,
  TransactionStatus,
  WaitingFor,
  Warning,
} from '../../generated/openapi.ts'

export interface Slice {
  offset: number
  limit: number
}

export interface Listing<T> {
  items: T[]
  total_items: number
}

/** A record of one operation and its caller. It never contains a signed text or a secret. */
export interface AuditEntry {
  /** Milliseconds since the Unix epoch. */
  at: number
  /** An API key's id, `environment` (API_KEY), `command line`, or `service` for the service's own actions. */
  caller: string
  operation: string
  relayer_id: string | null
  /** The signed digest, or the id of the changed resource. */
  subject: string | null
  /** The HTTP status. */
  result: number
  request_id: string | null
}

export interface PendingAuditEntry extends AuditEntry {
  /** Whether it is stored. */
  recorded: boolean
}

export interface AuditFilter {
  caller?: string
  operation?: string
  relayer_id?: string
  subject?: string
  /** Milliseconds since the Unix epoch, both exclusive. */
  after?: number
  before?: number
}

/** Cryptography for rows that grant rights, with keys derived from the master key. */
export interface RightsGuard {
  /** HMAC-SHA256. */
  mac(text: string): Buffer
  seal(secret: Uint8Array, row: string): Uint8Array
  /** Throws when it was sealed with another key or for another row. */
  open(sealed: Uint8Array, row: string): Buffer
}

/** The proof that a database belongs to the master key. */
export interface RightsProof {
  guard: RightsGuard
  /** Whether the rows that grant rights already carry a MAC. */
  is_protected: boolean
  /** The sealed proof for a database whose rows carry a MAC. */
  sealed: Uint8Array
}

/** A row that grants rights was changed by another program. Without an id: an unknown row of the table. */
export interface RightsFault {
  table: string
  id: string | null
  reason: string
}

export type Deletion = 'deleted' | 'missing' | 'in_use'

export interface SignerRow extends Signer {
  secret: Uint8Array
}

export interface RelayerRow extends Relayer {
  key: number
  /** The chain id of its network. */
  chain_id: number
}

/** The store reads the address from the signer and the chain id from the network, in the same database transaction. */
export type NewRelayer = Omit<Relayer, 'address'>

export type RelayerObstacle =
  | 'id_taken'
  | 'address_taken'
  | 'unknown_network'
  | 'unknown_signer'
  | 'unknown_notification'

export interface ApiKeyRow extends ApiKey {
  /** SHA-256 of the secrets. */
  secret_hash: Uint8Array
  former_hash: Uint8Array | null
}

export interface NotificationRow extends Omit<Notification, 'has_signing_key'> {
  signing_key: Uint8Array | null
  /** An API key's id, or `environment`. */
  created_by: string
}

/** Absent members stay unchanged. */
export interface NotificationChanges {
  type?: Notification['type']
  url?: string
  signing_key?: Uint8Array | null
  /** Until when a replaced signing key still signs, in milliseconds since the Unix epoch. */
  former_until: number
}

export interface EventRow {
  sequence: number
  event: string
  /** The exact body of every delivery. */
  body: string
}

/** A notification as the deliverer uses it. Its signing keys are sealed. */
export interface Target {
  key: number
  id: string
  url: string
  signing_key: Uint8Array | null
  former_key: Uint8Array | null
  former_until: number | null
  disabled_reason: string | null
  failing_since: string | null
}

export interface DueDelivery {
  key: number
  event_id: string
  /** All attempts so far, and the failures since the retry schedule started. */
  attempts: number
  failures: number
}

export interface Settlement {
  delivery_key: number
  notification_key: number
  attempt: DeliveryAttempt
  status: Delivery['status']
  failures: number
  next_at: number
  /** Disables the notification with this reason, and fails its pending deliveries. */
  disable?: string
}

export interface TransactionFilter {
  /** Empty: any. */
  status: TransactionStatus[]
  /** RFC 3339, UTC, milliseconds. */
  created_after?: string
  created_before?: string
}

/** The intended end of a transaction: sent, or withdrawn by cancellation, expiry or failure. */
export type Intent = 'send' | 'cancel' | 'expire' | 'fail'

/** A transaction row without `data`, which may be large. */
export interface TransactionRow extends Omit<Transaction, 'data'> {
  key: number
  /** The size of its data. */
  data_bytes: number
  relayer_key: number
  chain_id: number
  valid_until: string | null
  intent: Intent
  /** The newest attempt does not match the requested content: sign again. */
  resign: boolean
  /** The block in which it was last seen. */
  block_number: number | null
  block_hash: string | null
  /** Why it makes no progress; null while it does. A move that sets a `status_reason` with "Waits: " and no code sets `other`. */
  waiting_for: WaitingFor | null
  /** The reasons to wait that were reported by an event; each is reported once. */
  waits_told: WaitingFor[]
  /** The most wei that it can still cost; null once it is in a block or final. */
  reserved: string | null
  /** When to reprice it, in milliseconds since the Unix epoch. */
  reprice_at: number
  revision: number
}

export interface WholeTransactionRow extends TransactionRow {
  data: string | null
}

export type NewTransaction = Pick<
  WholeTransactionRow,
  | 'id'
  | 'relayer_key'
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
  | 'status_reason'
> & {
  /** Only to fill a gap; absent: the account's next nonce. */
  nonce?: number
  idempotency?: { caller: string; key: string; body_hash: string }
  /** The amounts that daily limits count; absent: none. */
  spending?: Spend[]
  /** The most that it and all unfinished transactions may cost together, in wei; absent: no limit. */
  funds?: string
  /** Part of the response and of each replay of it; absent: none. */
  warnings?: Warning[]
  /** Absent: no limit. */
  room?: Room
}

/** The limits for the unfinished transactions of a relayer: their number, and the bytes of their data together. */
export interface Room {
  max_unfinished: number
  max_unfinished_bytes: number
}

/** A limit for the unfinished transactions of a relayer is exceeded. */
export interface Crowded {
  outcome: 'crowded'
  policy: keyof Room
  limit: number
}

export interface Account {
  chain_id: number
  address: string
}

/** An amount that a daily limit counts: in wei, or in the token's smallest unit. */
export interface Spend {
  policy: 'max_value_per_day' | 'token_limits' | 'max_fee_per_day'
  /** `wei`, `fee` (wei too), or a token's address. */
  asset: string
  amount: string
  limit: string
}

/** An amount exceeds a daily limit. */
export interface OverLimit {
  outcome: 'over_limit'
  spend: Spend
  /** The remaining amount. */
  left: string
}

/** The result for a repeated request, for which funds are not checked. */
export type Replay = Exclude<Creation, { outcome: 'too_little' }>

export type Creation =
  | { outcome: 'created' | 'replayed'; transaction: AcceptedTransaction; key: number }
  /** The idempotency key was used with another body. */
  | { outcome: 'mismatch' }
  /** The requested nonce is already in use. */
  | { outcome: 'held' }
  /** The relayer was deleted meanwhile. */
  | { outcome: 'relayer_gone' }
  /** The unfinished transactions leave too little of the funds. */
  | { outcome: 'too_little'; reserved: string }
  | OverLimit
  | Crowded

/** A signed version of a transaction. It is stored before it is sent to a node. */
export interface Attempt extends AttemptRow {
  raw: Uint8Array
}

/** An attempt without its bytes, which may be large. */
export interface AttemptRow {
  /** From 1. */
  number: number
  purpose: 'send' | 'cancel'
  /** The signed nonce; null in rows from older versions. */
  nonce: number | null
  hash: string
  gas_price: string | null
  max_fee_per_gas: string | null
  max_priority_fee_per_gas: string | null
  /** When a node was first known to have these bytes (accepted, already known, or found by hash); null: no node is known to have them. */
  taken_at: string | null
  /** The last error with which a node refused these bytes. */
  refusal: string | null
}

export interface Move {
  key: number
  revision: number
  set: Partial<
    Omit<
      WholeTransactionRow,
      'key' | 'id' | 'relayer_key' | 'relayer_id' | 'chain_id' | 'from' | 'revision' | 'waits_told' | 'data_bytes'
    >
  >
  attempt?: Omit<Attempt, 'taken_at' | 'refusal'>
  /**
   * The amounts that daily limits count for the transaction from now on, if they are higher than before. When a limit is exceeded,
   * the move has no effect, as with a changed revision.
   */
  spending?: Spend[]
  /** The numbers of attempts that a node is now known to have. */
  taken?: number[]
  /** Why a node refused an attempt. */
  refused?: { number: number; refusal: string }
}

export interface WithdrawalLot {
  relayer_key: number
  below_nonce: number
  limit: number
  intent: Exclude<Intent, 'send'>
  reason: string
}

/** Transaction ids. `refused`: already withdrawn. */
export interface WithdrawnLot {
  withdrawn: string[]
  refused: string[]
  next_below: number | undefined
}
