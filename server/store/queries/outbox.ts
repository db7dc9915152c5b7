import type { DueDelivery, Settlement, Target } from '../../domain/rows.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { createBulkChanges } from './bulk-changes.ts'
import type { Database } from './database.ts'
import { type StoredSeal, sealedColumns } from './row-mac.ts'
import { indexedBy, sql, type Transaction } from './session.ts'
import { dataColumn, withData } from './transaction-rows.ts'

// Skips from target to target in the index, so it does not read every delivery.
const atWork = sql<{ target: number }>(`
  WITH RECURSIVE at_work (target) AS (
    SELECT min(notification_row_id) FROM deliveries WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(notification_row_id) FROM deliveries
            WHERE status = 'pending' AND notification_row_id > at_work.target)
    FROM at_work WHERE at_work.target IS NOT NULL
  )
  SELECT target FROM at_work WHERE target IS NOT NULL`)
const selectTarget = sql<Target & StoredSeal>(
  (engine) => `
  SELECT id, url, signing_key, former_key, former_until, disabled_reason, failing_since, ${sealedColumns(engine, 'notifications')}
  FROM notifications WHERE row_id = $row_id`,
)
const rowIdOf = sql<{ row_id: number }>(
  'SELECT row_id FROM notifications WHERE id = $id AND ($creator::text IS NULL OR created_by = $creator)',
)
const due = sql<DueDelivery>(
  (engine) => `
  SELECT deliveries.row_id, events.id AS event_id, failures,
    (SELECT count(*) FROM delivery_attempts WHERE delivery_row_id = deliveries.row_id) AS attempts
  FROM deliveries${indexedBy[engine]('deliveries_due')} JOIN events ON events.row_id = event_row_id
  WHERE notification_row_id = $row_id AND deliveries.status = 'pending' AND next_at <= $time
    AND NOT EXISTS (
      SELECT 1 FROM deliveries AS earlier${indexedBy[engine]('deliveries_in_order')}
      WHERE earlier.status = 'pending' AND earlier.notification_row_id = deliveries.notification_row_id
        AND earlier.subject = deliveries.subject AND earlier.row_id < deliveries.row_id)
  ORDER BY next_at, deliveries.row_id LIMIT $limit`,
)
const selectBody = sql<{ body: string; data: Uint8Array | null }>(`
  SELECT body, ${dataColumn('events')} FROM deliveries JOIN events ON events.row_id = event_row_id
  WHERE deliveries.row_id = $row_id`)
const nextDue = sql<{ next: number | null }>(`
  SELECT min(next_at) AS next FROM deliveries WHERE notification_row_id = $row_id AND status = 'pending'`)
const settle = sql(`
  UPDATE deliveries SET status = $status, failures = $failures, next_at = $next_at WHERE row_id = $delivery_row_id`)
const insertAttempt = sql(`
  INSERT INTO delivery_attempts (delivery_row_id, number, at, duration_ms, status, error, answer)
  VALUES ($delivery_row_id, $number, $at, $duration_ms, $status, $error, $answer)`)
const succeed = sql(`
  UPDATE notifications SET last_success_at = $at, failing_since = NULL WHERE row_id = $notification_row_id`)
const fail = sql(`
  UPDATE notifications SET failing_since = coalesce(failing_since, $at) WHERE row_id = $notification_row_id`)
const disable = sql('UPDATE notifications SET disabled_reason = $reason WHERE row_id = $notification_row_id')

/** The age up to which a delivery is retried out of turn: longer than the retry schedule. */
const retriedMs = 120 * 3_600_000

type Outbox = Pick<
  Store,
  'targetsAtWork' | 'getTarget' | 'targetRowId' | 'dueDeliveries' | 'bodyOf' | 'nextDueAt' | 'settleDelivery'
>

/** The outbox, for the deliverer. */
export function outbox(database: Database, { now }: Pick<StoreDependencies, 'now'>): Outbox {
  const { read, rights } = database
  const bulk = createBulkChanges(now)

  async function settleOne(transaction: Transaction, settlement: Settlement): Promise<void> {
    const { delivery_row_id, notification_row_id, attempt, disable: reason, recovered, ...verdict } = settlement
    const { at } = attempt
    // The delivery was deleted with its notification.
    if ((await transaction.run(settle, { delivery_row_id, ...verdict })) === 0) return
    await transaction.run(insertAttempt, { delivery_row_id, ...attempt })
    await transaction.run(verdict.status === 'delivered' ? succeed : fail, { at, notification_row_id })
    // Older ones would be repeated for ever, where one event fails and the others do not.
    if (recovered)
      await bulk.begin(transaction, 'retry', notification_row_id, new Date(now() - retriedMs).toISOString())
    if (reason === undefined) return
    await transaction.run(disable, { reason, notification_row_id })
    await bulk.begin(transaction, 'give_up', notification_row_id)
  }

  return {
    targetsAtWork: async () => (await read.all(atWork)).map(({ target }) => target),
    getTarget: (rowId) => rights.require('notifications', () => read.one(selectTarget, { row_id: rowId })),
    targetRowId: async (id, creator) => (await read.one(rowIdOf, { id, creator: creator ?? null }))?.row_id,
    dueDeliveries: (rowId, time, limit) => read.all(due, { row_id: rowId, time, limit }),
    async bodyOf(rowId) {
      const stored = await read.one(selectBody, { row_id: rowId })
      return stored && withData(stored.body, stored.data)
    },
    nextDueAt: async (rowId) => (await read.one(nextDue, { row_id: rowId }))?.next ?? undefined,
    // Many attempts end at the same time, so they share a commit. After a kill, attempts that were not committed are repeated.
    settleDelivery: database.groupCommitOfDeliveries(
      ({ notification_row_id }: Settlement) => notification_row_id,
      settleOne,
    ),
  }
}
