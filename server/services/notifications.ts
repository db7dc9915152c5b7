import type {
  CreateNotificationRequest,
  Notification,
  RedeliverDeliveriesRequest,
  UpdateNotificationRequest,
} from '../../generated/openapi.ts'
import { badRequest, conflict, namedError, notFound, notificationNotFound } from '../domain/errors.ts'
import { type Caller, creatorSeenBy } from '../domain/operation.ts'
import { requireRevision } from '../domain/revision.ts'
import type { Conditions, NotificationChanges, PendingAuditEntry } from '../domain/rows.ts'
import { readFilter, readTime } from '../domain/values.ts'
import type { ServicesContext } from './context.ts'
import { isDeleted } from './deletions.ts'

/* Notifications: the webhooks that relayers report to. */

/** The limit of an API key that is limited to relayers. */
const maxOfLimitedKey = 100
/** For this long, a replaced signing key signs deliveries in addition to the new one. */
const formerKeyMs = 24 * 3_600_000

type Store = Pick<ServicesContext, 'store'>
type Vault = Pick<ServicesContext, 'vault' | 'checkTarget'>

/** Throws DomainError (400, 409). */
export async function createNotification(
  context: Store & Vault & Pick<ServicesContext, 'makeId'>,
  caller: Caller,
  { id = context.makeId(), type = 'webhook', url, signing_key = '', filter }: CreateNotificationRequest,
  auditEntry: PendingAuditEntry,
): Promise<Notification> {
  checkUrl(context, url)
  const createdBy = caller.id
  const key = sealed(context, id, signing_key)
  const notification = { id, type, url, signing_key: key, created_by: createdBy, filter: readFilter(filter ?? {}) }
  const maxOfCreator = creatorSeenBy(caller) === undefined ? undefined : maxOfLimitedKey
  auditEntry.subject = id
  const outcome = await context.store.createNotification(notification, auditEntry, maxOfCreator)
  if (outcome === 'id_taken') throw conflict('already_exists', ['id'], 'a notification with this id already exists')
  if (outcome === 'too_many') {
    const message = `this API key has reached its limit of ${maxOfLimitedKey} notifications; delete one first`
    throw conflict('limit_reached', [], message)
  }
  return outcome
}

/** Undefined: there is none that the caller may change. Throws DomainError (400, 412, 428). */
export async function updateNotification(
  context: Store & Vault & Pick<ServicesContext, 'now'>,
  caller: Caller,
  id: string,
  { body, auditEntry, ifMatch }: Conditions & { body: UpdateNotificationRequest },
): Promise<Notification | undefined> {
  if (!namesTargetOnly(body)) requireRevision(ifMatch, body, ['url', 'signing_key'])
  const changes: NotificationChanges = { former_until: context.now() + formerKeyMs }
  if (body.type !== undefined) changes.type = body.type
  if (body.filter !== undefined) changes.filter = body.filter
  if (body.url !== undefined) {
    checkUrl(context, body.url)
    changes.url = body.url
  }
  if (typeof body.signing_key === 'string') changes.signing_key = sealed(context, id, body.signing_key)
  return context.store.updateNotification(id, changes, { auditEntry, ifMatch, creator: creatorSeenBy(caller) })
}

/** Whether there was one that the caller may delete. Throws DomainError (409, 412). */
export async function deleteNotification(
  { store }: Store,
  caller: Caller,
  id: string,
  conditions: Conditions,
): Promise<boolean> {
  const outcome = await store.deleteNotification(id, { ...conditions, creator: creatorSeenBy(caller) })
  return isDeleted('notification_id', outcome, caller)
}

/** The row of a notification that the caller may use. Throws DomainError (404). */
export async function notificationRowId({ store }: Store, id: string, caller: Caller): Promise<number> {
  const rowId = await store.targetRowId(id, creatorSeenBy(caller))
  if (rowId === undefined) throw notificationNotFound()
  return rowId
}

/** Sends deliveries again: one, those that failed since a time, or all that wait. Throws DomainError (400, 404, 409). */
export async function redeliver(
  { store, webhooks }: Pick<ServicesContext, 'store' | 'webhooks'>,
  rowId: number,
  { delivery_id, since }: RedeliverDeliveriesRequest,
  auditEntry: PendingAuditEntry,
): Promise<{ redelivered_count: number }> {
  const redelivered = await (delivery_id !== undefined
    ? store.redeliver(rowId, delivery_id, auditEntry)
    : since !== undefined
      ? store.redeliverFailed(rowId, readTime(since, ['since']), auditEntry)
      : store.retryDeliveries(rowId, auditEntry))
  if (redelivered === 'missing') throw notFound(`Delivery with ID ${delivery_id} not found`)
  if (redelivered === 'disabled') {
    const message = 'the notification is disabled; update its url or signing_key to enable it'
    throw namedError('invalid_state', 'notification_id', message)
  }
  webhooks.wake(rowId)
  return { redelivered_count: typeof redelivered === 'number' ? redelivered : 1 }
}

/** Empty text means no key. */
const sealed = ({ vault }: Pick<Vault, 'vault'>, id: string, key: string): Uint8Array | null =>
  key === '' ? null : vault.seal(Buffer.from(key, 'utf8'), `notifications:${id}`)

/** One member of the target, as clients of the OpenZeppelin Relayer send it: nothing beside it was read before. */
const namesTargetOnly = ({ type: _, ...target }: UpdateNotificationRequest): boolean =>
  Object.values(target).filter((value) => value !== undefined).length === 1

/** What the name of a host means is checked at each delivery. */
function checkUrl({ checkTarget }: Vault, text: string) {
  const url = URL.parse(text)
  if (!url) throw badRequest(['url'], 'must be an absolute URL, for example https://example.com/hook')
  if (url.username || url.password) throw badRequest(['url'], 'must not contain a user name or password')
  const refused = checkTarget(url)
  if (refused) throw badRequest(['url'], refused)
}
