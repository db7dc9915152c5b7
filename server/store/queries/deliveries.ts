import type { Delivery, DeliveryAttempt, NotificationHealth } from '../../../generated/openapi.ts'
import type { DeliveryResult, DueDelivery, Listing, PageRequest, PendingAuditEntry, Target } from '../../domain/rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import { type Block, type BlockList, findPage } from './blocks.ts'
import {
  type Database,
  type DatabaseTransaction,
  greatest,
  indexedBy,
  least,
  oneByOne,
  type StoredSeal,
  selectForEach,
  sql,
} from './database.ts'
import { sealedColumns } from './sealed-rows.ts'
import { dataColumn, withData } from './transaction-rows.ts'

/** The number of attempts in a response: the last ones of a delivery. */
const maxShownAttempts = 20
const states: Delivery['status'][] = ['pending', 'delivered', 'failed']

type Counts = Pick<NotificationHealth, 'pending_count' | 'failed_count'>
type Health = Pick<NotificationHealth, 'disabled_reason' | 'last_success_at' | 'failing_since'>
type BlockRow = { block: number; oldest: string; newest: string } & Record<Delivery['status'], number>
type StoredDelivery = Omit<Delivery, 'attempts' | 'next_attempt_at'> & { row_id: number; next_at: number }

/** `attempts`: oldest first. */
const show = ({ row_id: _, next_at, ...row }: StoredDelivery, attempts: DeliveryAttempt[]): Delivery => ({
  ...row,
  next_attempt_at: row.status === 'pending' ? new Date(next_at).toISOString() : null,
  attempts,
})

/** How many deliveries of a block are in one of the states and were created at `since` or later. */
function countIn(row: BlockRow, wanted: Delivery['status'][], since: string): Block {
  const sum = wanted.reduce((count, state) => count + row[state], 0)
  const isCut = sum > 0 && row.oldest < since
  return { block: row.block, count: row.newest < since ? 0 : isCut ? undefined : sum }
}

const deliveryColumns = `deliveries.row_id, deliveries.id, events.id AS event_id, events.event, events.sequence,
  deliveries.status, deliveries.created_at, next_at, relayers.id AS relayer_id, transactions.id AS transaction_id, transactions.nonce,
  transactions.reference, events.transaction_status`
/** The subject of an event of a transaction is its id. */
const joinedTables = `deliveries JOIN events ON events.row_id = event_row_id
  LEFT JOIN relayers ON relayers.row_id = events.relayer_row_id
  LEFT JOIN transactions ON transactions.id = events.subject`
const selectDeliveries = sql<StoredDelivery>(`
  SELECT ${deliveryColumns} FROM ${joinedTables}
  WHERE deliveries.row_id = ANY ($row_ids::bigint[]) ORDER BY deliveries.row_id DESC`)
const deliveryById = sql<StoredDelivery>(`
  SELECT ${deliveryColumns} FROM ${joinedTables}
  WHERE notification_row_id = $notification_row_id AND deliveries.id = $id`)
const blocks = sql<BlockRow>(`
  SELECT block, oldest, newest, pending, delivered, failed FROM delivery_blocks
  WHERE notification_row_id = $notification_row_id AND level = $level AND block BETWEEN $from AND $to ORDER BY block DESC`)
const numbers = sql<{ row_id: number }>(`
  SELECT row_id FROM deliveries WHERE row_id BETWEEN $from AND $to AND notification_row_id = $notification_row_id
    AND status = ANY ($states::text[]) AND created_at >= $since ORDER BY row_id DESC`)
const countAll = sql<Counts>(`
  SELECT coalesce(sum(pending), 0) AS pending_count, coalesce(sum(failed), 0) AS failed_count FROM delivery_blocks
  WHERE notification_row_id = $notification_row_id AND level = 1`)
const selectLastAttempts = selectForEach<DeliveryAttempt & { delivery_row_id: number }>(
  { delivery_row_id: 'bigint' },
  (record) => `
  SELECT delivery_row_id, number, attempted_at, duration_ms, http_status, error_message, response_body FROM delivery_attempts
  WHERE delivery_row_id = ${record}delivery_row_id ORDER BY number DESC LIMIT ${maxShownAttempts}`,
  { order: 'ORDER BY its.delivery_row_id, number' },
)
const sendAgain = sql(`
  UPDATE deliveries SET status = 'pending', failures = 0, next_at = $now WHERE row_id = ANY ($row_ids::bigint[])`)
const countWaiting = sql<{ count: number }>(`
  SELECT count(*) AS count FROM deliveries
  WHERE notification_row_id = $notification_row_id AND status = 'pending' AND next_at > $now`)
const health = sql<Health>(
  'SELECT disabled_reason, last_success_at, failing_since FROM notifications WHERE row_id = $notification_row_id',
)

/** Deliveries whose attempts are read in one turn of the event loop. */
const stepRows = 100

/** In steps, between which other work runs: each attempt may have an answer of some kilobytes. */
async function showAll(database: Database, rowIds: number[]): Promise<Delivery[]> {
  const shown: Delivery[] = []
  for (let at = 0; at < rowIds.length; at += stepRows) {
    if (at > 0) await yieldToEventLoop()
    const step = await database.read.all(selectDeliveries, { row_ids: rowIds.slice(at, at + stepRows) })
    const attempts = new Map<number, DeliveryAttempt[]>(step.map(({ row_id }) => [row_id, []]))
    const found = await database.read.allOf(
      selectLastAttempts,
      step.map((row) => ({ delivery_row_id: row.row_id })),
    )
    for (const { delivery_row_id, ...attempt } of found) attempts.get(delivery_row_id)?.push(attempt)
    shown.push(...step.map((row) => show(row, attempts.get(row.row_id) ?? [])))
  }
  return shown
}

/** The deliveries in one of the states, created at `since` or later (RFC 3339, UTC, milliseconds). */
const listOf = (
  database: Database,
  notificationRowId: number,
  wanted: Delivery['status'][],
  since = '',
): BlockList => ({
  async blocks(level, from, to) {
    const rows = await database.read.all(blocks, { notification_row_id: notificationRowId, level, from, to })
    return rows.map((row) => countIn(row, wanted, since))
  },
  async numbers(from, to) {
    const range = { notification_row_id: notificationRowId, states: wanted, since, from, to }
    const rows = await database.read.all(numbers, range)
    return rows.map(({ row_id }) => row_id)
  },
})

/** Locks the notification until the commit. */
async function isDisabled(dbTransaction: DatabaseTransaction, notificationRowId: number): Promise<boolean> {
  await dbTransaction.lockNotifications([notificationRowId])
  return (await dbTransaction.one(health, { notification_row_id: notificationRowId }))?.disabled_reason != null
}

export async function listDeliveries(
  database: Database,
  notificationRowId: number,
  slice: PageRequest,
  status: Delivery['status'][],
): Promise<Listing<Delivery>> {
  const found = await findPage(listOf(database, notificationRowId, status.length > 0 ? status : states), slice)
  return { items: await showAll(database, found.items), total_items: found.total_items }
}

/** Makes a delivery pending again, from the start of the retry schedule. */
export const redeliver = (
  database: Database,
  notificationRowId: number,
  id: string,
  auditEntry?: PendingAuditEntry,
): Promise<Delivery | 'missing' | 'disabled'> =>
  database.write(async (dbTransaction) => {
    const isOff = await isDisabled(dbTransaction, notificationRowId)
    const row = await dbTransaction.one(deliveryById, { notification_row_id: notificationRowId, id })
    if (!row) return 'missing'
    if (isOff) return 'disabled'
    await dbTransaction.run(sendAgain, { now: database.effects.now(), row_ids: [row.row_id] })
    const attempts = await dbTransaction.allOf(selectLastAttempts, [{ delivery_row_id: row.row_id }])
    return show(
      (await dbTransaction.one(deliveryById, { notification_row_id: notificationRowId, id })) as StoredDelivery,
      attempts.map(({ delivery_row_id: _, ...attempt }) => attempt),
    )
  }, auditEntry)

/** Resolves to how many deliveries become pending again, now or by `continueBulkChange`. */
export async function redeliverFailed(
  database: Database,
  notificationRowId: number,
  since: string,
  auditEntry?: PendingAuditEntry,
): Promise<number | 'disabled'> {
  const begun = await database.write(
    async (dbTransaction) =>
      (await isDisabled(dbTransaction, notificationRowId))
        ? undefined
        : beginBulkChange(dbTransaction, 'redeliver', notificationRowId, since),
    auditEntry,
  )
  if (begun === undefined) return 'disabled'
  const { changed, isDone } = begun
  if (isDone) return changed
  const rest = await findPage(listOf(database, notificationRowId, ['failed'], since), { offset: 0, limit: 0 })
  return changed + rest.total_items
}

/** Makes the waiting deliveries due. Resolves to their number, of which `continueBulkChange` changes those after the first batch. */
export const retryDeliveries = (
  database: Database,
  notificationRowId: number,
  auditEntry: PendingAuditEntry,
): Promise<number | 'disabled'> =>
  database.write(async (dbTransaction) => {
    if (await isDisabled(dbTransaction, notificationRowId)) return 'disabled'
    const waiting = { notification_row_id: notificationRowId, now: dbTransaction.effects.now() }
    const { count } = (await dbTransaction.one(countWaiting, waiting)) as { count: number }
    if (count > 0) await beginBulkChange(dbTransaction, 'retry', notificationRowId)
    return count
  }, auditEntry)

export async function notificationHealth({ read }: Database, notificationRowId: number): Promise<NotificationHealth> {
  const its = { notification_row_id: notificationRowId }
  const known = (await read.one(health, its)) as Health
  const counts = (await read.one(countAll, its)) as Counts
  return { ...known, status: known.disabled_reason === null ? 'enabled' : 'disabled', ...counts }
}

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
const rowIdOfNotification = sql<{ row_id: number }>(
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
// A failed attempt changes nothing of a delivery that was given up, or is to be sent again from the start, during the attempt.
const setVerdict = sql(`
  UPDATE deliveries SET status = $status, failures = $failures, next_at = $next_at
  WHERE row_id = $delivery_row_id AND ($status = 'delivered' OR status = 'pending' AND failures = $failures_before)`)
const isThere = sql('SELECT 1 AS there FROM deliveries WHERE row_id = $delivery_row_id')
const insertAttempt = sql(`
  INSERT INTO delivery_attempts (delivery_row_id, number, attempted_at, duration_ms, http_status, error_message, response_body)
  VALUES ($delivery_row_id, $number, $attempted_at, $duration_ms, $http_status, $error_message, $response_body)`)
const succeed = sql(`
  UPDATE notifications SET last_success_at = $at, failing_since = NULL WHERE row_id = $notification_row_id`)
const fail = sql(`
  UPDATE notifications SET failing_since = coalesce(failing_since, $at) WHERE row_id = $notification_row_id`)
const disable = sql('UPDATE notifications SET disabled_reason = $reason WHERE row_id = $notification_row_id')

/** The age up to which a delivery is retried out of turn: longer than the retry schedule. */
const retriedMs = 120 * 3_600_000

async function recordOne(dbTransaction: DatabaseTransaction, result: DeliveryResult): Promise<void> {
  const { delivery_row_id, notification_row_id, attempt, disable: reason, recovered, ...verdict } = result
  const { attempted_at: at } = attempt
  const isChanged = (await dbTransaction.run(setVerdict, { delivery_row_id, ...verdict })) > 0
  // It was deleted with its notification.
  if (!isChanged && !(await dbTransaction.one(isThere, { delivery_row_id }))) return
  await dbTransaction.run(insertAttempt, { delivery_row_id, ...attempt })
  await dbTransaction.run(verdict.status === 'delivered' ? succeed : fail, { at, notification_row_id })
  // Older ones would be repeated for ever, where one event fails and the others do not.
  const since = new Date(dbTransaction.effects.now() - retriedMs).toISOString()
  if (recovered) await beginBulkChange(dbTransaction, 'retry', notification_row_id, since)
  if (reason === undefined) return
  await dbTransaction.run(disable, { reason, notification_row_id })
  await beginBulkChange(dbTransaction, 'give_up', notification_row_id)
}

/** The row ids of the notifications that have pending deliveries. */
export const targetsAtWork = async (database: Database): Promise<number[]> =>
  (await database.read.all(atWork)).map(({ target }) => target)

export const getTarget = (database: Database, rowId: number): Promise<Target | undefined> =>
  database.rights.require('notifications', () => database.read.one(selectTarget, { row_id: rowId }))

export const targetRowId = async (database: Database, id: string, creator?: string): Promise<number | undefined> =>
  (await database.read.one(rowIdOfNotification, { id, creator: creator ?? null }))?.row_id

/** The due deliveries, oldest first; of each subject only the earliest pending one. */
export const dueDeliveries = (database: Database, rowId: number, time: number, limit: number): Promise<DueDelivery[]> =>
  database.read.all(due, { row_id: rowId, time, limit })

/** The body of a delivery; undefined when the delivery was deleted. */
export async function bodyOf(database: Database, rowId: number): Promise<string | undefined> {
  const stored = await database.read.one(selectBody, { row_id: rowId })
  return stored && withData(stored.body, stored.data)
}

/** The time at which the next delivery is due, in milliseconds since the Unix epoch. */
export const nextDueAt = async (database: Database, rowId: number): Promise<number | undefined> =>
  (await database.read.one(nextDue, { row_id: rowId }))?.next ?? undefined

// Many attempts end at the same time, so they share a commit. After a kill, attempts that were not committed are repeated.
const deliveryResults = oneByOne(({ notification_row_id }: DeliveryResult) => notification_row_id, recordOne)

/** Stores a delivery attempt and its consequences. */
export const recordDelivery = (database: Database, result: DeliveryResult): Promise<void> =>
  database.groupCommitOfDeliveries(deliveryResults, result)

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

const insertBulkChange = sql<BulkChange>(
  (engine) => `
  INSERT INTO bulk_changes AS known (kind, notification_row_id, since, done_to, up_to)
  VALUES ($kind, $notification_row_id, $since, 0, (SELECT coalesce(max(row_id), 0) FROM deliveries))
  ON CONFLICT (kind, notification_row_id)
    DO UPDATE SET since = ${least[engine]}(known.since, excluded.since), done_to = 0, up_to = excluded.up_to
  RETURNING *`,
)
const oldestBulkChange = sql<BulkChange>('SELECT * FROM bulk_changes ORDER BY row_id LIMIT 1')
const lockBulkChange = sql<BulkChange>('SELECT * FROM bulk_changes WHERE row_id = $row_id FOR UPDATE')
const advanceBulkChange = sql('UPDATE bulk_changes SET done_to = $done_to WHERE row_id = $row_id')
const endBulkChange = sql('DELETE FROM bulk_changes WHERE row_id = $row_id')
const stateOfNotification = sql<{ disabled_reason: string | null }>(
  'SELECT disabled_reason FROM notifications WHERE row_id = $notification_row_id',
)
const deliveriesInState = sql<{ row_id: number; created_at: string }>(
  (engine) => `
  SELECT row_id, created_at FROM deliveries${indexedBy[engine]('deliveries_of')}
  WHERE notification_row_id = $notification_row_id AND status = $status AND row_id > $done_to AND row_id <= $up_to
  ORDER BY row_id LIMIT ${maxBatch}`,
)
// Locked, so that no attempt is added meanwhile: the notification, which has the lock of its deliveries, may be gone.
const anyDeliveries = sql<{ row_id: number }>(`
  SELECT row_id FROM deliveries WHERE notification_row_id = $notification_row_id
  ORDER BY status, row_id LIMIT ${maxRemoved} FOR UPDATE`)
// The attempt is brought forward, so it does not count: the schedule goes on where it is.
const retry = sql(
  (engine) => `
  UPDATE deliveries SET next_at = $now, failures = ${greatest[engine]}(failures - 1, 0)
  WHERE row_id = ANY ($row_ids::bigint[]) AND next_at > $now`,
)
const giveUp = sql(`UPDATE deliveries SET status = 'failed' WHERE row_id = ANY ($row_ids::bigint[])`)
const removals = [
  sql('DELETE FROM delivery_attempts WHERE delivery_row_id = ANY ($row_ids::bigint[])'),
  sql('DELETE FROM deliveries WHERE row_id = ANY ($row_ids::bigint[])'),
]

/**
 * Makes the first batch of a change of a notification's deliveries, and leaves the others to `continueBulkChange`. The caller holds the
 * lock of the notification's row. An unfinished change of the same kind starts over. After a restart it continues with the first batch that
 * was not committed.
 */
export async function beginBulkChange(
  dbTransaction: DatabaseTransaction,
  kind: BulkChangeKind,
  notificationRowId: number,
  since = '',
): Promise<{ changed: number; isDone: boolean }> {
  const change = await dbTransaction.one(insertBulkChange, { kind, notification_row_id: notificationRowId, since })
  return changeBatch(dbTransaction, change as BulkChange)
}

/** The number of changed deliveries, and whether it was the last batch. */
async function changeBatch(dbTransaction: DatabaseTransaction, { row_id, ...change }: BulkChange) {
  const { changed, done_to } = await (change.kind === 'remove' ? removeSome : changeSome)(dbTransaction, change)
  if (done_to === undefined) await dbTransaction.run(endBulkChange, { row_id })
  else await dbTransaction.run(advanceBulkChange, { row_id, done_to })
  return { changed, isDone: done_to === undefined }
}

/** `done_to`: the last row id of the batch; undefined: it was the last one. */
type Batch = { changed: number; done_to: number | undefined }

async function removeSome(dbTransaction: DatabaseTransaction, change: Omit<BulkChange, 'row_id'>): Promise<Batch> {
  const { notification_row_id, done_to } = change
  const rowIds = (await dbTransaction.all(anyDeliveries, { notification_row_id })).map(({ row_id }) => row_id)
  for (const removal of removals) await dbTransaction.run(removal, { row_ids: rowIds })
  return { changed: rowIds.length, done_to: rowIds.length < maxRemoved ? undefined : done_to }
}

async function changeSome(dbTransaction: DatabaseTransaction, change: Omit<BulkChange, 'row_id'>): Promise<Batch> {
  const { kind, notification_row_id, since, done_to, up_to } = change
  const known = await dbTransaction.one(stateOfNotification, { notification_row_id })
  // If the notification was deleted, enabled or disabled meanwhile, that replaces this change.
  if (!known || (kind === 'give_up') !== (known.disabled_reason !== null)) return { changed: 0, done_to: undefined }
  const status = kind === 'redeliver' ? 'failed' : 'pending'
  const rows = await dbTransaction.all(deliveriesInState, { notification_row_id, status, done_to, up_to })
  const rowIds = rows.filter(({ created_at }) => created_at >= since).map(({ row_id }) => row_id)
  const now = dbTransaction.effects.now()
  const changed =
    kind === 'give_up'
      ? await dbTransaction.run(giveUp, { row_ids: rowIds })
      : await dbTransaction.run(kind === 'retry' ? retry : sendAgain, { now, row_ids: rowIds })
  return { changed, done_to: rows.length < maxBatch ? undefined : rows.at(-1)?.row_id }
}

/**
 * Bulk changes of deliveries (redeliver, retry, give up, remove) do their first batch at once. This does the next batch of the oldest
 * unfinished bulk change; false when there is none.
 */
export const continueBulkChange = (database: Database): Promise<boolean> =>
  database.write(async (dbTransaction) => {
    const change = await dbTransaction.one(oldestBulkChange)
    if (!change) return false
    await dbTransaction.lockNotifications([change.notification_row_id])
    // It may have ended or started over before the lock.
    const current = await dbTransaction.one(lockBulkChange, { row_id: change.row_id })
    if (current) await changeBatch(dbTransaction, current)
    return true
  })

export const hasBulkChange = async (database: Database): Promise<boolean> =>
  (await database.read.one(oldestBulkChange)) !== undefined
