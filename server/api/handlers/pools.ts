import { DomainError } from '../../domain/errors.ts'
import { deleted, deletedIf, type Handlers, Page, page } from '../../domain/operation.ts'
import type { ServicesContext } from '../../services/context.ts'
import { endPoolFunding, fundingOfPool, setPoolFunding } from '../../services/funding/settings.ts'
import { createPool, deletePool, findPool, showPool, updatePool } from '../../services/pools.ts'
import { dryRunInPool } from '../../services/transactions/dry-run.ts'
import { findInPool } from '../../services/transactions/list.ts'
import { sendBatchToPool } from '../../services/transactions/send-batch.ts'
import { moveInPool, sendToPool } from '../../services/transactions/send-to-pool.ts'
import { placeToWait } from '../../services/transactions/wait-for-status.ts'
import { poolEventStream } from '../../webhooks/event-stream.ts'
import { shownDryRun } from '../http/errors.ts'

export function pools(context: ServicesContext) {
  const { store, keyring, shares, countCalls } = context

  return {
    createPool: ({ body, auditEntry }) => createPool(context, body, auditEntry),

    listPools: ({ query }) => page(query, store.listPools, showPool),

    getPool: async ({ path, caller }) => showPool(await findPool(context, path.pool_id, caller)),

    updatePool: ({ path, body, auditEntry, ifMatch }) =>
      updatePool(context, path.pool_id, body, { auditEntry, ifMatch }),

    deletePool: async ({ path, auditEntry, ifMatch }) =>
      deletedIf(await deletePool(context, path.pool_id, { auditEntry, ifMatch }), path.pool_id),

    getPoolFunding: async ({ path, caller }) => fundingOfPool(context, await findPool(context, path.pool_id, caller)),

    replacePoolFunding: ({ path, body, auditEntry, ifMatch }) =>
      setPoolFunding(context, path.pool_id, body, { auditEntry, ifMatch }),

    async deletePoolFunding({ path, caller, auditEntry, ifMatch }) {
      await endPoolFunding(context, await findPool(context, path.pool_id, caller), { auditEntry, ifMatch })
      return deleted(path.pool_id)
    },

    async sendPoolTransaction({ path, query, body, caller, idempotency, auditEntry, authorize, nodes, onClose }) {
      const awaited = placeToWait(context, { query, caller, onClose })
      const pool = await findPool(context, path.pool_id, caller)
      const mayUse = async () => findPool(context, path.pool_id, await authorize())
      return awaited(await sendToPool(context, { idempotency, auditEntry, nodes, authorize: mayUse }, pool, { body }))
    },

    async sendPoolTransactionBatch({ path, body, caller, idempotency, auditEntry, authorize, nodes }) {
      await countCalls(caller, body.transactions.length - 1)
      const pool = await findPool(context, path.pool_id, caller)
      const mayUse = async () => findPool(context, path.pool_id, await authorize())
      const asker = { idempotency, auditEntry, nodes, authorize: mayUse }
      return Page.whole(await sendBatchToPool(context, asker, pool, body.transactions))
    },

    async dryRunPoolTransaction(request) {
      const pool = await findPool(context, request.path.pool_id, request.caller)
      return shownDryRun(await dryRunInPool(context, request, pool, request.body))
    },

    async movePoolTransaction({ path, caller, idempotency, auditEntry, authorize, nodes }) {
      const { pool, row, relayer } = await findInPool(context, path, caller)
      const mayUse = async () => findPool(context, path.pool_id, await authorize())
      const asker = { idempotency, auditEntry, nodes, authorize: mayUse }
      return moveInPool(context, asker, pool, { relayer, row })
    },

    async streamPoolEvents({ path, header, caller, authorize, onClose }) {
      const { row_id } = await findPool(context, path.pool_id, caller)
      const last = header['Last-Event-ID']
      onClose(shares.streams.hold(caller, 1).release)
      return poolEventStream(context, row_id, last, async () => {
        // Relayers join and leave, and API keys lose their rights.
        const now = await findPool(context, path.pool_id, await authorize()).catch(unlessRefused)
        return (
          now && Promise.all(now.relayers.map(async ({ relayer_id }) => (await keyring.findRelayer(relayer_id)).row_id))
        )
      })
    },
  } satisfies Partial<Handlers>
}

function unlessRefused(error: unknown): undefined {
  if (!(error instanceof DomainError)) throw error
}
