import { deleted, type Handlers, page } from '../../domain/operation.ts'
import { showRelayer } from '../../domain/show-relayer.ts'
import type { ServicesContext } from '../../services/context.ts'
import { createRelayer, deleteRelayer, drainRelayer, getRelayer, updateRelayer } from '../../services/relayers.ts'

type Relayers = Pick<
  Handlers,
  'createRelayer' | 'listRelayers' | 'getRelayer' | 'updateRelayer' | 'deleteRelayer' | 'drainRelayer'
>

export const relayers = (context: ServicesContext): Relayers => ({
  createRelayer: ({ body, caller, auditEntry, nodes }) => createRelayer(context, { caller, nodes }, body, auditEntry),

  listRelayers: ({ query, caller }) =>
    page(query, (slice) => context.store.listRelayers(slice, caller.relayer_ids), showRelayer),

  getRelayer: ({ path, caller }) => getRelayer(context, path.relayer_id, caller),

  updateRelayer: ({ path, body, caller, auditEntry, ifMatch, nodes }) =>
    updateRelayer(context, { caller, nodes }, path.relayer_id, { body, auditEntry, ifMatch }),

  drainRelayer: ({ path, auditEntry }) => drainRelayer(context, path.relayer_id, auditEntry),

  async deleteRelayer({ path, auditEntry, ifMatch }) {
    await deleteRelayer(context, path.relayer_id, { auditEntry, ifMatch })
    return deleted(path.relayer_id)
  },
})
