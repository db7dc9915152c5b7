import { deleted, type Handlers, page } from '../../domain/operation.ts'
import { showRelayer } from '../../domain/show.ts'
import { getBalance, getNonce, getStatus, reconcileNonce } from '../../services/accounts.ts'
import type { ServicesContext } from '../../services/context.ts'
import { endFunding, fundingOf, setFunding } from '../../services/funding/settings.ts'
import { sweep } from '../../services/funding/sweep.ts'
import { createRelayer, deleteRelayer, getRelayer, updateRelayer } from '../../services/relayers.ts'
import { eventStream } from '../../webhooks/event-stream.ts'

export const relayers = (context: ServicesContext) =>
  ({
    createRelayer: ({ body, caller, auditEntry, nodes }) => createRelayer(context, { caller, nodes }, body, auditEntry),

    listRelayers: ({ query, caller }) =>
      page(query, (slice) => context.store.listRelayers(slice, caller.relayer_ids), showRelayer),

    getRelayer: ({ path, caller }) => getRelayer(context, path.relayer_id, caller),

    updateRelayer: ({ path, body, caller, auditEntry, ifMatch, nodes }) =>
      updateRelayer(context, { caller, nodes }, path.relayer_id, { body, auditEntry, ifMatch }),

    async deleteRelayer({ caller, path, auditEntry, ifMatch }) {
      await deleteRelayer(context, caller, path.relayer_id, { auditEntry, ifMatch })
      return deleted(path.relayer_id)
    },

    async streamRelayerEvents({ path, header, query, caller, onClose }) {
      const { keyring, shares, store } = context
      const relayer = await keyring.findRelayer(path.relayer_id)
      const last = header['Last-Event-ID']
      onClose(shares.streams.hold(caller, 1).release)
      const { recent = 0 } = query
      if (last !== undefined) return eventStream(context, relayer.row_id, Number(last))
      const after = recent > 0 ? Math.max(0, (await store.lastEvent(relayer.row_id)) - recent) : undefined
      return eventStream(context, relayer.row_id, after)
    },
  }) satisfies Partial<Handlers>

/** The state of a relayer's account on the chain and in the store. */
export const accounts = (context: ServicesContext) =>
  ({
    async getRelayerBalance({ path, nodes }) {
      const balance = await getBalance(context, nodes, path.relayer_id)
      return { balance: balance.toString(), unit: 'wei' }
    },
    getRelayerStatus: ({ path, nodes }) => getStatus(context, nodes, path.relayer_id),
    getRelayerNonce: ({ path, nodes }) => getNonce(context, nodes, path.relayer_id),
    async listExternalTransactions({ path, query }) {
      const relayer = await context.keyring.findRelayer(path.relayer_id)
      return page(
        query,
        (slice) => context.store.listExternalTransactions(relayer, slice),
        (row) => row,
      )
    },
    async acknowledgeExternalTransactions({ path, body, auditEntry }) {
      const relayer = await context.keyring.findRelayer(path.relayer_id)
      return context.store.acknowledgeExternal(relayer, body.transactions, auditEntry)
    },
    reconcileRelayerNonce: ({ path, body, auditEntry, nodes }) =>
      reconcileNonce(context, { nodes, auditEntry }, path.relayer_id, body),
  }) satisfies Partial<Handlers>

export const funding = (context: ServicesContext) =>
  ({
    getRelayerFunding: ({ path, nodes }) => fundingOf(context, nodes, path.relayer_id),

    replaceRelayerFunding: ({ path, body, auditEntry, ifMatch, nodes }) =>
      setFunding(context, nodes, path.relayer_id, { body, auditEntry, ifMatch }),

    async deleteRelayerFunding({ path, auditEntry, ifMatch }) {
      await endFunding(context, path.relayer_id, { auditEntry, ifMatch })
      return deleted(path.relayer_id)
    },

    sweepRelayer({ path, body, idempotency, auditEntry, authorize, nodes }) {
      const asker = { idempotency, auditEntry, nodes, authorize }
      return sweep(context, asker, path.relayer_id, body)
    },
  }) satisfies Partial<Handlers>
