import { setTimeout as pause } from 'node:timers/promises'
import type { Contract } from './api/http/contract.ts'
import { compiledCheck } from './api/http/schema-check.ts'
import { usualTimes } from './api/http/server.ts'
import { type Foundation, openFoundation, type TestOverrides } from './app/foundation.ts'
import { serveHttp } from './app/http.ts'
import { Retention } from './app/retention.ts'
import { startSending } from './app/sender.ts'
import { isOfDatabase } from './app/start-failure.ts'
import { startWebhooks } from './app/webhooks.ts'
import type { Config } from './config.ts'
import { BelievedClock } from './lib/believed-clock.ts'
import { openLog } from './telemetry/log.ts'

export interface Service {
  /** The address that the service listens on: http://host:port, without a trailing slash. */
  url: string
  /** The metrics endpoint; undefined: metrics are off. */
  metrics_url: string | undefined
  api_key: string
  api_key_file: string | undefined
  /** Resolves when what the first requests need is compiled, between requests. */
  warm: Promise<void>
  /** Resolves when no request has arrived for so long. */
  untilQuiet(quietMs: number): Promise<void>
  /** Whether the relayer `demo` exists. */
  demo: boolean
  /** Fails readiness, waits for requests and background work in progress, and closes the store. */
  close(): Promise<void>
}

/**
 * Starts the parts. What was opened is closed in reverse, also when a later part fails. Only this file and the folder app/ import from
 * every folder. Throws ConfigError when settings and stored data disagree.
 */
export async function startService(config: Config, world: TestOverrides = {}): Promise<Service> {
  const opened = new AsyncDisposableStack()
  try {
    const foundation = await openFoundation(config, world, opened)
    const { store, secrets, contract, keyServices } = foundation
    const workers: { stop(): Promise<unknown> }[] = []
    opened.defer(async () => void (await Promise.all(workers.map((worker) => worker.stop()))))
    const webhooks = startWebhooks(foundation)
    workers.push(webhooks)
    const sending = startSending(foundation, webhooks)
    workers.push(sending, startRetention(foundation))
    const demo = (await store.listRelayers({ offset: 0, limit: 1 }, new Set(['demo']))).total_items > 0
    const http = await serveHttp({ foundation, sending, webhooks }, opened, world.http_times)
    const { api_key, api_key_file } = secrets
    return {
      ...{ url: http.url, metrics_url: http.metrics_url, api_key, api_key_file, demo },
      untilQuiet: http.untilQuiet,
      warm: warmUp(contract, () => http.untilQuiet(quietMs)),
      async close() {
        // Senders wait for signatures in progress, but no longer than requests do.
        const late = setTimeout(() => keyServices.stop(), world.http_times?.grace ?? usualTimes.grace)
        await opened.disposeAsync().finally(() => clearTimeout(late))
      },
    }
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

/** Work of up to 50 ms that can wait runs between bursts of requests. */
const quietMs = 50
const againMs = 1_000

/**
 * `startService`, again each second while the database is down: what a database does ends no process. `waits`: called with the first
 * reason. Resolves to undefined when the signal aborts.
 */
export async function startWithDatabase(
  config: Config,
  signal: AbortSignal,
  waits: (error: unknown) => void,
): Promise<Service | undefined> {
  const logger = openLog(config.log_level)
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      return await startService(config, { logger })
    } catch (error) {
      if (!isOfDatabase(error)) throw error
      if (attempt === 1) waits(error)
    }
    await pause(againMs, undefined, { signal }).catch(() => undefined)
  }
  return undefined
}

async function warmUp(contract: Contract, untilQuiet: () => Promise<void>): Promise<void> {
  await contract.warmUp(untilQuiet)
  await untilQuiet()
  compiledCheck(contract.document, 'WebhookEvent')
}

/** Removes expired rows, in one process at a time. */
function startRetention({ config, store, now, elapsed, logger }: Foundation) {
  const share = store.share('retention')
  const clock = new BelievedClock({ store, now, elapsed, logger })
  const retention = new Retention({
    store,
    logger,
    readClock: () => clock.read(),
    days: config.retention_days,
    share,
  })
  return {
    async stop() {
      await retention.stop()
      await share.release()
    },
  }
}
