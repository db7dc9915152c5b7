import type { Pool, PoolPolicies } from '../../../generated/openapi.ts'
import { badRequest, conflict, DomainError, unknownReference } from '../../domain/errors.ts'
import { deleted, type Handlers, Page, page } from '../../domain/operation.ts'
import { requireRevision } from '../../domain/revision.ts'
import type { PoolRow } from '../../domain/rows.ts'
import type { ServicesContext } from '../../services/context.ts'
import { findPool } from '../../services/pools.ts'
import { dryRunInPool } from '../../services/transactions/dry-run.ts'
import { findInPool } from '../../services/transactions/list.ts'
import { sendBatchToPool } from '../../services/transactions/send-batch.ts'
import { moveInPool, sendToPool } from '../../services/transactions/send-to-pool.ts'
import { placeToWait } from '../../services/transactions/wait-for-status.ts'
import { poolEventStream } from '../../webhooks/event-stream.ts'
import { conflictAt, shownDryRun } from '../http/errors.ts'
import { fundingCircle } from './funding.ts'
import { listPolicies, mergePolicies, readPolicies } from './policies.ts'

type Pools = Pick<
  Handlers,
  | 'createPool'
  | 'listPools'
  | 'getPool'
  | 'updatePool'
  | 'updatePoolRelayer'
  | 'deletePool'
  | 'sendPoolTransaction'
  | 'sendPoolTransactionBatch'
  | 'movePoolTransaction'
  | 'streamPoolEvents'
  | 'dryRunPoolTransaction'
>

export function pools(context: ServicesContext): Pools {
  const { store, keyring, makeId, shares, countCalls } = context

  return {
    async createPool({ body: { id = makeId(), name = id, policies = {}, ...body }, auditEntry }) {
      auditEntry.subject = id
      const outcome = await store.createPool({ ...body, id, name, policies: readPolicies(policies) }, auditEntry)
      if (outcome === 'unknown_network') throw unknownReference(['network'], 'no network has this name')
      if (outcome === 'id_taken') throw conflict('already_exists', ['id'], 'a pool with this ID already exists')
      return shown(outcome)
    },

    listPools: ({ query }) => page(query, store.listPools, show),

    getPool: async ({ path, caller }) => show(await findPool(context, path.pool_id, caller)),

    async updatePool({ path, body, auditEntry, ifMatch }) {
      requireRevision(ifMatch, body, body.policies === null ? ['relayer_ids', 'policies'] : ['relayer_ids'])
      requireRevision(ifMatch, body.policies ?? {}, listPolicies)
      const { policies, ...others } = body
      const changes = {
        ...others,
        ...(policies !== undefined && { policies: (current: PoolPolicies) => mergePolicies(current, policies) }),
      }
      const outcome = await store.updatePool(path.pool_id, changes, { auditEntry, ifMatch })
      if (outcome === 'missing') return undefined
      if (outcome === 'circle') throw fundingCircle(['relayer_ids'])
      return shown(outcome)
    },

    async updatePoolRelayer({ path: { pool_id, relayer_id }, body: { weight = null }, auditEntry, ifMatch }) {
      const pool = await store.weighPoolRelayer({ id: pool_id, relayer_id }, weight, { auditEntry, ifMatch })
      return pool && show(pool)
    },

    async deletePool({ path, auditEntry, ifMatch }) {
      const outcome = await store.deletePool(path.pool_id, { auditEntry, ifMatch })
      if (outcome === 'missing') return undefined
      if (outcome === 'in_use')
        throw conflictAt('in_use', '/path/pool_id', 'an API key is limited to this pool; revoke or change it first')
      if (outcome === 'sponsors')
        throw conflictAt(
          'in_use',
          '/path/pool_id',
          'the calls of a sponsorship are sent through this pool; delete the sponsorship first',
        )
      if (outcome === 'circle') throw fundingCircle('/path/pool_id')
      return deleted(path.pool_id)
    },

    async sendPoolTransaction({ path, query, body, caller, idempotency, auditEntry, authorize, nodes, onClose }) {
      const awaited = placeToWait(context, { query, caller, onClose })
      const pool = await findPool(context, path.pool_id, caller)
      const mayUse = async () => findPool(context, path.pool_id, await authorize('sendPoolTransaction'))
      return awaited(await sendToPool(context, { idempotency, auditEntry, nodes, authorize: mayUse }, pool, { body }))
    },

    async sendPoolTransactionBatch({ path, body, caller, idempotency, auditEntry, authorize, nodes }) {
      const pool = await findPool(context, path.pool_id, caller)
      await countCalls(caller, body.transactions.length - 1)
      const mayUse = async () => findPool(context, path.pool_id, await authorize('sendPoolTransactionBatch'))
      const asker = { idempotency, auditEntry, nodes, authorize: mayUse }
      return Page.whole(await sendBatchToPool(context, asker, pool, body.transactions))
    },

    async dryRunPoolTransaction({ path, body, caller, nodes }) {
      return shownDryRun(await dryRunInPool(context, nodes, await findPool(context, path.pool_id, caller), body))
    },

    async movePoolTransaction({ path, caller, auditEntry, authorize, nodes }) {
      const { pool, row, relayer } = await findInPool(context, path, caller)
      const mayUse = async () => findPool(context, path.pool_id, await authorize('movePoolTransaction'))
      return moveInPool(context, { auditEntry, nodes, authorize: mayUse }, pool, { from: await relayer(), row })
    },

    async streamPoolEvents({ path, header, caller, authorize, onClose }) {
      const { row_id } = await findPool(context, path.pool_id, caller)
      const last = header['Last-Event-ID']
      onClose(shares.streams.hold(caller, 1).release)
      return poolEventStream(context, row_id, last, async () => {
        // Relayers join and leave, and API keys lose their rights.
        const now = await findPool(context, path.pool_id, await authorize('streamPoolEvents')).catch(unlessRefused)
        return (
          now && Promise.all(now.relayers.map(async ({ relayer_id }) => (await keyring.findRelayer(relayer_id)).row_id))
        )
      })
    },
  }
}

const show = ({ row_id: _, funding: __, coin_token: ___, ...pool }: PoolRow): Pool => pool

function shown(outcome: PoolRow | { unknown_relayer: number }): Pool {
  if (!('unknown_relayer' in outcome)) return show(outcome)
  throw badRequest(['relayer_ids', outcome.unknown_relayer], 'the network of the pool has no relayer with this ID')
}

function unlessRefused(error: unknown): undefined {
  if (!(error instanceof DomainError)) throw error
}
