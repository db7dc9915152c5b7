import type { Problem, ProblemKind, UpdateProblemRequest } from '../../generated/openapi.ts'
import type { Chains } from '../chain/chains.ts'
import { errorOf, type Fault, networkDeleted } from '../domain/errors.ts'
import { type Caller, creatorSeenBy, type Page, page } from '../domain/operation.ts'
import { sponsorshipBudget } from '../domain/policies/sponsored-calls.ts'
import type { PageRequest, PendingAuditEntry, RefusedBy, RelayerRow } from '../domain/rows.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import { showRpcUrls } from '../domain/values.ts'
import { yieldToEventLoop } from '../lib/timers.ts'
import {
  type Account,
  type Facts,
  type FoundProblem,
  findProblems,
  LastSeen,
  type NetworkSeen,
  problem,
} from './find-problems.ts'
import type { TransactionsContext } from './transactions/send.ts'

interface ProblemContext extends Pick<TransactionsContext, 'store' | 'nonces' | 'now'> {
  /** For facts that are read once for everybody. */
  background: Pick<Chains, 'networkClient'>
  /** A monotonic clock in milliseconds. */
  elapsed(): number
  /** The reasons why the process is not ready; empty when it is. */
  unready(): Promise<Fault[]>
}
type Snapshot = { facts: Facts; problems: FoundProblem[] }

/** One look serves everybody who asks within this time. */
const snapshotMs = 3_000
const accountsMs = 60_000
const nodesMs = 10_000
const dayS = 24 * 3_600
const quarterS = 900
const maxRelayers = 1_000
const turnQueues = 50
const maxSponsorships = 1_000
const minuteMs = 60_000

/** The problems of the service, and what callers note of them. One look serves everybody for some seconds. */
export class ProblemList {
  readonly #context: ProblemContext
  readonly #accounts: LastSeen<Account>
  readonly #nodes: LastSeen<NetworkSeen>
  #last: { until: number; snapshot: Promise<Snapshot> } | undefined

  constructor(context: ProblemContext) {
    this.#context = context
    this.#accounts = new LastSeen(accountsMs, context.elapsed)
    this.#nodes = new LastSeen(nodesMs, context.elapsed)
  }

  async list(caller: Caller, query: { page: number; per_page: number }): Promise<Page<Problem[]>> {
    const seen = await this.#seenBy(caller)
    const read = async ({ offset, limit }: PageRequest) => ({
      items: seen.slice(offset, offset + limit),
      total_items: seen.length,
    })
    return page(query, read, (its) => its)
  }

  /** A problem whose acknowledgement the caller may change, for everybody; undefined: there is none. Throws DomainError (403). */
  async find(problemId: string, caller: Caller): Promise<Problem | undefined> {
    const seen = await this.#seenBy(caller)
    const found = seen.find(({ id }) => id === problemId)
    if (found && isShared(found) && caller.relayer_ids !== undefined) throw sharedByOthers()
    return found
  }

  async acknowledge(
    found: Problem,
    caller: Caller,
    input: UpdateProblemRequest['acknowledgement'],
    auditEntry: PendingAuditEntry,
  ): Promise<Problem> {
    const { store, now } = this.#context
    if (input === undefined) return found
    if (input === null) {
      await store.deleteAcknowledgement(found.id, auditEntry)
      return { ...found, acknowledgement: null }
    }
    const at = now()
    const until = new Date(at + input.minutes * minuteMs).toISOString()
    const callerName = (await store.callerNames([caller.id])).get(caller.id) ?? null
    const acknowledgement = {
      caller: caller.id,
      caller_name: callerName,
      at: new Date(at).toISOString(),
      until,
      note: input.note ?? null,
    }
    await store.acknowledge({ id: found.id, refused_by: refuserOf(found) }, acknowledgement, auditEntry)
    return { ...found, acknowledgement }
  }

  /** How many problems of each kind the database shows. No node is asked for it, so kinds that only the chain shows are not counted. */
  async counts(): Promise<{ kind: ProblemKind; severity: Problem['severity']; count: number }[]> {
    const { problems } = await this.#find({ accounts: new Map(), nodes: new Map() })
    const open = problems.filter(({ ended }) => !ended)
    return [...Map.groupBy(open, ({ kind }) => kind)].map(([kind, its]) => ({
      kind,
      severity: (its[0] as FoundProblem).severity,
      count: its.length,
    }))
  }

  #look(): Promise<Snapshot> {
    if (this.#last && this.#context.elapsed() < this.#last.until) return this.#last.snapshot
    const snapshot = this.#lookAgain()
    this.#last = { until: this.#context.elapsed() + snapshotMs, snapshot }
    snapshot.catch(() => {
      this.#last = undefined
    })
    return snapshot
  }

  async #lookAgain(): Promise<Snapshot> {
    const relayers = await this.#allRelayers()
    const networks = [...new Set(relayers.map(({ network }) => network))]
    const [accounts, nodes] = await Promise.all([
      this.#accounts.read(new Map(relayers.map((relayer) => [relayer.id, () => this.#accountOf(relayer)]))),
      this.#nodes.read(new Map(networks.map((name) => [name, () => this.#nodesOf(name)]))),
    ])
    return this.#find({ accounts, nodes })
  }

  async #find(chain: Pick<Facts, 'accounts' | 'nodes'>): Promise<Snapshot> {
    const at = this.#context.now()
    const relayers = await this.#allRelayers()
    const [queues, failures, notifications, funding, refusals, sponsorships, external, reasons] = await Promise.all([
      this.#queuesOf(relayers),
      this.#context.store.failuresSince((Math.floor(at / 1_000 / quarterS) + 1) * quarterS - dayS),
      this.#context.store.notificationStates(),
      this.#context.store.fundingNotes(),
      this.#context.store.refusals(),
      this.#sponsorshipUsage(),
      this.#context.store.externalTransactions(),
      this.#context.unready(),
    ])
    const facts: Facts = {
      now: at,
      relayers,
      queues,
      failures,
      notifications,
      funding,
      refusals,
      sponsorships,
      external,
      ...chain,
      unready: reasons,
    }
    return { facts, problems: await findProblems(facts) }
  }

  async #sponsorshipUsage(): Promise<Facts['sponsorships']> {
    const { items } = await this.#context.store.listSponsorships({ offset: 0, limit: maxSponsorships })
    return Promise.all(
      items.map(async (sponsorship) => ({
        ...sponsorship,
        usage: await this.#context.store.usage(sponsorshipBudget(sponsorship)),
      })),
    )
  }

  async #allRelayers(): Promise<RelayerRow[]> {
    const relayers: RelayerRow[] = []
    for (;;) {
      const { items } = await this.#context.store.listRelayers({ offset: relayers.length, limit: maxRelayers })
      relayers.push(...items)
      if (items.length < maxRelayers) return relayers
      await yieldToEventLoop()
    }
  }

  async #accountOf(relayer: RelayerRow): Promise<Account> {
    const client = await this.#context.background.networkClient(relayer)
    if (!client) throw networkDeleted()
    const { estimates: chain } = client
    const [balance, latest] = await Promise.all([chain.balance(relayer.address), chain.latestNonce(relayer.address)])
    const { status, summary: explanation } = await this.#context.nonces.state(relayer, client, latest, undefined)
    return { balance, nonces: { status, explanation } }
  }

  async #nodesOf(network: string): Promise<NetworkSeen> {
    const client = await this.#context.background.networkClient({ network, custom_rpc_urls: [] })
    if (!client) return { nodes: [], average_blocktime_ms: null }
    const urls = showRpcUrls(client.network.rpc_urls)
    const nodes = (await client.nodes()).map((node, index) => ({ ...node, url: urls[index]?.url ?? '' }))
    return { nodes, average_blocktime_ms: client.network.average_blocktime_ms }
  }

  async #queuesOf(relayers: RelayerRow[]): Promise<Facts['queues']> {
    const byRowId = new Map(relayers.map((relayer) => [relayer.row_id, relayer]))
    const queues: Facts['queues'] = []
    for (const [index, rowId] of (await this.#context.store.relayersAtWork()).entries()) {
      if (index % turnQueues === turnQueues - 1) await yieldToEventLoop()
      const relayer = byRowId.get(rowId)
      const first: TransactionRow | undefined = relayer && (await this.#context.store.firstInLine(rowId))
      if (relayer && first)
        queues.push({ relayer, first, unfinished: await this.#context.store.countUnfinished(rowId) })
    }
    return queues
  }

  async #seenBy(caller: Caller): Promise<Problem[]> {
    const { facts, problems } = await this.#look()
    const { sees, unchecked } = sightOf(caller, facts)
    const acknowledgements = await this.#context.store.acknowledgements(new Date(this.#context.now()).toISOString())
    const isListed = (found: FoundProblem) => !found.ended || acknowledgements.has(found.id)
    const all = [...problems.filter((found) => sees(found) && isListed(found)), ...unchecked]
    const seen = all.map(({ created_by: _, ended: __, ...found }) => ({
      ...found,
      acknowledgement: acknowledgements.get(found.id) ?? null,
    }))
    return seen.sort((a, b) => Number(!!a.acknowledgement) - Number(!!b.acknowledgement))
  }
}

const refuserOf = ({ refusal, relayer_id, pool_id, sponsorship_id }: Problem): RefusedBy | undefined => {
  if (refusal === null) return undefined
  const { rule } = refusal
  if (relayer_id !== null) return { resource: 'relayer', id: relayer_id, rule }
  if (pool_id !== null) return { resource: 'pool', id: pool_id, rule }
  return { resource: 'sponsorship', id: sponsorship_id as string, rule }
}

/** Of a network, or of the service: callers see it who have a right to a part of it only. */
const isShared = ({ relayer_id, notification_id }: Problem): boolean => relayer_id === null && notification_id === null

const sharedByOthers = () =>
  errorOf(
    'forbidden',
    'api_key',
    'this API key is limited to relayers, and the problem is one of others too: of a network or of the service',
  )

interface Sight {
  sees(problem: FoundProblem): boolean
  /** What could not be found out. */
  unchecked: FoundProblem[]
}

function sightOf(caller: Caller, { relayers, accounts, nodes }: Facts): Sight {
  const { relayer_ids, roles } = caller
  const own = relayer_ids === undefined ? relayers : relayers.filter(({ id }) => relayer_ids.has(id))
  const ids = new Set(own.map(({ id }) => id))
  const networks = new Set(own.map(({ network }) => network))
  const creator = creatorSeenBy(caller)
  const seesNotifications = roles.has('notifications')
  const unchecked = [
    ...uncheckedOf('The balance and nonces of relayers could not be read', faultsIn(accounts, ids)),
    ...uncheckedOf('The nodes of networks could not be asked', faultsIn(nodes, networks)),
    ...(seesNotifications
      ? []
      : uncheckedOf('Notifications are not checked', [['this API key', 'it lacks the scope "notifications"']])),
  ]
  return {
    unchecked,
    sees({ relayer_id, network_id, notification_id, pool_id, sponsorship_id, created_by }) {
      if (relayer_id !== null) return ids.has(relayer_id)
      // Others' requests go through them too.
      if (pool_id !== null || sponsorship_id !== null) return relayer_ids === undefined
      if (network_id !== null) return networks.has(network_id.slice('evm:'.length))
      if (notification_id === null) return true
      return seesNotifications && (creator === undefined || creator === created_by)
    },
  }
}

const maxNamed = 5

/** `faults`: each the name of a thing, and why nothing is known of it. */
function uncheckedOf(summary: string, faults: [string, string][]): FoundProblem[] {
  const [[, why] = ['', '']] = faults
  const names = faults.map(([name]) => name).slice(0, maxNamed)
  const reason = `${names.join(', ')}${faults.length > names.length ? ', …' : ''}: ${why}`
  return faults.length === 0 ? [] : [problem('unchecked', summary, { summary, reason, count: faults.length })]
}

const faultsIn = (answers: ReadonlyMap<string, unknown>, wanted: ReadonlySet<string>): [string, string][] =>
  [...answers].flatMap(([name, answer]) =>
    wanted.has(name) && answer instanceof Error ? [[name, answer.message] as [string, string]] : [],
  )
