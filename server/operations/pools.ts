import type { Pool } from '../../generated/openapi.ts'
import { ApiError, badRequest, conflict } from '../core/errors.ts'
import { type Caller, type Handlers, single } from '../core/operation.ts'
import type { PoolRow } from '../core/rows.ts'
import { createAwaited } from './awaited.ts'
import type { OperationDependencies } from './dependencies.ts'
import { page } from './page.ts'
import { readIdempotencyKey } from './transactions.ts'

type Pools = Pick<
  Handlers,
  'createPool' | 'listPools' | 'getPool' | 'updatePool' | 'updatePoolRelayer' | 'deletePool' | 'sendPoolTransaction'
>

export function pools(
  dependencies: Pick<OperationDependencies, 'store' | 'keyring' | 'sending' | 'makeId' | 'unexpected'>,
): Pools {
  const { store, makeId, sending } = dependencies
  const awaited = createAwaited(dependencies)

  /** Throws ApiError (404) for a pool that the caller may not use whole, as for a missing one. */
  async function find(id: string, { relayer_ids }: Caller): Promise<PoolRow> {
    const pool = await store.getPool(id)
    const isSeen = relayer_ids === undefined || pool?.relayers.every(({ relayer_id }) => relayer_ids.has(relayer_id))
    if (!pool || !isSeen) throw missing()
    return pool
  }

  return {
    async createPool({ body: { id = makeId(), name = id, network, relayer_ids }, auditEntry }) {
      auditEntry.subject = id
      const outcome = await store.createPool({ id, name, network, relayer_ids }, auditEntry)
      if (outcome === 'unknown_network') throw badRequest('/body/network', 'no network has this name')
      if (outcome === 'id_taken') throw conflict('/body/id', 'a pool with this ID already exists')
      return single(shown(outcome))
    },

    listPools: ({ query }) => page(query, store.listPools, show),

    getPool: async ({ path, caller }) => single(show(await find(path.pool_id, caller))),

    async updatePool({ path, body, auditEntry }) {
      const outcome = await store.updatePool(path.pool_id, body, auditEntry)
      if (outcome === 'missing') throw missing()
      return single(shown(outcome))
    },

    async updatePoolRelayer({ path: { pool_id, member_id }, body: { weight }, auditEntry }) {
      const pool = await store.weighPoolRelayer(pool_id, member_id, weight, auditEntry)
      if (!pool) throw notIn()
      return single(show(pool))
    },

    async deletePool({ path, auditEntry }) {
      if (!(await store.deletePool(path.pool_id, auditEntry))) throw missing()
      return single('Pool deleted successfully')
    },

    async sendPoolTransaction({ path, query, header, body, caller, auditEntry, authorize }) {
      const key = readIdempotencyKey(header['Idempotency-Key'])
      const idempotency = key === undefined ? undefined : { caller: caller.id, key }
      const pool = await find(path.pool_id, caller)
      const accepted = await sending.submit.sendToPool(pool, body, idempotency, auditEntry, async () =>
        find(path.pool_id, await authorize('sendPoolTransaction')),
      )
      auditEntry.subject = accepted.transaction.id
      auditEntry.relayer_id = accepted.transaction.relayer_id
      return single(await awaited(accepted.transaction, query))
    },
  }
}

const show = ({ row_id: _, ...pool }: PoolRow): Pool => pool

function shown(outcome: PoolRow | { unknown_relayer: number }): Pool {
  if (!('unknown_relayer' in outcome)) return show(outcome)
  throw badRequest(
    `/body/relayer_ids/${outcome.unknown_relayer}`,
    'the network of the pool has no relayer with this ID',
  )
}

const missing = () => notFound('pool_id', 'no pool has this id')
const notIn = () => notFound('member_id', 'the pool has no relayer with this id')
const notFound = (name: string, message: string) =>
  new ApiError('not_found', 'Not Found', [{ path: `/path/${name}`, message }])
