import type { TransactionError } from '../../generated/openapi.ts'
import type { FirstBlock, ForeignUse, NeverSigned } from '../domain/ending.ts'
import type {
  AtCapacity,
  BatchCreation,
  Capacity,
  InsertResult,
  NewTransaction,
  PoolInsertResult,
  PoolTransaction,
  Replay,
} from '../domain/new-transaction.ts'
import type { Proof } from '../domain/proof.ts'
import type { Listing, PageRequest, PendingAuditEntry, RelayerRow } from '../domain/rows.ts'
import type { ShownColumns } from '../domain/show-transaction.ts'
import type {
  Account,
  AttemptRow,
  Intent,
  OverLimit,
  Spend,
  TransactionFilter,
  TransactionRow,
  TransactionUpdate,
  WholeTransactionRow,
  WithdrawalBatch,
  WithdrawnBatch,
} from '../domain/transaction-rows.ts'

/** What a request waits for. */
export type TransactionState = Pick<TransactionRow, 'status' | 'resign'>

/** The transactions of relayers, with their attempts. */
export interface TransactionStore {
  /**
   * Newest first. A page costs the same at any depth, with and without a filter. `admit`: called with the size of the page's data
   * before it is read; an error ends the method.
   */
  listTransactions(
    relayerRowId: number,
    slice: PageRequest,
    filter: TransactionFilter,
    admit?: (dataBytes: number) => void,
  ): Promise<Listing<ShownColumns>>
  /**
   * Of several relayers (`ids`; absent: all), newest first; with a filter by a pool, of those that took something for it, now or before.
   * `too_deep`: the page ends beyond the 10,000 newest, which is as far as the lists of several relayers are merged. A filter by nonces
   * does not apply.
   */
  listTransactionsOf(
    ids: ReadonlySet<string> | undefined,
    slice: PageRequest,
    filter: TransactionFilter,
    admit?: (dataBytes: number) => void,
  ): Promise<Listing<ShownColumns> | 'too_deep'>
  getTransaction(relayerRowId: number, id: string): Promise<WholeTransactionRow | undefined>
  /** The transaction that was sent through a pool. */
  getTransactionOfPool(poolRowId: number, id: string): Promise<WholeTransactionRow | undefined>
  /** The call of a sponsorship, by whichever relayer. */
  getTransactionOfSponsorship(sponsorshipRowId: number, id: string): Promise<WholeTransactionRow | undefined>
  /** By id, of those that exist: at most some hundreds at a time. */
  transactionStates(ids: string[]): Promise<ReadonlyMap<string, TransactionState>>
  /** The transaction that was ever signed with this hash. */
  getTransactionByHash(relayerRowId: number, hash: string): Promise<WholeTransactionRow | undefined>
  /** Whether only private relays know of the transaction that was ever signed with this hash, by any relayer. */
  isSecretHash(hash: string): Promise<boolean>
  getTransactionByNonce(chainId: number, address: string, nonce: number): Promise<WholeTransactionRow | undefined>
  /** The data of a transaction, in lower case hex. */
  dataOf(transactionRowId: number): Promise<string | null>

  /** In one database transaction: idempotency row, spending limits, next nonce, transaction row, event. */
  createTransaction(transaction: NewTransaction, auditEntry?: PendingAuditEntry): Promise<InsertResult>
  /**
   * `createTransaction` for the relayer of a pool that is chosen in the same database transaction. A refusal is that of the first
   * candidate.
   */
  createPoolTransaction(wanted: PoolTransaction, auditEntry?: PendingAuditEntry): Promise<PoolInsertResult>
  /** The number of unfinished transactions of each relayer, and whether the first of them waits for something. */
  loadsOf(relayerRowIds: number[]): Promise<{ relayer_row_id: number; unfinished: number; is_waiting: boolean }[]>
  /**
   * Withdraws a transaction that was never signed, and accepts it again for another relayer, in one database transaction. `signed`: it may
   * be on its way, or has ended. `ordered`: it has an ordering key. Otherwise as `createPoolTransaction`.
   */
  moveInPool(
    moved: { relayer_row_id: number; id: string },
    wanted: PoolTransaction,
    auditEntry: PendingAuditEntry,
  ): Promise<
    PoolInsertResult | { outcome: 'missing' } | { outcome: 'signed'; row: TransactionRow } | { outcome: 'ordered' }
  >
  /** The id of the relayer that must take the next transaction with an ordering key; undefined: any may. */
  pinnedRelayer(poolRowId: number, orderingKey: string): Promise<string | undefined>
  /**
   * `createTransaction` for several of one account, all or none, in one database transaction; for those of a pool, each with the only
   * candidate. Each gets its own audit entry, made from `auditEntry`. `idempotency`: for all of them together.
   */
  createTransactions(
    auditEntry: PendingAuditEntry,
    transactions: (NewTransaction | PoolTransaction)[],
    idempotency: NewTransaction['idempotency'],
  ): Promise<BatchCreation>
  /** The first response to the idempotency key of a batch; undefined for a new key. `holder`: as `holderOf` has it. */
  replayBatch(
    caller: string,
    holder: number,
    key: string,
    bodyHash: string,
  ): Promise<Exclude<BatchCreation, { outcome: 'refused' }> | undefined>
  /** The first response to an idempotency key; undefined for a new key. */
  replay(caller: string, relayerRowId: number, key: string, bodyHash: string): Promise<Replay | undefined>
  /** The same for a key that belongs to a pool. */
  replayInPool(caller: string, poolRowId: number, key: string, bodyHash: string): Promise<Replay | undefined>
  /**
   * Compare-and-set by `revision`, each with its event; undefined where the revision has changed. The event `transaction_waiting` is
   * written for the first in line, once per `waiting_for`. Small moves share one database transaction; moves of large transactions are
   * split into several, between which other work runs.
   */
  move(moves: TransactionUpdate[]): Promise<(TransactionRow | undefined)[]>
  /** A `move` that also checks the daily limits for the added spending, and the room for its data. */
  replaceTransaction(
    move: Omit<TransactionUpdate, 'end'>,
    spending: Spend[],
    capacity: Capacity,
    auditEntry?: PendingAuditEntry,
  ): Promise<TransactionRow | OverLimit | AtCapacity | undefined>
  /** The limit that one more transaction with so many bytes of data would exceed; undefined: there is room. */
  exceededCapacity(relayerRowId: number, dataBytes: number, capacity: Capacity): Promise<AtCapacity | undefined>
  /**
   * Counts a transaction that is to be signed and not sent against the daily limits; durable when it resolves. `spent`: for `unspend`,
   * when it was certainly not signed.
   */
  spend(
    account: Account,
    spending: Spend[],
    auditEntry?: PendingAuditEntry,
  ): Promise<{ spent: string | null } | OverLimit>
  unspend(account: Account, spent: string): Promise<void>
  /** The result that `spend` would have, without counting. `transaction_row_id`: only the spending beyond that transaction's counts. */
  wouldExceed(account: Account, spending: Spend[], transactionRowId?: number): Promise<OverLimit | undefined>
  /**
   * Withdraws a transaction. When it was never signed and has the account's highest nonce, it ends at once and the nonce is returned;
   * otherwise its intent is set, and the sender uses the nonce. `error`: of a transaction that fails. `isReleased`: the cancellation of a
   * private transaction goes to the public nodes. `refused`: it is already mined, final or withdrawn.
   */
  withdraw(
    relayerRowId: number,
    id: string,
    intent: Exclude<Intent, 'send'>,
    reason: string | null,
    more?: { error?: TransactionError | undefined; isReleased?: boolean },
    auditEntry?: PendingAuditEntry,
  ): Promise<WholeTransactionRow | { refused: TransactionRow } | 'missing'>
  /**
   * Releases the bytes of a private transaction to the public nodes; of a withdrawn one its cancellation, and no bytes from before. Each
   * is released once. `refused`: it is public, or in a block, or final.
   */
  release(
    relayerRowId: number,
    id: string,
    auditEntry?: PendingAuditEntry,
  ): Promise<WholeTransactionRow | { refused: TransactionRow } | 'missing'>
  /**
   * `withdraw` for the unfinished transactions with the highest nonces below `below_nonce`, at most `limit`, in one database
   * transaction. Each gets its own audit entry, made from `auditEntry`. `next_below`: the lowest nonce of this batch, at which the next
   * batch begins; undefined at the end.
   */
  withdrawBatch(auditEntry: PendingAuditEntry, batch: WithdrawalBatch): Promise<WithdrawnBatch>
  /**
   * Gives the account's next nonce to a transaction whose nonce was used outside this service. It is `pending` and unsigned again.
   * Counts `spending` once more; when a daily limit is exceeded, the transaction fails, which `proof` allows: it was never signed for
   * its nonce, or another one is mined there. `reason`: why, to which the outcome is added.
   * Undefined: the revision has changed.
   */
  renumber(
    rowId: number,
    revision: number,
    proof: Proof<ForeignUse> | NeverSigned,
    reason: string,
    spending: Spend[],
  ): Promise<TransactionRow | OverLimit | undefined>
  /** The unsigned (`pending`) transactions with nonces from `from_nonce` to below `below_nonce`, by nonce. */
  pending(relayerRowId: number, fromNonce: number, belowNonce: number, limit: number): Promise<TransactionRow[]>
  /** The relayer's transaction with the lowest nonce of those that are in no block (`pending`, `sent`, `submitted`). */
  firstInLine(relayerRowId: number): Promise<TransactionRow | undefined>
  /** The signed transactions that are in no block (`sent`, `submitted`), by nonce. */
  inFlight(relayerRowId: number, limit: number): Promise<TransactionRow[]>
  /** The `mined` transactions in blocks up to `up_to_block`. */
  mined(relayerRowId: number, upToBlock: number, limit: number): Promise<TransactionRow[]>
  countUnfinished(relayerRowId: number): Promise<number>
  lastConfirmedAt(relayerRowId: number): Promise<string | null>
  /** The attempts of a transaction, oldest first. */
  attempts(transactionRowId: number): Promise<AttemptRow[]>
  /** A page of them. */
  listAttempts(transactionRowId: number, slice: PageRequest): Promise<Listing<AttemptRow>>
  /** The signed bytes of an attempt; empty when there is none. */
  rawOf(transactionRowId: number, number: number): Promise<Uint8Array>
  /** The row ids of the relayers that have unfinished transactions or are watched. */
  relayersAtWork(): Promise<number[]>
  getRelayerByRowId(rowId: number): Promise<RelayerRow | undefined>
}

/** The state of an account. */
export interface AccountState {
  next_nonce: number
  used_below: number
  compared_count: number | null
  genesis_hash: string | null
  reserved: string
  released: string
  /** The last transaction of the account that this service did not send; null: none was seen. */
  foreign: { nonce: number; hash: string | null; noticed_at: string } | null
}

/** Accounts: their nonce counters and reservations, restarts of their chain, and the watch for reorganizations. */
export interface AccountStore {
  /**
   * `reserved`: the most wei that its unfinished transactions can still cost. `released`: the sum of all amounts that ever left
   * `reserved`, because transactions were mined or withdrawn. `used_below`: every lower nonce is proven to be used. `compared_count`:
   * the count on chain when it was last compared with this database (unknown-store.ts); null: never.
   */
  getAccount(chainId: number, address: string): Promise<AccountState>
  /** Remembers a transaction of the account that this service did not send. Resolves to whether it is a new one. */
  noteForeign(account: Account, foreign: { nonce: number; hash: string | null }): Promise<boolean>
  /**
   * The account as `getAccount`, beside a block at which the chain counts `latest` of its transactions. `committed`: the most that its
   * transactions may still take from its balance at this block. Not those below `latest`: they are mined, and their rows may not show it
   * yet. But those from `latest` on whose rows are in a block: the node that counts lags behind.
   */
  accountAt(account: Account, latest: number): Promise<AccountState & { committed: string }>
  /** Raises the nonce counter. `isProven`: signed bytes prove it, and the counter is never lowered below `nonce` again. */
  raiseNonce(chainId: number, address: string, nonce: number, isProven: boolean): Promise<void>
  /**
   * Gives unsigned transactions (`pending`, without a hash) the lowest unsigned nonces from `latest` on, in their order, and sets the
   * nonce counter after the highest nonce in use. Nonces at or below one that is known to be in a block, or proven to be used, are not
   * assigned. `gaps`: gaps that remain below a signed nonce, at most 100. Runs in several database transactions; after each one, nonces
   * are unique and below the counter.
   */
  compactNonces(chainId: number, address: string, latest: number): Promise<{ moved: number; gaps: number[] }>
  /**
   * Transactions that ended without being mined and hold nonces from `latest` on, above all nonces that are known to be in a block.
   * They block the account until something is mined at these nonces. At most 100.
   */
  abandoned(
    chainId: number,
    address: string,
    latest: number,
  ): Promise<{ row_id: number; revision: number; reason: string | null }[]>
  /**
   * Counts nonce gaps of the account that are about to be filled. Resolves to how many of `wanted` may be filled now, so that there are
   * at most `limit` in an hour, over all servers and restarts.
   */
  takeGapFills(account: Account, wanted: number, limit: number): Promise<number>
  setGenesis(chainId: number, address: string, genesisHash: string): Promise<void>
  /**
   * Removes the nonces of an account's transactions after a restart of the chain, at most `limit` in one database transaction.
   * Unfinished ones fail with the reason. Resolves to how many had a nonce; 0 at the end.
   */
  forgetNonces(account: Account, reason: string, proof: Proof<FirstBlock>, limit: number): Promise<number>
  /** Resets the account for a restarted chain. False, without a change, while a transaction holds a nonce. */
  restartAccount(
    account: Account,
    genesisHash: string,
    nextNonce: number,
    auditEntry?: PendingAuditEntry,
  ): Promise<boolean>
  /** Keeps the relayer in `relayersAtWork` until `unwatch`, even without unfinished transactions. */
  watch(relayerRowId: number): Promise<void>
  unwatch(relayerRowId: number): Promise<void>
  /** The highest block of the relayer's newest transactions that ended in a block. */
  newestEnded(relayerRowId: number): Promise<{ number: number; hash: string } | undefined>
  /** Transactions that ended in a block from `block_number` on, among the 2,000 newest of each status. */
  endedSince(relayerRowId: number, blockNumber: number): Promise<TransactionRow[]>
  /** Signed transactions that failed and are in no block, among the newest `limit` failed ones. */
  failedUnmined(relayerRowId: number, limit: number): Promise<TransactionRow[]>
  /** The highest row id of a transaction. Later transactions get higher ones. */
  newestRowId(): Promise<number>
  /** The transactions that hold the nonces from `from` to below `to`, in any status, by nonce; at most `limit`. */
  holders(chainId: number, address: string, from: number, to: number, limit: number): Promise<TransactionRow[]>
  /** Whether a transaction of the account, at this nonce or shortly above it, is known to be in a block. */
  isSettledFrom(chainId: number, address: string, nonce: number): Promise<boolean>
}

/** What a transaction does: two with the same content may be one payment. `data_hash`: the keccak-256 of its data. */
export interface Content {
  to: string | null
  value: string
  data_hash: string
}

/** A transaction of an account that this database does not know. Null: no node has shown it yet; `to`: also for a new contract. */
export interface UnknownRow {
  nonce: number
  noticed_at: string
  hash: string | null
  to: string | null
  value: string | null
  data_hash: string | null
}

/** Transactions that another copy of this database may have sent, until the operator acknowledges them. */
export interface UnknownStore {
  /** The account's count was compared: it knows none of the nonces `from` to below `below`. */
  noteCompared(account: Account, range: { from: number; below: number }): Promise<void>
  /** A signed transaction that is proven in a block. */
  noteUnknown(account: Account, found: Content & { nonce: number; hash: string }): Promise<void>
  /** The content of a nonce that was noted. */
  findUnknown(account: Account, found: Content & { nonce: number; hash: string }): Promise<void>
  unknownTransactions(account: Account, slice: PageRequest): Promise<Listing<UnknownRow>>
  /** Those whose transactions no node has shown, the highest first. */
  unfoundNonces(account: Account, limit: number): Promise<number[]>
  /** Whether any account has one. */
  hasUnknown(): Promise<boolean>
  /** One with this content, or one that was not found, of the account or of another relayer of its pools. */
  possiblySent(
    account: Account,
    content: Content,
  ): Promise<{ address: string; nonce: number; hash: string | null } | undefined>
  acknowledgeUnknown(account: Account): Promise<void>
}
