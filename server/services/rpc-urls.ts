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

/**
 * Reads RPC URLs. `field`: theirs in the value. `stored`: those of before; one as a response shows it stands for the stored one, so that a
 * list can be changed without the secrets of the others.
 */
export const readRpcUrls = (
  inputs: readonly RpcUrlInput[],
  { field, check, stored = [] }: UrlRules<RpcUrl>,
): RpcUrl[] => readUrls(inputs, { field, check, stored }).map(({ url, weight = defaultWeight }) => ({ url, weight }))

interface UrlRules<T> {
  field: Field
  check: Check
  stored?: readonly T[]
}

/** Reads the URLs of private relays. */
export const readPrivateRpcUrls = (
  inputs: readonly PrivateRpcUrlInput[],
  { field, check, stored = [] }: UrlRules<PrivateRpcUrl>,
): PrivateRpcUrl[] =>
  readUrls(inputs, { field, check, stored }).map(
    ({ url, method = 'eth_sendRawTransaction', private_expiry_blocks = defaultPrivateExpiryBlocks }) => ({
      url,
      method,
      private_expiry_blocks,
    }),
  )

function readUrls<T extends { url: string }>(
  inputs: readonly (string | T)[],
  { field, check, stored = [] }: UrlRules<{ url: string }>,
) {
  // Several that look the same are kept all together, each in its place, or none of them: nobody sees which one is meant.
  const left = showRpcUrls(stored).map(({ url }, index) => ({ shown: url, url: stored[index]?.url ?? '' }))
  return inputs.map((input, index): { url: string } & Partial<T> => {
    const own = [...field, index]
    const [given, at] = typeof input === 'string' ? [{ url: input } as T, own] : [input, [...own, 'url']]
    const found = left.findIndex(({ shown }) => shown === given.url)
    const [kept] = found < 0 ? [] : left.splice(found, 1)
    const its = kept ? { ...given, url: kept.url } : given
    if (kept && left.some(({ shown }) => shown === given.url && shown.includes(mask)) && !isRepeated(inputs, index))
      throw badRequest(at, 'several stored URLs look like this one; give the complete URLs')
    const url = URL.parse(its.url)
    if (!url) throw badRequest(at, 'must be an absolute URL, for example https://rpc.example.com')
    if (its.url.includes(mask))
      throw badRequest(at, 'must be the complete URL: the masked one is none of the stored ones')
    const refused = check(url)
    if (refused) throw badRequest(at, refused)
    return its
  })
}

/** Whether the same URL comes again. */
const isRepeated = (inputs: readonly (string | { url: string })[], index: number): boolean => {
  const urls = inputs.map((input) => (typeof input === 'string' ? input : input.url))
  return urls.indexOf(urls[index] as string, index + 1) >= 0
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
