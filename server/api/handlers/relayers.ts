import { deleted, type Handlers, page } from '../../domain/operation.ts'
import { showRelayer } from '../../domain/show.ts'
import { getBalance, getNonce, getStatus, reconcileNonce } from '../../services/accounts.ts'
import type { ServicesContext } from '../../services/context.ts'
import {
  endFunding,
  endPoolFunding,
  fundingOf,
  fundingOfPool,
  setFunding,
  setPoolFunding,
} from '../../services/funding/settings.ts'
import { sweep } from '../../services/funding/sweep.ts'
import { findPool } from '../../services/pools.ts'
import { createRelayer, deleteRelayer, getRelayer, updateRelayer } from '../../services/relayers.ts'

type Relayers = Pick<Handlers, 'createRelayer' | 'listRelayers' | 'getRelayer' | 'updateRelayer' | 'deleteRelayer'>

export const relayers = (context: ServicesContext): Relayers => ({
  createRelayer: ({ body, caller, auditEntry, nodes }) => createRelayer(context, { caller, nodes }, body, auditEntry),

  listRelayers: ({ query, caller }) =>
    page(query, (slice) => context.store.listRelayers(slice, caller.relayer_ids), showRelayer),

  getRelayer: ({ path, caller }) => getRelayer(context, path.relayer_id, caller),

  updateRelayer: ({ path, body, caller, auditEntry, ifMatch, nodes }) =>
    updateRelayer(context, { caller, nodes }, path.relayer_id, { body, auditEntry, ifMatch }),

  async deleteRelayer({ path, auditEntry, ifMatch }) {
    await deleteRelayer(context, path.relayer_id, { auditEntry, ifMatch })
    return deleted(path.relayer_id)
  },
})

type Accounts = Pick<
  Handlers,
  'getRelayerBalance' | 'getRelayerStatus' | 'getRelayerNonce' | 'reconcileRelayerNonce' | 'listUnknownTransactions'
>

/** The state of a relayer's account on the chain and in the store. */
export const accounts = (context: ServicesContext): Accounts => ({
  async getRelayerBalance({ path, nodes }) {
    const balance = await getBalance(context, nodes, path.relayer_id)
    return { balance: balance.toString(), unit: 'wei' }
  },
  getRelayerStatus: ({ path, nodes }) => getStatus(context, nodes, path.relayer_id),
  getRelayerNonce: ({ path, nodes }) => getNonce(context, nodes, path.relayer_id),
  async listUnknownTransactions({ path, query }) {
    const relayer = await context.keyring.findRelayer(path.relayer_id)
    return page(
      query,
      (slice) => context.store.unknownTransactions(relayer, slice),
      (row) => row,
    )
  },
  reconcileRelayerNonce: ({ path, body, auditEntry, nodes }) =>
    reconcileNonce(context, { nodes, auditEntry }, path.relayer_id, body),
})

type Operations = Pick<
  Handlers,
  | ('getRelayerFunding' | 'replaceRelayerFunding' | 'deleteRelayerFunding' | 'sweepRelayer')
  | ('getPoolFunding' | 'replacePoolFunding' | 'deletePoolFunding')
>

export const funding = (context: ServicesContext): Operations => ({
  getRelayerFunding: ({ path, nodes }) => fundingOf(context, nodes, path.relayer_id),

  replaceRelayerFunding: ({ path, body, auditEntry, ifMatch, nodes }) =>
    setFunding(context, nodes, path.relayer_id, { body, auditEntry, ifMatch }),

  async deleteRelayerFunding({ path, auditEntry, ifMatch }) {
    await endFunding(context, path.relayer_id, { auditEntry, ifMatch })
    return deleted(path.relayer_id)
  },

  getPoolFunding: async ({ path, caller }) => fundingOfPool(context, await findPool(context, path.pool_id, caller)),

  replacePoolFunding: ({ path, body, auditEntry, ifMatch }) =>
    setPoolFunding(context, path.pool_id, body, { auditEntry, ifMatch }),

  async deletePoolFunding({ path, caller, auditEntry, ifMatch }) {
    await endPoolFunding(context, await findPool(context, path.pool_id, caller), { auditEntry, ifMatch })
    return deleted(path.pool_id)
  },

  sweepRelayer({ path, body, idempotency, auditEntry, authorize, nodes }) {
    const asker = { idempotency, auditEntry, nodes, authorize }
    return sweep(context, asker, path.relayer_id, body)
  },
})
