import type { Delivery, NotificationHealth } from '../../generated/openapi.ts'
import type { DueDelivery, EventRow, Listing, PendingAuditEntry, Settlement, Slice, Target } from '../core/rows.ts'

/** Events and their deliveries to notifications. */
export interface OutboxStore {
  /** Events of a relayer after a sequence number, in order: at most `limit`, fewer if they are large, and at least one if any exists. */
  events(relayer_row_id: number, after: number, limit: number): Promise<EventRow[]>
  /** Those of the transactions that were sent through a pool, among the next `limit`. `seen`: the last one that was looked at. */
  eventsOfPool(
    pool_row_id: number,
    relayer_row_id: number,
    after: number,
    limit: number,
  ): Promise<{ events: EventRow[]; seen: number }>
  lastEvent(relayer_row_id: number): Promise<number>
  /** Writes an event when the balance falls below the policy; the next one only after the balance has recovered. */
  noteBalance(relayer_row_id: number, balance: string, min_balance: string, isLow: boolean): Promise<void>

  /** The row ids of the notifications that have pending deliveries. */
  targetsAtWork(): Promise<number[]>
  getTarget(notification_row_id: number): Promise<Target | undefined>
  targetRowId(notification_id: string, creator?: string): Promise<number | undefined>
  /** The due deliveries, oldest first; of each subject only the earliest pending one. */
  dueDeliveries(notification_row_id: number, now: number, limit: number): Promise<DueDelivery[]>
  /** The body of a delivery; undefined when the delivery was deleted. */
  bodyOf(delivery_row_id: number): Promise<string | undefined>
  /** The time at which the next delivery is due, in milliseconds since the Unix epoch. */
  nextDueAt(notification_row_id: number): Promise<number | undefined>
  /** Stores a delivery attempt and its consequences. */
  settleDelivery(settlement: Settlement): Promise<void>
  listDeliveries(notification_row_id: number, slice: Slice, status: Delivery['status'][]): Promise<Listing<Delivery>>
  /** Makes a delivery pending again, from the start of the retry schedule. */
  redeliver(
    notification_row_id: number,
    delivery_id: string,
    auditEntry?: PendingAuditEntry,
  ): Promise<Delivery | 'missing' | 'disabled'>
  /** Resolves to how many deliveries become pending again, now or by `continueBulkChange`. */
  redeliverFailed(
    notification_row_id: number,
    since: string,
    auditEntry?: PendingAuditEntry,
  ): Promise<number | 'disabled'>
  /** Makes the waiting deliveries due. Resolves to their number, of which `continueBulkChange` changes those after the first batch. */
  retryDeliveries(notification_row_id: number, auditEntry: PendingAuditEntry): Promise<number | 'disabled'>
  notificationHealth(notification_row_id: number): Promise<NotificationHealth>
  /**
   * Bulk changes of deliveries (redeliver, retry, give up, remove) do their first batch at once. This does the next batch of the oldest
   * unfinished bulk change; false when there is none.
   */
  continueBulkChange(): Promise<boolean>
  hasBulkChange(): Promise<boolean>
}
