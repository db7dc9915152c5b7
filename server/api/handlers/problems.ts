import type { Problem, Problems } from '../../../generated/openapi.ts'
import { errorOf } from '../../domain/errors.ts'
import { type Caller, creatorSeenBy, type Handlers, Page } from '../../domain/operation.ts'
import type { RelayerRow } from '../../domain/rows.ts'
import { showRpcUrls } from '../../domain/show-relayer.ts'
import type { TransactionRow } from '../../domain/transaction-rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import type { ServicesContext } from '../../services/context.ts'
import {
  type Account,
  type Facts,
  type FoundProblem,
  findProblems,
  LastSeen,
  type NetworkSeen,
} from '../../services/find-problems.ts'
import { ApiError } from '../http/errors.ts'

type Operations = Pick<Handlers, 'listProblems' | 'acknowledgeProblem' | 'deleteAcknowledgement' | 'search'>
type Snapshot = { at: number; facts: Facts; problems: FoundProblem[] }

/** One look serves everybody who asks within this time. */
const snapshotMs = 3_000
const accountsMs = 60_000
const nodesMs = 10_000
const dayS = 24 * 3_600
const quarterS = 900
const maxRelayers = 1_000
const turnQueues = 50
const maxPage = 1_000
const minuteMs = 60_000

export function problems({ store, background, nonces, now, elapsed, unready }: ServicesContext): Operations {
  const accounts = new LastSeen<Account>(accountsMs, elapsed)
  const nodes = new LastSeen<NetworkSeen>(nodesMs, elapsed)
  let last: { until: number; snapshot: Promise<Snapshot> } | undefined

  function look(): Promise<Snapshot> {
    if (last && elapsed() < last.until) return last.snapshot
    const snapshot = lookAgain()
    last = { until: elapsed() + snapshotMs, snapshot }
    snapshot.catch(() => {
      last = undefined
    })
    return snapshot
  }

  async function lookAgain(): Promise<Snapshot> {
    const at = now()
    const relayers = await allRelayers()
    const [ofAccounts, ofNodes, queues, failures, notifications, funding, reasons] = await Promise.all([
      accounts.read(new Map(relayers.map((relayer) => [relayer.id, () => accountOf(relayer)]))),
      nodes.read(
        new Map([...new Set(relayers.map(({ network }) => network))].map((name) => [name, () => nodesOf(name)])),
      ),
      queuesOf(relayers),
      store.failuresSince((Math.floor(at / 1_000 / quarterS) + 1) * quarterS - dayS),
      store.notificationStates(),
      store.fundingNotes(),
      unready(),
    ])
    const facts: Facts = {
      now: at,
      relayers,
      queues,
      failures,
      notifications,
      funding,
      accounts: ofAccounts,
      nodes: ofNodes,
      unready: reasons,
    }
    return { at, facts, problems: await findProblems(facts) }
  }

  async function allRelayers(): Promise<RelayerRow[]> {
    const relayers: RelayerRow[] = []
    for (;;) {
      const { items } = await store.listRelayers({ offset: relayers.length, limit: maxRelayers })
      relayers.push(...items)
      if (items.length < maxRelayers) return relayers
      await yieldToEventLoop()
    }
  }

  async function accountOf(relayer: RelayerRow): Promise<Account> {
    const client = await background.networkClient(relayer)
    if (!client) throw new Error('the network of the relayer was deleted')
    const { estimates: chain } = client
    const [balance, latest] = await Promise.all([chain.balance(relayer.address), chain.latestNonce(relayer.address)])
    const { status, explanation } = await nonces.state(relayer, client, latest, undefined)
    return { balance, nonces: { status, explanation } }
  }

  async function nodesOf(network: string): Promise<NetworkSeen> {
    const client = await background.networkClient({ network, custom_rpc_urls: [] })
    if (!client) return { nodes: [], average_blocktime_ms: null }
    const urls = showRpcUrls(client.network.rpc_urls)
    const nodes = (await client.nodes()).map((node, index) => ({ ...node, url: urls[index]?.url ?? '' }))
    return { nodes, average_blocktime_ms: client.network.average_blocktime_ms }
  }

  async function queuesOf(relayers: RelayerRow[]): Promise<Facts['queues']> {
    const byRowId = new Map(relayers.map((relayer) => [relayer.row_id, relayer]))
    const queues: Facts['queues'] = []
    for (const [index, rowId] of (await store.relayersAtWork()).entries()) {
      if (index % turnQueues === turnQueues - 1) await yieldToEventLoop()
      const relayer = byRowId.get(rowId)
      const first: TransactionRow | undefined = relayer && (await store.firstInLine(rowId))
      if (relayer && first) queues.push({ relayer, first, unfinished: await store.countUnfinished(rowId) })
    }
    return queues
  }

  async function seenBy(caller: Caller): Promise<{ snapshot: Snapshot; seen: Problem[]; sight: Sight }> {
    const snapshot = await look()
    const sight = sightOf(caller, snapshot.facts)
    const acknowledgements = await store.acknowledgements(new Date(now()).toISOString())
    const seen = snapshot.problems.filter(sight.sees).map(({ created_by: _, ...found }) => ({
      ...found,
      acknowledgement: acknowledgements.get(found.id) ?? null,
    }))
    return { snapshot, seen: seen.sort((a, b) => Number(!!a.acknowledgement) - Number(!!b.acknowledgement)), sight }
  }

  /** A problem whose acknowledgement the caller may change, for everybody. Throws DomainError (403). */
  async function findOwn(problemId: string, caller: Caller): Promise<Problem | undefined> {
    const { seen } = await seenBy(caller)
    const found = seen.find(({ id }) => id === problemId)
    if (found && isShared(found) && caller.relayer_ids !== undefined) throw sharedByOthers()
    return found
  }

  return {
    async listProblems({ query, caller }) {
      const { snapshot, seen, sight } = await seenBy(caller)
      const currentPage = Math.max(query.page, 1)
      const perPage = Math.min(query.per_page, maxPage)
      const offset = (currentPage - 1) * perPage
      const checkedAt = new Date(snapshot.at).toISOString()
      const data: Problems = {
        checked_at: checkedAt,
        problems: seen.slice(offset, offset + perPage),
        unchecked: sight.unchecked,
      }
      return new Page(data, { current_page: currentPage, per_page: perPage, total_items: seen.length })
    },

    async acknowledgeProblem({ path, body, caller, auditEntry }) {
      const found = await findOwn(path.problem_id, caller)
      if (!found) return undefined
      auditEntry.subject = found.id
      const atMs = now()
      const [at, until] = [atMs, atMs + body.minutes * minuteMs].map((ms) => new Date(ms).toISOString()) as [
        string,
        string,
      ]
      const acknowledgement = { by: caller.id, at, until, note: body.note ?? null }
      await store.acknowledge(found.id, acknowledgement, auditEntry)
      return { ...found, acknowledgement }
    },

    async deleteAcknowledgement({ path, caller, auditEntry }) {
      const found = await findOwn(path.problem_id, caller)
      if (!found) return undefined
      auditEntry.subject = found.id
      if (!(await store.deleteAcknowledgement(found.id, auditEntry))) throw notAcknowledged()
      return { ...found, acknowledgement: null }
    },

    async search({ query, caller }) {
      const { roles, relayer_ids } = caller
      const createdBy = creatorSeenBy(caller)
      const { items, total_items } = await store.search(query.q.trim(), {
        relayer_ids,
        signers: roles.has('manage') && relayer_ids === undefined,
        notifications: !roles.has('notifications')
          ? 'none'
          : createdBy === undefined
            ? 'all'
            : { created_by: createdBy },
      })
      return new Page(items, { current_page: 1, per_page: Math.max(1, items.length), total_items })
    },
  }
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
  unchecked: Problems['unchecked']
}

/** What a caller may see of the problems, and what of it could not be found out. */
function sightOf(caller: Caller, { relayers, accounts, nodes }: Facts): Sight {
  const { relayer_ids, roles } = caller
  const own = relayer_ids === undefined ? relayers : relayers.filter(({ id }) => relayer_ids.has(id))
  const ids = new Set(own.map(({ id }) => id))
  const networks = new Set(own.map(({ network }) => network))
  const creator = creatorSeenBy(caller)
  const seesNotifications = roles.has('notifications')
  const unchecked: Problems['unchecked'] = []
  const note = (part: Problems['unchecked'][number]['part'], faults: [string, string][]) => {
    const [[, why] = ['', '']] = faults
    const names = faults.map(([name]) => name).slice(0, maxNamed)
    const reason = `${names.join(', ')}${faults.length > names.length ? ', …' : ''}: ${why}`.slice(0, 1_000)
    if (faults.length > 0) unchecked.push({ part, count: faults.length, reason })
  }
  note('accounts', faultsIn(accounts, ids))
  note('nodes', faultsIn(nodes, networks))
  if (!seesNotifications) note('notifications', [['notifications', 'the API key lacks the scope notifications']])
  return {
    unchecked,
    sees({ relayer_id, network_id, notification_id, created_by }) {
      if (relayer_id !== null) return ids.has(relayer_id)
      if (network_id !== null) return networks.has(network_id.slice('evm:'.length))
      if (notification_id === null) return true
      return seesNotifications && (creator === undefined || creator === created_by)
    },
  }
}

const maxNamed = 5

const faultsIn = (answers: ReadonlyMap<string, unknown>, wanted: ReadonlySet<string>): [string, string][] =>
  [...answers].flatMap(([name, answer]) =>
    wanted.has(name) && answer instanceof Error ? [[name, answer.message] as [string, string]] : [],
  )

const notAcknowledged = () =>
  new ApiError('not_found', 'Not Found', [{ path: '/path/problem_id', message: 'this problem is not acknowledged' }])
