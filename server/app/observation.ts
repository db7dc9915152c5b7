import type { RequestListener, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { type Ended, logRequest, type RequestContext } from '../api/http/request-context.ts'
import type { Chains } from '../chain/chains.ts'
import { ConfigError } from '../domain/errors.ts'
import type { Observer } from '../domain/observer.ts'
import { sponsorshipBudget } from '../domain/policies/sponsored-calls.ts'
import type { Incident, KeyServiceState, RelayerRow } from '../domain/rows.ts'
import type { ProblemList } from '../services/problems.ts'
import type { Store } from '../store/store.ts'
import type { WorkShare } from '../store/worker.ts'
import { Balances } from '../telemetry/balances.ts'
import { Incidents } from '../telemetry/incidents.ts'
import { KeyServiceStates } from '../telemetry/key-service-states.ts'
import { stateLogOf } from '../telemetry/log.ts'
import { type MetricsServer, serveMetrics } from '../telemetry/metrics-server.ts'

/** The request log, and the metrics and traces that the settings enable. */
export interface Observation {
  /** Receives the events of all modules. */
  observer: Observer
  /** The newest changes of state that any server noticed, newest first. */
  incidents(): Promise<Incident[]>
  /** What this process saw of key services, by type. */
  keyServiceStates(): KeyServiceState[]
  /** Wraps a listener, so that each request runs in its span. */
  around(listener: RequestListener): RequestListener
  /** Called at the end of every request. */
  ended: Ended
  /** Starts the metrics server; undefined when metrics are off. */
  serve(problems: Pick<ProblemList, 'counts'>): Promise<MetricsServer | undefined>
  /** Sends the traces that are left. */
  close(): Promise<void>
}

interface Observed {
  /** Functions, because the store and the chains are created after their observer. */
  store(): Store
  chains(): Chains
  /** The contract's operations. */
  operations: { id: string; path: string }[]
  logger: Logger
  /** The wall clock: milliseconds since the Unix epoch. */
  now(): number
  /** A monotonic clock in milliseconds. */
  elapsed(): number
}

interface ObservationSettings {
  metrics_host: string
  metrics_port: number | undefined
  traces_url: string | undefined
  traces_headers: Record<string, string>
  otel_service_name: string
}

/** Loads prom-client and OpenTelemetry only when a setting enables them. */
export async function openObservation(settings: ObservationSettings, observed: Observed): Promise<Observation> {
  const incidents = new Incidents(observed.now, observed.store)
  const keyServices = new KeyServiceStates(observed.now)
  const stateLog = stateLogOf(observed.logger, incidents)
  const metrics = await openMetrics(settings, observed)
  const traces = await openTracing(settings, observed)
  const [counted, traced] = [metrics?.observer.rpc, traces?.observer.rpc]
  const rpc: Observer['rpc'] = counted && traced ? (work, run) => counted(work, () => traced(work, run)) : undefined

  return {
    observer: {
      ...stateLog,
      ...metrics?.observer,
      ...traces?.observer,
      ...(rpc && { rpc }),
      keyServiceCalled(call) {
        keyServices.keyServiceCalled(call)
        metrics?.observer.keyServiceCalled?.(call)
      },
      keyServiceDown(key) {
        keyServices.keyServiceDown(key)
        stateLog.keyServiceDown?.(key)
      },
      keyServiceUp(key) {
        keyServices.keyServiceUp(key)
        stateLog.keyServiceUp?.(key)
      },
    },
    incidents: () => incidents.list(),
    keyServiceStates: () => keyServices.list(),
    around: (listener) =>
      traces
        ? (request, response: ServerResponse & { locals?: RequestContext }) =>
            traces.request(response.locals as RequestContext, request.headers.traceparent as string | undefined, () =>
              listener(request, response as never),
            )
        : listener,
    ended(context) {
      metrics?.requested(context)
      traces?.requested(context)
      logRequest(observed.logger, context)
    },
    serve: async (problems) => metrics?.serve(problems),
    close: async () => traces?.close(),
  }
}

/** All of this work is one row's. */
const row = 0
const maxBudgets = 100

async function openMetrics(settings: ObservationSettings, { store, chains, logger, now, elapsed }: Observed) {
  const { metrics_host: host, metrics_port: port } = settings
  if (port === undefined) return undefined
  const { openRegistry } = await import('../telemetry/metrics.ts')
  const balances = new Balances<RelayerRow>({
    relayers: async (limit) => (await store().listRelayers({ offset: 0, limit })).items,
    balanceOf: async (relayer) => (await (await chains().networkClient(relayer))?.funds(relayer.address))?.balance,
    elapsed,
  })
  let share: Pick<WorkShare, 'claim' | 'release'> | undefined
  let problems: Pick<ProblemList, 'counts'> | undefined
  const metrics = openRegistry({
    async readGauges() {
      share ??= store().share('gauges')
      if (!(await share.claim(row))) return undefined
      return {
        ...(await store().readGauges(now())),
        budgets: await readBudgets(store()),
        problems: (await problems?.counts()) ?? [],
      }
    },
    unreadable: (error) => logger.error({ err: error }, 'the database cannot be read for the metrics'),
    balances: () => balances.read(),
  })
  return {
    ...metrics,
    async serve(its: Pick<ProblemList, 'counts'>): Promise<MetricsServer> {
      problems = its
      const server = await serveMetrics({ host, port, logger, ...metrics }).catch(explainAddress)
      metrics.watchProcess()
      return {
        url: server.url,
        async close() {
          await server.close()
          await share?.release()
        },
      }
    },
  }
}

async function readBudgets(store: Store) {
  const { items } = await store.listSponsorships({ offset: 0, limit: maxBudgets })
  return Promise.all(
    items.map(async (sponsorship) => {
      const { used, limit } = await store.usage(sponsorshipBudget(sponsorship))
      return { sponsorship_id: sponsorship.id, used, limit }
    }),
  )
}

async function openTracing(settings: ObservationSettings, { operations }: Observed) {
  const { traces_url: url, traces_headers: headers, otel_service_name: serviceName } = settings
  if (url === undefined) return undefined
  const { openTraces } = await import('../telemetry/traces.ts')
  const paths = new Map(operations.map(({ id, path }) => [id, path]))
  return openTraces({ url, headers, service_name: serviceName, routeOf: (operation) => paths.get(operation) })
}

/** Names the settings, because the API's own address may be in use too. */
function explainAddress(error: NodeJS.ErrnoException): never {
  throw new ConfigError(`METRICS_HOST and METRICS_PORT cannot be used (${error.code}): set another address or port`)
}
