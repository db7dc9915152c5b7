import type {
  Acknowledgement,
  Delivery,
  NotificationHealth,
  SearchResult,
  TransactionStatus,
} from '../../generated/openapi.ts'
import type {
  AuditEntry,
  AuditFilter,
  DueDelivery,
  EventRow,
  Incident,
  Listing,
  MasterKeyCheck,
  PageRequest,
  PendingAuditEntry,
  RightsFault,
  RightsProof,
  Settlement,
  Target,
} from '../domain/rows.ts'
import type { ChainHead, ListedAuditEntry } from './audit-batches.ts'
import type { ConfigurationStore, FundingStore, SponsorshipStore } from './configuration-store.ts'
import type { AccountStore, TransactionStore, UnknownStore } from './transaction-store.ts'
import type { WorkKind, WorkShare } from './work-share.ts'

/**
 * Glossary
 * - transaction: a blockchain transaction that a relayer sends. A database transaction is always called "database transaction".
 * - attempt: one signed version of a transaction (its bytes, hash and prices). A transaction has several after repricing.
 * - lane: the sequence of background work of one relayer or webhook target. Lanes run concurrently.
 * - poll: one read of the chain (newest block and transaction counts) for the lanes of a network. scan: a check of all protected rows.
 * - batch: rows or entries that are changed in one database transaction, one of several. In sending/: transactions of one request.
 * - account: an address on a chain. nonce counter: the nonce that the account's next transaction gets (`next_nonce`).
 * - gap: a nonce between the account's count on chain and its nonce counter that no transaction holds.
 * - withdrawal: the end of a transaction before it is mined, by cancellation, expiry or failure (`intent`).
 * - reopened: a final transaction that is `submitted` again, because a reorganization removed its block.
 * - audit entry: a record of one operation and its caller. It is committed with the operation's changes.
 * - generation: a counter that grows when rows change that processes cache (API keys, relayers, pools, signers, networks).
 * - delivery: an event that is due to be sent to one notification (webhook). It is stored with its event (the outbox).
 * - lease: the temporary right of one process to do background work: of a kind, or on one row (store/work-share.ts).
 * - fence: the token of a lease, which a database transaction checks, so that a former owner changes nothing.
 */

/**
 * The store. Each method is at most one database transaction unless its comment says otherwise. A row has the contract's members, plus
 * secrets that the contract never shows (`secret`, `signing_key`, sealed by keys/secret-encryption.ts) and the internal number `row_id`, which is
 * never reused, so that a new relayer with a deleted relayer's id inherits nothing.
 */
export interface Store
  extends ConfigurationStore,
    TransactionStore,
    AccountStore,
    UnknownStore,
    OutboxStore,
    ProblemStore,
    FundingStore,
    SponsorshipStore,
    SignalStore {
  /**
   * The wall clock that all users of the database share, in milliseconds since the Unix epoch: this machine's for a file, and the
   * database's where servers on several machines share it.
   */
  now(): number
  /**
   * The generation: changes when cached rows (API keys, relayers, pools, signers, networks) were changed by any process. It is read after
   * the call, and once for all calls in one turn of the event loop.
   */
  generation(): Promise<number>
  /** Absent: only one process has the store, and counts by itself. */
  takeTokens: TakeTokens | undefined
  /** Rejects when the database does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
  /**
   * The unfinished work. Counts (and the oldest of those counted) stop at 20,000, relayers at 100, and nonces at 1,000 above the
   * lowest. `now`: milliseconds since the Unix epoch.
   */
  readGauges(now: number): Promise<Gauges>
  /**
   * Counts per period from `from` on, summed over relayers; periods without any are absent. They are kept with each change of a
   * transaction, in the same database transaction, and for a little more than an hour (`period_s` 60) or a day (900).
   */
  activity(filter: ActivityFilter): Promise<ActivityRow[]>
  /** The same by relayer and day (UTC). The present day, and others, may have two rows, which have to be added. */
  activityDays(filter: Omit<ActivityFilter, 'period_s'>): Promise<DayRow[]>
  /** The fees by caller, network and day (UTC) from then on. */
  callerDays(filter: Omit<ActivityFilter, 'period_s'>): Promise<CallerDayRow[]>
  /** By relayer, from then on. */
  repricings(filter: Omit<ActivityFilter, 'period_s'>): Promise<(Repricing & { relayer_id: string })[]>
  /** Adds some of the quarters of an hour that no chart shows to the days, and removes old days. `more`: it has to be called again. */
  pruneActivity(nowS: number): Promise<{ more: boolean }>

  /** Keeps them with the newest ones. */
  addIncidents(incidents: Incident[]): Promise<void>
  /** Those of all servers, the newest first. */
  incidents(limit: number): Promise<Incident[]>

  databaseFacts(): Promise<DatabaseFacts>
  /** The servers that use the database, in the order of their starts; none on SQLite. */
  servers(): Promise<ServerRow[]>

  /** The sealed proof of the master key, and the encrypted master key if a key service decrypts it; undefined: the database is new. */
  masterKeyCheck(): Promise<MasterKeyCheck | undefined>
  /**
   * Starts the protection of rows that grant rights: they are checked when used and get a MAC when changed. `prove` receives what
   * `masterKeyCheck` returns, read in the same database transaction. Each fault is reported once. `first_sealed`: how many rows got
   * their first MAC, in a database without any. Rejects with the errors of `prove`.
   */
  protect(
    prove: (held: MasterKeyCheck | undefined) => RightsProof,
    report: (fault: RightsFault) => void,
  ): Promise<{ first_sealed: number }>

  /**
   * Adds entries of operations that change nothing in the store. After UnknownOutcome it may be called with the same array again, which
   * is then in the trail once.
   */
  appendAudit(entries: AuditEntry[]): Promise<void>
  /** The head of the chain that this server writes. */
  auditHead(): Promise<ChainHead>
  /** The heads of all chains that have entries, by chain. */
  auditHeads(): Promise<ChainHead[]>
  /** Newest first: in the order of time, chain and number. */
  listAudit(slice: PageRequest, filter: AuditFilter): Promise<Listing<ListedAuditEntry>>
  /**
   * Removes some of the entries before a time (milliseconds since the Unix epoch), the oldest first; the newest of each chain stay.
   * `removed`: how many. `more`: another call may remove more.
   */
  pruneAudit(before: number): Promise<{ removed: number; more: boolean }>

  /**
   * Removes a few of the oldest rows from before a time (RFC 3339, UTC, milliseconds): final transactions, from each relayer's first
   * one on without leaving gaps; finished deliveries; events that no delivery refers to, but never a relayer's last. `after`: 0 at
   * first, then `next` of the previous call.
   */
  prune(kind: Prunable, before: string, after: number): Promise<Pruned>
  /**
   * The last trusted wall clock time, in milliseconds since the Unix epoch. Before the first `believeTime`: the time of the newest
   * row; undefined for an empty store.
   */
  believedTime(): Promise<number | undefined>
  believeTime(ms: number): Promise<void>

  /** This process's part of a kind of background work. Called once for each kind. */
  share(kind: WorkKind): WorkShare
}

/**
 * Takes requests from the bucket of a caller's rate limit, which all servers share: `charge` in any case (below 0: gives back), and then
 * as many of `wanted` as there is room for. `empty_in_ms`: the time until the bucket is empty.
 */
export type TakeTokens = (
  caller: string,
  bucket: { interval_ms: number; tolerance_ms: number; max_debt_ms: number },
  charge: number,
  wanted: number,
) => Promise<{ granted: number; empty_in_ms: number }>

export type Prunable = 'transactions' | 'idempotency' | 'deliveries' | 'events'

export interface Pruned {
  removed: number
  /** The position at which the next call continues; undefined at the end. */
  next: number | undefined
}

export interface DatabaseFacts {
  engine: 'sqlite' | 'postgres'
  version: string
  bytes: number
}

export interface ServerRow {
  /** The host and the process. */
  name: string
  state: 'idle' | 'running' | 'leaving'
  /** Milliseconds since the Unix epoch. */
  started_at: number
  /** How many relayers it sends for. */
  relayers: number
}

export interface ActivityFilter {
  period_s: 60 | 900
  /** The start of the first period, in seconds since the Unix epoch. */
  from: number
  /** Only these relayers; undefined: all. */
  ids: ReadonlySet<string> | undefined
  /** Only relayers on the network with this name; undefined: on any. */
  network: string | undefined
}

export interface ActivityRow {
  /** The start of the period, in seconds since the Unix epoch. */
  at: number
  accepted: number
  /** Got into a block, also if they reverted; not those that a cancellation replaced. */
  mined: number
  failed: number
  /** The sum and the maximum of the times from acceptance to a block, of those that were mined. */
  inclusion_ms: number
  max_inclusion_ms: number
  /** The sum of the fees: gwei, and the rest in wei. */
  fee_gwei: number
  fee_wei: number
  /** How many networks the relayers are on. */
  networks: number
}

/** `repriced`: transactions in a block with a later version than the first; `repricing_gwei`: what they paid more for it. */
export interface Repricing {
  repriced: number
  repricing_gwei: number
}

/** What the transactions of a caller cost on a day. `name`: of the API key, if there is one. */
export interface CallerDayRow extends Repricing, Pick<ActivityRow, 'at' | 'mined' | 'fee_gwei' | 'fee_wei'> {
  caller: string
  name: string | null
  network: string
}

/** What a relayer did on a day. */
export type DayRow = Omit<ActivityRow, 'networks'> & { relayer_id: string; network: string }

export interface Gauges {
  /** The unfinished transactions by status; a status without any is absent. */
  transactions: { status: TransactionStatus; count: number; oldest_ms: number }[]
  deliveries: { pending: number; due: number }
  nonce_gaps: { relayer_id: string; gaps: number }[]
  /** `relayers`: those that may be chosen. */
  pools: { pool_id: string; relayers: number; unfinished: number }[]
}

/** Events and their deliveries to notifications. */
export interface OutboxStore {
  /** Events of a relayer after a sequence number, in order: at most `limit`, fewer if they are large, and at least one if any exists. */
  events(relayerRowId: number, after: number, limit: number): Promise<EventRow[]>
  /** Those of the transactions that were sent through a pool, among the next `limit`. `seen`: the last one that was looked at. */
  eventsOfPool(
    poolRowId: number,
    relayerRowId: number,
    after: number,
    limit: number,
  ): Promise<{ events: EventRow[]; seen: number }>
  lastEvent(relayerRowId: number): Promise<number>
  /** Writes an event when the balance falls below the policy; the next one only after the balance has recovered. */
  noteBalance(relayerRowId: number, balance: string, minBalance: string, isLow: boolean): Promise<void>

  /** The row ids of the notifications that have pending deliveries. */
  targetsAtWork(): Promise<number[]>
  getTarget(notificationRowId: number): Promise<Target | undefined>
  targetRowId(notificationId: string, creator?: string): Promise<number | undefined>
  /** The due deliveries, oldest first; of each subject only the earliest pending one. */
  dueDeliveries(notificationRowId: number, now: number, limit: number): Promise<DueDelivery[]>
  /** The body of a delivery; undefined when the delivery was deleted. */
  bodyOf(deliveryRowId: number): Promise<string | undefined>
  /** The time at which the next delivery is due, in milliseconds since the Unix epoch. */
  nextDueAt(notificationRowId: number): Promise<number | undefined>
  /** Stores a delivery attempt and its consequences. */
  settleDelivery(settlement: Settlement): Promise<void>
  listDeliveries(
    notificationRowId: number,
    slice: PageRequest,
    status: Delivery['status'][],
  ): Promise<Listing<Delivery>>
  /** Makes a delivery pending again, from the start of the retry schedule. */
  redeliver(
    notificationRowId: number,
    deliveryId: string,
    auditEntry?: PendingAuditEntry,
  ): Promise<Delivery | 'missing' | 'disabled'>
  /** Resolves to how many deliveries become pending again, now or by `continueBulkChange`. */
  redeliverFailed(
    notificationRowId: number,
    since: string,
    auditEntry?: PendingAuditEntry,
  ): Promise<number | 'disabled'>
  /** Makes the waiting deliveries due. Resolves to their number, of which `continueBulkChange` changes those after the first batch. */
  retryDeliveries(notificationRowId: number, auditEntry: PendingAuditEntry): Promise<number | 'disabled'>
  notificationHealth(notificationRowId: number): Promise<NotificationHealth>
  /**
   * Bulk changes of deliveries (redeliver, retry, give up, remove) do their first batch at once. This does the next batch of the oldest
   * unfinished bulk change; false when there is none.
   */
  continueBulkChange(): Promise<boolean>
  hasBulkChange(): Promise<boolean>
}

/**
 * What servers on one database tell each other, so that they need not wait until they look by themselves. A signal that is lost costs
 * time only.
 * - `work`: the relayer has a new transaction for its sender.
 * - `poll`: its sender shall read the chain at once; `resend`: and broadcast all signed transactions again.
 * - `changed`: a transaction, or its events, changed.
 * - `leases`: leases are free.
 */
export type Signal =
  | { kind: 'work' | 'poll' | 'resend'; relayer_row_id: number }
  | { kind: 'changed' }
  | { kind: 'leases' }

/** `undefined`: signals may have been lost, and everything must be looked at. */
export type HearSignal = (signal: Signal | undefined) => void

/** How this process learns of the changes of others before it looks by itself. */
export interface SignalStore {
  /**
   * Changes when another process may have committed something that no signal reported. It is read without waiting, and cheap enough for
   * frequent polling.
   */
  version(): number
  /** Tells the other servers, soon and without waiting. */
  tell(signal: Signal): void
  /** Hears the signals of the other servers. */
  subscribe(heard: HearSignal): void
}

/** The failures of a relayer in a time, and the newest of its failed transactions. */
export interface Failures {
  relayer_row_id: number
  count: number
  transaction_id: string | null
  reason: string | null
}

export interface NotificationState {
  id: string
  created_by: string
  disabled_reason: string | null
  failing_since: string | null
  pending: number
  failed: number
}

/** What the list of problems and the search read. */
export interface ProblemStore {
  /** `from`: seconds since the Unix epoch. The counts are kept by the quarter of an hour. */
  failuresSince(from: number): Promise<Failures[]>
  notificationStates(): Promise<NotificationState[]>
  /** Those that are valid at `now` (RFC 3339, UTC, milliseconds), by the id of their problem. */
  acknowledgements(now: string): Promise<Map<string, Acknowledgement>>
  acknowledge(problemId: string, its: Acknowledgement, auditEntry?: PendingAuditEntry): Promise<void>
  /** False: there is none. */
  deleteAcknowledgement(problemId: string, auditEntry?: PendingAuditEntry): Promise<boolean>
  /** The first of what was found. `total_items`: a lower bound of how many have the text. */
  search(text: string, sight: SearchSight): Promise<Listing<SearchResult>>
}

/** What the caller of a search may see. */
export interface SearchSight {
  relayer_ids: ReadonlySet<string> | undefined
  signers: boolean
  notifications: 'all' | 'none' | { created_by: string }
}
