import type { FirstBlock } from '../core/ending.ts'
import type { Proof } from '../core/proof.ts'
import type { PendingAuditEntry } from '../core/rows.ts'
import type { Account, TransactionRow } from '../core/sending-rows.ts'

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
  getAccount(chain_id: number, address: string): Promise<AccountState>
  /** Remembers a transaction of the account that this service did not send. Resolves to whether it is a new one. */
  noteForeign(account: Account, foreign: { nonce: number; hash: string | null }): Promise<boolean>
  /**
   * The account as `getAccount`, beside a block at which the chain counts `latest` of its transactions. `committed`: the most that its
   * transactions may still take from its balance at this block. Not those below `latest`: they are mined, and their rows may not show it
   * yet. But those from `latest` on whose rows are in a block: the node that counts lags behind.
   */
  accountAt(account: Account, latest: number): Promise<AccountState & { committed: string }>
  /** Raises the nonce counter. `isProven`: signed bytes prove it, and the counter is never lowered below `nonce` again. */
  raiseNonce(chain_id: number, address: string, nonce: number, isProven: boolean): Promise<void>
  /**
   * Gives unsigned transactions (`pending`, without a hash) the lowest unsigned nonces from `latest` on, in their order, and sets the
   * nonce counter after the highest nonce in use. Nonces at or below one that is known to be in a block, or proven to be used, are not
   * assigned. `gaps`: gaps that remain below a signed nonce, at most 100. Runs in several database transactions; after each one, nonces
   * are unique and below the counter.
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
  ): Promise<{ row_id: number; revision: number; reason: string | null }[]>
  /**
   * Counts nonce gaps of the account that are about to be filled. Resolves to how many of `wanted` may be filled now, so that there are
   * at most `limit` in an hour, over all servers and restarts.
   */
  takeGapFills(account: Account, wanted: number, limit: number): Promise<number>
  setGenesis(chain_id: number, address: string, genesis_hash: string): Promise<void>
  /**
   * Removes the nonces of an account's transactions after a restart of the chain, at most `limit` in one database transaction.
   * Unfinished ones fail with the reason. Resolves to how many had a nonce; 0 at the end.
   */
  forgetNonces(account: Account, reason: string, proof: Proof<FirstBlock>, limit: number): Promise<number>
  /** Resets the account for a restarted chain. False, without a change, while a transaction holds a nonce. */
  restartAccount(
    account: Account,
    genesis_hash: string,
    next_nonce: number,
    auditEntry?: PendingAuditEntry,
  ): Promise<boolean>
  /** Keeps the relayer in `relayersAtWork` until `unwatch`, even without unfinished transactions. */
  watch(relayer_row_id: number): Promise<void>
  unwatch(relayer_row_id: number): Promise<void>
  /** The highest block of the relayer's newest transactions that ended in a block. */
  newestEnded(relayer_row_id: number): Promise<{ number: number; hash: string } | undefined>
  /** Transactions that ended in a block from `block_number` on, among the 2,000 newest of each status. */
  endedSince(relayer_row_id: number, block_number: number): Promise<TransactionRow[]>
  /** Signed transactions that failed and are in no block, among the newest `limit` failed ones. */
  failedUnmined(relayer_row_id: number, limit: number): Promise<TransactionRow[]>
  /** The highest row id of a transaction. Later transactions get higher ones. */
  newestRowId(): Promise<number>
  /** The transactions that hold the nonces from `from` to below `to`, in any status, by nonce; at most `limit`. */
  holders(chain_id: number, address: string, from: number, to: number, limit: number): Promise<TransactionRow[]>
  /** Whether a transaction of the account, at this nonce or shortly above it, is known to be in a block. */
  isSettledFrom(chain_id: number, address: string, nonce: number): Promise<boolean>
}
