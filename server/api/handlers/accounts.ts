import { type Handlers, page } from '../../domain/operation.ts'
import { getBalance, getNonce, getStatus, reconcileNonce } from '../../services/accounts.ts'
import type { ServicesContext } from '../../services/context.ts'

type Accounts = Pick<
  Handlers,
  'getRelayerBalance' | 'getRelayerStatus' | 'getNonce' | 'reconcileNonce' | 'listUnknownTransactions'
>

/** The state of a relayer's account on the chain and in the store. */
export const accounts = (context: ServicesContext): Accounts => ({
  async getRelayerBalance({ path, nodes }) {
    const balance = await getBalance(context, nodes, path.relayer_id)
    return { balance: balance.toString(), unit: 'wei' }
  },
  getRelayerStatus: ({ path, nodes }) => getStatus(context, nodes, path.relayer_id),
  getNonce: ({ path, nodes }) => getNonce(context, nodes, path.relayer_id),
  async listUnknownTransactions({ path, query }) {
    const relayer = await context.keyring.findRelayer(path.relayer_id)
    return page(
      query,
      (slice) => context.store.unknownTransactions(relayer, slice),
      (row) => row,
    )
  },
  reconcileNonce: ({ path, body, auditEntry, nodes }) =>
    reconcileNonce(context, { nodes, auditEntry }, path.relayer_id, body),
})
