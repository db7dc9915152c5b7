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

/** Who did what. Never a text that was signed, nor a secret. */
export interface AuditEntry {
  /** Milliseconds of the epoch. */
  at: number
  /** An API key's id, `environment`, `command line`, or `service` for what it does by itself. */
  caller: string
  operation: string
  relayer_id: string | null
  /** The digest that was signed, or the id of what was changed. */
  subject: string | null
  /** The HTTP status. */
  result: number
  request_id: string | null
}

export interface PendingAuditEntry extends AuditEntry {
  /** Whether it is in the trail. */
  recorded: boolean
}

export interface AuditFilter {
  caller?: string
  operation?: string
  relayer_id?: string
  subject?: string
  /** Milliseconds of the epoch, both not included. */
  after?: number
  before?: number
}

/** The cryptography of rows that grant rights, under the master key. */
export interface RightsGuard {
  /** HMAC-SHA256. */
  mac(text: string): Buffer
  seal(secret: Uint8Array, row: string): Uint8Array
  /** Throws when it was sealed under another key or for another row. */
  open(sealed: Uint8Array, row: string): Buffer
}

/** The master key's word on a database. */
export interface RightsProof {
  guard: RightsGuard
  /** Whether the rows of this database that grant rights carry a MAC already. */
  is_protected: boolean
  /** The proof of a database whose rows do. */
  sealed: Uint8Array
}

/** A row that grants rights is not as the service wrote it; without an id: some row of the table. */
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
  /** Its network's. */
  chain_id: number
}

/** The address is the signer's and the chain id the network's; the store reads both in the same transaction. */
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

/** What is absent stays. */
export interface NotificationChanges {
  type?: Notification['type']
  url?: string
  signing_key?: Uint8Array | null
  /** Until when a key that is replaced goes on signing, in milliseconds of the epoch. */
  former_until: number
}

export interface EventRow {
  sequence: number
  event: string
  /** What every delivery carries, to the byte. */
  body: string
}

/** A notification as the deliverer needs it; the keys are sealed. */
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
  /** Attempts made in all, and failures of the present schedule. */
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
  /** Ends all deliveries to the notification, with the reason. */
  disable?: string
}

export interface TransactionFilter {
  /** Empty: any. */
  status: TransactionStatus[]
  /** As the store writes times: UTC with milliseconds. */
  created_after?: string
  created_before?: string
}

/** How a transaction shall end: sent, or withdrawn and so canceled, expired or failed. */
export type Intent = 'send' | 'cancel' | 'expire' | 'fail'

/** A transaction without its data, which may be large. */
export interface TransactionRow extends Omit<Transaction, 'data'> {
  key: number
  /** The size of its data. */
  data_bytes: number
  relayer_key: number
  chain_id: number
  valid_until: string | null
  intent: Intent
  /** What was signed last is not what is wanted now. */
  resign: boolean
  /** Where it was last seen in the chain. */
  block_number: number | null
  block_hash: string | null
  /**
   * Why it makes no progress; null while it does. A move that sets a `status_reason` with "Waits: " in it and no code sets
   * `other`.
   */
  waiting_for: WaitingFor | null
  /** The reasons to wait that an event told of: each is told once. */
  waits_told: WaitingFor[]
  /** The most wei that it can still cost; null once it is in a block or has ended. */
  reserved: string | null
  /** When it is to be priced anew, in milliseconds of the epoch. */
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
  /** To fill a gap; absent for the next one. */
  nonce?: number
  idempotency?: { caller: string; key: string; body_hash: string }
  /** What limits per day count of it; absent: nothing. */
  spending?: Spend[]
  /** What it, and all that is accepted and unfinished, may cost together, in wei; absent: whatever it costs. */
  funds?: string
  /** Told in the answer, and in each repetition of it; absent: none. */
  warnings?: Warning[]
  /** Absent: as many as there may be. */
  room?: Room
}

/** How many transactions of a relayer may be unfinished, and how many bytes of data they may have together. */
export interface Room {
  max_unfinished: number
  max_unfinished_bytes: number
}

/** The relayer has as many unfinished transactions, or as many bytes in them, as it may have. */
export interface Crowded {
  outcome: 'crowded'
  policy: keyof Room
  limit: number
}

export interface Account {
  chain_id: number
  address: string
}

/** An amount that a limit per day counts. */
export interface Spend {
  policy: 'max_value_per_day' | 'token_limits' | 'max_fee_per_day'
  /** `wei`, `fee` (wei too), or a token's address. */
  asset: string
  amount: string
  limit: string
}

/** A limit per day leaves no room. */
export interface OverLimit {
  outcome: 'over_limit'
  spend: Spend
  /** What it leaves room for. */
  left: string
}

/** The answer to a repeated request; no funds are looked at. */
export type Replay = Exclude<Creation, { outcome: 'too_little' }>

export type Creation =
  | { outcome: 'created' | 'replayed'; transaction: AcceptedTransaction; key: number }
  /** The key was used with another body. */
  | { outcome: 'mismatch' }
  /** The nonce that was asked for is taken. */
  | { outcome: 'held' }
  /** The relayer was deleted meanwhile. */
  | { outcome: 'relayer_gone' }
  /** What is accepted already leaves too little of the funds. */
  | { outcome: 'too_little'; reserved: string }
  | OverLimit
  | Crowded

/** What was signed once: durable before a node sees it. */
export interface Attempt extends AttemptRow {
  raw: Uint8Array
}

/** An attempt without its bytes, which may be many. */
export interface AttemptRow {
  /** From 1. */
  number: number
  purpose: 'send' | 'cancel'
  /** The nonce that it was signed with; null in old rows. */
  nonce: number | null
  hash: string
  gas_price: string | null
  max_fee_per_gas: string | null
  max_priority_fee_per_gas: string | null
  /** When a node was first known to have these bytes (accepted, known already, or found by hash); null: no node is known to. */
  taken_at: string | null
  /** The last reason for which a node refused these bytes. */
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
   * What limits per day count of the transaction from now on, where that is more than before. When a limit leaves no room, nothing of
   * the move is done, as when another revision is found.
   */
  spending?: Spend[]
  /** Numbers of attempts that a node is now known to have. */
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

/** Ids. `refused`: withdrawn before. */
export interface WithdrawnLot {
  withdrawn: string[]
  refused: string[]
  next_below: number | undefined
}
