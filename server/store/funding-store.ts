import type { FundingStatus, TransactionStatus } from '../../generated/openapi.ts'
import type { AppliedFunding } from '../core/funding.ts'
import type { Funding, PendingAuditEntry, PoolRow, RelayerRow } from '../core/rows.ts'
import type { Account } from '../core/sending-rows.ts'

/** A refill, which was accepted in one commit with its transaction. */
export interface Refill {
  row_id: number
  treasury_row_id: number
  treasury_id: string
  amount: string
  transaction_id: string
  created_at: string
  /** Its transaction is unfinished. */
  is_open: boolean
  /** Of its transaction, as the two below; null: that was removed, long after its end. */
  status: TransactionStatus | null
  from: string | null
  /** Null: it is in no block, or in one of a chain that was restarted since. */
  mined_nonce: number | null
}

export interface FundingNote {
  state: FundingStatus
  reason: string | null
  since: string
}

/** Relayers that get their funds from others. */
export interface FundingStore {
  /** Null ends it. `unknown_treasury`: no relayer of the same chain has this id. `circle`: the treasury gets its funds from the relayer. */
  setFunding(
    id: string,
    funding: Funding | null,
    auditEntry?: PendingAuditEntry,
  ): Promise<RelayerRow | 'missing' | 'unknown_treasury' | 'circle'>
  /** As `setFunding`, for the relayers of a pool that have no funding of their own. */
  setPoolFunding(
    id: string,
    funding: Funding | null,
    auditEntry?: PendingAuditEntry,
  ): Promise<PoolRow | 'missing' | 'unknown_treasury' | 'circle'>
  /** Undefined: it gets no funds from another relayer. */
  fundingOf(relayer: RelayerRow): Promise<AppliedFunding | undefined>
  /** The row ids of the relayers that have a funding, or that a pool funds. */
  fundedRelayers(): Promise<number[]>
  /** The newest first; at most 20. */
  refills(relayer_row_id: number): Promise<Refill[]>
  /** Stores it if it is another state or reason. An event is written when the relayer can no longer be refilled, or can again. */
  noteFunding(relayer_row_id: number, note: Pick<FundingNote, 'state' | 'reason'>): Promise<void>
  /** By the relayer's row id; relayers that were not examined yet have none. */
  fundingNotes(): Promise<Map<number, FundingNote>>
  /** What counts for a daily limit now. `asset`: as in `Spend`. */
  spentPerDay(account: Account, asset: string): Promise<string>
  /** Whether an unfinished transaction of the relayer calls a contract or creates one. */
  hasUnfinishedCalls(relayer_row_id: number): Promise<boolean>
  /** The fees that the relayer paid since then, in wei. `from`: seconds since the Unix epoch. Counted by the quarter of an hour. */
  feesSince(relayer_row_id: number, from: number): Promise<bigint>
}
