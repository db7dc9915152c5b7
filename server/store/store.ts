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
  Account,
  ApiKeyRow,
  AttemptRow,
  AuditEntry,
  AuditFilter,
  Creation,
  Crowded,
  Deletion,
  DueDelivery,
  EventRow,
  Intent,
  Listing,
  Move,
  NewRelayer,
  NewTransaction,
  NotificationChanges,
  NotificationRow,
  OverLimit,
  PendingAuditEntry,
  RelayerObstacle,
  RelayerRow,
  Replay,
  RightsFault,
  RightsProof,
  Room,
  Settlement,
  SignerRow,
  Slice,
  Spend,
  Target,
  TransactionFilter,
  TransactionRow,
  WholeTransactionRow,
  WithdrawalLot,
  WithdrawnLot,
} from './rows.ts'

/**
 * What the service asks of its database: verbs the size of a database transaction. A row is what the contract shows, plus
 * what it must never show (`secret`, `signing_key`, both sealed by keys/vault.ts before they come here) or what the
 * contract has no word for (`key`, a relayer's number, which no later relayer of the same id gets again).
 */
export interface Store {
  /** Changes whenever anything changed that may be cached (relayers, signers, networks), in whichever process. */
  generation(): number
  /** Moves when another process has committed anything; looking costs next to nothing. */
  version(): number
  /** Throws when the database does not answer. */
  ping(): void
  close(): void
  /** What is under way now; counts (and the oldest, of those counted) stop at 20,000, relayers at 100, and nonces 1,000 from the lowest. `now`: milliseconds of the epoch. */
  readGauges(now: number): Promise<Gauges>

  /**
   * From here on rows that grant rights are checked when they are used, and sealed when they are changed. `prove` is given what the
   * database keeps to know its master key by; undefined: it is new. Faults go to `report`, each once. Answers how many rows got
   * their first MAC, in a database that had none. Throws what `prove` throws.
   */
  protect(
    prove: (sealed: Uint8Array | undefined) => RightsProof,
    report: (fault: RightsFault) => void,
  ): { first_sealed: number }

  /**
   * What the verb that `work` calls changes is this deed's: both are in the same database transaction. The verb is called at once,
   * not after an `await`.
   */
  withAudit<T>(auditEntry: PendingAuditEntry, work: () => T): T
  /** Adds what has no database transaction of its own. */
  appendAudit(entries: AuditEntry[]): void
  /** How far the trail goes, and the hash that stands for all of it. */
  auditHead(): { up_to: number; hash: Uint8Array }
  /** The newest first. */
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
  /** All relayers on an address, on any chain. */
  relayersOn(address: string): Promise<RelayerRow[]>
  /** `ids`: only these; absent: all. */
  listRelayers(slice: Slice, ids?: ReadonlySet<string>): Promise<Listing<RelayerRow>>
  /** `creator`: whose notifications it may be attached to; absent: all. */
  updateRelayer(
    id: string,
    change: (relayer: RelayerRow) => RelayerRow,
    creator?: string,
  ): Promise<RelayerRow | 'missing' | 'unknown_notification'>
  deleteRelayer(id: string): Promise<Deletion>

  /** `unknown_relayer`: which of its relayers there is none of. */
  createApiKey(api_key: ApiKeyRow): Promise<ApiKeyRow | 'too_many' | { unknown_relayer: number }>
  getApiKey(id: string): Promise<ApiKeyRow | undefined>
  listApiKeys(slice: Slice): Promise<Listing<ApiKeyRow>>
  updateApiKey(id: string, changes: Partial<ApiKey>): Promise<ApiKeyRow | 'missing' | { unknown_relayer: number }>
  /** The secret of now is the former one until then; null: not at all. */
  rotateApiKey(id: string, secret_hash: Uint8Array, former_valid_until: string | null): Promise<ApiKeyRow | undefined>
  deleteApiKey(id: string): Promise<boolean>
  /** All of them, for the authentication of requests; there are at most 1,000. */
  apiKeys(): ApiKeyRow[]
  /** When each was used last. */
  noteApiKeyUses(uses: ReadonlyMap<string, string>): void

  /** `max_of_creator`: how many its creator may have; absent: any number. */
  createNotification(
    notification: NotificationRow,
    max_of_creator?: number,
  ): Promise<'created' | 'id_taken' | 'too_many'>
  /** Here and below `creator` limits it to the notifications of one creator; the others are missing. */
  getNotification(id: string, creator?: string): Promise<Notification | undefined>
  listNotifications(slice: Slice, creator?: string): Promise<Listing<Notification>>
  updateNotification(id: string, changes: NotificationChanges, creator?: string): Promise<Notification | undefined>
  deleteNotification(id: string, creator?: string): Promise<Deletion>

  /** The newest first; it costs the same at any depth, with a filter and without one. */
  listTransactions(relayer_key: number, slice: Slice, filter: TransactionFilter): Promise<Listing<Transaction>>
  getTransaction(relayer_key: number, id: string): Promise<WholeTransactionRow | undefined>
  getTransactionByNonce(chain_id: number, address: string, nonce: number): Promise<WholeTransactionRow | undefined>
  /** The data of a transaction, in lower case hex. */
  dataOf(transaction_key: number): Promise<string | null>

  /** In one database transaction: the idempotency row, what it spends, the next nonce, the row, its event. */
  createTransaction(transaction: NewTransaction): Promise<Creation>
  /** The first answer to an idempotency key; undefined for a new one. */
  replay(caller: string, relayer_key: number, key: string, body_hash: string): Promise<Replay | undefined>
  /**
   * Compare-and-set, each with its event: undefined where the revision was another. The event `transaction_waiting` is written for
   * the first in line whose `waiting_for` no event told of yet. Small moves share one database transaction; those of large
   * transactions are split into several, between which others have their turn.
   */
  move(moves: Move[]): Promise<(TransactionRow | undefined)[]>
  /** As one `move` that also spends what it adds to what the transaction has been counted with, where its data has room. */
  replaceTransaction(
    move: Move,
    spending: Spend[],
    room: Room,
  ): Promise<TransactionRow | OverLimit | Crowded | undefined>
  /** Whether a relayer has no room for one more transaction with so many bytes of data; undefined when it has. */
  crowding(relayer_key: number, data_bytes: number, room: Room): Promise<Crowded | undefined>
  /** Counts what is signed and not sent; durable when it answers. Undefined when the limits leave room. */
  spend(account: Account, spending: Spend[]): Promise<OverLimit | undefined>
  /** What `spend` would answer; nothing is counted. `transaction_key`: beyond what that transaction is counted with. */
  wouldExceed(account: Account, spending: Spend[], transaction_key?: number): Promise<OverLimit | undefined>
  /**
   * Gives the nonce back and ends it, when it was never signed and is the account's highest; else sets the intent, and the
   * sender does the rest. Refused when it is mined, ended or withdrawn already.
   */
  withdraw(
    relayer_key: number,
    id: string,
    intent: Exclude<Intent, 'send'>,
    reason: string | null,
  ): Promise<WholeTransactionRow | { refused: TransactionRow } | 'missing'>
  /**
   * `withdraw` for the unfinished transactions with the highest nonces below `below_nonce`, at most `limit`, in one database
   * transaction; each is an audit entry of its own, made of `deed`. `next_below`: the lowest nonce of the lot, where the next lot
   * begins; undefined at the end.
   */
  withdrawLot(auditEntry: PendingAuditEntry, lot: WithdrawalLot): Promise<WithdrawnLot>
  /**
   * Gives the account's next nonce to a transaction whose own was used elsewhere: `pending` again, nothing of it signed. Counts
   * `spending` once more; where a limit leaves no room the transaction fails, and the answer says so. Undefined: the revision was
   * another.
   */
  renumber(
    key: number,
    revision: number,
    reason: string,
    spending: Spend[],
  ): Promise<TransactionRow | OverLimit | undefined>
  /** What was never signed, by nonce, from a nonce to before another. */
  pending(relayer_key: number, from_nonce: number, below_nonce: number, limit: number): Promise<TransactionRow[]>
  /** The relayer's transaction with the lowest nonce of those that are in no block (`pending`, `sent`, `submitted`). */
  firstInLine(relayer_key: number): Promise<TransactionRow | undefined>
  /** What was signed and is in no block yet (`sent`, `submitted`), by nonce. */
  inFlight(relayer_key: number, limit: number): Promise<TransactionRow[]>
  /** What is in a block up to this one, and not confirmed. */
  mined(relayer_key: number, up_to_block: number, limit: number): Promise<TransactionRow[]>
  countUnfinished(relayer_key: number): Promise<number>
  lastConfirmedAt(relayer_key: number): Promise<string | null>
  /** What was signed for a transaction, the oldest first. */
  attempts(transaction_key: number): Promise<AttemptRow[]>
  /** The bytes of an attempt; empty when there is none. */
  rawOf(transaction_key: number, number: number): Promise<Uint8Array>
  /** The keys of the relayers that have unfinished transactions, and of those that are watched. */
  relayersAtWork(): Promise<number[]>
  getRelayerByKey(key: number): Promise<RelayerRow | undefined>

  /**
   * `reserved`: the most wei that its accepted, unfinished transactions can still cost. `released`: all that was ever taken out of
   * it, because transactions were mined or withdrawn.
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
  /** The part of `reserved` that is of nonces below a node's count: in a block already, where the rows do not show it yet. */
  reservedBelow(account: Account, latest: number): Promise<string>
  /** Follows a chain that is ahead. `isProven`: signed bytes prove it, and the counter is never lowered below it again. */
  raiseNonce(chain_id: number, address: string, nonce: number, isProven: boolean): Promise<void>
  /**
   * Gives unsigned transactions (`pending`, without a hash) the lowest nonces at which nothing was signed, in their order, from
   * `latest` on, and sets the counter to follow the highest nonce in use. Nothing at or below a nonce that is known to be in a
   * block, or proven to be used, is given. `gaps`: unused nonces that are left below a signed one, at most 100.
   */
  compactNonces(chain_id: number, address: string, latest: number): Promise<{ moved: number; gaps: number[] }>
  /**
   * Transactions that have ended in no block and hold nonces from `latest` on, above all that are known to be in a block: the account
   * goes no further before something is mined at these nonces. At most 100.
   */
  abandoned(
    chain_id: number,
    address: string,
    latest: number,
  ): Promise<{ key: number; revision: number; reason: string | null }[]>
  setGenesis(chain_id: number, address: string, genesis_hash: string): Promise<void>
  /**
   * Takes the nonces from transactions of a chain that began anew, at most `limit` of them in one database transaction; what is
   * unfinished ends with the reason. Answers how many had a nonce; 0 at the end.
   */
  forgetNonces(account: Account, reason: string, limit: number): Promise<number>
  /** The account begins anew on another chain. False, and nothing is changed, while a transaction holds a nonce. */
  restartAccount(account: Account, genesis_hash: string, next_nonce: number): Promise<boolean>
  /** The relayer stays at work, also when nothing of it is unfinished, until `unwatch`. */
  watch(relayer_key: number): Promise<void>
  unwatch(relayer_key: number): Promise<void>
  /** The highest block of the relayer's newest transactions that have ended in one. */
  newestEnded(relayer_key: number): Promise<{ number: number; hash: string } | undefined>
  /** Transactions that have ended in a block from this one on, of the 2,000 newest of each status. */
  endedSince(relayer_key: number, block_number: number): Promise<TransactionRow[]>
  /** The highest key of a transaction; later ones get higher keys. */
  newestKey(): Promise<number>
  /** What holds the nonces from `from` to before `to`, whatever became of it, by nonce; at most `limit`. */
  holders(chain_id: number, address: string, from: number, to: number, limit: number): Promise<TransactionRow[]>
  /** Whether a transaction of the account, at this nonce or soon after, is in a block as far as we know. */
  isSettledFrom(chain_id: number, address: string, nonce: number): Promise<boolean>

  /** Events of a relayer after a sequence number, in order: at least one if there are any, at most `limit`, and few large ones. */
  events(relayer_key: number, after: number, limit: number): Promise<EventRow[]>
  lastEvent(relayer_key: number): Promise<number>
  /** Tells of a balance below the policy once, until it is above it again. */
  noteBalance(relayer_key: number, balance: string, min_balance: string, isLow: boolean): Promise<void>

  /** The keys of the notifications that have deliveries to make. */
  targetsAtWork(): Promise<number[]>
  getTarget(notification_key: number): Promise<Target | undefined>
  targetKey(notification_id: string, creator?: string): Promise<number | undefined>
  /** Due, by age, and none before an earlier one of the same subject. */
  dueDeliveries(notification_key: number, now: number, limit: number): Promise<DueDelivery[]>
  /** What a delivery carries; undefined when it was deleted. */
  bodyOf(delivery_key: number): Promise<string | undefined>
  /** When the next delivery is due, in milliseconds of the epoch. */
  nextDueAt(notification_key: number): Promise<number | undefined>
  /** Writes down an attempt and what follows from it. */
  settleDelivery(settlement: Settlement): Promise<void>
  listDeliveries(notification_key: number, slice: Slice, status: Delivery['status'][]): Promise<Listing<Delivery>>
  /** Pending again, from the beginning of the schedule. */
  redeliver(notification_key: number, delivery_id: string): Promise<Delivery | 'missing' | 'disabled'>
  /** How many are, or will be by `continueBulkChange`, pending again. */
  redeliverFailed(notification_key: number, since: string): Promise<number | 'disabled'>
  notificationHealth(notification_key: number): Promise<NotificationHealth>
  /**
   * Changes of many deliveries (redelivering, giving up, removing) do their first lot at once. This does the next lot of the
   * oldest one that is not done; false when there is none.
   */
  continueBulkChange(): Promise<boolean>
  hasBulkChange(): Promise<boolean>

  /**
   * Removes a few of the oldest from before a time, as the store writes times: of transactions what has ended, and of each relayer
   * only from its first on; of deliveries what has ended; of events what no delivery holds, and never a relayer's last.
   * `after`: 0, and then what the call before answered as `next`.
   */
  prune(kind: Prunable, before: string, after: number): Promise<Pruned>
  /**
   * When the wall clock was last believed, in milliseconds of the epoch. Before anybody has said so, the time of the newest row;
   * undefined for an empty store.
   */
  believedTime(): number | undefined
  believeTime(ms: number): void

  /** Takes or renews the lease of a work that one process does. `isAlive`: whether another owner can still be at it. */
  takeLease(name: string, owner: string, duration_ms: number, isAlive: (owner: string) => boolean): boolean
  dropLease(name: string, owner: string): void
}

export type Prunable = 'transactions' | 'idempotency' | 'deliveries' | 'events'

export interface Pruned {
  removed: number
  /** Where to go on; undefined at the end. */
  next: number | undefined
}

export interface Gauges {
  /** What is unfinished, by status; absent where there is none. */
  transactions: { status: TransactionStatus; count: number; oldest_ms: number }[]
  deliveries: { pending: number; due: number }
  nonce_gaps: { relayer_id: string; gaps: number }[]
}
