import type { LookupFunction } from 'node:net'
import type { Network, PrivateRpcUrl, RpcUrl } from '../../generated/openapi.ts'
import { BoundedMap } from '../core/bounded-map.ts'
import type { Observer } from '../core/observer.ts'
import type { Market } from '../core/prices.ts'
import type { RelayerRow } from '../core/rows.ts'
import type { TransactionRow } from '../core/sending-rows.ts'
import { isPrivate } from '../core/submission.ts'
import type { TargetCheck } from '../outbound/address-guard.ts'
import type { Store } from '../store/store.ts'
import type { Audience } from './answer-limits.ts'
import { type Chain, createChain } from './chain.ts'
import { type ChainWatch, createChainWatch } from './chain-watch.ts'
import type { Endpoint } from './endpoint.ts'
import { createGas, createGasRules, type Gas, type GasRules, withoutForks } from './gas.ts'
import { atLeastMarket, medianMarket } from './market.ts'
import { createMempool, type Mempool, toRelay, withoutRelays } from './mempool.ts'
import { examine, type NodeHealth } from './node-health.ts'
import { endpointOpener } from './open-endpoint.ts'
import { createPost, type Post } from './post.ts'
import { createRpc, type Rpc, type RpcLimits, RpcUnavailable } from './rpc.ts'

/** The client of a network, with the endpoints of one relayer. */
export interface NetworkClient {
  chain: Chain & ChainWatch
  /**
   * The same nodes for calls that callers of the API ask for, with connections, a queue, limits and a health of their own: slow or
   * failing calls of a caller do not delay the sender.
   */
  callers: Chain
  /** For what callers ask in bursts: the nodes and the health of `callers`, in batches. */
  estimates: Pick<Chain, 'estimateGas' | 'balance' | 'latestNonce' | 'dataFee'>
  /** What the nodes say about gas, asked by the sender. */
  gas: Gas
  /** Where the bytes of a transaction go while it is in no block. */
  mempoolOf(transaction: Pick<TransactionRow, 'submission'>): Mempool
  /** The network's endpoints, each asked alone. */
  each: Chain[]
  /** The health of each endpoint, cached for two seconds. */
  nodes(): Promise<NodeHealth[]>
  network: Network
  /** Cached for two seconds. */
  market(): Promise<Market>
  /** The balance (in wei) and the nonce, cached for one second. */
  funds(address: string): Promise<{ balance: bigint; latest: number }>
  /** Whether the address has code, cached for a minute; false when no node says. */
  hasCode(address: string): Promise<boolean>
}

export interface Chains {
  /** Undefined when the network was deleted. */
  networkClient(relayer: Pick<RelayerRow, 'network' | 'custom_rpc_urls'>): Promise<NetworkClient | undefined>
}

const market_ms = 2_000
const funds_ms = 1_000
const nodes_ms = 2_000
const code_ms = 60_000
const max_remembered = 10_000
/** The sets of URLs whose health is kept. Connections of the others are closed when they are idle (post.ts). */
const max_connections = 300
/** With three answers, one node with false prices does not determine the result. */
const max_price_sources = 3
/** Relays share what is sent evenly. */
const relay_weight = 1
/** One call per request, so that a slow call delays no other. */
const caller_limits: RpcLimits = { max_batch: 1, max_batch_bytes: 512 * 1024, max_at_once: 64, max_waiting: 20_000 }

/**
 * `lookup`: decides which addresses a node's host name may resolve to. `now`: monotonic milliseconds. `openPost`: the connection to a
 * node's URL; a test passes a node of its own. `checkTarget`: why a URL may not be called. It is asked at each call, because a stored URL
 * may be older than the setting.
 */
export function createChains(
  store: Store,
  lookup: LookupFunction | undefined,
  now: () => number,
  observer: Observer,
  openPost: (url: string) => Post = (url) => createPost(url, lookup),
  checkTarget: TargetCheck = () => undefined,
): Chains {
  const networks = new Map<string, Network>()
  const connections = new BoundedMap<string, Omit<NetworkClient, 'network'>>(max_connections)
  let generation = 0

  const openEndpoint = endpointOpener({ openPost, checkTarget, now, observer })

  const connect = (chain_id: number, given: RpcUrl[], relays: PrivateRpcUrl[]): Omit<NetworkClient, 'network'> => {
    const urls = distinct(given)
    const open = (audience: Audience) => urls.map(({ url, weight }) => openEndpoint(chain_id, url, weight, audience))
    const endpoints = open('service')
    const rpc = createRpc(endpoints, now)
    const chain = createChain(rpc)
    const watch = createChainWatch(chain, now)
    const forCallers = open('callers')
    const callers = createChain(createRpc(forCallers, now, Math.random, caller_limits))
    const estimates = createChain(createRpc(forCallers, now))
    const each = endpoints.map((endpoint) => createChain(createRpc([endpoint], now)))
    const rules = createGasRules(each, now)
    const gas = createGas(chain, rules, each, now)
    const mempool = createMempool(rpc, createGas(estimates, rules, each, now), undefined)
    const relay = openRelays(chain_id, distinct(relays), watch.height, withoutForks(rules))
    const market = remember(market_ms, now, async () => {
      const isWell = ({ weight, rest_until }: Endpoint) => weight > 0 && rest_until <= now()
      const asked = each.filter((_, index) => isWell(endpoints[index] as Endpoint)).slice(0, max_price_sources)
      if (asked.length < 2) return chain.market()
      const answers = await Promise.allSettled(asked.map((source) => source.market()))
      const markets = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
      return medianMarket(markets) ?? chain.market()
    })
    const nodes = remember(nodes_ms, now, () =>
      Promise.all(endpoints.map((endpoint, index) => examine(endpoint, each[index] as Chain, now))),
    )
    const funds = remember(funds_ms, now, async (address: string) => {
      const [balance, latest] = await Promise.all([chain.balance(address), chain.latestNonce(address)])
      return { balance, latest }
    })
    const hasCode = remember(code_ms, now, (address: string) =>
      chain.code(address).then(
        (code) => code.length > 0,
        () => false,
      ),
    )
    return {
      chain: { ...chain, ...watch },
      callers,
      estimates,
      gas,
      mempoolOf: (transaction) => (isPrivate(transaction) ? relay : mempool),
      each,
      nodes: () => nodes(''),
      market: () => market(''),
      funds,
      hasCode,
    }
  }

  function openRelays(
    chain_id: number,
    relays: PrivateRpcUrl[],
    height: () => number | undefined,
    rules: () => Promise<GasRules>,
  ): Mempool {
    if (relays.length === 0) return withoutRelays()
    const open = (audience: Audience): Rpc => {
      const endpoints = relays.map((relay) =>
        toRelay(openEndpoint(chain_id, relay.url, relay_weight, audience), relay, height),
      )
      return provingNothing(createRpc(endpoints, now))
    }
    const gas = createGas(createChain(open('callers')), rules, [], now)
    const drops_after_blocks = Math.max(...relays.map((relay) => relay.drops_after_blocks))
    // Few relays run calls.
    const shortageOf: Gas['shortageOf'] = (call) => gas.shortageOf(call).catch(() => undefined)
    return createMempool(open('service'), { ...gas, shortageOf }, drops_after_blocks)
  }

  return {
    async networkClient(relayer) {
      const current = await store.generation()
      if (current !== generation) {
        networks.clear()
        generation = current
      }
      const known = networks.get(relayer.network) ?? (await store.getNetwork(`evm:${relayer.network}`))
      if (!known) return undefined
      networks.set(relayer.network, known)
      const urls = relayer.custom_rpc_urls.length > 0 ? relayer.custom_rpc_urls : known.rpc_urls
      // A node's health is kept until its URL changes.
      const key = JSON.stringify([known.chain_id, urls, known.private_rpc_urls])
      const connection = connections.get(key) ?? connect(known.chain_id, urls, known.private_rpc_urls)
      // The last of the map is the one that was used last.
      connections.delete(key)
      connections.set(key, connection)
      const market = async () => atLeastMarket(await connection.market(), known)
      return { ...connection, market, network: known }
    },
  }
}

/** Of endpoints that are no witnesses: which chain they are on says nothing about the chain of the nodes. */
const provingNothing =
  (rpc: Rpc): Rpc =>
  (...call) =>
    rpc(...call).catch((error) => {
      throw error instanceof RpcUnavailable && error.wrong_chain !== undefined
        ? new RpcUnavailable(error.message)
        : error
    })

/** The same address twice is one witness. */
function distinct<T extends { url: string }>(urls: T[]): T[] {
  const addresses = urls.map(({ url }) => new URL(url).href)
  return urls.filter((_, index) => addresses.indexOf(addresses[index] as string) === index)
}

/** Caches the result for `ms`. Concurrent callers share one call. A failure is not cached. */
function remember<T>(ms: number, now: () => number, load: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const known = new BoundedMap<string, { until: number; value: Promise<T> }>(max_remembered)
  return (key) => {
    const entry = known.get(key)
    if (entry && entry.until > now()) return entry.value
    const value = load(key)
    known.set(key, { until: now() + ms, value })
    value.catch(() => known.delete(key))
    return value
  }
}
