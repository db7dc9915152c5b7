import type { CreateRelayerRequest, Relayer, ResourceWarning, UpdateRelayerRequest } from '../../generated/openapi.ts'
import {
  badRequest,
  conflict,
  namedError,
  relayerNotFound,
  unknownNetwork,
  unknownReference,
} from '../domain/errors.ts'
import type { NodeAccess } from '../domain/node-access.ts'
import { type Caller, creatorSeenBy } from '../domain/operation.ts'
import { listPolicies, mergePolicies, readPolicies } from '../domain/policies/read-policies.ts'
import { addressWarnings } from '../domain/policies/signing-policies.ts'
import { requireRevision } from '../domain/revision.ts'
import type { Conditions, NewRelayer, PendingAuditEntry, RelayerObstacle, RelayerRow } from '../domain/rows.ts'
import { showRelayer } from '../domain/show.ts'
import type { ServicesContext } from './context.ts'
import { isDeleted } from './deletions.ts'
import { nodeWarnings, readRpcUrls } from './rpc-urls.ts'

/* Relayers: a key on a network, and the policies for it. */

type Store = Pick<ServicesContext, 'store'>
type RelayersContext = Pick<ServicesContext, 'store' | 'makeId' | 'checkTarget' | 'chains' | 'nonces' | 'changed'>

/** Whose request it is, and its access to nodes. */
interface Asker {
  caller: Caller
  nodes: NodeAccess
}

/** Throws DomainError (400, 409). */
export async function createRelayer(
  context: RelayersContext,
  { caller, nodes }: Asker,
  body: CreateRelayerRequest,
  auditEntry: PendingAuditEntry,
): Promise<Relayer> {
  const { store, makeId, chains, nonces } = context
  const { id = makeId(), notification_id, notification_ids, policies = {}, custom_rpc_urls = [], ...rest } = body
  const relayer: NewRelayer = {
    ...rest,
    id,
    notification_ids: reportsTo(notification_id, notification_ids) ?? [],
    policies: readPolicies(policies),
    custom_rpc_urls: readUrls(context, custom_rpc_urls),
    system_disabled: false,
    disabled_reason: null,
  }
  nodes.name(custom_rpc_urls.length)
  auditEntry.relayer_id = id
  const created = await store.createRelayer(relayer, auditEntry)
  if (typeof created === 'string') throw refusal(created, body)
  // An account without unfinished transactions has no background work that follows its chain, so the request does it.
  nonces.external.compare(created).catch(() => undefined)
  return shown(context, created, caller, await nodeWarnings(chains, nodes, created.network, created.custom_rpc_urls))
}

/** Throws DomainError (404). */
export async function getRelayer(context: Store, id: string, caller: Caller): Promise<Relayer> {
  const relayer = await context.store.getRelayer(id)
  if (!relayer) throw relayerNotFound(id)
  return shown(context, relayer, caller)
}

/** Throws DomainError (400, 404, 412, 428). */
export async function updateRelayer(
  context: RelayersContext,
  { caller, nodes }: Asker,
  id: string,
  { body, auditEntry, ifMatch }: Conditions & { body: UpdateRelayerRequest },
): Promise<Relayer> {
  requireRevision(ifMatch, body, body.policies === null ? ['notification_ids', 'policies'] : ['notification_ids'])
  requireRevision(ifMatch, body.policies ?? {}, listPolicies, ['policies'])
  const { policies, custom_rpc_urls, notification_id, notification_ids, ...rest } = body
  const reports = reportsTo(notification_id, notification_ids)
  const urls = custom_rpc_urls === undefined ? {} : { custom_rpc_urls: readUrls(context, custom_rpc_urls ?? []) }
  nodes.name(custom_rpc_urls?.length ?? 0)
  const change = (current: RelayerRow): RelayerRow => {
    // One in the place of several, which a client of the OpenZeppelin Relayer does not know.
    if (current.notification_ids.length > 1) requireRevision(ifMatch, body, ['notification_id'])
    return {
      ...current,
      ...rest,
      ...urls,
      ...(reports && { notification_ids: reports }),
      policies: policies === undefined ? current.policies : mergePolicies(current.policies, policies),
    }
  }
  const conditions = { auditEntry, ifMatch, creator: creatorSeenBy(caller) }
  const updated = await context.store.updateRelayer(id, change, conditions)
  if (updated === 'missing') throw relayerNotFound(id)
  if (typeof updated === 'string') throw refusal(updated, body)
  context.changed()
  return shown(context, updated, caller)
}

/** Throws DomainError (404, 409, 412). */
export async function deleteRelayer(
  { store }: Store,
  caller: Caller,
  id: string,
  conditions: Conditions,
): Promise<void> {
  const outcome = await store.deleteRelayer(id, conditions)
  if (outcome === 'unfinished')
    throw namedError('in_use', 'relayer_id', 'it has unfinished transactions; cancel them or wait until they end')
  if (!isDeleted('relayer_id', outcome, caller)) throw relayerNotFound(id)
}

/** Adds these warnings, and those about other relayers on the same address. */
async function shown(
  { store }: Store,
  relayer: RelayerRow,
  caller: Caller,
  more: ResourceWarning[] = [],
): Promise<Relayer> {
  const ofAddress = addressWarnings({ relayer, on_address: await store.relayersOn(relayer.address) }, caller)
  return { ...showRelayer(relayer), warnings: [...ofAddress, ...more] }
}

const readUrls = (
  { checkTarget }: Pick<ServicesContext, 'checkTarget'>,
  urls: Parameters<typeof readRpcUrls>[0],
): ReturnType<typeof readRpcUrls> => readRpcUrls(urls, { field: ['custom_rpc_urls'], check: checkTarget })

function refusal(obstacle: RelayerObstacle, { notification_id }: { notification_id?: string | null } = {}) {
  switch (obstacle) {
    case 'id_taken':
      return conflict('already_exists', ['id'], 'a relayer with this id already exists')
    case 'address_taken':
      return conflict(
        'already_exists',
        ['signer_id'],
        "another relayer uses the signer's address on this chain id; an address has one relayer per chain",
      )
    case 'unknown_network':
      return unknownNetwork()
    case 'unknown_signer':
      return unknownReference(['signer_id'], 'no signer has this id')
    case 'unknown_notification':
      return typeof notification_id === 'string'
        ? unknownReference(['notification_id'], 'no notification has this id')
        : badRequest(['notification_ids'], 'must be ids of notifications; no notification has one of them')
  }
}

/** The notifications that a request names; undefined: it names none. */
const reportsTo = (id: string | null | undefined, ids: string[] | undefined): string[] | undefined =>
  ids ?? (id === undefined ? undefined : id === null ? [] : [id])
