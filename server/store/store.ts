import type {
  ApiKey,
  Delivery,
  Network,
  Notification,
  NotificationHealth,
  Signer,
  Transaction,
  TransactionStatus,
} from '../../generated/openapi.ts'
import type {
  ApiKeyRow,
  AuditEntry,
  AuditFilter,
  Deletion,
  DueDelivery,
  EventRow,
  Listing,
  NewRelayer,
  NotificationChanges,
  NotificationRow,
  PendingAuditEntry,
  RelayerObstacle,
  RelayerRow,
  RightsFault,
  RightsProof,
  Settlement,
  SignerRow,
  Slice,
  Target,
} from './rows.ts'
import type {
  Account,
  AttemptRow,
  Creation,
  Crowded,
  Intent,
  Move,
  NewTransaction,
  OverLimit,
  Replay,
  Room,
  Spend,
  TransactionFilter,
  TransactionRow,
  WholeTransactionRow,
  WithdrawalLot,
  WithdrawnLot,
} from './sending-rows.ts'

/**
 * Glossary
 * - transaction: a blockchain transaction that a relayer sends. A database transaction is always called "database transaction".
 * - attempt: one signed version of a transaction (its bytes, hash and prices). A transaction has several after repricing.
 * - lane: the sequence of background work of one relayer or webhook target. Lanes run concurrently.
 * - account: an address on a chain. nonce counter: the nonce that the account's next transaction gets (`next_nonce`).
 * - gap: a nonce between the account's count on chain and its nonce counter that no transaction holds.
 * - withdrawal: the end of a transaction before it is mined, by cancellation, expiry or failure (`intent`).
 * - reopened: a final transaction that is `submitted` again, because a reorganization removed its block.
 * - audit entry: a record of one operation and its caller. It is committed with the operation's changes.
 * - generation: a counter that grows when rows change that processes cache (API keys, relayers, signers, networks).
 * - delivery: an event that is due to be sent to one notification (webhook). It is stored with its event (the outbox).
 * - lease: the temporary right of one process to do a kind of background work.
 */

/**
 * The store. Each method is at most one database transaction unless its comment says otherwise. A row has the contract's members, plus
 * secrets that the contract never shows (`secret`, `signing_key`, sealed by secrets/vault.ts) and the internal number `key`, which is
 * never reused, so that a new relayer with a deleted relayer's id inherits nothing.
 */
export interface Store {
  /** The generation: changes when cached rows (API keys, relayers, signers, networks) were changed by any process. */
  generation(): number
  /** Changes when another process has committed. Reading it is cheap enough for frequent polling. */
  version(): number
  /** Throws when the database does not answer. */
  ping(): void
  close(): void
  /**
   * The unfinished work. Counts (and the oldest of those counted) stop at 20,000, relayers at 100, and nonces at 1,000 above the
   * lowest. `now`: milliseconds since the Unix epoch.
   */
  readGauges(now: number): Promise<Gauges>

  /**
   * Starts the protection of rows that grant rights: they are checked when used and get a MAC when changed. `prove` receives the
   * sealed proof of the master key; undefined: the database is new. Each fault is reported once. `first_sealed`: how many rows got
   * their first MAC, in a database without any. Throws the errors of `prove`.
   */
  protect(
    prove: (sealed: Uint8Array | undefined) => RightsProof,
    report: (fault: RightsFault) => void,
  ): { first_sealed: number }

  /**
   * Commits the audit entry in the same database transaction as the changes of the method that `work` calls. `work` must call the
   * method synchronously, not after an `await`.
   */
  withAudit<T>(auditEntry: PendingAuditEntry, work: () => T): T
  /** Adds entries of operations that change nothing in the store. */
  appendAudit(entries: AuditEntry[]): void
  /** The number of the last audit entry, and the hash that covers the whole trail. */
  auditHead(): { up_to: number; hash: Uint8Array }
  /** Newest first. */
  listAudit(slice: Slice, filter: AuditFilter): Promise<Listing<AuditEntry & { sequence: number }>>

  createNetwork(network: Network): Promise<boolean>
  getNetwork(id: string): Promise<Network | undefined>
  listNetworks(slice: Slice): Promise<Listing<Network>>
  updateNetwork(id: string, change: (network: Network) => Network): Promise<Network | undefined>
  /** `in_use`: a relayer uses it. */
  deleteNetwork(id: string): Promise<Deletion>

  createSigner(signer: SignerRow): Promise<boolean>
  getSigner(id: string): Promise<Signer | undefined>
  getSecret(id: string): Promise<Uint8Array | undefined>
  listSigners(slice: Slice): Promise<Listing<Signer>>
  deleteSigner(id: string): Promise<Deletion>

  createRelayer(relayer: NewRelayer): Promise<RelayerRow | RelayerObstacle>
  getRelayer(id: string): Promise<RelayerRow | undefined>
  /** All relayers with an address, on any chain. */
  relayersOn(address: string): Promise<RelayerRow[]>
  /** `ids`: only these; absent: all. */
  listRelayers(slice: Slice, ids?: ReadonlySet<string>): Promise<Listing<RelayerRow>>
  /** `creator`: only this creator's notifications may be attached; absent: any. */
  updateRelayer(
    id: string,
    change: (relayer: RelayerRow) => RelayerRow,
    creator?: string,
  ): Promise<RelayerRow | 'missing' | 'unknown_notification'>
  deleteRelayer(id: string): Promise<Deletion>

  /** `unknown_relayer`: the index of the first id in `relayer_ids` that does not exist. */
  createApiKey(api_key: ApiKeyRow): Promise<ApiKeyRow | 'too_many' | { unknown_relayer: number }>
  getApiKey(id: string): Promise<ApiKeyRow | undefined>
  listApiKeys(slice: Slice): Promise<Listing<ApiKeyRow>>
  updateApiKey(id: string, changes: Partial<ApiKey>): Promise<ApiKeyRow | 'missing' | { unknown_relayer: number }>
  /** The present secret stays valid until `former_valid_until`; null: it becomes invalid at once. */
  rotateApiKey(id: string, secret_hash: Uint8Array, former_valid_until: string | null): Promise<ApiKeyRow | undefined>
  deleteApiKey(id: string): Promise<boolean>
  /** All of them, for the authentication of requests; there are at most 1,000. */
  apiKeys(): ApiKeyRow[]
  /** Stores the time of the last use, by id. */
  noteApiKeyUses(uses: ReadonlyMap<string, string>): void

  /** `max_of_creator`: the most notifications of its creator; absent: no limit. */
  createNotification(
    notification: NotificationRow,
    max_of_creator?: number,
  ): Promise<'created' | 'id_taken' | 'too_many'>
  /** Here and below, `creator` limits the method to the notifications of one creator; others are treated as missing. */
  getNotification(id: string, creator?: string): Promise<Notification | undefined>
  listNotifications(slice: Slice, creator?: string): Promise<Listing<Notification>>
  updateNotification(id: string, changes: NotificationChanges, creator?: string): Promise<Notification | undefined>
  deleteNotification(id: string, creator?: string): Promise<Deletion>

  /** Newest first. A page costs the same at any depth, with and without a filter. */
  listTransactions(relayer_key: number, slice: Slice, filter: TransactionFilter): Promise<Listing<Transaction>>
  getTransaction(relayer_key: number, id: string): Promise<WholeTransactionRow | undefined>
  getTransactionByNonce(chain_id: number, address: string, nonce: number): Promise<WholeTransactionRow | undefined>
  /** The data of a transaction, in lower case hex. */
  dataOf(transaction_key: number): Promise<string | null>

  /** In one database transaction: idempotency row, spending limits, next nonce, transaction row, event. */
  createTransaction(transaction: NewTransaction): Promise<Creation>
  /** The first response to an idempotency key; undefined for a new key. */
  replay(caller: string, relayer_key: number, key: string, body_hash: string): Promise<Replay | undefined>
  /**
   * Compare-and-set by `revision`, each with its event; undefined where the revision has changed. The event `transaction_waiting` is
   * written for the first in line, once per `waiting_for`. Small moves share one database transaction; moves of large transactions are
   * split into several, between which other work runs.
   */
  move(moves: Move[]): Promise<(TransactionRow | undefined)[]>
  /** A `move` that also checks the daily limits for the added spending, and the room for its data. */
  replaceTransaction(
    move: Move,
    spending: Spend[],
    room: Room,
  ): Promise<TransactionRow | OverLimit | Crowded | undefined>
  /** The limit that one more transaction with so many bytes of data would exceed; undefined: there is room. */
  crowding(relayer_key: number, data_bytes: number, room: Room): Promise<Crowded | undefined>
  /** Counts a signed transaction that is not sent against the daily limits; durable when it resolves. Undefined: within the limits. */
  spend(account: Account, spending: Spend[]): Promise<OverLimit | undefined>
  /** The result that `spend` would have, without counting. `transaction_key`: only the spending beyond that transaction's counts. */
  wouldExceed(account: Account, spending: Spend[], transaction_key?: number): Promise<OverLimit | undefined>
  /**
   * Withdraws a transaction. When it was never signed and has the account's highest nonce, it ends at once and the nonce is returned;
   * otherwise its intent is set, and the sender uses the nonce. `refused`: it is already mined, final or withdrawn.
   */
  withdraw(
    relayer_key: number,
    id: string,
    intent: Exclude<Intent, 'send'>,
    reason: string | null,
  ): Promise<WholeTransactionRow | { refused: TransactionRow } | 'missing'>
  /**
   * `withdraw` for the unfinished transactions with the highest nonces below `below_nonce`, at most `limit`, in one database
   * transaction. Each gets its own audit entry, made from `auditEntry`. `next_below`: the lowest nonce of this lot, at which the next
   * lot begins; undefined at the end.
   */
  withdrawLot(auditEntry: PendingAuditEntry, lot: WithdrawalLot): Promise<WithdrawnLot>
  /**
   * Gives the account's next nonce to a transaction whose nonce was used outside this service. It is `pending` and unsigned again.
   * Counts `spending` once more; when a daily limit is exceeded, the transaction fails. Undefined: the revision has changed.
   */
  renumber(
    key: number,
    revision: number,
    reason: string,
    spending: Spend[],
  ): Promise<TransactionRow | OverLimit | undefined>
  /** The unsigned (`pending`) transactions with nonces from `from_nonce` to below `below_nonce`, by nonce. */
  pending(relayer_key: number, from_nonce: number, below_nonce: number, limit: number): Promise<TransactionRow[]>
  /** The relayer's transaction with the lowest nonce of those that are in no block (`pending`, `sent`, `submitted`). */
  firstInLine(relayer_key: number): Promise<TransactionRow | undefined>
  /** The signed transactions that are in no block (`sent`, `submitted`), by nonce. */
  inFlight(relayer_key: number, limit: number): Promise<TransactionRow[]>
  /** The `mined` transactions in blocks up to `up_to_block`. */
  mined(relayer_key: number, up_to_block: number, limit: number): Promise<TransactionRow[]>
  countUnfinished(relayer_key: number): Promise<number>
  lastConfirmedAt(relayer_key: number): Promise<string | null>
  /** The attempts of a transaction, oldest first. */
  attempts(transaction_key: number): Promise<AttemptRow[]>
  /** The signed bytes of an attempt; empty when there is none. */
  rawOf(transaction_key: number, number: number): Promise<Uint8Array>
  /** The keys of the relayers that have unfinished transactions or are watched. */
  relayersAtWork(): Promise<number[]>
  getRelayerByKey(key: number): Promise<RelayerRow | undefined>

  /**
   * `reserved`: the most wei that its unfinished transactions can still cost. `released`: the sum of all amounts that ever left
   * `reserved`, because transactions were mined or withdrawn. `used_below`: every lower nonce is proven to be used.
   */
  getAccount(
    chain_id: number,
    address: string,
  ): Promise<{
    next_nonce: number
    used_below: number
    genesis_hash: string | null
    reserved: string
    released: string
  }>
  /** The part of `reserved` with nonces below a node's count: those transactions are mined, and their rows do not show it yet. */
  reservedBelow(account: Account, latest: number): Promise<string>
  /** Raises the nonce counter. `isProven`: signed bytes prove it, and the counter is never lowered below `nonce` again. */
  raiseNonce(chain_id: number, address: string, nonce: number, isProven: boolean): Promise<void>
  /**
   * Gives unsigned transactions (`pending`, without a hash) the lowest unsigned nonces from `latest` on, in their order, and sets the
   * nonce counter after the highest nonce in use. Nonces at or below one that is known to be in a block, or proven to be used, are not
   * assigned. `gaps`: gaps that remain below a signed nonce, at most 100.
   */
  compactNonces(chain_id: number, address: string, latest: number): Promise<{ moved: number; gaps: number[] }>
  /**
   * Transactions that ended without being mined and hold nonces from `latest` on, above all nonces that are known to be in a block.
   * They block the account until something is mined at these nonces. At most 100.
   */
  abandoned(
    chain_id: number,
    address: string,
    latest: number,
  ): Promise<{ key: number; revision: number; reason: string | null }[]>
  setGenesis(chain_id: number, address: string, genesis_hash: string): Promise<void>
  /**
   * Removes the nonces of an account's transactions after a restart of the chain, at most `limit` in one database transaction.
   * Unfinished ones fail with the reason. Resolves to how many had a nonce; 0 at the end.
   */
  forgetNonces(account: Account, reason: string, limit: number): Promise<number>
  /** Resets the account for a restarted chain. False, without a change, while a transaction holds a nonce. */
  restartAccount(account: Account, genesis_hash: string, next_nonce: number): Promise<boolean>
  /** Keeps the relayer in `relayersAtWork` until `unwatch`, even without unfinished transactions. */
  watch(relayer_key: number): Promise<void>
  unwatch(relayer_key: number): Promise<void>
  /** The highest block of the relayer's newest transactions that ended in a block. */
  newestEnded(relayer_key: number): Promise<{ number: number; hash: string } | undefined>
  /** Transactions that ended in a block from `block_number` on, among the 2,000 newest of each status. */
  endedSince(relayer_key: number, block_number: number): Promise<TransactionRow[]>
  /** The highest key of a transaction. Later transactions get higher keys. */
  newestKey(): Promise<number>
  /** The transactions that hold the nonces from `from` to below `to`, in any status, by nonce; at most `limit`. */
  holders(chain_id: number, address: string, from: number, to: number, limit: number): Promise<TransactionRow[]>
  /** Whether a transaction of the account, at this nonce or shortly above it, is known to be in a block. */
  isSettledFrom(chain_id: number, address: string, nonce: number): Promise<boolean>

  /** Events of a relayer after a sequence number, in order: at most `limit`, fewer if they are large, and at least one if any exists. */
  events(relayer_key: number, after: number, limit: number): Promise<EventRow[]>
  lastEvent(relayer_key: number): Promise<number>
  /** Writes an event when the balance falls below the policy; the next one only after the balance has recovered. */
  noteBalance(relayer_key: number, balance: string, min_balance: string, isLow: boolean): Promise<void>

  /** The keys of the notifications that have pending deliveries. */
  targetsAtWork(): Promise<number[]>
  getTarget(notification_key: number): Promise<Target | undefined>
  targetKey(notification_id: string, creator?: string): Promise<number | undefined>
  /** The due deliveries, oldest first; of each subject only the earliest pending one. */
  dueDeliveries(notification_key: number, now: number, limit: number): Promise<DueDelivery[]>
  /** The body of a delivery; undefined when the delivery was deleted. */
  bodyOf(delivery_key: number): Promise<string | undefined>
  /** The time at which the next delivery is due, in milliseconds since the Unix epoch. */
  nextDueAt(notification_key: number): Promise<number | undefined>
  /** Stores a delivery attempt and its consequences. */
  settleDelivery(settlement: Settlement): Promise<void>
  listDeliveries(notification_key: number, slice: Slice, status: Delivery['status'][]): Promise<Listing<Delivery>>
  /** Makes a delivery pending again, from the start of the retry schedule. */
  redeliver(notification_key: number, delivery_id: string): Promise<Delivery | 'missing' | 'disabled'>
  /** Resolves to how many deliveries become pending again, now or by `continueBulkChange`. */
  redeliverFailed(notification_key: number, since: string): Promise<number | 'disabled'>
  notificationHealth(notification_key: number): Promise<NotificationHealth>
  /**
   * Bulk changes of deliveries (redeliver, give up, remove) do their first lot at once. This does the next lot of the oldest
   * unfinished bulk change; false when there is none.
   */
  continueBulkChange(): Promise<boolean>
  hasBulkChange(): Promise<boolean>

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
  believedTime(): number | undefined
  believeTime(ms: number): void

  /** Takes or renews a lease. `isAlive`: whether the present owner may still be running. */
  takeLease(name: string, owner: string, duration_ms: number, isAlive: (owner: string) => boolean): boolean
  dropLease(name: string, owner: string): void
}

export type Prunable = 'transactions' | 'idempotency' | 'deliveries' | 'events'

export interface Pruned {
  removed: number
  /** The position at which the next call continues; undefined at the end. */
  next: number | undefined
}

export interface Gauges {
  /** The unfinished transactions by status; a status without any is absent. */
  transactions: { status: TransactionStatus; count: number; oldest_ms: number }[]
  deliveries: { pending: number; due: number }
  nonce_gaps: { relayer_id: string; gaps: number }[]
}
