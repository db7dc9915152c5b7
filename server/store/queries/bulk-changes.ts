import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { greatest, indexedBy, least, sql, type Transaction } from './session.ts'

/** The most deliveries that one database transaction changes. */
export const maxBatch = 500
/** The most deliveries that one database transaction removes; each has attempts with responses of some kilobytes. */
export const maxRemoved = 50

/** `retry`: the waiting deliveries become due. */
export type BulkChangeKind = 'redeliver' | 'retry' | 'give_up' | 'remove'

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
  its !== undefined && (kind === 'give_up') === (its.disabled_reason !== null)

/** The status of the deliveries that it changes. */
export const statusBefore = (kind: BulkChangeKind) => (kind === 'redeliver' ? 'failed' : 'pending')

/** The row ids of a batch, without deliveries that were created before `since`. */
export const rowIdsSince = (rows: { row_id: number; created_at: string }[], since: string): number[] =>
  rows.filter(({ created_at }) => created_at >= since).map(({ row_id }) => row_id)

export interface BulkChanges {
  /**
   * Changes the first batch of a notification's deliveries, and leaves the others to `continueBulkChange`. The caller holds the lock of the
   * notification's row. An unfinished change of the same kind starts over.
   */
  begin(
    transaction: Transaction,
    kind: BulkChangeKind,
    notificationRowId: number,
    since?: string,
  ): Promise<Pick<Batch, 'changed' | 'isDone'>>
  /** The next batch of the oldest change; false when there is none. */
  proceed(transaction: Transaction): Promise<boolean>
}

const insert = sql<BulkChange>(
  (engine) => `
  INSERT INTO bulk_changes AS known (kind, notification_row_id, since, done_to, up_to)
  VALUES ($kind, $notification_row_id, $since, 0, (SELECT coalesce(max(row_id), 0) FROM deliveries))
  ON CONFLICT (kind, notification_row_id)
    DO UPDATE SET since = ${least[engine]}(known.since, excluded.since), done_to = 0, up_to = excluded.up_to
  RETURNING *`,
)
const oldest = sql<BulkChange>('SELECT * FROM bulk_changes ORDER BY row_id LIMIT 1')
const lockOldest = sql<BulkChange>('SELECT * FROM bulk_changes WHERE row_id = $row_id FOR UPDATE')
const advance = sql('UPDATE bulk_changes SET done_to = $done_to WHERE row_id = $row_id')
const end = sql('DELETE FROM bulk_changes WHERE row_id = $row_id')
const state = sql<{ disabled_reason: string | null }>(
  'SELECT disabled_reason FROM notifications WHERE row_id = $notification_row_id',
)
const inState = sql<{ row_id: number; created_at: string }>(
  (engine) => `
  SELECT row_id, created_at FROM deliveries${indexedBy[engine]('deliveries_of')}
  WHERE notification_row_id = $notification_row_id AND status = $status AND row_id > $done_to AND row_id <= $up_to
  ORDER BY row_id LIMIT ${maxBatch}`,
)
// Locked, so that no attempt is added meanwhile: the notification, which has the lock of its deliveries, may be gone.
const any = sql<{ row_id: number }>(`
  SELECT row_id FROM deliveries WHERE notification_row_id = $notification_row_id
  ORDER BY status, row_id LIMIT ${maxRemoved} FOR UPDATE`)
const again = sql(`
  UPDATE deliveries SET status = 'pending', failures = 0, next_at = $now WHERE row_id = ANY ($row_ids::bigint[])`)
// The attempt is brought forward, so it does not count: the schedule goes on where it is.
const retry = sql(
  (engine) => `
  UPDATE deliveries SET next_at = $now, failures = ${greatest[engine]}(failures - 1, 0)
  WHERE row_id = ANY ($row_ids::bigint[]) AND next_at > $now`,
)
const fail = sql(`UPDATE deliveries SET status = 'failed' WHERE row_id = ANY ($row_ids::bigint[])`)
const removals = [
  sql('DELETE FROM delivery_attempts WHERE delivery_row_id = ANY ($row_ids::bigint[])'),
  sql('DELETE FROM deliveries WHERE row_id = ANY ($row_ids::bigint[])'),
]

/** Changes any number of deliveries in batches. After a restart it continues with the first batch that was not committed. */
export function createBulkChanges(now: () => number): BulkChanges {
  async function batchOf(transaction: Transaction, change: BulkChange): Promise<Batch> {
    const { kind, notification_row_id, since, done_to, up_to } = change
    if (kind === 'remove') {
      const rowIds = (await transaction.all(any, { notification_row_id })).map(({ row_id }) => row_id)
      for (const removal of removals) await transaction.run(removal, { row_ids: rowIds })
      return { changed: rowIds.length, isDone: rowIds.length < maxRemoved, done_to }
    }
    if (!isMeant(kind, await transaction.one(state, { notification_row_id }))) {
      return { changed: 0, isDone: true, done_to }
    }
    const rows = await transaction.all(inState, { notification_row_id, status: statusBefore(kind), done_to, up_to })
    const rowIds = rowIdsSince(rows, since)
    const run = {
      redeliver: () => transaction.run(again, { now: now(), row_ids: rowIds }),
      retry: () => transaction.run(retry, { now: now(), row_ids: rowIds }),
      give_up: () => transaction.run(fail, { row_ids: rowIds }),
    }
    return { changed: await run[kind](), isDone: rows.length < maxBatch, done_to: rows.at(-1)?.row_id ?? up_to }
  }

  async function step(transaction: Transaction, change: BulkChange) {
    const { changed, isDone, done_to } = await batchOf(transaction, change)
    const { row_id } = change
    if (isDone) await transaction.run(end, { row_id })
    else await transaction.run(advance, { row_id, done_to })
    return { changed, isDone }
  }

  return {
    async begin(transaction, kind, notificationRowId, since = '') {
      return step(
        transaction,
        (await transaction.one(insert, { kind, notification_row_id: notificationRowId, since })) as BulkChange,
      )
    },
    async proceed(transaction) {
      const change = await transaction.one(oldest)
      if (!change) return false
      await transaction.lockNotifications([change.notification_row_id])
      // It may have ended or started over before the lock.
      const current = await transaction.one(lockOldest, { row_id: change.row_id })
      if (current) await step(transaction, current)
      return true
    },
  }
}

export function bulkChanges(
  { read, write }: Database,
  now: () => number,
): Pick<Store, 'continueBulkChange' | 'hasBulkChange'> {
  const { proceed } = createBulkChanges(now)
  return {
    continueBulkChange: () => write(proceed),
    hasBulkChange: async () => (await read.one(oldest)) !== undefined,
  }
}
