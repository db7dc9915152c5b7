import type { UpdateNotificationRequest } from '../../../generated/openapi.ts'
import { badRequest, conflict } from '../../domain/errors.ts'
import { creatorSeenBy, deleted, type Handlers, page } from '../../domain/operation.ts'
import { requireRevision } from '../../domain/revision.ts'
import type { NotificationChanges } from '../../domain/rows.ts'
import type { ServicesContext } from '../../services/context.ts'
import { ApiError, conflictAt } from '../http/errors.ts'

/** The limit of an API key that is limited to relayers. */
const maxOfLimitedKey = 100
/** For this long, a replaced signing key signs deliveries in addition to the new one. */
const formerKeyMs = 24 * 3_600_000

type Notifications = Pick<
  Handlers,
  'createNotification' | 'listNotifications' | 'getNotification' | 'updateNotification' | 'deleteNotification'
>

export function notifications({
  store,
  makeId,
  now,
  vault,
}: Pick<ServicesContext, 'store' | 'makeId' | 'now' | 'vault'>): Notifications {
  /** Empty text means no key. */
  const sealed = (id: string, key: string) =>
    key === '' ? null : vault.seal(Buffer.from(key, 'utf8'), `notifications:${id}`)

  return {
    async createNotification({ body, caller, auditEntry }) {
      const { id = makeId(), type = 'webhook', url, signing_key = '', filter } = body
      checkUrl(url)
      const createdBy = caller.id
      const notification = {
        id,
        type,
        url,
        signing_key: sealed(id, signing_key),
        created_by: createdBy,
        filter: filter ?? null,
      }
      const maxOfCreator = creatorSeenBy(caller) === undefined ? undefined : maxOfLimitedKey
      auditEntry.subject = id
      const outcome = await store.createNotification(notification, auditEntry, maxOfCreator)
      if (outcome === 'id_taken') throw new ApiError('already_exists', 'Notification with this ID already exists')
      if (outcome === 'too_many') {
        throw conflict(
          'limit_reached',
          [],
          `this API key has reached its limit of ${maxOfLimitedKey} notifications; delete one first`,
        )
      }
      return outcome
    },

    listNotifications: ({ query, caller }) =>
      page(
        query,
        (slice) => store.listNotifications(slice, creatorSeenBy(caller)),
        (notification) => notification,
      ),

    getNotification: ({ path, caller }) => store.getNotification(path.notification_id, creatorSeenBy(caller)),

    async updateNotification({ path, body, caller, auditEntry, ifMatch }) {
      if (!namesTargetOnly(body)) requireRevision(ifMatch, body, ['url', 'signing_key'])
      const changes: NotificationChanges = { former_until: now() + formerKeyMs }
      if (body.type !== undefined) changes.type = body.type
      if (body.filter !== undefined) changes.filter = body.filter
      if (body.url !== undefined) {
        checkUrl(body.url)
        changes.url = body.url
      }
      if (typeof body.signing_key === 'string') changes.signing_key = sealed(path.notification_id, body.signing_key)
      const creator = creatorSeenBy(caller)
      return store.updateNotification(path.notification_id, changes, { auditEntry, ifMatch, creator })
    },

    async deleteNotification({ path, caller, auditEntry, ifMatch }) {
      const creator = creatorSeenBy(caller)
      const outcome = await store.deleteNotification(path.notification_id, { auditEntry, ifMatch, creator })
      if (outcome === 'missing') return undefined
      if (outcome === 'in_use')
        throw conflictAt(
          'in_use',
          '/path/notification_id',
          'a relayer reports to this notification; remove its notification_id first',
        )
      return deleted(path.notification_id)
    },
  }
}

/** One member of the target, as clients of the OpenZeppelin Relayer send it: nothing beside it was read before. */
const namesTargetOnly = ({ type: _, ...target }: UpdateNotificationRequest): boolean =>
  Object.values(target).filter((value) => value !== undefined).length === 1

/** Checks only the form. Whether the address may be called is checked at each delivery. */
function checkUrl(text: string) {
  const url = URL.parse(text)
  if (!url) throw badRequest(['url'], 'must be an absolute URL, for example https://example.com/hook')
  if (url.username || url.password) throw badRequest(['url'], 'must not contain a user name or password')
}
