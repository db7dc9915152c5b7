import type { LookupFunction } from 'node:net'
import type { Network, PrivateRpcUrl, RpcUrl } from '../../generated/openapi.ts'
import type { Market } from '../domain/fees.ts'
import { FairTurns, type NodeAccess, serviceAccess, type TurnLimits } from '../domain/node-access.ts'
import type { Observer } from '../domain/observer.ts'
import type { RelayerRow } from '../domain/rows.ts'
import { isPrivate } from '../domain/submission.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import { BoundedMap } from '../lib/bounded-map.ts'
import { GenerationCache } from '../lib/generation-cache.ts'
import type { TargetCheck } from '../lib/ssrf-guard.ts'
import type { Store } from '../store/store.ts'
import type { Audience } from './answer-limits.ts'
import { type Chain, createChain } from './chain.ts'
import { ChainWatch } from './chain-watch.ts'
import type { Endpoint } from './endpoint.ts'
import { createGas, createGasRules, type Gas, withoutForks } from './gas.ts'
import { atLeastMarket, medianMarket } from './market.ts'
import { createMempool, type Mempool, toRelay, withoutRelays } from './mempool.ts'
import { examine, type NodeHealth } from './node-health.ts'
import { endpointOpener } from './open-endpoint.ts'
import { createPost, type Post } from './post.ts'
import { createRpc, defaultLimits, inTurn, isRpcFailure, type Rpc, type RpcLimits, RpcUnavailable } from './rpc.ts'
import type { AccountSnapshot, Snapshot } from './snapshot.ts'

/** The client of a network, with the endpoints of one relayer. */
export interface NetworkClient {
  chain: Chain & Pick<ChainWatch, 'poll' | 'height'>
  /**
   * The same nodes for calls that callers of the API ask for, with connections, turns, limits and a health of their own: slow or
   * failing calls of a caller delay neither the sender nor other callers.
   */
  callers: Chain
  /** For what callers ask in bursts: the nodes and the health of `callers`, in batches, with turns of their own. */
  estimates: Pick<Chain, 'estimateGas' | 'balance' | 'latestNonce' | 'dataFee'>
  /** What the nodes say about gas, asked by the sender. */
  gas: Gas
  /** Where the bytes of a transaction go while it is in no block. */
  mempoolOf(transaction: Pick<TransactionRow, 'submission'>): Mempool
  /** The network's endpoints, each asked alone. */
  each: Chain[]
  /** The same text, the same endpoints. */
  endpoints: string
  /** The health of each endpoint, cached for two seconds. */
  nodes(): Promise<NodeHealth[]>
  network: Network
  /** Cached for two seconds. */
  market(): Promise<Market>
  /** Cached for one second. */
  funds(address: string): Promise<AccountSnapshot>
  /** What `read` answers about the newest block of one node; the next node is asked when one fails. */
  atNewest<T>(read: (snapshot: Snapshot) => Promise<T>): Promise<T>
  /** Whether the address has code, cached for a minute; false when no node says. */
  hasCode(address: string): Promise<boolean>
}

type Endpoints = Pick<RelayerRow, 'network' | 'custom_rpc_urls'>

/** The client of a network for the request of a caller: its calls wait for turns of the caller's share, and are counted. */
export interface CallerChains {
  /** Undefined when the network was deleted. */
  clientFor(access: NodeAccess, relayer: Endpoints): Promise<NetworkClient | undefined>
}

export interface Chains extends CallerChains {
  /** For background work only, which shares nothing with callers. Undefined when the network was deleted. */
  networkClient(relayer: Endpoints): Promise<NetworkClient | undefined>
}

type Parts = Omit<NetworkClient, 'network' | 'endpoints'>

/** The nodes at some URLs. */
interface Connection {
  background: Parts
  of(access: NodeAccess): Parts
  close(): void
}

const marketMs = 2_000
const fundsMs = 1_000
const nodesMs = 2_000
const codeMs = 60_000
const maxRemembered = 10_000
/** The sets of URLs whose connections and health are kept. */
const maxConnections = 300
const maxNetworks = 10_000
const maxKeys = 1_000
/** With three answers, one node with false prices does not determine the result. */
const maxPriceSources = 3
/** Relays share what is sent evenly. */
const relayWeight = 1
/** Requests to the nodes at some URLs, for callers: what they read, and what sending needs before it accepts. */
const readTurns: TurnLimits = { limit: 32, each: 8 }
const quoteTurns: TurnLimits = { limit: 32, each: 4 }
/** Calls that callers word themselves, whose answers may be large, to all nodes. */
const callTurns: TurnLimits = { limit: 32, each: 8, max_waiting: 2_000 }
/** One call per request, so that a slow call delays no other. */
const readLimits: RpcLimits = { ...defaultLimits, max_batch: 1, max_at_once: readTurns.each, max_waiting: 2_000 }

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
  const networks = new GenerationCache<Network | undefined>(
    () => store.generation(),
    maxNetworks,
    () => void closeUnnamed(),
  )
  const connections = new Map<string, Connection>()
  const calls = new FairTurns(callTurns)

  const openEndpoint = endpointOpener({ openPost, checkTarget, now, observer })

  const connect = (known: Network, customRpcUrls: RpcUrl[]): Connection => {
    const { chain_id, private_rpc_urls: relays } = known
    const urls = distinct(urlsOf(known, customRpcUrls))
    const isCustom = customRpcUrls.length > 0
    const open = (audience: Audience) => urls.map((its) => openEndpoint({ chain_id, isCustom, ...its }, audience))
    const endpoints = open('service')
    const rpc = createRpc(endpoints, now)
    const chain = createChain(rpc)
    const chainWatch = new ChainWatch(chain, now)
    const watch = {
      poll: (address: string, maxAgeMs: number) => chainWatch.poll(address, maxAgeMs),
      height: () => chainWatch.height(),
    }
    const forCallers = open('callers')
    const each = endpoints.map((endpoint) => createChain(createRpc([endpoint], now)))
    const rules = createGasRules(each, now)
    const relay = openRelays(chain_id, distinct(relays), watch.height)
    const [reads, quotes] = [new FairTurns(readTurns), new FairTurns(quoteTurns)]
    const rpcs = new BoundedMap<string, { read: Rpc; quote: Rpc; relayed: Rpc; each: Chain[] }>(maxKeys)
    const rpcsOf = (key: string) =>
      rpcs.of(key, () => {
        const quoting = { ...defaultLimits, inTurn: <T>(work: () => Promise<T>) => quotes.run(key, work) }
        return {
          read: createRpc(forCallers, now, Math.random, { ...readLimits, inTurn: (work) => reads.run(key, work) }),
          quote: createRpc(forCallers, now, Math.random, quoting),
          relayed: provingNothing(createRpc(relay.forCallers, now, Math.random, quoting)),
          each: forCallers.map((endpoint) => createChain(createRpc([endpoint], now, Math.random, quoting))),
        }
      })
    const partsOf = (access: NodeAccess) => {
      const { read, quote, relayed, ...asked } = rpcsOf(access.key)
      const counted =
        (its: Rpc): Rpc =>
        (...call) => {
          access.take()
          return its(...call)
        }
      const [callers, estimates] = [createChain(counted(read)), createChain(counted(quote))]
      const gas = createGas(estimates, rules, asked.each, now)
      const mempool = createMempool(rpc, gas, undefined)
      const relays = relay.open(createGas(createChain(counted(relayed)), withoutForks(rules), [], now))
      return {
        callers: { ...callers, rpc: (...call: Parameters<Rpc>) => calls.run(access.key, () => callers.rpc(...call)) },
        estimates,
        atNewest<T>(read: (snapshot: Snapshot) => Promise<T>) {
          access.take()
          return newestOf(forCallers, asked.each, now)(read)
        },
        gas,
        mempoolOf: (transaction: Pick<TransactionRow, 'submission'>) => (isPrivate(transaction) ? relays : mempool),
      }
    }
    const market = remember(marketMs, now, async () => {
      const isWell = ({ weight, rest_until }: Endpoint) => weight > 0 && rest_until <= now()
      const asked = each.filter((_, index) => isWell(endpoints[index] as Endpoint)).slice(0, maxPriceSources)
      if (asked.length < 2) return chain.market()
      const answers = await Promise.allSettled(asked.map((source) => source.market()))
      const markets = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
      return medianMarket(markets) ?? chain.market()
    })
    const nodes = remember(nodesMs, now, () =>
      Promise.all(endpoints.map((endpoint, index) => examine(endpoint, each[index] as Chain, now))),
    )
    const atNewest = newestOf(endpoints, each, now)
    const funds = remember(fundsMs, now, (address: string) => atNewest((snapshot) => snapshot.account(address)))
    const hasCode = remember(codeMs, now, (address: string) =>
      chain.code(address).then(
        (code) => code.length > 0,
        () => false,
      ),
    )
    const shared = {
      each,
      nodes: () => nodes(''),
      market: () => market(''),
      funds,
      hasCode,
    }
    return {
      background: {
        ...{ ...shared, ...partsOf(serviceAccess()) },
        chain: { ...chain, ...watch },
        atNewest,
        gas: createGas(chain, rules, each, now),
      },
      of(access) {
        const parts = partsOf(access)
        return { ...shared, ...parts, chain: { ...parts.estimates, ...watch } }
      },
      close() {
        for (const endpoint of [...endpoints, ...forCallers, ...relay.all]) endpoint.close()
      },
    }
  }

  function openRelays(chainId: number, relays: PrivateRpcUrl[], height: () => number | undefined) {
    const open = (audience: Audience) =>
      relays.map((relay) => {
        const node = { chain_id: chainId, url: relay.url, weight: relayWeight, isCustom: false }
        return toRelay(openEndpoint(node, audience), relay, height)
      })
    const [forService, forCallers] = [open('service'), open('callers')]
    const rpc = provingNothing(createRpc(forService, now))
    const privateExpiryBlocks = Math.max(...relays.map((relay) => relay.private_expiry_blocks))
    return {
      forCallers,
      all: [...forService, ...forCallers],
      open(gas: Gas): Mempool {
        if (relays.length === 0) return withoutRelays()
        // Few relays run calls.
        const shortageOf: Gas['shortageOf'] = (call) => gas.shortageOf(call).catch(() => undefined)
        return createMempool(rpc, { ...gas, shortageOf }, privateExpiryBlocks)
      },
    }
  }

  /** The network, and the connection with the endpoints of one relayer. */
  async function find({ network, custom_rpc_urls }: Endpoints) {
    const known = await networks.find(network, () => store.getNetwork(`evm:${network}`))
    if (!known) return undefined
    // A node's health is kept until its URL changes.
    const key = keyOf(known, custom_rpc_urls)
    const connection = connections.get(key) ?? connect(known, custom_rpc_urls)
    // The last of the map is the one that was used last.
    connections.delete(key)
    connections.set(key, connection)
    const [oldest] = connections.keys()
    if (connections.size > maxConnections && oldest !== undefined) close(oldest)
    return { connection, about: { network: known, endpoints: key } }
  }

  function close(key: string): void {
    connections.get(key)?.close()
    connections.delete(key)
  }

  /** Closes the connections to what the configuration no longer names. */
  async function closeUnnamed(): Promise<void> {
    const before = [...connections.keys()]
    const named = await store.namedEndpoints().catch(() => undefined)
    if (!named) return
    const keys = new Set(named.map(({ network, custom_rpc_urls }) => keyOf(network, custom_rpc_urls)))
    for (const key of before) if (!keys.has(key)) close(key)
  }

  return {
    async networkClient(relayer) {
      const found = await find(relayer)
      return found && ofNetwork(found.connection.background, found.about)
    },
    async clientFor(access, relayer) {
      const found = await find(relayer)
      return found && ofNetwork(found.connection.of(access), found.about)
    },
  }
}

function ofNetwork(client: Parts, about: Pick<NetworkClient, 'network' | 'endpoints'>): NetworkClient {
  return { ...client, market: async () => atLeastMarket(await client.market(), about.network), ...about }
}

/** A relayer's own URLs, or those of its network. */
const urlsOf = ({ rpc_urls }: Network, custom: RpcUrl[]): RpcUrl[] => (custom.length > 0 ? custom : rpc_urls)

const keyOf = (network: Network, custom: RpcUrl[]): string =>
  JSON.stringify([network.chain_id, urlsOf(network, custom), network.private_rpc_urls])

/** Of endpoints that are no witnesses: which chain they are on says nothing about the chain of the nodes. */
const provingNothing =
  (rpc: Rpc): Rpc =>
  (...call) =>
    rpc(...call).catch((error) => {
      throw error instanceof RpcUnavailable && error.wrong_chain !== undefined
        ? new RpcUnavailable(error.message)
        : error
    })

/** One node at a time answers all questions: a block that only one of them shows is no obstacle. */
const newestOf =
  (endpoints: Endpoint[], each: Chain[], now: () => number) =>
  async <T>(read: (snapshot: Snapshot) => Promise<T>): Promise<T> => {
    let failure: unknown = new RpcUnavailable('The network has no node')
    for (const index of inTurn(endpoints, now())) {
      try {
        return await read(await (each[index] as Chain).snapshot())
      } catch (error) {
        if (!isRpcFailure(error)) throw error
        failure = error
      }
    }
    throw failure
  }

/** The same address twice is one witness. */
function distinct<T extends { url: string }>(urls: T[]): T[] {
  const addresses = urls.map(({ url }) => new URL(url).href)
  return urls.filter((_, index) => addresses.indexOf(addresses[index] as string) === index)
}

/** Caches the result for `ms`. Concurrent callers share one call. A failure is not cached. */
function remember<T>(ms: number, now: () => number, load: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const known = new BoundedMap<string, { until: number; value: Promise<T> }>(maxRemembered)
  return (key) => {
    const entry = known.get(key)
    if (entry && entry.until > now()) return entry.value
    const value = load(key)
    known.set(key, { until: now() + ms, value })
    value.catch(() => known.delete(key))
    return value
  }
}
