import { type Database, greatest, indexedBy, least, sql, type Transaction } from './database.ts'

/** The most deliveries that one database transaction changes. */
const maxBatch = 500
/** The most deliveries that one database transaction removes; each has attempts with responses of some kilobytes. */
const maxRemoved = 50

/** `retry`: the waiting deliveries become due. */
type BulkChangeKind = 'redeliver' | 'retry' | 'give_up' | 'remove'

interface BulkChange {
  row_id: number
  kind: BulkChangeKind
  notification_row_id: number
  /** As the store writes times. */
  since: string
  /** Deliveries up to this row id are done; those up to `up_to` remain. */
  done_to: number
  up_to: number
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

/**
 * Makes the first batch of a change of a notification's deliveries, and leaves the others to `continueBulkChange`. The caller holds the lock
 * of the notification's row. An unfinished change of the same kind starts over. After a restart it continues with the first batch that was
 * not committed.
 */
export async function beginBulkChange(
  transaction: Transaction,
  kind: BulkChangeKind,
  notificationRowId: number,
  since = '',
): Promise<{ changed: number; isDone: boolean }> {
  const change = await transaction.one(insert, { kind, notification_row_id: notificationRowId, since })
  return changeBatch(transaction, change as BulkChange)
}

/** The number of changed deliveries, and whether it was the last batch. */
async function changeBatch(transaction: Transaction, { row_id, ...change }: BulkChange) {
  const { changed, done_to } = await (change.kind === 'remove' ? removeSome : changeSome)(transaction, change)
  if (done_to === undefined) await transaction.run(end, { row_id })
  else await transaction.run(advance, { row_id, done_to })
  return { changed, isDone: done_to === undefined }
}

/** `done_to`: the last row id of the batch; undefined: it was the last one. */
type Batch = { changed: number; done_to: number | undefined }

async function removeSome(transaction: Transaction, change: Omit<BulkChange, 'row_id'>): Promise<Batch> {
  const { notification_row_id, done_to } = change
  const rowIds = (await transaction.all(any, { notification_row_id })).map(({ row_id }) => row_id)
  for (const removal of removals) await transaction.run(removal, { row_ids: rowIds })
  return { changed: rowIds.length, done_to: rowIds.length < maxRemoved ? undefined : done_to }
}

async function changeSome(transaction: Transaction, change: Omit<BulkChange, 'row_id'>): Promise<Batch> {
  const { kind, notification_row_id, since, done_to, up_to } = change
  const known = await transaction.one(state, { notification_row_id })
  // If the notification was deleted, enabled or disabled meanwhile, that replaces this change.
  if (!known || (kind === 'give_up') !== (known.disabled_reason !== null)) return { changed: 0, done_to: undefined }
  const status = kind === 'redeliver' ? 'failed' : 'pending'
  const rows = await transaction.all(inState, { notification_row_id, status, done_to, up_to })
  const rowIds = rows.filter(({ created_at }) => created_at >= since).map(({ row_id }) => row_id)
  const now = transaction.effects.now()
  const changed =
    kind === 'give_up'
      ? await transaction.run(fail, { row_ids: rowIds })
      : await transaction.run(kind === 'retry' ? retry : again, { now, row_ids: rowIds })
  return { changed, done_to: rows.length < maxBatch ? undefined : rows.at(-1)?.row_id }
}

/**
 * Bulk changes of deliveries (redeliver, retry, give up, remove) do their first batch at once. This does the next batch of the oldest
 * unfinished bulk change; false when there is none.
 */
export const continueBulkChange = (database: Database): Promise<boolean> =>
  database.write(async (transaction) => {
    const change = await transaction.one(oldest)
    if (!change) return false
    await transaction.lockNotifications([change.notification_row_id])
    // It may have ended or started over before the lock.
    const current = await transaction.one(lockOldest, { row_id: change.row_id })
    if (current) await changeBatch(transaction, current)
    return true
  })

export const hasBulkChange = async (database: Database): Promise<boolean> =>
  (await database.read.one(oldest)) !== undefined
