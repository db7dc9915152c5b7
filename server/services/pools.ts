import type { CreatePoolRequest, Pool, PoolPolicies, UpdatePoolRequest } from '../../generated/openapi.ts'
import { conflict, type Field, poolNotFound, unknownNetwork, unknownReference } from '../domain/errors.ts'
import type { Caller } from '../domain/operation.ts'
import { listPolicies, mergePolicies } from '../domain/policies/read-policies.ts'
import { requireRevision } from '../domain/revision.ts'
import type { Conditions, PendingAuditEntry, PoolRow, SharedPolicies } from '../domain/rows.ts'
import type { ServicesContext } from './context.ts'
import { isDeleted } from './deletions.ts'
import { circleBy, circleByRelayers } from './funding/settings.ts'

type PoolRights = Pick<Caller, 'relayer_ids' | 'pool_ids'>

type PoolContext = Pick<ServicesContext, 'store' | 'pools'>

/** Finds a pool that the caller may use. Throws DomainError (404) for one that he may not use whole, as for a missing one. */
export async function findPool(context: PoolContext, id: string, rights: PoolRights): Promise<PoolRow> {
  const pool = await poolOf(context, id)
  if (!pool || !maySee(pool, rights)) throw poolNotFound()
  return pool
}

/** Whoever may use it. Undefined: there is none. */
export const poolOf = ({ store, pools }: PoolContext, id: string): Promise<PoolRow | undefined> =>
  pools.find(id, () => store.getPool(id))

/** A caller has a right to a pool itself, or to every one of its relayers: to no pool by none. */
function maySee({ id, relayers }: PoolRow, { relayer_ids, pool_ids }: PoolRights) {
  if (relayer_ids === undefined || pool_ids.has(id)) return true
  return relayers.length > 0 && relayers.every(({ relayer_id }) => relayer_ids.has(relayer_id))
}

/** The relayers whose transactions of the pool the caller may see; undefined: all, also those that have left the pool. */
export const seenIn = ({ id }: PoolRow, { relayer_ids, pool_ids }: PoolRights) =>
  pool_ids.has(id) ? undefined : relayer_ids

/** Throws DomainError (400, 409). */
export async function createPool(
  { store, makeId }: Pick<ServicesContext, 'store' | 'makeId'>,
  { id = makeId(), name = id, policies = {}, ...body }: CreatePoolRequest,
  auditEntry: PendingAuditEntry,
): Promise<Pool> {
  auditEntry.subject = id
  const outcome = await store.createPool({ ...body, id, name, policies: mergePolicies({}, policies) }, auditEntry)
  if (outcome === 'unknown_network') throw unknownNetwork()
  if (outcome === 'id_taken') throw conflict('already_exists', ['id'], 'a pool with this id already exists')
  return shown(outcome)
}

/** Undefined: there is none. Throws DomainError (400, 409, 412, 428). */
export async function updatePool(
  { store }: Pick<ServicesContext, 'store'>,
  id: string,
  body: UpdatePoolRequest,
  conditions: Conditions,
): Promise<Pool | undefined> {
  const { ifMatch } = conditions
  requireRevision(ifMatch, body, body.policies === null ? ['relayer_ids', 'policies'] : ['relayer_ids'])
  requireRevision(ifMatch, body.policies ?? {}, listPolicies, ['policies'])
  const { policies, ...others } = body
  const changes = {
    ...others,
    ...(policies !== undefined && { policies: (current: SharedPolicies) => mergePolicies(current, policies) }),
  }
  const outcome = await store.updatePool(id, changes, conditions)
  if (outcome === 'missing') return undefined
  if (outcome === 'circle') throw circleByRelayers()
  return shown(outcome)
}

/** Whether there was one. Throws DomainError (409, 412). */
export async function deletePool(
  { store }: Pick<ServicesContext, 'store'>,
  id: string,
  conditions: Conditions,
): Promise<boolean> {
  const outcome = await store.deletePool(id, conditions)
  if (outcome === 'circle') throw circleBy('pool_id')
  return isDeleted('pool_id', outcome)
}

/** The public part of a pool. */
export const showPool = ({ row_id: _, funding, coin_token: __, policies, ...pool }: PoolRow): Pool => ({
  ...pool,
  policies: showPolicies(policies),
  is_funded: funding !== null,
})

/** A pool signs nothing, so its limits of tokens say nothing about signatures. */
const showPolicies = ({ token_limits, ...policies }: SharedPolicies): PoolPolicies => ({
  ...{ max_value: null, max_value_per_day: null, whitelist_receivers: null, allowed_functions: null },
  ...policies,
  token_limits: token_limits?.map(({ allow_signatures: _, ...limit }) => limit) ?? null,
})

function shown(outcome: PoolRow | { unknown_relayer: Field }): Pool {
  if (!('unknown_relayer' in outcome)) return showPool(outcome)
  const { unknown_relayer: field } = outcome
  const place = field[0] === 'weights' ? 'pool' : 'network of the pool'
  throw unknownReference(field, `the ${place} has no relayer with this id`)
}
