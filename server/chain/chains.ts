import type { Network, RpcUrl } from '../../generated/openapi.ts'
import { networkDeleted } from '../domain/errors.ts'
import type { Market } from '../domain/fees.ts'
import { FairTurns, type NodeAccess, serviceAccess, type TurnLimits } from '../domain/node-access.ts'
import type { RelayerRow } from '../domain/rows.ts'
import { isPrivate } from '../domain/submission.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import { BoundedMap, GenerationCache } from '../lib/cache.ts'
import type { Store } from '../store/store.ts'
import type { Audience } from './answer-limits.ts'
import { Chain } from './chain.ts'
import { ChainWatch } from './chain-watch.ts'
import type { Endpoint } from './endpoint.ts'
import { Gas, GasRulesReader, RelayGas } from './gas.ts'
import { atLeastMarket, medianMarket } from './market.ts'
import { Mempool, toRelay, withoutRelays } from './mempool.ts'
import { examine, type NodeHealth } from './node-health.ts'
import { type EndpointContext, openEndpoint } from './open-endpoint.ts'
import { CallQueue, defaultLimits, inTurn, isRpcFailure, type Rpc, type RpcLimits, RpcUnavailable } from './rpc.ts'
import type { AccountSnapshot, Snapshot } from './snapshot.ts'

/** The client of a network, with the endpoints of one relayer. */
export interface NetworkClient {
  chain: Chain
  watch: Pick<ChainWatch, 'poll'>
  /**
   * The same nodes for calls that callers of the API ask for, with connections, turns, limits and a health of their own: slow or
   * failing calls of a caller delay neither the sender nor other callers.
   */
  callers: Chain
  /** Passes on calls that callers word themselves, whose answers may be large. */
  passOn: Rpc
  /** For what callers ask in bursts: the nodes and the health of `callers`, in batches, with turns of their own. */
  estimates: Pick<Chain, 'estimateGas' | 'balance' | 'latestNonce' | 'dataFee' | 'code'>
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
  /** Whether the address has code, cached for a minute; undefined when no node says. */
  hasCode(address: string): Promise<boolean | undefined>
  /** The same, asked under the caller's share unless code was found there in the last hour. */
  isContract(address: string): Promise<boolean | undefined>
}

type Endpoints = Pick<RelayerRow, 'network' | 'custom_rpc_urls'>

/** The client of a network for the request of a caller: its calls wait for turns of the caller's share, and are counted. */
export interface CallerChains {
  /** Undefined when the network was deleted. */
  clientFor(access: NodeAccess, relayer: Endpoints): Promise<NetworkClient | undefined>
}

/** Throws DomainError (503) when the network was deleted. */
export async function requireClient(
  chains: Pick<CallerChains, 'clientFor'>,
  access: NodeAccess,
  relayer: Endpoints,
): Promise<NetworkClient> {
  const client = await chains.clientFor(access, relayer)
  if (!client) throw networkDeleted()
  return client
}

type Parts = Omit<NetworkClient, 'network' | 'endpoints'>

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

interface ChainsContext extends EndpointContext {
  store: Pick<Store, 'generation' | 'getNetwork' | 'namedEndpoints'>
}

/** The clients of all networks. Connections are kept while their URLs are in use. */
export class Chains implements CallerChains {
  readonly #context: ChainsContext
  readonly #networks: GenerationCache<Network | undefined>
  readonly #connections = new Map<string, Connection>()
  readonly #calls = new FairTurns(callTurns)

  constructor(context: ChainsContext) {
    this.#context = context
    this.#networks = new GenerationCache(
      () => context.store.generation(),
      maxNetworks,
      () => void this.#closeUnnamed(),
    )
  }

  /** For background work only, which shares nothing with callers. Undefined when the network was deleted. */
  async networkClient(relayer: Endpoints): Promise<NetworkClient | undefined> {
    const found = await this.#find(relayer)
    return found && ofNetwork(found.connection.background, found.about)
  }

  async clientFor(access: NodeAccess, relayer: Endpoints): Promise<NetworkClient | undefined> {
    const found = await this.#find(relayer)
    return found && ofNetwork(found.connection.partsFor(access), found.about)
  }

  /** The network, and the connection with the endpoints of one relayer. */
  async #find({ network, custom_rpc_urls }: Endpoints) {
    const known = await this.#networks.find(network, () => this.#context.store.getNetwork(`evm:${network}`))
    if (!known) return undefined
    // A node's health is kept until its URL changes.
    const key = keyOf(known, custom_rpc_urls)
    const connection = this.#connections.get(key) ?? new Connection(this.#context, known, custom_rpc_urls, this.#calls)
    // The last of the map is the one that was used last.
    this.#connections.delete(key)
    this.#connections.set(key, connection)
    const [oldest] = this.#connections.keys()
    if (this.#connections.size > maxConnections && oldest !== undefined) this.#close(oldest)
    return { connection, about: { network: known, endpoints: key } }
  }

  #close(key: string): void {
    this.#connections.get(key)?.close()
    this.#connections.delete(key)
  }

  /** Closes the connections to what the configuration no longer names. */
  async #closeUnnamed(): Promise<void> {
    const before = [...this.#connections.keys()]
    const named = await this.#context.store.namedEndpoints().catch(() => undefined)
    if (!named) return
    const keys = new Set(named.map(({ network, custom_rpc_urls }) => keyOf(network, custom_rpc_urls)))
    for (const key of before) if (!keys.has(key)) this.#close(key)
  }
}

function ofNetwork(client: Parts, about: Pick<NetworkClient, 'network' | 'endpoints'>): NetworkClient {
  return { ...client, market: async () => atLeastMarket(await client.market(), about.network), ...about }
}

const hasCodeOn = (chain: Chain, address: string): Promise<boolean | undefined> =>
  chain.code(address).then(
    (code) => code.length > 0,
    () => undefined,
  )

/** The contracts of a network that are remembered, about 0.1 KB each. */
const maxContracts = 10_000
const contractMs = 60 * 60_000

/** The nodes at some URLs. Background work and callers have connections of their own to them. */
class Connection {
  readonly background: Parts
  readonly #now: () => number
  readonly #rpc: Rpc
  readonly #relayed: Rpc
  readonly #rules: GasRulesReader
  readonly #shared: Pick<NetworkClient, 'each' | 'nodes' | 'market' | 'funds' | 'hasCode'>
  readonly #watch: ChainWatch
  readonly #endpoints: Endpoint[]
  readonly #forCallers: Endpoint[]
  readonly #relays: Record<Audience, Endpoint[]>
  readonly #privateExpiryBlocks: number | undefined
  readonly #calls: FairTurns
  readonly #reads = new FairTurns(readTurns)
  readonly #quotes = new FairTurns(quoteTurns)
  /** When a contract was found at an address. */
  readonly #contracts = new BoundedMap<string, number>(maxContracts)
  readonly #rpcs = new BoundedMap<string, { read: Rpc; quote: Rpc; relayed: Rpc; each: Chain[] }>(maxKeys)

  constructor(context: ChainsContext, network: Network, customRpcUrls: RpcUrl[], calls: FairTurns) {
    const { chain_id } = network
    const { now } = context
    const urls = distinct(urlsOf(network, customRpcUrls))
    const isCustom = customRpcUrls.length > 0
    const open = (audience: Audience) =>
      urls.map((its) => openEndpoint(context, { chain_id, isCustom, ...its }, audience))
    const relays = distinct(network.private_rpc_urls)
    const openRelays = (audience: Audience) =>
      relays.map((relay) => {
        const node = { chain_id, url: relay.url, weight: relayWeight, isCustom: false }
        return toRelay(openEndpoint(context, node, audience), relay, () => this.#watch.height())
      })
    this.#now = now
    this.#calls = calls
    this.#endpoints = open('service')
    this.#forCallers = open('callers')
    this.#relays = { service: openRelays('service'), callers: openRelays('callers') }
    const hasRelays = relays.length > 0
    this.#privateExpiryBlocks = hasRelays ? Math.max(...relays.map((relay) => relay.private_expiry_blocks)) : undefined
    this.#rpc = new CallQueue(this.#endpoints, now).call
    this.#relayed = hasRelays ? provingNothing(new CallQueue(this.#relays.service, now).call) : withoutRelays
    const chain = new Chain(this.#rpc)
    const each = this.#endpoints.map((endpoint) => new Chain(new CallQueue([endpoint], now).call))
    this.#watch = new ChainWatch(chain, now)
    this.#rules = new GasRulesReader(each, now)
    const atNewest: NetworkClient['atNewest'] = (read) => readNewest(this.#endpoints, each, now, read)
    const nodes = remember(nodesMs, now, () =>
      Promise.all(this.#endpoints.map((endpoint, index) => examine(endpoint, each[index] as Chain, now))),
    )
    const market = remember(marketMs, now, () => this.#readMarket(chain, each))
    this.#shared = {
      each,
      nodes: () => nodes(''),
      market: () => market(''),
      funds: remember(fundsMs, now, (address: string) => atNewest((snapshot) => snapshot.account(address))),
      hasCode: remember(codeMs, now, (address: string) => hasCodeOn(chain, address)),
    }
    const gas = new Gas({ chain, each, now, rules: () => this.#rules.rules() })
    this.background = { ...this.partsFor(serviceAccess()), chain, atNewest, gas }
  }

  partsFor(access: NodeAccess): Parts {
    const now = this.#now
    const rules = () => this.#rules.rules()
    const { read, quote, relayed, each } = this.#rpcsOf(access.key)
    const counted =
      (its: Rpc): Rpc =>
      (...call) => {
        access.take()
        return its(...call)
      }
    const reading = counted(read)
    const estimates = new Chain(counted(quote))
    const gas = new Gas({ chain: estimates, each, now, rules })
    const mempool = new Mempool(this.#rpc, gas)
    const relayGas = new RelayGas({ chain: new Chain(counted(relayed)), each: [], now, rules })
    const relays = new Mempool(this.#relayed, relayGas, this.#privateExpiryBlocks)
    return {
      ...this.#shared,
      watch: this.#watch,
      chain: estimates,
      callers: new Chain(reading),
      isContract: async (address) => {
        const foundAt = this.#contracts.get(address)
        if (foundAt !== undefined && now() - foundAt < contractMs) return true
        const found = await hasCodeOn(estimates, address)
        if (found) this.#contracts.set(address, now())
        return found
      },
      passOn: (...call) => this.#calls.run(access.key, () => reading(...call)),
      estimates,
      atNewest: (read) => {
        access.take()
        return readNewest(this.#forCallers, each, now, read)
      },
      gas,
      mempoolOf: (transaction) => (isPrivate(transaction) ? relays : mempool),
    }
  }

  #rpcsOf(key: string) {
    return this.#rpcs.of(key, () => {
      const now = this.#now
      const { callers } = this.#relays
      const quoting = { ...defaultLimits, inTurn: <T>(work: () => Promise<T>) => this.#quotes.run(key, work) }
      const reading = { ...readLimits, inTurn: <T>(work: () => Promise<T>) => this.#reads.run(key, work) }
      const queue = (endpoints: Endpoint[], limits: RpcLimits) =>
        new CallQueue(endpoints, now, Math.random, limits).call
      return {
        read: queue(this.#forCallers, reading),
        quote: queue(this.#forCallers, quoting),
        relayed: callers.length > 0 ? provingNothing(queue(callers, quoting)) : withoutRelays,
        each: this.#forCallers.map((endpoint) => new Chain(queue([endpoint], quoting))),
      }
    })
  }

  /** The median of several nodes' prices. */
  async #readMarket(chain: Chain, each: Chain[]): Promise<Market> {
    const isWell = ({ weight, rest_until }: Endpoint) => weight > 0 && rest_until <= this.#now()
    const asked = each.filter((_, index) => isWell(this.#endpoints[index] as Endpoint)).slice(0, maxPriceSources)
    if (asked.length < 2) return chain.market()
    const answers = await Promise.allSettled(asked.map((source) => source.market()))
    const markets = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    return medianMarket(markets) ?? chain.market()
  }

  close(): void {
    const { service, callers } = this.#relays
    for (const endpoint of [...this.#endpoints, ...this.#forCallers, ...service, ...callers]) endpoint.close()
  }
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
        ? new RpcUnavailable(`No private relay answers (${error.reason})`)
        : error
    })

/** One node at a time answers all questions: a block that only one of them shows is no obstacle. */
async function readNewest<T>(
  endpoints: Endpoint[],
  each: Chain[],
  now: () => number,
  read: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
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
