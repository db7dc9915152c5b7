/** The most deliveries that one database transaction changes. */
export const max_batch = 500
/** The most deliveries that one database transaction removes; each has attempts with responses of some kilobytes. */
export const max_removed = 100

export type BulkChangeKind = 'redeliver' | 'give_up' | 'remove'

export interface BulkChange {
  row_id: number
  kind: BulkChangeKind
  notification_row_id: number
  /** As the store writes times. */
  since: string
  /** Deliveries up to this row id are done; those up to `up_to` remain. */
  done_to: number
  up_to: number
}

/** The result of a batch: the number of changed deliveries, whether it was the last batch, and the last row id. */
export interface Batch {
  changed: number
  isDone: boolean
  done_to: number
}

/**
 * Whether the change still applies. `its`: the notification; undefined: deleted. If it was enabled or disabled meanwhile, that replaces
 * this change.
 */
export const isMeant = (kind: BulkChangeKind, its: { disabled_reason: string | null } | undefined): boolean =>
  its !== undefined && (kind === 'redeliver') === (its.disabled_reason === null)

/** The status of the deliveries that it changes. */
export const statusBefore = (kind: BulkChangeKind) => (kind === 'redeliver' ? 'failed' : 'pending')

/** The row ids of a batch, without deliveries that were created before `since`. */
export const rowIdsSince = (rows: { row_id: number; created_at: string }[], since: string): number[] =>
  rows.filter(({ created_at }) => created_at >= since).map(({ row_id }) => row_id)
