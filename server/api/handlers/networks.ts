import type {
  AmountInput,
  Network,
  PrivateRpcUrl,
  PrivateRpcUrlInput,
  UpdateNetworkRequest,
} from '../../../generated/openapi.ts'
import { conflict } from '../../domain/errors.ts'
import type { NodeAccess } from '../../domain/node-access.ts'
import { deleted, type Handlers, Page, page } from '../../domain/operation.ts'
import { withRevision } from '../../domain/revision.ts'
import { showRpcUrls } from '../../domain/show-relayer.ts'
import { readSubmission } from '../../domain/submission.ts'
import { readAddress, readAmount } from '../../domain/values.ts'
import type { ServicesContext } from '../../services/context.ts'
import { nodeWarnings, readPrivateRpcUrls, readRpcUrls } from '../../services/rpc-urls.ts'
import { conflictAt } from '../http/errors.ts'

const defaultsOf = (chainId: number) =>
  ({
    symbol: null,
    required_confirmations: confirmationsOf(chainId),
    average_blocktime_ms: null,
    is_testnet: false,
    explorer_urls: [],
    features: [],
    tags: [],
    private_rpc_urls: [],
    submission: { mode: 'public' },
    min_priority_fee_per_gas: null,
    min_gas_price: null,
    coin_token: null,
  }) satisfies Partial<Network>

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
        ...defaultsOf(body.chain_id),
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
          const changed = { ...current, ...mergePatch(rest, current.chain_id), ...urls, ...relays }
          readSubmission(changed.submission, changed)
          return changed
        },
        { auditEntry, ifMatch },
      )
      if (!network) return undefined
      return urls === undefined ? show(network) : await showChecked(nodes, network)
    },

    async deleteNetwork({ path, auditEntry }) {
      const outcome = await store.deleteNetwork(path.network_id, auditEntry)
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

/** RFC 7396: null removes a member, which restores its default. */
function mergePatch(patch: { [Name in keyof Network]?: Network[Name] | null }, chainId: number): Partial<Network> {
  const its: Partial<Network> = defaultsOf(chainId)
  return Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, value ?? its[name as keyof Network]]))
}

const show = (network: Network): Network => ({
  ...network,
  rpc_urls: showRpcUrls(network.rpc_urls),
  private_rpc_urls: showRpcUrls(network.private_rpc_urls),
})

/** A development chain has one node, and nothing replaces its blocks. */
const developmentConfirmations = 1
/**
 * For a chain that is not in the table. Twelve blocks are the customary figure for Ethereum: since the Merge no reorganization of
 * mainnet was deeper than 7 slots (the beacon chain's of 2022-05-25), and a block is final after two epochs, 64 slots.
 */
const defaultConfirmations = 12

/** The default depth of a confirmed transaction by chain id; its own block counts. */
const confirmations: Record<number, number> = {
  1337: developmentConfirmations,
  31337: developmentConfirmations,
  1: 12,
  // BNB Smart Chain: the figure of exchanges from before its fast finality (BEP-126, two blocks as a rule).
  56: 15,
  97: 15,
  // Polygon PoS: a reorganization of 157 blocks was seen on 2023-02-22 (block 39,599,624).
  137: 256,
  80002: 256,
  // Avalanche C-Chain: an accepted block is final; a few blocks cover nodes that lag behind each other.
  43114: 3,
  43113: 3,
  // Rollups: their sequencer alone orders transactions, and takes blocks back only when it fails. The figures are about 40 s of
  // blocks: 2 s on the OP Stack (Optimism, Base, Zora, Mode, Blast), 0.25 s on Arbitrum, 2 to 3 s on Linea and Scroll.
  10: 20,
  8453: 20,
  7777777: 20,
  34443: 20,
  81457: 20,
  11155420: 20,
  84532: 20,
  42161: 160,
  42170: 160,
  421614: 160,
  59144: 20,
  59141: 20,
  534352: 20,
  534351: 20,
}

export const confirmationsOf = (chainId: number): number => confirmations[chainId] ?? defaultConfirmations
