import type { Delivery, DeliveryAttempt } from '../../../generated/openapi.ts'
import type { DueDelivery, Settlement, Target } from '../../core/rows.ts'
import { nextTurn } from '../../next-turn.ts'
import { type BlockList, findPage } from '../blocks.ts'
import {
  type BlockRow,
  type Counts,
  countIn,
  type Health,
  healthOf,
  max_shown_attempts,
  type Row,
  show as showRow,
  states,
} from '../delivery-rows.ts'
import type { SealedRow } from '../rights-tables.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { dataColumn, withData } from '../transaction-data.ts'
import { createBulkChanges } from './bulk-changes.ts'
import type { Connection } from './connection.ts'
import { groupCommit } from './group-commit.ts'
import { sealedColumns } from './rights-tables.ts'

type Deliveries = Pick<
  Store,
  | 'targetsAtWork'
  | 'getTarget'
  | 'targetRowId'
  | 'dueDeliveries'
  | 'bodyOf'
  | 'nextDueAt'
  | 'settleDelivery'
  | 'listDeliveries'
  | 'redeliver'
  | 'redeliverFailed'
  | 'notificationHealth'
>

/** The longest time that reading attempts blocks the event loop. */
const turn_ms = 5

/** The outbox, for the deliverer and for the API. */
export function deliveries(connection: Connection, { now }: StoreDependencies): Deliveries {
  const { db, write, rights } = connection
  const bulk = createBulkChanges(connection, now)
  // Skips from target to target in the index, so it does not read every delivery.
  const atWork = db
    .prepare<[], number>(`
      WITH RECURSIVE at_work (target) AS (
        SELECT min(notification_row_id) FROM deliveries WHERE status = 'pending'
        UNION ALL
        SELECT (SELECT min(notification_row_id) FROM deliveries
                WHERE status = 'pending' AND notification_row_id > at_work.target)
        FROM at_work WHERE at_work.target IS NOT NULL
      )
      SELECT target FROM at_work WHERE target IS NOT NULL`)
    .pluck()
  const target = db.prepare<[number], Target & SealedRow>(`
    SELECT id, url, signing_key, former_key, former_until, disabled_reason, failing_since, ${sealedColumns('notifications')}
    FROM notifications WHERE row_id = ?`)
  const rowIdOf = db
    .prepare<[string, string | null], number>(
      'SELECT row_id FROM notifications WHERE id = ? AND created_by = coalesce(?, created_by)',
    )
    .pluck()
  const due = db.prepare<[number, number, number], DueDelivery>(`
    SELECT deliveries.row_id, events.id AS event_id, failures,
      (SELECT COUNT(*) FROM delivery_attempts WHERE delivery_row_id = deliveries.row_id) AS attempts
    FROM deliveries INDEXED BY deliveries_due JOIN events ON events.row_id = event_row_id
    WHERE notification_row_id = +? AND deliveries.status = 'pending' AND next_at <= +?
      AND NOT EXISTS (
        SELECT 1 FROM deliveries AS earlier INDEXED BY deliveries_in_order
        WHERE earlier.status = 'pending' AND earlier.notification_row_id = deliveries.notification_row_id
          AND earlier.subject = deliveries.subject AND earlier.row_id < deliveries.row_id)
    ORDER BY next_at, deliveries.row_id LIMIT +?`)
  const bodyOf = db.prepare<[number], { body: string; data: Uint8Array | null }>(`
      SELECT body, ${dataColumn('events')} FROM deliveries JOIN events ON events.row_id = event_row_id
      WHERE deliveries.row_id = ?`)
  const nextDue = db
    .prepare<[number], number | null>(
      `SELECT min(next_at) FROM deliveries WHERE notification_row_id = +? AND status = 'pending'`,
    )
    .pluck()
  const insertAttempt = db.prepare<[object]>(`
    INSERT INTO delivery_attempts (delivery_row_id, number, at, duration_ms, status, error, answer)
    VALUES ($delivery_row_id, $number, $at, $duration_ms, $status, $error, $answer)`)
  const settle = db.prepare<[object]>(`
    UPDATE deliveries SET status = $status, failures = $failures, next_at = $next_at WHERE row_id = $delivery_row_id`)
  const succeed = db.prepare<[string, number]>(
    'UPDATE notifications SET last_success_at = ?, failing_since = NULL WHERE row_id = ?',
  )
  const fail = db.prepare<[string, number]>(
    'UPDATE notifications SET failing_since = coalesce(failing_since, ?) WHERE row_id = ?',
  )
  const disable = db.prepare<[string, number]>('UPDATE notifications SET disabled_reason = ? WHERE row_id = ?')
  const columns = `deliveries.row_id, deliveries.id, events.id AS event_id, events.event, events.sequence, deliveries.status,
    deliveries.created_at, next_at`
  const select = db.prepare<[string], Row>(`
    SELECT ${columns} FROM deliveries JOIN events ON events.row_id = event_row_id
    WHERE deliveries.row_id IN (SELECT value FROM json_each(?)) ORDER BY deliveries.row_id DESC`)
  const blocks = db.prepare<[number, number, number, number], BlockRow>(`
    SELECT block, oldest, newest, pending, delivered, failed FROM delivery_blocks
    WHERE notification_row_id = +? AND level = +? AND block BETWEEN ? AND ? ORDER BY block DESC`)
  const row_ids = db
    .prepare<[object], number>(`
      SELECT row_id FROM deliveries WHERE row_id BETWEEN $from AND $to AND notification_row_id = +$notification_row_id
        AND status IN (SELECT value FROM json_each($states)) AND created_at >= +$since ORDER BY row_id DESC`)
    .pluck()
  const counts = db.prepare<[number], Counts>(`
    SELECT coalesce(sum(pending), 0) AS pending, coalesce(sum(failed), 0) AS failed FROM delivery_blocks
    WHERE notification_row_id = ? AND level = 1`)
  const one = db.prepare<[number, string], Row>(`
    SELECT ${columns} FROM deliveries JOIN events ON events.row_id = event_row_id
    WHERE notification_row_id = ? AND deliveries.id = ?`)
  const attemptsOf = db.prepare<[number], DeliveryAttempt>(`
    SELECT number, at, duration_ms, status, error, answer FROM delivery_attempts WHERE delivery_row_id = +? ORDER BY number DESC LIMIT ${max_shown_attempts}`)
  const again = db.prepare<[number, number]>(
    `UPDATE deliveries SET status = 'pending', failures = 0, next_at = ? WHERE row_id = ?`,
  )
  const health = db.prepare<[number], Health>(
    'SELECT disabled_reason, last_success_at, failing_since FROM notifications WHERE row_id = ?',
  )

  const show = (row: Row): Delivery => showRow(row, attemptsOf.all(row.row_id).reverse())

  /** The deliveries in one of the states, created at `since` or later (RFC 3339, UTC, milliseconds). */
  const listOf = (notification_row_id: number, states: Delivery['status'][], since = ''): BlockList => ({
    blocks: (level, from, to) =>
      blocks.all(notification_row_id, level, from, to).map((row) => countIn(row, states, since)),
    numbers: (from, to) => row_ids.all({ notification_row_id, states: JSON.stringify(states), since, from, to }),
  })

  const isDisabled = (notification_row_id: number) => target.get(notification_row_id)?.disabled_reason != null

  function settleOne({ delivery_row_id, notification_row_id, attempt, disable: reason, ...verdict }: Settlement): void {
    // The delivery was deleted with its notification.
    if (settle.run({ delivery_row_id, ...verdict }).changes === 0) return
    insertAttempt.run({ delivery_row_id, ...attempt })
    if (verdict.status === 'delivered') succeed.run(attempt.at, notification_row_id)
    else fail.run(attempt.at, notification_row_id)
    if (reason === undefined) return
    disable.run(reason, notification_row_id)
    bulk.begin('give_up', notification_row_id)
  }

  return {
    targetsAtWork: async () => atWork.all(),
    async getTarget(row_id) {
      const row = target.get(row_id)
      return row && rights.require('notifications', row)
    },
    targetRowId: async (id, creator) => rowIdOf.get(id, creator ?? null),
    dueDeliveries: async (row_id, time, limit) => due.all(row_id, time, limit),
    bodyOf: async (row_id) => {
      const stored = bodyOf.get(row_id)
      return stored && withData(stored.body, stored.data)
    },
    nextDueAt: async (row_id) => nextDue.get(row_id) ?? undefined,
    // Many attempts end at the same time, so they share a commit. After a kill, attempts that were not committed are repeated.
    settleDelivery: groupCommit(connection, settleOne),
    listDeliveries: async (notification_row_id, slice, status) => {
      const found = await findPage(listOf(notification_row_id, status.length > 0 ? status : states), slice)
      const rows = select.all(JSON.stringify(found.items))
      const items: Delivery[] = []
      let began = performance.now()
      for (const row of rows) {
        items.push(show(row))
        if (performance.now() - began < turn_ms) continue
        await nextTurn()
        began = performance.now()
      }
      return { items, total_items: found.total_items }
    },
    redeliver: async (notification_row_id, id) =>
      write(() => {
        const row = one.get(notification_row_id, id)
        if (!row) return 'missing'
        if (isDisabled(notification_row_id)) return 'disabled'
        again.run(now(), row.row_id)
        return show(one.get(notification_row_id, id) as Row)
      }),
    redeliverFailed: async (notification_row_id, since) => {
      const begun = write(() =>
        isDisabled(notification_row_id) ? undefined : bulk.begin('redeliver', notification_row_id, since),
      )
      if (begun === undefined) return 'disabled'
      const { changed, isDone } = begun
      if (isDone) return changed
      return (
        changed + (await findPage(listOf(notification_row_id, ['failed'], since), { offset: 0, limit: 0 })).total_items
      )
    },
    async notificationHealth(notification_row_id) {
      return healthOf(health.get(notification_row_id) as Health, counts.get(notification_row_id) as Counts)
    },
  }
}
