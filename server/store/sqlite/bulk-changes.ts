import {
  type BulkChange as Change,
  isMeant,
  type BulkChangeKind as Kind,
  max_batch,
  max_removed,
  rowIdsSince,
  statusBefore,
} from '../bulk-change-rules.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'

export interface BulkChanges {
  /**
   * Changes the first batch of a notification's deliveries, and leaves the others to `continueBulkChange`. Must be called inside a
   * database transaction. An unfinished change of the same kind starts over. Returns how many deliveries the first batch changed, and
   * whether that was all.
   */
  begin(kind: Kind, notification_row_id: number, since?: string): { changed: number; isDone: boolean }
}

/** Changes any number of deliveries in batches. After a restart it continues with the first batch that was not committed. */
export function createBulkChanges({ db }: Pick<Connection, 'db'>, now: () => number) {
  const insert = db.prepare<[object], Change>(`
    INSERT INTO bulk_changes (kind, notification_row_id, since, done_to, up_to)
    VALUES ($kind, $notification_row_id, $since, 0, (SELECT coalesce(max(row_id), 0) FROM deliveries))
    ON CONFLICT DO UPDATE SET since = min(since, excluded.since), done_to = 0, up_to = excluded.up_to
    RETURNING *`)
  const oldest = db.prepare<[], Change>('SELECT * FROM bulk_changes ORDER BY row_id LIMIT 1')
  const advance = db.prepare<[number, number]>('UPDATE bulk_changes SET done_to = ? WHERE row_id = ?')
  const end = db.prepare<[number]>('DELETE FROM bulk_changes WHERE row_id = ?')
  const state = db.prepare<[number], { disabled_reason: string | null }>(
    'SELECT disabled_reason FROM notifications WHERE row_id = ?',
  )
  const inState = db.prepare<[object], { row_id: number; created_at: string }>(`
    SELECT row_id, created_at FROM deliveries INDEXED BY deliveries_of
    WHERE notification_row_id = +$notification_row_id AND status = +$status AND row_id > +$done_to AND row_id <= +$up_to
    ORDER BY row_id LIMIT ${max_batch}`)
  const any = db
    .prepare<[number], number>(`SELECT row_id FROM deliveries WHERE notification_row_id = +? LIMIT ${max_removed}`)
    .pluck()
  const listed = 'IN (SELECT value FROM json_each(?))'
  const again = db.prepare<[number, string]>(
    `UPDATE deliveries SET status = 'pending', failures = 0, next_at = ? WHERE row_id ${listed}`,
  )
  const fail = db.prepare<[string]>(`UPDATE deliveries SET status = 'failed' WHERE row_id ${listed}`)
  const removals = [
    db.prepare<[string]>(`DELETE FROM delivery_attempts WHERE delivery_row_id ${listed}`),
    db.prepare<[string]>(`DELETE FROM deliveries WHERE row_id ${listed}`),
  ]

  function batchOf({ kind, notification_row_id, since, done_to, up_to }: Change) {
    const its = state.get(notification_row_id)
    if (kind === 'remove') {
      const row_ids = any.all(notification_row_id)
      for (const removal of removals) removal.run(JSON.stringify(row_ids))
      return { changed: row_ids.length, isDone: row_ids.length < max_removed, done_to }
    }
    if (!isMeant(kind, its)) return { changed: 0, isDone: true, done_to }
    const rows = inState.all({ notification_row_id, status: statusBefore(kind), done_to, up_to })
    const row_ids = rowIdsSince(rows, since)
    if (kind === 'redeliver') again.run(now(), JSON.stringify(row_ids))
    else fail.run(JSON.stringify(row_ids))
    return { changed: row_ids.length, isDone: rows.length < max_batch, done_to: rows.at(-1)?.row_id ?? up_to }
  }

  function step(change: Change): { changed: number; isDone: boolean } {
    const { changed, isDone, done_to } = batchOf(change)
    if (isDone) end.run(change.row_id)
    else advance.run(done_to, change.row_id)
    return { changed, isDone }
  }

  return {
    begin: (kind, notification_row_id, since = '') => step(insert.get({ kind, notification_row_id, since }) as Change),
    /** The next batch of the oldest change; false when there is none. */
    proceed(): boolean {
      const change = oldest.get()
      if (change) step(change)
      return change !== undefined
    },
    isUnderWay: () => oldest.get() !== undefined,
  } satisfies BulkChanges & Record<string, unknown>
}

export function bulkChanges(
  connection: Connection,
  now: () => number,
): Pick<Store, 'continueBulkChange' | 'hasBulkChange'> {
  const { proceed, isUnderWay } = createBulkChanges(connection, now)
  return { continueBulkChange: async () => connection.write(proceed), hasBulkChange: async () => isUnderWay() }
}
