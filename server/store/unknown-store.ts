import type { Listing, Slice } from '../core/rows.ts'
import type { Account } from '../core/sending-rows.ts'

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
  findUnknown(account: Account, found: Content & { nonce: number; hash: string }): Promise<void>
  unknownTransactions(account: Account, slice: Slice): Promise<Listing<UnknownRow>>
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
