import type {
  PrivateRpcUrl,
  PrivateRpcUrlInput,
  ResourceWarning,
  RpcUrl,
  RpcUrlInput,
} from '../../generated/openapi.ts'
import type { CallerChains } from '../chain/chains.ts'
import { badRequest, type Field } from '../domain/errors.ts'
import type { NodeAccess } from '../domain/node-access.ts'
import { mask, showRpcUrls } from '../domain/values.ts'
import { withTimeout } from '../lib/timers.ts'

const defaultWeight = 100
/** Flashbots Protect drops a transaction after this number of blocks. */
const defaultPrivateExpiryBlocks = 25

/** Returns the reason why a URL may not be called. */
type Check = (url: URL) => string | undefined

/** Reads RPC URLs. `field`: theirs in the value. */
export const readRpcUrls = (inputs: readonly RpcUrlInput[], field: Field, check: Check): RpcUrl[] =>
  readUrls(inputs, field, check).map(({ url, weight = defaultWeight }) => ({ url, weight }))

/** Reads the URLs of private relays. */
export const readPrivateRpcUrls = (
  inputs: readonly PrivateRpcUrlInput[],
  field: Field,
  check: Check,
): PrivateRpcUrl[] =>
  readUrls(inputs, field, check).map(
    ({ url, method = 'eth_sendRawTransaction', private_expiry_blocks = defaultPrivateExpiryBlocks }) => ({
      url,
      method,
      private_expiry_blocks,
    }),
  )

function readUrls<T extends { url: string }>(inputs: readonly (string | T)[], field: Field, check: Check) {
  return inputs.map((input, index): { url: string } & Partial<T> => {
    const own = [...field, index]
    const [its, at] = typeof input === 'string' ? [{ url: input } as T, own] : [input, [...own, 'url']]
    const url = URL.parse(its.url)
    if (!url) throw badRequest(at, 'must be an absolute URL, for example https://rpc.example.com')
    if (its.url.includes(mask)) throw badRequest(at, 'must be the complete URL, not the masked one from a response')
    const refused = check(url)
    if (refused) throw badRequest(at, refused)
    return its
  })
}

/** The longest wait of a request that only wants to warn. */
const patienceMs = 2_000
const late = () => new Error(`nodes did not answer within ${patienceMs / 1_000} s`)

/**
 * The nodes that do not answer, or are on another chain than the network. It never rejects: what it warns of was created already.
 * `custom`: a relayer's own endpoints; empty: the network's.
 */
export async function nodeWarnings(
  chains: CallerChains,
  nodes: NodeAccess,
  network: string,
  custom: RpcUrl[] = [],
): Promise<ResourceWarning[]> {
  try {
    const client = await chains.clientFor(nodes, { network, custom_rpc_urls: custom })
    if (!client) return []
    const urls = showRpcUrls(custom.length > 0 ? custom : client.network.rpc_urls)
    const states = await withTimeout(patienceMs, late, () => client.nodes())
    return states.flatMap(({ status, error }, index) =>
      status === 'healthy' ? [] : unhealthy(`node ${urls[index]?.url}: ${error}`),
    )
  } catch (error) {
    return [unhealthy((error as Error).message)]
  }
}

const unhealthy = (message: string): ResourceWarning => ({ code: 'node_unhealthy', message: message.slice(0, 1_000) })
