import type { Notification } from '../../../generated/openapi.ts'
import type { NotificationRow } from '../rows.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { lister } from './lists.ts'

type Row = Omit<Notification, 'has_signing_key'> & { has_signing_key: 0 | 1 }

/** The signing key itself is in no column list: only whether there is one. */
const columns = 'id, type, url, signing_key IS NOT NULL AS has_signing_key'

type Notifications = Pick<
  Store,
  'createNotification' | 'getNotification' | 'listNotifications' | 'updateNotification' | 'deleteNotification'
>

export function notifications({ db, write, writeCached }: Connection): Notifications {
  const select = db.prepare<[string], Row>(`SELECT ${columns} FROM notifications WHERE id = ?`)
  const insert = db.prepare<[NotificationRow]>(`
    INSERT INTO notifications (id, type, url, signing_key) VALUES ($id, $type, $url, $signing_key)
    ON CONFLICT DO NOTHING`)
  // A new address or a new key is a new beginning: whatever disabled the old one says nothing of it.
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
  const keyOf = db.prepare<[string], number>('SELECT key FROM notifications WHERE id = ?').pluck()
  const used = db.prepare('SELECT 1 FROM relayers WHERE notification_id = ?')
  const remove = db.prepare('DELETE FROM notifications WHERE id = ?')

  const removeDeliveries = [
    'DELETE FROM delivery_attempts WHERE delivery_key IN (SELECT key FROM deliveries WHERE notification_key = ?)',
    'DELETE FROM deliveries WHERE notification_key = ?',
  ].map((statement) => db.prepare<[number]>(statement))

  const get = (id: string) => {
    const row = select.get(id)
    return row && read(row)
  }

  return {
    createNotification: async (notification) => write(() => insert.run(notification).changes === 1),
    getNotification: async (id) => get(id),
    listNotifications: lister(db, 'notifications', columns, read),
    updateNotification: async (id, { type = null, url = null, signing_key, former_until }) =>
      write(() => {
        updateTarget.run({ id, type, url })
        if (signing_key !== undefined) updateKey.run({ id, signing_key, former_until })
        return get(id)
      }),
    deleteNotification: async (id) =>
      writeCached(() => {
        if (used.get(id)) return 'in_use'
        for (const statement of removeDeliveries) statement.run(keyOf.get(id) ?? 0)
        return remove.run(id).changes === 1 ? 'deleted' : 'missing'
      }),
  }
}

const read = (row: Row): Notification => ({ ...row, has_signing_key: row.has_signing_key === 1 })
