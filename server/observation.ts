import type { Logger } from 'pino'
import { type Config, ConfigError } from './config.ts'
import type { Chains } from './evm/chains.ts'
import type { Ended } from './http/exchange.ts'
import { createRequestLog } from './http/request-log.ts'
import { createBalances } from './metrics/balances.ts'
import { serveMetrics } from './metrics/server.ts'
import type { Observer } from './observer.ts'
import type { RelayerRow, Store } from './store/store.ts'

/** How an operator sees the service: the log of requests, and what the settings ask for beside it. */
export interface Observation {
  /** What the parts tell. */
  observer: Observer
  /** Told of every request's end. */
  ended: Ended
  /** Lets Prometheus read, when it shall; undefined when not. */
  serve(): Promise<{ url: string; close(): Promise<void> } | undefined>
}

/** What the metrics look at when they are read; it may come to be later than they. */
export interface Observed {
  store(): Store
  chains(): Chains
  logger: Logger
  /** Milliseconds of the epoch. */
  now(): number
  /** Milliseconds, never going back. */
  elapsed(): number
}

/** What no setting asks for is not even loaded. */
export async function createObservation(config: Config, observed: Observed): Promise<Observation> {
  const { store, chains, logger, now, elapsed } = observed
  const { metrics_host: host, metrics_port: port } = config
  const log = createRequestLog(logger, now)
  if (port === undefined) return { observer: {}, ended: log, serve: async () => undefined }

  const { createMetrics } = await import('./metrics/metrics.ts')
  const balances = createBalances<RelayerRow>({
    relayers: async (limit) => (await store().listRelayers({ offset: 0, limit })).items,
    read: async (relayer) => (await (await chains().reach(relayer))?.funds(relayer.address))?.balance,
    elapsed,
  })
  const metrics = createMetrics({ measure: () => store().measure(now()), balances })
  const { observer, requested, contentType, expose } = metrics

  return {
    observer,
    ended(exchange) {
      requested(exchange)
      log(exchange)
    },
    serve: () => serveMetrics({ host, port, contentType, expose, logger }).catch(explainAddress),
  }
}

/** The API's own address may be taken too: the one who reads this must know which. */
function explainAddress(error: NodeJS.ErrnoException): never {
  throw new ConfigError(`METRICS_HOST and METRICS_PORT cannot be had (${error.code}): set others`)
}
