import type { Delivery, DeliveryAttempt } from '../../../generated/openapi.ts'
import type { Listing } from '../../core/rows.ts'
import { type BlockList, findPage } from '../blocks.ts'
import {
  type BlockRow,
  type Counts,
  countIn,
  type Health,
  healthOf,
  max_shown_attempts,
  type Row,
  show,
  states,
} from '../delivery-rows.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { createBulkChanges } from './bulk-changes.ts'
import { type Connection, sql } from './connection.ts'
import { lockNotifications } from './locks.ts'
import type { Session, Transaction } from './session.ts'

const columns = `deliveries.row_id, deliveries.id, events.id AS event_id, events.event, events.sequence, deliveries.status,
  deliveries.created_at, next_at`
const select = sql<Row>(`
  SELECT ${columns} FROM deliveries JOIN events ON events.row_id = event_row_id
  WHERE deliveries.row_id = ANY ($row_ids) ORDER BY deliveries.row_id DESC`)
const one = sql<Row>(`
  SELECT ${columns} FROM deliveries JOIN events ON events.row_id = event_row_id
  WHERE notification_row_id = $notification_row_id AND deliveries.id = $id`)
const blocks = sql<BlockRow>(`
  SELECT block, oldest, newest, pending, delivered, failed FROM delivery_blocks
  WHERE notification_row_id = $notification_row_id AND level = $level AND block BETWEEN $from AND $to ORDER BY block DESC`)
const numbers = sql<{ row_id: number }>(`
  SELECT row_id FROM deliveries WHERE row_id BETWEEN $from AND $to AND notification_row_id = $notification_row_id
    AND status = ANY ($states) AND created_at >= $since ORDER BY row_id DESC`)
const countAll = sql<Counts>(`
  SELECT coalesce(sum(pending), 0) AS pending, coalesce(sum(failed), 0) AS failed FROM delivery_blocks
  WHERE notification_row_id = $notification_row_id AND level = 1`)
const attemptsOf = sql<DeliveryAttempt & { delivery_row_id: number }>(`
  SELECT its.* FROM unnest($row_ids::bigint[]) AS wanted (row_id), LATERAL (
    SELECT delivery_row_id, number, at, duration_ms, status, error, answer FROM delivery_attempts
    WHERE delivery_row_id = wanted.row_id ORDER BY number DESC LIMIT ${max_shown_attempts}
  ) AS its ORDER BY delivery_row_id, number`)
const again = sql(`UPDATE deliveries SET status = 'pending', failures = 0, next_at = $now WHERE row_id = $row_id`)
const health = sql<Health>(
  'SELECT disabled_reason, last_success_at, failing_since FROM notifications WHERE row_id = $notification_row_id',
)

type Deliveries = Pick<Store, 'listDeliveries' | 'redeliver' | 'redeliverFailed' | 'notificationHealth'>

/** The outbox, for the API. */
export function deliveries({ read, write }: Connection, { now }: Pick<StoreDependencies, 'now'>): Deliveries {
  const bulk = createBulkChanges(now)

  async function showAll(session: Session, rows: Row[]): Promise<Delivery[]> {
    const attempts = new Map<number, DeliveryAttempt[]>(rows.map(({ row_id }) => [row_id, []]))
    const found = await session.all(attemptsOf, { row_ids: [...attempts.keys()] })
    for (const { delivery_row_id, ...attempt } of found) attempts.get(delivery_row_id)?.push(attempt)
    return rows.map((row) => show(row, attempts.get(row.row_id) ?? []))
  }

  /** The deliveries in one of the states, created at `since` or later (RFC 3339, UTC, milliseconds). */
  const listOf = (notification_row_id: number, wanted: Delivery['status'][], since = ''): BlockList => ({
    async blocks(level, from, to) {
      const rows = await read.all(blocks, { notification_row_id, level, from, to })
      return rows.map((row) => countIn(row, wanted, since))
    },
    async numbers(from, to) {
      const rows = await read.all(numbers, { notification_row_id, states: wanted, since, from, to })
      return rows.map(({ row_id }) => row_id)
    },
  })

  /** Locks the notification until the commit. */
  async function isDisabled(transaction: Transaction, notification_row_id: number): Promise<boolean> {
    await lockNotifications(transaction, [notification_row_id])
    return (await transaction.one(health, { notification_row_id }))?.disabled_reason != null
  }

  return {
    async listDeliveries(notification_row_id, slice, status): Promise<Listing<Delivery>> {
      const found = await findPage(listOf(notification_row_id, status.length > 0 ? status : states), slice)
      const rows = await read.all(select, { row_ids: found.items })
      return { items: await showAll(read, rows), total_items: found.total_items }
    },
    redeliver: (notification_row_id, id) =>
      write(async (transaction) => {
        const isOff = await isDisabled(transaction, notification_row_id)
        const row = await transaction.one(one, { notification_row_id, id })
        if (!row) return 'missing'
        if (isOff) return 'disabled'
        await transaction.run(again, { now: now(), row_id: row.row_id })
        const [delivery] = await showAll(transaction, await transaction.all(one, { notification_row_id, id }))
        return delivery as Delivery
      }),
    async redeliverFailed(notification_row_id, since) {
      const begun = await write(async (transaction) =>
        (await isDisabled(transaction, notification_row_id))
          ? undefined
          : bulk.begin(transaction, 'redeliver', notification_row_id, since),
      )
      if (begun === undefined) return 'disabled'
      const { changed, isDone } = begun
      if (isDone) return changed
      const rest = await findPage(listOf(notification_row_id, ['failed'], since), { offset: 0, limit: 0 })
      return changed + rest.total_items
    },
    async notificationHealth(notification_row_id) {
      const known = (await read.one(health, { notification_row_id })) as Health
      return healthOf(known, (await read.one(countAll, { notification_row_id })) as Counts)
    },
  }
}
