import type { Pool } from '../../../generated/openapi.ts'
import { badRequest, conflict, DomainError, transactionNotFound } from '../../domain/errors.ts'
import { type Caller, type Handlers, Page } from '../../domain/operation.ts'
import type { PoolRow, RelayerRow } from '../../domain/rows.ts'
import { shownBehind } from '../../domain/show-transaction.ts'
import type { TransactionRow } from '../../domain/transaction-rows.ts'
import { withBatchIndex } from '../../services/batch-errors.ts'
import type { ServicesContext } from '../../services/context.ts'
import { seenIn } from '../../services/find-pool.ts'
import { placeToWait } from '../../services/transactions/await-transaction.ts'
import { explainTransaction } from '../../services/transactions/explain.ts'
import { poolEventStream } from '../../webhooks/event-stream.ts'
import { conflictAt, shownDryRun } from '../http/errors.ts'
import { fundingCircle } from './funding.ts'
import { page } from './page.ts'
import { readPolicies } from './policies.ts'
import { listTransactionsOf } from './transaction-lists.ts'

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
  | 'explainPoolTransaction'
  | 'movePoolTransaction'
  | 'streamPoolEvents'
  | 'dryRunPoolTransaction'
  | 'listPoolTransactions'
  | 'getPoolTransaction'
>

export function pools(
  dependencies: Pick<
    ServicesContext,
    | 'store'
    | 'keyring'
    | 'chains'
    | 'now'
    | 'findPool'
    | 'sending'
    | 'shares'
    | 'makeId'
    | 'unexpected'
    | 'countCalls'
    | 'isStopping'
  >,
): Pools {
  const { store, findPool: find, makeId, sending, shares, countCalls } = dependencies
  const { findRelayer } = dependencies.keyring
  const eventSource = { store, nextChange: sending.nextChange, isStopping: dependencies.isStopping }

  /** A transaction that was sent through the pool: what its relayers send otherwise is not the pool's. Throws DomainError (404). */
  async function findIn({ pool_id, transaction_id }: { pool_id: string; transaction_id: string }, caller: Caller) {
    const pool = await find(pool_id, caller)
    const row = await store.getTransactionOfPool(pool.row_id, transaction_id)
    if (!row || seenIn(pool, caller)?.has(row.relayer_id) === false) throw transactionNotFound(transaction_id)
    return { pool, row }
  }

  /** The relayer of a row. Throws DomainError (404) when it was deleted. */
  async function relayerOf({ id, relayer_id, relayer_row_id }: TransactionRow): Promise<RelayerRow> {
    const relayer = await findRelayer(relayer_id)
    if (relayer.row_id !== relayer_row_id) throw transactionNotFound(id)
    return relayer
  }

  return {
    async createPool({ body: { id = makeId(), name = id, policies = {}, ...body }, auditEntry }) {
      auditEntry.subject = id
      const outcome = await store.createPool({ ...body, id, name, policies: readPolicies(policies) }, auditEntry)
      if (outcome === 'unknown_network') throw badRequest(['network'], 'no network has this name')
      if (outcome === 'id_taken') throw conflict(['id'], 'a pool with this ID already exists')
      return shown(outcome)
    },

    listPools: ({ query }) => page(query, store.listPools, show),

    getPool: async ({ path, caller }) => show(await find(path.pool_id, caller)),

    async updatePool({ path, body, auditEntry }) {
      const { policies, ...others } = body
      const changes = { ...others, ...(policies && { policies: readPolicies(policies) }) }
      const outcome = await store.updatePool(path.pool_id, changes, auditEntry)
      if (outcome === 'missing') return undefined
      if (outcome === 'circle') throw fundingCircle(['relayer_ids'])
      return shown(outcome)
    },

    async updatePoolRelayer({ path: { pool_id, member_id }, body: { weight }, auditEntry }) {
      const pool = await store.weighPoolRelayer(pool_id, member_id, weight, auditEntry)
      return pool && show(pool)
    },

    async deletePool({ path, auditEntry }) {
      const outcome = await store.deletePool(path.pool_id, auditEntry)
      if (outcome === 'missing') return undefined
      if (outcome === 'in_use')
        throw conflictAt('/path/pool_id', 'an API key is limited to this pool; revoke or change it first')
      if (outcome === 'sponsors')
        throw conflictAt(
          '/path/pool_id',
          'the calls of a sponsorship are sent through this pool; delete the sponsorship first',
        )
      if (outcome === 'circle') throw fundingCircle('/path/pool_id')
      return 'Pool deleted successfully'
    },

    async sendPoolTransaction({ path, query, body, caller, idempotency, auditEntry, authorize, nodes, onClose }) {
      const awaited = placeToWait(dependencies, { query, caller, onClose })
      const pool = await find(path.pool_id, caller)
      const accepted = await sending.submit.sendToPool(pool, body, idempotency, auditEntry, {
        authorize: async () => find(path.pool_id, await authorize('sendPoolTransaction')),
        nodes,
      })
      auditEntry.subject = accepted.transaction.id
      auditEntry.relayer_id = accepted.transaction.relayer_id
      return awaited(accepted.transaction)
    },

    async sendPoolTransactionBatch({ path, body, caller, idempotency, auditEntry, authorize, nodes }) {
      const pool = await find(path.pool_id, caller)
      await countCalls(caller, body.transactions.length - 1)
      const accepted = await sending.submit.sendBatchToPool(
        pool,
        body.transactions,
        idempotency,
        auditEntry,
        {
          authorize: async () => find(path.pool_id, await authorize('sendPoolTransactionBatch')),
          nodes,
        },
        (index, work) => withBatchIndex('transactions', index, work),
      )
      return Page.whole(accepted)
    },

    async dryRunPoolTransaction({ path, body, caller, nodes }) {
      return shownDryRun(await sending.dryRunInPool(nodes, await find(path.pool_id, caller), body))
    },

    async listPoolTransactions(request) {
      const { path, caller } = request
      const pool = await find(path.pool_id, caller)
      return listTransactionsOf(dependencies, { relayer_ids: seenIn(pool, caller), pool_row_id: pool.row_id }, request)
    },

    async getPoolTransaction({ path, caller }) {
      const { row } = await findIn(path, caller)
      return shownBehind(row, await store.firstInLine(row.relayer_row_id), row.pool_row_id)
    },

    async explainPoolTransaction({ path, caller, nodes }) {
      const { row } = await findIn(path, caller)
      return explainTransaction(dependencies, nodes, {
        relayer: await relayerOf(row),
        row,
        pool_row_id: row.pool_row_id,
      })
    },

    async movePoolTransaction({ path, caller, auditEntry, authorize, nodes }) {
      const { pool, row } = await findIn(path, caller)
      const from = await relayerOf(row)
      const { transaction } = await sending.submit.moveInPool(pool, from, row, auditEntry, {
        authorize: async () => find(path.pool_id, await authorize('movePoolTransaction')),
        nodes,
      })
      auditEntry.subject = transaction.id
      auditEntry.relayer_id = transaction.relayer_id
      return transaction
    },

    async streamPoolEvents({ path, header, caller, authorize, onClose }) {
      const { row_id } = await find(path.pool_id, caller)
      const last = header['Last-Event-ID']
      onClose(shares.streams.hold(caller, 1).release)
      return poolEventStream(eventSource, row_id, last, async () => {
        // Relayers join and leave, and API keys lose their rights.
        const now = await find(path.pool_id, await authorize('streamPoolEvents')).catch(unlessRefused)
        return now && Promise.all(now.relayers.map(async ({ relayer_id }) => (await findRelayer(relayer_id)).row_id))
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
