import { deletedIf, type Handlers, Page, page } from '../../domain/operation.ts'
import { showRpcUrls } from '../../domain/values.ts'
import type { ServicesContext } from '../../services/context.ts'
import { createNetwork, deleteNetwork, showNetwork, updateNetwork } from '../../services/networks.ts'

export const networks = (context: Pick<ServicesContext, 'store' | 'checkTarget' | 'chains'>) =>
  ({
    createNetwork: ({ body, auditEntry, nodes }) => createNetwork(context, nodes, body, auditEntry),

    listNetworks: ({ query }) => page(query, context.store.listNetworks, showNetwork),

    async getNetwork({ path }) {
      const network = await context.store.getNetwork(path.network_id)
      return network && showNetwork(network)
    },

    async listNetworkNodes({ path, nodes: access }) {
      const network = await context.store.getNetwork(path.network_id)
      if (!network) return undefined
      const urls = showRpcUrls(network.rpc_urls)
      const client = await context.chains.clientFor(access, { network: network.name, custom_rpc_urls: [] })
      const nodes = ((await client?.nodes()) ?? []).map((node, index) => ({ ...node, url: urls[index]?.url ?? '' }))
      return Page.whole(nodes)
    },

    updateNetwork: ({ path, body, auditEntry, ifMatch, nodes }) =>
      updateNetwork(context, nodes, path.network_id, { body, auditEntry, ifMatch }),

    deleteNetwork: async ({ path, auditEntry, ifMatch }) =>
      deletedIf(await deleteNetwork(context, path.network_id, { auditEntry, ifMatch }), path.network_id),
  }) satisfies Partial<Handlers>
