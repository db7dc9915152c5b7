import { namedError, notFound, notificationNotFound } from '../../domain/errors.ts'
import { type Caller, creatorSeenBy, type Handlers, page } from '../../domain/operation.ts'
import { readTime } from '../../domain/values.ts'
import type { ServicesContext } from '../../services/context.ts'
import { eventStream } from '../../webhooks/event-stream.ts'

type Deliveries = Pick<
  Handlers,
  | 'getNotificationHealth'
  | 'listNotificationDeliveries'
  | 'redeliverEvents'
  | 'testNotification'
  | 'streamRelayerEvents'
>

/** The state of a notification's deliveries, redelivery, and event streams. */
export function deliveries(context: ServicesContext): Deliveries {
  const { store, keyring, webhooks, shares } = context

  async function find(notificationId: string, caller: Caller): Promise<number> {
    const rowId = await store.targetRowId(notificationId, creatorSeenBy(caller))
    if (rowId === undefined) throw notificationNotFound()
    return rowId
  }
  const disabled = () =>
    namedError(
      'invalid_state',
      'notification_id',
      'the notification is disabled; update its url or signing_key to enable it',
    )

  return {
    async getNotificationHealth({ path, caller }) {
      return store.notificationHealth(await find(path.notification_id, caller))
    },

    async listNotificationDeliveries({ path, query, caller }) {
      const rowId = await find(path.notification_id, caller)
      return page(
        query,
        (slice) => store.listDeliveries(rowId, slice, query.status),
        (delivery) => delivery,
      )
    },

    async redeliverEvents({ path, body, auditEntry, caller }) {
      const rowId = await find(path.notification_id, caller)
      const redelivered = await (body.delivery_id !== undefined
        ? store.redeliver(rowId, body.delivery_id, auditEntry)
        : body.since !== undefined
          ? store.redeliverFailed(rowId, readTime(body.since, ['since']), auditEntry)
          : store.retryDeliveries(rowId, auditEntry))
      if (redelivered === 'missing') throw notFound(`Delivery with ID ${body.delivery_id} not found`)
      if (redelivered === 'disabled') throw disabled()
      webhooks.wake(rowId)
      return { redelivered: typeof redelivered === 'number' ? redelivered : 1 }
    },

    async streamRelayerEvents({ path, header, query, caller, onClose }) {
      const relayer = await keyring.findRelayer(path.relayer_id)
      const last = header['Last-Event-ID']
      onClose(shares.streams.hold(caller, 1).release)
      const { recent = 0 } = query
      const after =
        last !== undefined
          ? Number(last)
          : recent > 0
            ? Math.max(0, (await store.lastEvent(relayer.row_id)) - recent)
            : undefined
      return eventStream(context, relayer.row_id, after)
    },

    async testNotification({ path, caller }) {
      return webhooks.sendTest(await find(path.notification_id, caller))
    },
  }
}
