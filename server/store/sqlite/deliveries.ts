import { setImmediate as turn } from 'node:timers/promises'
import type { Delivery, DeliveryAttempt, NotificationHealth } from '../../../generated/openapi.ts'
import type { DueDelivery, Settlement, Target } from '../rows.ts'
import type { Store } from '../store.ts'
import { type BlockList, findPage } from './blocks.ts'
import { createBulkChanges } from './bulk-changes.ts'
import type { Connection } from './connection.ts'
import type { StoreWorld } from './events.ts'
import { groupCommit } from './group-commit.ts'
import { type SealedRow, sealedColumns } from './rights-tables.ts'
import { dataColumn, withData } from './transaction-data.ts'

type Deliveries = Pick<
  Store,
  | 'targetsAtWork'
  | 'getTarget'
  | 'targetKey'
  | 'dueDeliveries'
  | 'bodyOf'
  | 'nextDueAt'
  | 'settleDelivery'
  | 'listDeliveries'
  | 'redeliver'
  | 'redeliverFailed'
  | 'notificationHealth'
>

/** The number of attempts in a response: the last ones of a delivery. */
const max_shown_attempts = 20
/** The longest time that reading attempts blocks the event loop. */
const turn_ms = 5
const states: Delivery['status'][] = ['pending', 'delivered', 'failed']

type Counts = Pick<NotificationHealth, 'pending' | 'failed'>
type BlockRow = { block: number; oldest: string; newest: string } & Record<Delivery['status'], number>
type Row = Omit<Delivery, 'attempts' | 'next_attempt_at'> & { key: number; next_at: number }

/** The outbox, for the deliverer and for the API. */
export function deliveries(connection: Connection, { now }: StoreWorld): Deliveries {
  const { db, write, rights } = connection
  const bulk = createBulkChanges(connection, now)
  // Skips from target to target in the index, so it does not read every delivery.
  const atWork = db
    .prepare<[], number>(`
      WITH RECURSIVE at_work (target) AS (
        SELECT min(notification_key) FROM deliveries WHERE status = 'pending'
        UNION ALL
        SELECT (SELECT min(notification_key) FROM deliveries
                WHERE status = 'pending' AND notification_key > at_work.target)
        FROM at_work WHERE at_work.target IS NOT NULL
      )
      SELECT target FROM at_work WHERE target IS NOT NULL`)
    .pluck()
  const target = db.prepare<[number], Target & SealedRow>(`
    SELECT id, url, signing_key, former_key, former_until, disabled_reason, failing_since, ${sealedColumns('notifications')}
    FROM notifications WHERE key = ?`)
  const keyOf = db
    .prepare<[string, string | null], number>(
      'SELECT key FROM notifications WHERE id = ? AND created_by = coalesce(?, created_by)',
    )
    .pluck()
  const due = db.prepare<[number, number, number], DueDelivery>(`
    SELECT deliveries.key, events.id AS event_id, failures,
      (SELECT COUNT(*) FROM delivery_attempts WHERE delivery_key = deliveries.key) AS attempts
    FROM deliveries INDEXED BY deliveries_due JOIN events ON events.key = event_key
    WHERE notification_key = +? AND deliveries.status = 'pending' AND next_at <= +?
      AND NOT EXISTS (
        SELECT 1 FROM deliveries AS earlier INDEXED BY deliveries_in_order
        WHERE earlier.status = 'pending' AND earlier.notification_key = deliveries.notification_key
          AND earlier.subject = deliveries.subject AND earlier.key < deliveries.key)
    ORDER BY next_at, deliveries.key LIMIT +?`)
  const bodyOf = db.prepare<[number], { body: string; data: Uint8Array | null }>(`
      SELECT body, ${dataColumn('events')} FROM deliveries JOIN events ON events.key = event_key
      WHERE deliveries.key = ?`)
  const nextDue = db
    .prepare<[number], number | null>(
      `SELECT min(next_at) FROM deliveries WHERE notification_key = +? AND status = 'pending'`,
    )
    .pluck()
  const insertAttempt = db.prepare<[object]>(`
    INSERT INTO delivery_attempts (delivery_key, number, at, duration_ms, status, error, answer)
    VALUES ($delivery_key, $number, $at, $duration_ms, $status, $error, $answer)`)
  const settle = db.prepare<[object]>(`
    UPDATE deliveries SET status = $status, failures = $failures, next_at = $next_at WHERE key = $delivery_key`)
  const succeed = db.prepare<[string, number]>(
    'UPDATE notifications SET last_success_at = ?, failing_since = NULL WHERE key = ?',
  )
  const fail = db.prepare<[string, number]>(
    'UPDATE notifications SET failing_since = coalesce(failing_since, ?) WHERE key = ?',
  )
  const disable = db.prepare<[string, number]>('UPDATE notifications SET disabled_reason = ? WHERE key = ?')
  const columns = `deliveries.key, deliveries.id, events.id AS event_id, events.event, events.sequence, deliveries.status,
    deliveries.created_at, next_at`
  const select = db.prepare<[string], Row>(`
    SELECT ${columns} FROM deliveries JOIN events ON events.key = event_key
    WHERE deliveries.key IN (SELECT value FROM json_each(?)) ORDER BY deliveries.key DESC`)
  const blocks = db.prepare<[number, number, number, number], BlockRow>(`
    SELECT block, oldest, newest, pending, delivered, failed FROM delivery_blocks
    WHERE notification_key = +? AND level = +? AND block BETWEEN ? AND ? ORDER BY block DESC`)
  const keys = db
    .prepare<[object], number>(`
      SELECT key FROM deliveries WHERE key BETWEEN $from AND $to AND notification_key = +$notification_key
        AND status IN (SELECT value FROM json_each($states)) AND created_at >= +$since ORDER BY key DESC`)
    .pluck()
  const counts = db.prepare<[number], Counts>(`
    SELECT coalesce(sum(pending), 0) AS pending, coalesce(sum(failed), 0) AS failed FROM delivery_blocks
    WHERE notification_key = ? AND level = 1`)
  const one = db.prepare<[number, string], Row>(`
    SELECT ${columns} FROM deliveries JOIN events ON events.key = event_key
    WHERE notification_key = ? AND deliveries.id = ?`)
  const attemptsOf = db.prepare<[number], DeliveryAttempt>(`
    SELECT number, at, duration_ms, status, error, answer FROM delivery_attempts WHERE delivery_key = +? ORDER BY number DESC LIMIT ${max_shown_attempts}`)
  const again = db.prepare<[number, number]>(
    `UPDATE deliveries SET status = 'pending', failures = 0, next_at = ? WHERE key = ?`,
  )
  const health = db.prepare<
    [number],
    Pick<NotificationHealth, 'disabled_reason' | 'last_success_at' | 'failing_since'>
  >('SELECT disabled_reason, last_success_at, failing_since FROM notifications WHERE key = ?')

  const show = ({ key, next_at, ...row }: Row): Delivery => ({
    ...row,
    next_attempt_at: row.status === 'pending' ? new Date(next_at).toISOString() : null,
    attempts: attemptsOf.all(key).reverse(),
  })

  /** The deliveries in one of the states, created at `since` or later (RFC 3339, UTC, milliseconds). */
  const listOf = (notification_key: number, states: Delivery['status'][], since = ''): BlockList => ({
    blocks: (level, from, to) =>
      blocks.all(notification_key, level, from, to).map((row) => {
        const sum = states.reduce((count, state) => count + row[state], 0)
        const isCut = sum > 0 && row.oldest < since
        return { block: row.block, count: row.newest < since ? 0 : isCut ? undefined : sum }
      }),
    numbers: (from, to) => keys.all({ notification_key, states: JSON.stringify(states), since, from, to }),
  })

  const isDisabled = (notification_key: number) => target.get(notification_key)?.disabled_reason != null

  function settleOne({ delivery_key, notification_key, attempt, disable: reason, ...verdict }: Settlement): void {
    // The delivery was deleted with its notification.
    if (settle.run({ delivery_key, ...verdict }).changes === 0) return
    insertAttempt.run({ delivery_key, ...attempt })
    if (verdict.status === 'delivered') succeed.run(attempt.at, notification_key)
    else fail.run(attempt.at, notification_key)
    if (reason === undefined) return
    disable.run(reason, notification_key)
    bulk.begin('give_up', notification_key)
  }

  return {
    targetsAtWork: async () => atWork.all(),
    async getTarget(key) {
      const row = target.get(key)
      return row && rights.require('notifications', row)
    },
    targetKey: async (id, creator) => keyOf.get(id, creator ?? null),
    dueDeliveries: async (key, time, limit) => due.all(key, time, limit),
    bodyOf: async (key) => {
      const stored = bodyOf.get(key)
      return stored && withData(stored.body, stored.data)
    },
    nextDueAt: async (key) => nextDue.get(key) ?? undefined,
    // Many attempts end at the same time, so they share a commit. After a kill, attempts that were not committed are repeated.
    settleDelivery: groupCommit(connection, settleOne),
    listDeliveries: async (notification_key, slice, status) => {
      const found = await findPage(listOf(notification_key, status.length > 0 ? status : states), slice)
      const rows = select.all(JSON.stringify(found.items))
      const items: Delivery[] = []
      let began = performance.now()
      for (const row of rows) {
        items.push(show(row))
        if (performance.now() - began < turn_ms) continue
        await turn()
        began = performance.now()
      }
      return { items, total_items: found.total_items }
    },
    redeliver: async (notification_key, id) =>
      write(() => {
        const row = one.get(notification_key, id)
        if (!row) return 'missing'
        if (isDisabled(notification_key)) return 'disabled'
        again.run(now(), row.key)
        return show(one.get(notification_key, id) as Row)
      }),
    redeliverFailed: async (notification_key, since) => {
      const begun = write(() =>
        isDisabled(notification_key) ? undefined : bulk.begin('redeliver', notification_key, since),
      )
      if (begun === undefined) return 'disabled'
      const { changed, isDone } = begun
      if (isDone) return changed
      return (
        changed + (await findPage(listOf(notification_key, ['failed'], since), { offset: 0, limit: 0 })).total_items
      )
    },
    async notificationHealth(notification_key) {
      const known = health.get(notification_key) as NonNullable<ReturnType<typeof health.get>>
      const status = known.disabled_reason === null ? 'enabled' : 'disabled'
      return {
        ...known,
        status,
        ...(counts.get(notification_key) as Counts),
      }
    },
  }
}
