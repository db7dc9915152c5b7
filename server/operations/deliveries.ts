import type { DeliveryAttempt } from '../../generated/openapi.ts'
import { conflict, notFound, notificationNotFound } from '../core/errors.ts'
import { type Caller, creatorSeenBy, type Handlers, single } from '../core/operation.ts'
import type { Store } from '../store/store.ts'
import { page } from './page.ts'
import { readTime } from './values.ts'

export interface DeliveryDependencies {
  store: Store
  sendTest(notification_row_id: number): Promise<DeliveryAttempt>
  /** Throws ApiError (404) when the relayer does not exist. */
  findRelayer(relayer_id: string): Promise<{ row_id: number }>
  /** The events of a relayer after a sequence number, or from now on. */
  follow(relayer_row_id: number, last_event_id: number | undefined): AsyncIterable<string>
  /** Holds a share of the open event streams. Throws ApiError (429, 503). */
  holdStream(caller: Caller): { release(): void }
  /** There are deliveries to make. */
  wakeDeliverer(notification_row_id: number): void
}

type Deliveries = Pick<
  Handlers,
  'getNotificationHealth' | 'listDeliveries' | 'redeliver' | 'redeliverFailed' | 'testNotification' | 'streamEvents'
>

/** The state of a notification's deliveries, redelivery, and event streams. */
export function deliveries(dependencies: DeliveryDependencies): Deliveries {
  const { store, sendTest, findRelayer, follow, wakeDeliverer } = dependencies

  async function find(notification_id: string, caller: Caller): Promise<number> {
    const row_id = await store.targetRowId(notification_id, creatorSeenBy(caller))
    if (row_id === undefined) throw notificationNotFound()
    return row_id
  }
  const disabled = () =>
    conflict('/path/notification_id', 'the notification is disabled; update its url or signing_key to enable it')

  return {
    async getNotificationHealth({ path, caller }) {
      return single(await store.notificationHealth(await find(path.notification_id, caller)))
    },

    async listDeliveries({ path, query, caller }) {
      const row_id = await find(path.notification_id, caller)
      return page(
        query,
        (slice) => store.listDeliveries(row_id, slice, query.status),
        (delivery) => delivery,
      )
    },

    async redeliver({ path, auditEntry, caller }) {
      const row_id = await find(path.notification_id, caller)
      const delivery = await store.withAudit(auditEntry, () => store.redeliver(row_id, path.delivery_id))
      if (delivery === 'missing') throw notFound(`Delivery with ID ${path.delivery_id} not found`)
      if (delivery === 'disabled') throw disabled()
      wakeDeliverer(row_id)
      return single(delivery)
    },

    async redeliverFailed({ path, body, auditEntry, caller }) {
      const since = readTime(body.since, '/body/since')
      const row_id = await find(path.notification_id, caller)
      const redelivered = await store.withAudit(auditEntry, () => store.redeliverFailed(row_id, since))
      if (redelivered === 'disabled') throw disabled()
      wakeDeliverer(row_id)
      return single({ redelivered })
    },

    async streamEvents({ path, header, caller, onClose }) {
      const relayer = await findRelayer(path.relayer_id)
      const last = header['Last-Event-ID']
      onClose(dependencies.holdStream(caller).release)
      return follow(relayer.row_id, last === undefined ? undefined : Number(last))
    },

    async testNotification({ path, caller }) {
      return single(await sendTest(await find(path.notification_id, caller)))
    },
  }
}
