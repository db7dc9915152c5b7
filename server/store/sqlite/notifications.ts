import type { Notification } from '../../../generated/openapi.ts'
import type { NotificationRow, Store } from '../store.ts'
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
  const updateTarget = db.prepare<[string | null, string | null, string]>(`
    UPDATE notifications SET type = coalesce(?, type), url = coalesce(?, url) WHERE id = ?`)
  const updateKey = db.prepare<[Uint8Array | null, string]>('UPDATE notifications SET signing_key = ? WHERE id = ?')
  const used = db.prepare('SELECT 1 FROM relayers WHERE notification_id = ?')
  const remove = db.prepare('DELETE FROM notifications WHERE id = ?')

  const get = (id: string) => {
    const row = select.get(id)
    return row && read(row)
  }

  return {
    createNotification: async (notification) => write(() => insert.run(notification).changes === 1),
    getNotification: async (id) => get(id),
    listNotifications: lister(db, 'notifications', columns, read),
    updateNotification: async (id, { type, url, signing_key }) =>
      write(() => {
        updateTarget.run(type ?? null, url ?? null, id)
        if (signing_key !== undefined) updateKey.run(signing_key, id)
        return get(id)
      }),
    deleteNotification: async (id) =>
      writeCached(() => {
        if (used.get(id)) return 'in_use'
        return remove.run(id).changes === 1 ? 'deleted' : 'missing'
      }),
  }
}

const read = (row: Row): Notification => ({ ...row, has_signing_key: row.has_signing_key === 1 })
