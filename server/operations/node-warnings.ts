import type { RpcUrl } from '../../generated/openapi.ts'
import type { NodeAccess } from '../core/node-access.ts'
import type { CallerChains } from '../evm/chains.ts'
import { withTimeout } from '../with-timeout.ts'
import { showRpcUrls } from './rpc-urls.ts'

/** The longest wait of a request that only wants to warn. */
const patience_ms = 2_000
const late = () => new Error(`nodes did not answer within ${patience_ms / 1_000} s`)

/**
 * The nodes that do not answer, or are on another chain than the network. It never rejects: what it warns of was created already.
 * `custom`: a relayer's own endpoints; empty: the network's.
 */
export async function nodeWarnings(
  chains: CallerChains,
  nodes: NodeAccess,
  network: string,
  custom: RpcUrl[] = [],
): Promise<string[]> {
  try {
    const client = await chains.clientFor(nodes, { network, custom_rpc_urls: custom })
    if (!client) return []
    const urls = showRpcUrls(custom.length > 0 ? custom : client.network.rpc_urls)
    const states = await withTimeout(patience_ms, late, () => client.nodes())
    return states.flatMap(({ status, error }, index) =>
      status === 'healthy' ? [] : `node ${urls[index]?.url}: ${error}`.slice(0, 1_000),
    )
  } catch (error) {
    return [(error as Error).message]
  }
}
