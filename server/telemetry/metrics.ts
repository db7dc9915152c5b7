import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Observer } from '../domain/observer.ts'
import { unfinishedStatuses } from '../domain/statuses.ts'
import type { Gauges } from '../store/queries/service.ts'

/** The most values of a label that outside input determines; later values are counted as `other`. */
const maxLabelValues = 100
/** Hosts of nodes of relayers' own. */
const maxCustomHosts = 20

export interface Balance {
  relayer_id: string
  chain_id: number
  wei: bigint
  /** The policy; 0 without it. */
  min_balance: bigint
}

/** What the calls of a sponsorship counted in the last 24 hours, and its limit, in wei. */
interface Budget {
  sponsorship_id: string
  used: string
  limit: string
}

/** How many problems of a kind there are. */
interface ProblemCount {
  kind: string
  severity: string
  count: number
}

interface MetricsDependencies {
  /** Undefined: another server exposes the gauges of the store. */
  readGauges(): Promise<(Gauges & { budgets: Budget[]; problems: ProblemCount[] }) | undefined>
  /** Called when the gauges of the store cannot be read. */
  unreadable(error: unknown): void
  /** The last known balances. */
  balances(): Balance[]
}

/** The members of a request's context (api/http/request-context.ts) that are counted. */
interface Request {
  operation: string | undefined
  method: string
  status: number
  duration_ms: number
}

interface Metrics {
  observer: Observer
  requested(request: Request): void
  contentType: string
  /** Adds the metrics of the process (memory, event loop, garbage): prom-client watches them until the process ends. */
  watchProcess(): void
  /** All metrics in the Prometheus text format. */
  expose(): Promise<string>
  /** The service's own metrics, for their list in the documentation. */
  list(): { name: string; type: string; help: string; labels: readonly string[] }[]
}

/** All metrics and their names; the only file that imports prom-client. Gauges of the store are read on each scrape. */
export function openRegistry({ readGauges, balances, unreadable }: MetricsDependencies): Metrics {
  const registry = new Registry()
  const registers = [registry]

  const made: { name: string; type: string; help: string; labels: string[] }[] = []
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) => {
    made.push({ name, type: 'counter', help, labels: labelNames })
    return new Counter({ name, help, labelNames, registers })
  }
  const histogram = <Label extends string>(name: string, help: string, labelNames: Label[], buckets: number[]) => {
    made.push({ name, type: 'histogram', help, labels: labelNames })
    return new Histogram({ name, help, labelNames, buckets, registers })
  }
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]) => {
    made.push({ name, type: 'gauge', help, labels: labelNames })
    return new Gauge({ name, help, labelNames, registers })
  }

  const requests = counter('relayer_http_requests_total', 'Requests by operation, method and status class', [
    'operation',
    'method',
    'status',
  ])
  const latencies = histogram(
    'relayer_http_request_duration_seconds',
    'Time until the response is complete',
    ['operation'],
    requestS,
  )
  const signatures = counter('relayer_signatures_total', 'Signatures by kind', ['kind'])
  for (const kind of ['message', 'typed_data', 'authorization', 'transaction', 'sent_transaction'])
    signatures.inc({ kind }, 0)
  const moved = counter('relayer_transaction_changes_total', 'Transactions that entered a status', ['status'])
  const paid = counter('relayer_fees_paid_wei_total', 'Fees of finished transactions', ['chain_id'])
  const rpcCalls = counter('relayer_rpc_calls_total', 'Calls to nodes', ['host'])
  const rpcErrors = counter('relayer_rpc_errors_total', 'Requests to nodes that failed', ['host'])
  const rpcDurations = histogram(
    'relayer_rpc_exchange_duration_seconds',
    'Duration of a request to a node',
    ['host'],
    slowS,
  )
  const attempts = counter('relayer_delivery_attempts_total', 'Delivery attempts by outcome', ['outcome'])
  const attemptDurations = histogram(
    'relayer_delivery_attempt_duration_seconds',
    'Duration of a delivery attempt',
    [],
    slowS,
  )
  const refusedRows = counter('relayer_rows_refused_total', 'Rows refused because another program changed them', [
    'table',
  ])
  const keyCalls = counter('relayer_key_service_calls_total', 'Calls for signatures by type of signer and outcome', [
    'type',
    'outcome',
  ])
  const keyDurations = histogram(
    'relayer_key_service_call_duration_seconds',
    'Duration of a call for a signature',
    ['type'],
    slowS,
  )
  const keyWaits = gauge('relayer_key_service_waiting', 'Signatures that wait for a key service or are being made', [
    'type',
  ])
  const commits = histogram('relayer_database_commit_duration_seconds', 'Duration of a database transaction', [], fastS)

  const unfinished = gauge('relayer_transactions_unfinished', 'Unfinished transactions', ['status'])
  const oldest = gauge('relayer_transactions_oldest_age_seconds', 'Age of the oldest unfinished transaction', [
    'status',
  ])
  const pending = gauge('relayer_deliveries_pending', 'Pending deliveries', [])
  const due = gauge('relayer_deliveries_due', 'Due deliveries', [])
  const gaps = gauge('relayer_nonce_gaps', 'Nonces below the nonce counter that no transaction holds', ['relayer'])
  const poolRelayers = gauge('relayer_pool_relayers', 'Relayers of a pool that may be chosen', ['pool'])
  const poolUnfinished = gauge('relayer_pool_transactions_unfinished', "Unfinished transactions of a pool's relayers", [
    'pool',
  ])
  const budgetUsed = gauge('relayer_sponsorship_used_wei', 'What counts for the budget of a sponsorship', [
    'sponsorship',
  ])
  const budgetLimit = gauge('relayer_sponsorship_budget_wei', 'The budget of a sponsorship per day', ['sponsorship'])
  const problems = gauge('relayer_problems', 'Problems that the database shows, by kind (`GET /api/v1/problems`)', [
    'kind',
    'severity',
  ])
  const balance = gauge('relayer_balance_wei', 'Last known balance', ['relayer', 'chain_id'])

  const leastBalance = gauge('relayer_min_balance_wei', 'The policy min_balance; 0 without it', ['relayer', 'chain_id'])
  const auditWritable = gauge('relayer_audit_writable', 'Whether the audit trail can be written: 1 or 0', [])
  auditWritable.set(1)
  const databaseUp = gauge('relayer_database_up', 'Whether the database answers: 1 or 0', [])
  const backgroundFailures = counter(
    'relayer_background_failures_total',
    'Runs of background work that failed, and are tried again',
    ['kind'],
  )

  /** With a value per row of a table. */
  const perRow = [problems, gaps, poolRelayers, poolUnfinished, budgetUsed, budgetLimit, balance, leastBalance]

  async function readStore(): Promise<void> {
    const gauges = await readGauges().finally(() => {
      for (const one of [unfinished, oldest, pending, due, ...perRow]) one.reset()
    })
    if (!gauges) return
    for (const status of unfinishedStatuses) {
      const found = gauges.transactions.find((group) => group.status === status)
      unfinished.set({ status }, found?.count ?? 0)
      oldest.set({ status }, (found?.oldest_ms ?? 0) / 1_000)
    }
    pending.set(gauges.deliveries.pending)
    due.set(gauges.deliveries.due)
    for (const { pool_id: pool, relayers, unfinished: count } of gauges.pools) {
      poolRelayers.set({ pool }, relayers)
      poolUnfinished.set({ pool }, count)
    }
    for (const { sponsorship_id: sponsorship, used, limit } of gauges.budgets) {
      budgetUsed.set({ sponsorship }, Number(used))
      budgetLimit.set({ sponsorship }, Number(limit))
    }
    for (const { count, ...labels } of gauges.problems) problems.set(labels, count)
    for (const one of gauges.nonce_gaps) gaps.set({ relayer: one.relayer_id }, one.gaps)
    for (const { relayer_id: relayer, chain_id, wei, min_balance } of balances()) {
      balance.set({ relayer, chain_id }, Number(wei))
      leastBalance.set({ relayer, chain_id }, Number(min_balance))
    }
  }

  const hostOf = createLimit()
  // Whoever manages a relayer names its nodes: they take no label of a network's node.
  const customHostOf = createLimit(maxCustomHosts)
  const chainOf = createLimit()

  return {
    observer: {
      signed: (kind) => signatures.inc({ kind }),
      moved: (status) => moved.inc({ status }),
      paid: (chainId, fee) => paid.inc({ chain_id: chainOf(String(chainId)) }, Number(fee)),
      delivered(outcome, durationMs) {
        attempts.inc({ outcome })
        attemptDurations.observe(durationMs / 1_000)
      },
      keyServiceCalled({ type, outcome, duration_ms }) {
        keyCalls.inc({ type, outcome })
        keyDurations.observe({ type }, duration_ms / 1_000)
      },
      keyServiceWaits: (type, change) => keyWaits.inc({ type }, change),
      rowRefused: (table) => refusedRows.inc({ table }),
      backgroundFailed: (kind) => backgroundFailures.inc({ kind }),
      auditWritable: (isWritable) => auditWritable.set(isWritable ? 1 : 0),
      committed: (durationMs) => commits.observe(durationMs / 1_000),
      async rpc({ host: given, isCustom, methods }, run) {
        const host = (isCustom ? customHostOf : hostOf)(given)
        rpcCalls.inc({ host }, methods.length)
        const end = rpcDurations.startTimer({ host })
        try {
          return await run()
        } catch (error) {
          rpcErrors.inc({ host })
          throw error
        } finally {
          end()
        }
      },
    },
    requested({ operation, method, status, duration_ms }) {
      const name = operation ?? 'none'
      // A request without an operation may have any method. A request whose client disconnected has status 0.
      requests.inc({
        operation: name,
        method: operation === undefined ? 'other' : method,
        status: status === 0 ? 'none' : `${Math.floor(status / 100)}xx`,
      })
      latencies.observe({ operation: name }, duration_ms / 1_000)
    },
    contentType: registry.contentType,
    watchProcess: () => collectDefaultMetrics({ register: registry }),
    async expose() {
      databaseUp.set(1)
      await readStore().catch((error) => {
        databaseUp.set(0)
        unreadable(error)
      })
      return registry.metrics()
    },
    list: () => made,
  }
}

/** In seconds. A signature takes about a third of the first bucket. */
const requestS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const fastS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5]
const slowS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]

function createLimit(max = maxLabelValues): (value: string) => string {
  const known = new Set<string>()
  return (value) => {
    if (known.size < max) known.add(value)
    return known.has(value) ? value : 'other'
  }
}
