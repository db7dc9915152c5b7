import { creatorSeenBy, deleted, type Handlers, page } from '../../domain/operation.ts'
import type { ServicesContext } from '../../services/context.ts'
import { createNotification, deleteNotification, updateNotification } from '../../services/notifications.ts'

type Notifications = Pick<
  Handlers,
  'createNotification' | 'listNotifications' | 'getNotification' | 'updateNotification' | 'deleteNotification'
>

export const notifications = (context: Pick<ServicesContext, 'store' | 'makeId' | 'now' | 'vault'>): Notifications => ({
  createNotification: ({ body, caller, auditEntry }) => createNotification(context, caller, body, auditEntry),

  listNotifications: ({ query, caller }) =>
    page(
      query,
      (slice) => context.store.listNotifications(slice, creatorSeenBy(caller)),
      (notification) => notification,
    ),

  getNotification: ({ path, caller }) => context.store.getNotification(path.notification_id, creatorSeenBy(caller)),

  updateNotification: ({ path, body, caller, auditEntry, ifMatch }) =>
    updateNotification(context, caller, path.notification_id, { body, auditEntry, ifMatch }),

  async deleteNotification({ path, caller, auditEntry, ifMatch }) {
    const isDeleted = await deleteNotification(context, caller, path.notification_id, { auditEntry, ifMatch })
    return isDeleted ? deleted(path.notification_id) : undefined
  },
})
