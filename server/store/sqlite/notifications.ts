import type { NotificationRow } from '../../core/rows.ts'
import { type Row, read } from '../notification-rows.ts'
import type { Store } from '../store.ts'
import type { StoreDependencies } from '../store-dependencies.ts'
import { createBulkChanges } from './bulk-changes.ts'
import type { Connection } from './connection.ts'
import { lister } from './lists.ts'

/** The column list omits the signing key and has only whether one exists. */
const columns = 'id, type, url, signing_key IS NOT NULL AS has_signing_key'

type Notifications = Pick<
  Store,
  'createNotification' | 'getNotification' | 'listNotifications' | 'updateNotification' | 'deleteNotification'
>

export function notifications({ db, write, writeCached }: Connection, { now }: StoreDependencies): Notifications {
  const select = db.prepare<[string], Row>(`SELECT ${columns} FROM notifications WHERE id = ?`)
  // `createNotification` limits the number of rows of one creator.
  const selectOf = db.prepare<[string], Row>(
    `SELECT ${columns} FROM notifications WHERE created_by = +? ORDER BY row_id`,
  )
  const insert = db.prepare<[NotificationRow]>(`
    INSERT INTO notifications (id, type, url, signing_key, created_by)
    VALUES ($id, $type, $url, $signing_key, $created_by)
    ON CONFLICT DO NOTHING`)
  // A new URL or key may work although the old one failed, so the notification is enabled again.
  const updateTarget = db.prepare<[object]>(`
    UPDATE notifications SET type = coalesce($type, type), url = coalesce($url, url),
      disabled_reason = NULL, failing_since = NULL
    WHERE id = $id AND ($url IS NOT NULL OR $type IS NOT NULL)`)
  const updateKey = db.prepare<[object]>(`
    UPDATE notifications SET signing_key = $signing_key,
      former_key = iif($signing_key IS NULL, NULL, signing_key),
      former_until = iif($signing_key IS NULL OR signing_key IS NULL, NULL, $former_until),
      disabled_reason = NULL, failing_since = NULL
    WHERE id = $id`)
  const rowIdOf = db.prepare<[string], number>('SELECT row_id FROM notifications WHERE id = ?').pluck()
  const creatorOf = db.prepare<[string], string>('SELECT created_by FROM notifications WHERE id = ?').pluck()
  const countOf = db.prepare<[string], number>('SELECT COUNT(*) FROM notifications WHERE created_by = ?').pluck()
  const used = db.prepare('SELECT 1 FROM relayers WHERE notification_id = ?')
  const remove = db.prepare('DELETE FROM notifications WHERE id = ?')

  const bulk = createBulkChanges({ db }, now)

  const get = (id: string) => {
    const row = select.get(id)
    return row && read(row)
  }
  const isForeign = (id: string, creator: string | undefined) => creator !== undefined && creatorOf.get(id) !== creator
  const listAll = lister(db, 'notifications', columns, read)

  return {
    createNotification: async (notification, max_of_creator) =>
      write(() => {
        if (max_of_creator !== undefined && (countOf.get(notification.created_by) as number) >= max_of_creator) {
          return 'too_many'
        }
        return insert.run(notification).changes === 1 ? 'created' : 'id_taken'
      }),
    getNotification: async (id, creator) => (isForeign(id, creator) ? undefined : get(id)),
    listNotifications: async (slice, creator) => {
      if (creator === undefined) return listAll(slice)
      const rows = selectOf.all(creator)
      return { items: rows.slice(slice.offset, slice.offset + slice.limit).map(read), total_items: rows.length }
    },
    updateNotification: async (id, { type = null, url = null, signing_key, former_until }, creator) =>
      write(() => {
        if (isForeign(id, creator)) return undefined
        updateTarget.run({ id, type, url })
        if (signing_key !== undefined) updateKey.run({ id, signing_key, former_until })
        return get(id)
      }),
    deleteNotification: async (id, creator) =>
      writeCached(() => {
        const row_id = rowIdOf.get(id)
        // Checked before any change, because a change would commit the audit entry as a success.
        if (row_id === undefined || isForeign(id, creator)) return 'missing'
        if (used.get(id)) return 'in_use'
        bulk.begin('remove', row_id)
        return remove.run(id).changes === 1 ? 'deleted' : 'missing'
      }),
  }
}
