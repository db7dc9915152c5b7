import type { Acknowledgement, SearchResult } from '../../generated/openapi.ts'
import type { Listing, PendingAuditEntry } from '../core/rows.ts'

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
  acknowledge(problem_id: string, its: Acknowledgement, auditEntry?: PendingAuditEntry): Promise<void>
  /** False: there is none. */
  deleteAcknowledgement(problem_id: string, auditEntry?: PendingAuditEntry): Promise<boolean>
  /** The first of what was found. `total_items`: a lower bound of how many have the text. */
  search(text: string, sight: SearchSight): Promise<Listing<SearchResult>>
}

/** What the caller of a search may see. */
export interface SearchSight {
  relayer_ids: ReadonlySet<string> | undefined
  signers: boolean
  notifications: 'all' | 'none' | { created_by: string }
}
