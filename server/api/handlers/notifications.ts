import { creatorSeenBy, deletedIf, type Handlers, page } from '../../domain/operation.ts'
import type { ServicesContext } from '../../services/context.ts'
import {
  createNotification,
  deleteNotification,
  notificationRowId,
  redeliver,
  updateNotification,
} from '../../services/notifications.ts'

type Context = Pick<ServicesContext, 'store' | 'makeId' | 'now' | 'vault' | 'webhooks' | 'checkTarget'>

/** Notifications and their deliveries. */
export const notifications = (context: Context) =>
  ({
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

    deleteNotification: async ({ path: { notification_id: id }, caller, auditEntry, ifMatch }) =>
      deletedIf(await deleteNotification(context, caller, id, { auditEntry, ifMatch }), id),

    getNotificationHealth: async ({ path, caller }) =>
      context.store.notificationHealth(await notificationRowId(context, path.notification_id, caller)),

    async listNotificationDeliveries({ path, query, caller }) {
      const rowId = await notificationRowId(context, path.notification_id, caller)
      return page(
        query,
        (slice) => context.store.listDeliveries(rowId, slice, query.status),
        (delivery) => delivery,
      )
    },

    redeliverDeliveries: async ({ path, body, auditEntry, caller }) =>
      redeliver(context, await notificationRowId(context, path.notification_id, caller), body, auditEntry),

    testNotification: async ({ path, caller }) =>
      context.webhooks.sendTest(await notificationRowId(context, path.notification_id, caller)),
  }) satisfies Partial<Handlers>
