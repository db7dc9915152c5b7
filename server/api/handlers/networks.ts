import type {
  AmountInput,
  Network,
  PrivateRpcUrl,
  PrivateRpcUrlInput,
  UpdateNetworkRequest,
} from '../../../generated/openapi.ts'
import { conflict } from '../../domain/errors.ts'
import { networkDefaults, withDefaults } from '../../domain/network-defaults.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import { deleted, type Handlers, Page, page } from '../../domain/operation.ts'
import { withRevision } from '../../domain/revision.ts'
import { readSubmission } from '../../domain/submission.ts'
import { readAddress, readAmount, showRpcUrls } from '../../domain/values.ts'
import type { ServicesContext } from '../../services/context.ts'
import { nodeWarnings, readPrivateRpcUrls, readRpcUrls } from '../../services/rpc-urls.ts'
import { conflictAt } from '../http/errors.ts'

export function networks({
  store,
  checkTarget,
  chains,
}: Pick<ServicesContext, 'store' | 'checkTarget' | 'chains'>): Pick<
  Handlers,
  'listNodes' | 'createNetwork' | 'listNetworks' | 'getNetwork' | 'updateNetwork' | 'deleteNetwork'
> {
  /** Adds warnings about its nodes. */
  async function showChecked(nodes: NodeAccess, network: Network): Promise<Network> {
    const warnings = await nodeWarnings(chains, nodes, network.name)
    return warnings.length === 0 ? show(network) : { ...show(network), warnings }
  }

  const privateUrls = (inputs: readonly PrivateRpcUrlInput[] | null = []): PrivateRpcUrl[] =>
    readPrivateRpcUrls(inputs ?? [], ['private_rpc_urls'], checkTarget)

  return {
    async createNetwork({ body, auditEntry, nodes }) {
      const network = withRevision('networks', {
        ...networkDefaults(body.chain_id),
        ...normalized(body),
        id: `evm:${body.name}`,
        rpc_urls: readRpcUrls(body.rpc_urls, ['rpc_urls'], checkTarget),
        private_rpc_urls: privateUrls(body.private_rpc_urls),
      })
      readSubmission(network.submission, network)
      auditEntry.subject = network.id
      const isNew = await store.createNetwork(network, auditEntry)
      if (!isNew) throw conflict('already_exists', ['name'], 'a network with this name already exists')
      return showChecked(nodes, network)
    },

    listNetworks: ({ query }) => page(query, store.listNetworks, show),

    async getNetwork({ path }) {
      const network = await store.getNetwork(path.network_id)
      return network && show(network)
    },

    async listNodes({ path, nodes: access }) {
      const network = await store.getNetwork(path.network_id)
      if (!network) return undefined
      const urls = showRpcUrls(network.rpc_urls)
      const client = await chains.clientFor(access, { network: network.name, custom_rpc_urls: [] })
      const nodes = ((await client?.nodes()) ?? []).map((node, index) => ({ ...node, url: urls[index]?.url ?? '' }))
      return Page.whole(nodes)
    },

    async updateNetwork({ path, body, auditEntry, ifMatch, nodes }) {
      const { rpc_urls, private_rpc_urls, ...rest } = normalized(body)
      const urls = rpc_urls && { rpc_urls: readRpcUrls(rpc_urls, ['rpc_urls'], checkTarget) }
      const relays = private_rpc_urls !== undefined && { private_rpc_urls: privateUrls(private_rpc_urls) }
      const network = await store.updateNetwork(
        path.network_id,
        (current) => {
          const changed = { ...current, ...withDefaults(rest, current.chain_id), ...urls, ...relays }
          readSubmission(changed.submission, changed)
          return changed
        },
        { auditEntry, ifMatch },
      )
      if (!network) return undefined
      return urls === undefined ? show(network) : await showChecked(nodes, network)
    },

    async deleteNetwork({ path, auditEntry, ifMatch }) {
      const outcome = await store.deleteNetwork(path.network_id, { auditEntry, ifMatch })
      if (outcome === 'missing') return undefined
      if (outcome === 'in_use')
        throw conflictAt('in_use', '/path/network_id', 'a relayer uses this network; delete its relayers first')
      return deleted(path.network_id)
    },
  }
}

const readPrice = (given: AmountInput | null, name: string): string | null =>
  given === null ? null : readAmount(given, [name])

type Inputs = Pick<UpdateNetworkRequest, 'min_priority_fee_per_gas' | 'min_gas_price' | 'coin_token'>

/** A body with its amounts and addresses in normal form. Throws DomainError (400). */
function normalized<B extends Inputs>({
  min_priority_fee_per_gas: tip,
  min_gas_price: price,
  coin_token: token,
  ...rest
}: B) {
  return {
    ...rest,
    ...(tip !== undefined && { min_priority_fee_per_gas: readPrice(tip, 'min_priority_fee_per_gas') }),
    ...(price !== undefined && { min_gas_price: readPrice(price, 'min_gas_price') }),
    ...(token !== undefined && {
      coin_token: token && { ...token, address: readAddress(token.address, ['coin_token', 'address']) },
    }),
  }
}

const show = (network: Network): Network => ({
  ...network,
  rpc_urls: showRpcUrls(network.rpc_urls),
  private_rpc_urls: showRpcUrls(network.private_rpc_urls),
})
