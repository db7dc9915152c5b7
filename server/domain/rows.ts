import type {
  Abi,
  ApiKey,
  ApiKeyBudget,
  Delivery,
  DeliveryAttempt,
  Funding,
  Notification,
  NotificationFilter,
  NotificationFilterPatch,
  Pool,
  PoolPolicies,
  Relayer,
  RelayerPolicies,
  Signer,
} from '../../generated/openapi.ts'
import type { CoinToken } from './policies/token-calls.ts'
import type { IfMatch } from './revision.ts'

export interface PageRequest {
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
  /** An API key's id, `environment` (API_KEY), `command_line`, or `service` for the service's own actions. */
  caller: string
  operation: string
  relayer_id: string | null
  /** The signed digest, or the id of the changed resource. */
  subject: string | null
  http_status: number
  request_id: string | null
  /** The key service's id of the request. Absent: there is none. */
  key_request_id?: string
  /** How many equal ones it stands for. Absent: one. */
  count?: number
  /** Of a failure: its code, and what refused it. */
  failure?: { code: string; message: string }
  /** Of a change: what it changed, member by member; a value is JSON. */
  changes?: { member: string; before: string | null; after: string | null }[]
  /** The rule that refused it, which the store counts (store/queries/refusals.ts). */
  refused_by?: RefusedBy
}

/** A rule of a resource that refuses a request: one of its policies, limits, or its pause. */
export interface RefusedBy {
  resource: 'relayer' | 'pool' | 'sponsorship'
  id: string
  rule: string
}

export interface PendingAuditEntry extends AuditEntry {
  /** Whether it is stored. */
  recorded: boolean
  /** The answer is that of an earlier request with the same idempotency key. */
  replayed?: boolean
  /** Of the path of the request, or of the API key. */
  pool_id?: string | undefined
  sponsorship_id?: string | undefined
}

export interface AuditFilter {
  caller?: string
  /** A part of its name, in upper or lower case. */
  operation?: string
  relayer_id?: string
  subject?: string
  outcome?: 'succeeded' | 'refused'
  /** Without the service's own actions. */
  exclude_service?: boolean
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

/** The master key of a database, encrypted by a key in a key service. `by`: the name of that key. */
export interface WrappedKey {
  by: string
  bytes: Uint8Array
}

/** The row about the master key of a database. `wrapped`: null when the master key is given by settings or files. */
export interface MasterKeyCheck {
  sealed: Uint8Array
  wrapped: WrappedKey | null
}

/** The proof that a database belongs to the master key. */
export interface RightsProof {
  guard: RightsGuard
  /** Whether the rows that grant rights already carry a MAC. */
  is_protected: boolean
  /** The sealed proof for a database whose rows carry a MAC. */
  sealed: Uint8Array
  /** Stored with the first proof of a database. */
  wrapped: WrappedKey | null
}

/** A row that grants rights was changed by another program. Without an id: an unknown row of the table. */
export interface RightsFault {
  table: string
  id: string | null
  reason: string
}

/** The resources that use another one, so that it cannot be deleted: the ids of at most `maxUsers` of them. */
export interface InUse {
  used_by: 'relayers' | 'reporting_relayers' | 'funding' | 'api_keys' | 'sponsorships' | 'facilitators'
  ids: string[]
}
export const maxUsers = 1_000

export type Deletion = 'deleted' | 'missing' | InUse

export interface SignerRow extends Omit<Signer, 'created_at'> {
  secret: Uint8Array
}

export interface RelayerRow extends Omit<Relayer, 'notification_id' | 'warnings'> {
  notification_ids: string[]
  row_id: number
  /** The chain id of its network. */
  chain_id: number
  /** Of its network. */
  coin_token: CoinToken
  /** Null: it gets no funds from another relayer. */
  funding: Funding | null
}

export type { Funding }

/** The store reads the address from the signer and the chain id from the network, in the same database transaction. */
export type NewRelayer = Omit<
  RelayerRow,
  'revision' | 'address' | 'row_id' | 'chain_id' | 'coin_token' | 'funding' | 'created_at'
>

export type RelayerObstacle =
  | 'id_taken'
  | 'address_taken'
  | 'unknown_network'
  | 'unknown_signer'
  | 'unknown_notification'

/** The policies that a relayer and a pool can have, as they are stored: without those that are not set. */
export type SharedPolicies = Pick<RelayerPolicies, keyof PoolPolicies>

export interface PoolRow extends Omit<Pool, 'policies'> {
  row_id: number
  policies: SharedPolicies
  /** Of its network. */
  coin_token: CoinToken
  /** Of its relayers that have none of their own. */
  funding: Funding | null
}

export interface NewPool extends Pick<PoolRow, 'id' | 'name' | 'network' | 'policies'> {
  relayer_ids: string[]
  weights?: Record<string, number>
}

/** A function of a contract. `network`: a name. `selector`: the first 4 bytes of the data, as hex with 0x. */
export interface ContractFunction {
  network: string
  address: string
  selector: string
}

/** The ABI of a contract. Its entries are human-readable ABI. */
export interface AbiRow extends Omit<Abi, 'created_at'> {
  /** The functions by their selector. */
  functions: Record<string, string>
  /** As many custom errors as are stored with a transaction. */
  errors: string[]
}

/** Of a change: who asks for it, and the revision that it was made from. */
export interface Conditions {
  auditEntry?: PendingAuditEntry | undefined
  ifMatch?: IfMatch | undefined
}

export interface ApiKeyRow extends Omit<ApiKey, 'budget_usage'> {
  /** SHA-256 of the secret. */
  secret_hash: Uint8Array
  /** Encoded (lib/ids.ts). */
  former_tokens: Uint8Array | null
}

export type NewApiKey = Omit<ApiKeyRow, 'revision'>

/** Absent members stay unchanged, also those of the budget; null: it has none any more. */
export type ApiKeyChanges = Partial<Omit<ApiKey, 'budget'>> & { budget?: Partial<ApiKeyBudget> | null }

export interface NotificationRow extends Omit<Notification, 'has_signing_key' | 'filter' | 'revision' | 'created_at'> {
  filter: NotificationFilter | null
  signing_key: Uint8Array | null
  /** An API key's id, or `environment`. */
  created_by: string
}

/** Absent members stay unchanged. */
export interface NotificationChanges {
  type?: Notification['type']
  url?: string
  signing_key?: Uint8Array | null
  /** Merged into the present one; null: every event. */
  filter?: NotificationFilterPatch | null
  /** Until when a replaced signing key still signs, in milliseconds since the Unix epoch. */
  former_until: number
}

/** No further event is read after as many characters: one event with 128 KB of data as hex is a turn of the event loop. */
export const maxEventCharacters = 250_000

export interface EventRow {
  sequence: number
  event: string
  /** The exact body of every delivery. */
  body: string
}

/** A notification as the deliverer uses it. Its signing keys are sealed. */
export interface Target {
  row_id: number
  id: string
  url: string
  signing_key: Uint8Array | null
  former_key: Uint8Array | null
  former_until: number | null
  disabled_reason: string | null
  failing_since: string | null
}

export interface DueDelivery {
  row_id: number
  event_id: string
  /** All attempts so far, and the failures since the retry schedule started. */
  attempts: number
  failures: number
}

export interface DeliveryResult {
  delivery_row_id: number
  notification_row_id: number
  attempt: DeliveryAttempt
  status: Delivery['status']
  failures: number
  /** When the attempt began. */
  failures_before: number
  next_at: number
  /** Disables the notification with this reason, and fails its pending deliveries. */
  disable?: string
  /** Makes its waiting deliveries due. */
  recovered?: boolean
}

/**
 * Who gives a PIN. A `caller` may try none after the token refused one; an `operator` (a setting, or a signer that was admitted) another
 * one than the token refused; an `administrator` (an API key with all rights) any.
 */
export type LoginTrust = 'caller' | 'operator' | 'administrator'

/** What a process saw of the key services of one type since its start. Times are milliseconds since the Unix epoch. */
export interface KeyServiceState {
  type: string
  /** Calls for signatures, and those of them that failed. */
  calls_count: number
  failed_calls_count: number
  last_call_at: number | null
  /** The keys that a key service does not sign with now. */
  failing: KeyFault[]
  /** The newest, also when it is over. */
  last_error: KeyFault | null
}

export interface KeyFault {
  address: string
  at: number
  reason: string
}

/** A change of state that an operator should know. `text`: for people. */
export interface Incident {
  /** Milliseconds since the Unix epoch. */
  at: number
  /** `over`: it ended what an earlier one began. */
  severity: 'error' | 'warning' | 'over'
  /** What it concerns: a relayer's id, the host of a node, or the type of a key service with the address of a key. */
  subject: string
  text: string
  /** The host and the number of the process that noticed it. */
  server: string
}
