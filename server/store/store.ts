import type { AuditEntry, AuditFilter, Listing, PageRequest } from '../domain/rows.ts'
import type { ChainHead, ListedAuditEntry } from './queries/audit.ts'
import type { StoreQueries } from './queries/store-queries.ts'
import type { WorkKind, WorkShare } from './worker.ts'

/**
 * Glossary
 * - transaction: a blockchain transaction that a relayer sends. A database transaction is always called "database transaction".
 * - attempt: one signed version of a transaction (its bytes, hash and prices). A transaction has several after repricing.
 * - lane: the sequence of background work of one relayer or webhook target. Lanes run concurrently.
 * - poll: one read of the chain (newest block and transaction counts) for the lanes of a network. scan: a check of all protected rows.
 * - batch: rows or entries that are changed in one database transaction, one of several. In services/transactions/: transactions of one
 *   request.
 * - account: an address on a chain. nonce counter: the nonce that the account's next transaction gets (`next_nonce`).
 * - gap: a nonce between the account's count on chain and its nonce counter that no transaction holds.
 * - withdrawal: the end of a transaction before it is mined, by cancellation, expiry or failure (`intent`).
 * - reopened: a final transaction that is `submitted` again, because a reorganization removed its block.
 * - audit entry: a record of one operation and its caller. It is committed with the operation's changes.
 * - generation: a counter that grows when rows change that processes cache: API keys, relayers, pools, signers, networks, sponsorships,
 *   facilitators.
 * - delivery: an event that is due to be sent to one notification (webhook). It is stored with its event (the outbox).
 * - lease: the temporary right of one process to do background work: of a kind, or on one row (store/worker.ts).
 * - fence: the token of a lease, which a database transaction checks, so that a former owner changes nothing.
 */

/**
 * The store. Each method is at most one database transaction unless its comment says otherwise; most are functions of queries/. A row has
 * the contract's members, plus secrets that the contract never shows (`secret`, `signing_key`, sealed by keys/secret-encryption.ts) and the
 * internal number `row_id`, which is never reused, so that a new relayer with a deleted relayer's id inherits nothing. `auditEntry`:
 * committed in the same database transaction as the changes, if there are any. `creator`: others' notifications are treated as missing.
 */
export interface Store extends StoreQueries {
  /**
   * The generation: changes when any process has changed cached rows. It is read after the call, and once for all calls in one turn of
   * the event loop.
   */
  generation(): Promise<number>
  /**
   * Changes when another process may have committed something that no signal reported. It is read without waiting, and cheap enough for
   * frequent polling.
   */
  version(): number
  /** Tells the other servers, soon and without waiting. */
  tell(signal: Signal): void
  /** Hears the signals of the other servers. */
  subscribe(heard: HearSignal): void
  /** Absent: only one process has the store, and counts by itself. */
  takeTokens: TakeTokens | undefined
  close(): Promise<void>
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
