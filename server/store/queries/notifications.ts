import type { Notification, NotificationFilter } from '../../../generated/openapi.ts'
import { noteChanges } from '../../domain/changes.ts'
import { checkRevision, revisionOf } from '../../domain/revision.ts'
import {
  type Conditions,
  type Deletion,
  type Listing,
  maxUsers,
  type NotificationChanges,
  type NotificationRow,
  type PageRequest,
  type PendingAuditEntry,
} from '../../domain/rows.ts'
import { mergePatch, readFilter } from '../../domain/values.ts'
import { type Database, type Session, sql, type TableList, usersOf } from './database.ts'
import { beginBulkChange } from './deliveries.ts'
import { hexOf } from './transaction-rows.ts'

type StoredNotification = Pick<Notification, 'id' | 'type' | 'url' | 'created_at'> & {
  signing_key: Uint8Array | null
  filter: string | null
}

/** Of the signing key, which is encrypted, only its fingerprint leaves this file. */
function readNotification({ signing_key, ...row }: StoredNotification): Notification {
  const { id, type, url, created_at } = row
  const filter = row.filter === null ? null : JSON.parse(row.filter)
  const revision = revisionOf('notifications', { type, url, filter, signing_key: signing_key && hexOf(signing_key) })
  return { id, type, url, has_signing_key: signing_key !== null, filter, created_at, revision }
}

const encodeFilter = (filter: NotificationFilter | null): string | null => filter && JSON.stringify(filter)

const notificationColumns = 'id, type, url, signing_key, filter, created_at'

interface Known {
  row_id: number
  created_by: string
}

const selectNotification = sql<StoredNotification>(`
  SELECT ${notificationColumns} FROM notifications
  WHERE id = $id AND ($creator::text IS NULL OR created_by = $creator)`)
// `createNotification` limits the number of rows of one creator.
const selectOf = sql<StoredNotification>(
  `SELECT ${notificationColumns} FROM notifications WHERE created_by = $creator ORDER BY row_id`,
)
const insertNotificationRow = sql<{ row_id: number }>(`
  INSERT INTO notifications (id, type, url, signing_key, created_by, filter)
  VALUES ($id, $type, $url, $signing_key, $created_by, $filter)
  ON CONFLICT DO NOTHING RETURNING row_id`)
// A new URL or key may work although the old one failed, so the notification is enabled again.
const updateTarget = sql(`
  UPDATE notifications SET type = coalesce($type, type), url = coalesce($url, url),
    disabled_reason = NULL, failing_since = NULL
  WHERE row_id = $row_id`)
const updateKey = sql(`
  UPDATE notifications SET signing_key = $signing_key,
    former_key = CASE WHEN $signing_key::bytea IS NULL THEN NULL ELSE signing_key END,
    former_until = CASE WHEN $signing_key::bytea IS NULL OR signing_key IS NULL THEN NULL ELSE $former_until::bigint END,
    disabled_reason = NULL, failing_since = NULL
  WHERE row_id = $row_id`)
const updateFilter = sql('UPDATE notifications SET filter = $filter WHERE row_id = $row_id')
const lockToUpdate = sql<Known>('SELECT row_id, created_by FROM notifications WHERE id = $id FOR NO KEY UPDATE')
const lockToDelete = sql<Known>('SELECT row_id, created_by FROM notifications WHERE id = $id FOR UPDATE')
const countOf = sql<{ count: number }>('SELECT count(*) AS count FROM notifications WHERE created_by = $created_by')
const used = sql<{ id: string }>(
  (engine) => `
  SELECT id FROM relayers WHERE notification_id = $id
    OR $id IN (SELECT value FROM ${engine === 'sqlite' ? 'json_each(other_notification_ids)' : 'json_array_elements_text(other_notification_ids::json)'})
  ORDER BY id LIMIT ${maxUsers}`,
)
const deleteNotificationRow = sql('DELETE FROM notifications WHERE row_id = $row_id')

const notificationList: TableList<StoredNotification, Notification> = {
  table: 'notifications',
  columns: notificationColumns,
  read: readNotification,
}

async function get(session: Session, id: string, creator: string | undefined) {
  const row = await session.one(selectNotification, { id, creator: creator ?? null })
  return row && readNotification(row)
}

const isForeign = ({ created_by }: Known, creator: string | undefined) =>
  creator !== undefined && creator !== created_by

/** `maxOfCreator`: the most notifications of its creator; absent: no limit. */
export const createNotification = (
  database: Database,
  { id, type, url, signing_key, filter, created_by }: NotificationRow,
  auditEntry?: PendingAuditEntry,
  maxOfCreator?: number,
): Promise<Notification | 'id_taken' | 'too_many'> =>
  database.writeAlone(async (dbTransaction) => {
    if (maxOfCreator !== undefined) {
      const { count } = (await dbTransaction.one(countOf, { created_by })) as { count: number }
      if (count >= maxOfCreator) return 'too_many'
    }
    const row = await dbTransaction.one(insertNotificationRow, {
      id,
      type,
      url,
      signing_key,
      created_by,
      filter: encodeFilter(filter),
    })
    if (!row) return 'id_taken'
    database.rights.inserted(dbTransaction, 'notifications', row.row_id)
    return (await get(dbTransaction, id, undefined)) as Notification
  }, auditEntry)

/** Here and below, `creator` limits the method to the notifications of one creator; others are treated as missing. */
export const getNotification = (database: Database, id: string, creator?: string): Promise<Notification | undefined> =>
  get(database.read, id, creator)

export async function listNotifications(
  database: Database,
  slice: PageRequest,
  creator?: string,
): Promise<Listing<Notification>> {
  if (creator === undefined) return database.list(notificationList, slice)
  const rows = await database.read.all(selectOf, { creator })
  return { items: rows.slice(slice.offset, slice.offset + slice.limit).map(readNotification), total_items: rows.length }
}

export const updateNotification = (
  database: Database,
  id: string,
  { signing_key, filter, former_until, ...target }: NotificationChanges,
  { auditEntry, ifMatch, creator }: Conditions & { creator?: string | undefined } = {},
): Promise<Notification | undefined> =>
  database.writeAlone(async (dbTransaction) => {
    const known = await dbTransaction.one(lockToUpdate, { id })
    const before = await get(dbTransaction, id, creator)
    if (!known || !before) return undefined
    checkRevision('notifications', before.revision, ifMatch)
    const { row_id } = known
    const { type = null, url = null } = target
    const isTarget = type !== null || url !== null
    if (isTarget || signing_key !== undefined || filter !== undefined)
      await database.rights.updated(dbTransaction, 'notifications', row_id)
    if (isTarget) await dbTransaction.run(updateTarget, { row_id, type, url })
    if (signing_key !== undefined) await dbTransaction.run(updateKey, { row_id, signing_key, former_until })
    if (filter !== undefined) {
      const merged = readFilter(mergePatch(before.filter ?? {}, filter))
      await dbTransaction.run(updateFilter, { row_id, filter: encodeFilter(merged) })
    }
    const after = await get(dbTransaction, id, creator)
    const key = before.has_signing_key ? 'former' : null
    const nextKey = signing_key === undefined ? key : signing_key && 'new'
    noteChanges(
      auditEntry,
      'notifications',
      { ...before, signing_key: key },
      after ? { ...after, signing_key: nextKey } : null,
    )
    return after
  }, auditEntry)

export const deleteNotification = (
  database: Database,
  id: string,
  { auditEntry, ifMatch, creator }: Conditions & { creator?: string | undefined } = {},
): Promise<Deletion> =>
  database.writeCached(async (dbTransaction) => {
    const known = await dbTransaction.one(lockToDelete, { id })
    // Checked before any change, because a change would commit the audit entry as a success.
    if (!known || isForeign(known, creator)) return 'missing'
    const before = ifMatch && (await get(dbTransaction, id, creator))
    if (before) checkRevision('notifications', before.revision, ifMatch)
    const users = await usersOf(dbTransaction, 'reporting_relayers', used, { id })
    if (users) return users
    const { row_id } = known
    await beginBulkChange(dbTransaction, 'remove', row_id)
    await database.rights.deleted(dbTransaction, 'notifications', row_id)
    await dbTransaction.run(deleteNotificationRow, { row_id })
    return 'deleted'
  }, auditEntry)
