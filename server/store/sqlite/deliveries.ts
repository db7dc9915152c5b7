import type { Delivery, DeliveryAttempt, NotificationHealth } from '../../../generated/openapi.ts'
import type { DueDelivery, Settlement, Target } from '../rows.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import type { StoreWorld } from './events.ts'
import { inOneCommit } from './in-one-commit.ts'

type Deliveries = Pick<
  Store,
  | 'targetsAtWork'
  | 'getTarget'
  | 'targetKey'
  | 'dueDeliveries'
  | 'nextDueAt'
  | 'settleDelivery'
  | 'listDeliveries'
  | 'redeliver'
  | 'redeliverFailed'
  | 'notificationHealth'
>

type Row = Omit<Delivery, 'attempts' | 'next_attempt_at'> & { key: number; next_at: number }

/** The outbox, as the deliverer empties it and as the API shows it. */
export function deliveries(connection: Connection, { now }: StoreWorld): Deliveries {
  const { db, write } = connection
  // Jumps from target to target in the index.
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
  const target = db.prepare<[number], Target>(`
    SELECT key, id, url, signing_key, former_key, former_until, disabled_reason, failing_since
    FROM notifications WHERE key = ?`)
  const keyOf = db
    .prepare<[string, string | null], number>(
      'SELECT key FROM notifications WHERE id = ? AND created_by = coalesce(?, created_by)',
    )
    .pluck()
  const due = db.prepare<[number, number, number], DueDelivery>(`
    SELECT deliveries.key, events.id AS event_id, events.body, failures,
      (SELECT COUNT(*) FROM delivery_attempts WHERE delivery_key = deliveries.key) AS attempts
    FROM deliveries INDEXED BY deliveries_due JOIN events ON events.key = event_key
    WHERE notification_key = +? AND deliveries.status = 'pending' AND next_at <= +?
      AND NOT EXISTS (
        SELECT 1 FROM deliveries AS earlier INDEXED BY deliveries_in_order
        WHERE earlier.status = 'pending' AND earlier.notification_key = deliveries.notification_key
          AND earlier.subject = deliveries.subject AND earlier.key < deliveries.key)
    ORDER BY next_at, deliveries.key LIMIT +?`)
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
  const giveUp = db.prepare<[number]>(
    `UPDATE deliveries SET status = 'failed' WHERE notification_key = ? AND status = 'pending'`,
  )
  const columns = `deliveries.key, deliveries.id, events.id AS event_id, events.event, events.sequence, deliveries.status,
    deliveries.created_at, next_at`
  const where = `notification_key = +$notification_key
    AND ($states IS NULL OR deliveries.status IN (SELECT value FROM json_each($states)))`
  const count = db.prepare<[object], number>(`SELECT COUNT(*) FROM deliveries WHERE ${where}`).pluck()
  const select = db.prepare<[object], Row>(`
    SELECT ${columns} FROM deliveries JOIN events ON events.key = event_key
    WHERE ${where} ORDER BY deliveries.key DESC LIMIT +$limit OFFSET +$offset`)
  const one = db.prepare<[number, string], Row>(`
    SELECT ${columns} FROM deliveries JOIN events ON events.key = event_key
    WHERE notification_key = ? AND deliveries.id = ?`)
  const attemptsOf = db.prepare<[number], DeliveryAttempt>(`
    SELECT number, at, duration_ms, status, error, answer FROM delivery_attempts WHERE delivery_key = +? ORDER BY number`)
  const again = db.prepare<[number, number]>(
    `UPDATE deliveries SET status = 'pending', failures = 0, next_at = ? WHERE key = ?`,
  )
  const failedAgain = db.prepare<[number, number, string]>(`
    UPDATE deliveries SET status = 'pending', failures = 0, next_at = ?
    WHERE notification_key = ? AND status = 'failed' AND created_at >= ?`)
  const health = db.prepare<
    [number],
    Pick<NotificationHealth, 'disabled_reason' | 'last_success_at' | 'failing_since'>
  >('SELECT disabled_reason, last_success_at, failing_since FROM notifications WHERE key = ?')

  const show = ({ key, next_at, ...row }: Row): Delivery => ({
    ...row,
    next_attempt_at: row.status === 'pending' ? new Date(next_at).toISOString() : null,
    attempts: attemptsOf.all(key).slice(-100),
  })
  const counted = (notification_key: number, state: Delivery['status']) =>
    count.get({ notification_key, states: JSON.stringify([state]) }) as number
  const isDisabled = (notification_key: number) => target.get(notification_key)?.disabled_reason != null

  function settleOne({ delivery_key, notification_key, attempt, disable: reason, ...verdict }: Settlement): void {
    // It was deleted with its notification.
    if (settle.run({ delivery_key, ...verdict }).changes === 0) return
    insertAttempt.run({ delivery_key, ...attempt })
    if (verdict.status === 'delivered') succeed.run(attempt.at, notification_key)
    else fail.run(attempt.at, notification_key)
    if (reason === undefined) return
    disable.run(reason, notification_key)
    giveUp.run(notification_key)
  }

  return {
    targetsAtWork: async () => atWork.all(),
    getTarget: async (key) => target.get(key),
    targetKey: async (id, creator) => keyOf.get(id, creator ?? null),
    dueDeliveries: async (key, time, limit) => due.all(key, time, limit),
    nextDueAt: async (key) => nextDue.get(key) ?? undefined,
    // Answers come in crowds, and each that is not on the disk when the process is killed is delivered again.
    settleDelivery: inOneCommit(connection, settleOne),
    listDeliveries: async (notification_key, { limit, offset }, status) => {
      const values = { notification_key, states: status.length > 0 ? JSON.stringify(status) : null }
      const total_items = count.get(values) as number
      return { items: offset < total_items ? select.all({ ...values, limit, offset }).map(show) : [], total_items }
    },
    redeliver: async (notification_key, id) =>
      write(() => {
        const row = one.get(notification_key, id)
        if (!row) return 'missing'
        if (isDisabled(notification_key)) return 'disabled'
        again.run(now(), row.key)
        return show(one.get(notification_key, id) as Row)
      }),
    redeliverFailed: async (notification_key, since) =>
      write(() => {
        if (isDisabled(notification_key)) return 'disabled'
        return failedAgain.run(now(), notification_key, since).changes
      }),
    async notificationHealth(notification_key) {
      const known = health.get(notification_key) as NonNullable<ReturnType<typeof health.get>>
      const status = known.disabled_reason === null ? 'enabled' : 'disabled'
      return {
        ...known,
        status,
        pending: counted(notification_key, 'pending'),
        failed: counted(notification_key, 'failed'),
      }
    },
  }
}
