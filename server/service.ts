import { createBelievedClock } from './background/believed-clock.ts'
import { createRetention } from './background/retention.ts'
import type { Config } from './config.ts'
import type { Contract } from './http/contract.ts'
import { compiledCheck } from './http/schema-check.ts'
import { closeFoundation, type Foundation, openFoundation, type World } from './service/foundation.ts'
import { serveHttp } from './service/http.ts'
import { startSending } from './service/sending.ts'
import { startWebhooks } from './service/webhooks.ts'

export interface Service {
  /** The address that the service listens on: http://host:port, without a trailing slash. */
  url: string
  /** The metrics endpoint; undefined: metrics are off. */
  metrics_url: string | undefined
  api_key: string
  api_key_file: string | undefined
  /** Resolves when what the first requests need is compiled, between requests. */
  warm: Promise<void>
  /** Whether the relayer `demo` exists. */
  demo: boolean
  /** Fails readiness, waits for requests and background work in progress, and closes the store. */
  close(): Promise<void>
}

/**
 * Starts the parts. Only this file and the folder service/ import from every folder. Throws ConfigError when settings and stored data
 * disagree.
 */
export async function startService(config: Config, world: World = {}): Promise<Service> {
  const foundation = await openFoundation(config, world)
  try {
    const webhooks = startWebhooks(foundation)
    const sending = startSending(foundation, webhooks)
    const retention = startRetention(foundation)
    const http = await serveHttp({ foundation, sending, webhooks }, world.http_times)
    const { store, secrets, contract, audit, observation, keyServices } = foundation
    const warm = warmUp(contract, http.untilQuiet)

    return {
      url: http.url,
      metrics_url: http.metrics_url,
      api_key: secrets.api_key,
      api_key_file: secrets.api_key_file,
      warm,
      demo: (await store.listRelayers({ offset: 0, limit: 1 }, new Set(['demo']))).total_items > 0,
      async close() {
        await http.close()
        await observation.close()
        keyServices.stop()
        await Promise.all([sending.stop(), webhooks.stop(), retention.stop()])
        await audit.stop()
        await store.close()
      },
    }
  } catch (error) {
    await closeFoundation(foundation)
    throw error
  }
}

async function warmUp(contract: Contract, untilQuiet: () => Promise<void>): Promise<void> {
  await contract.warmUp(untilQuiet)
  await untilQuiet()
  compiledCheck(contract.document, 'Event')
}

/** Removes expired rows, in one process at a time. */
function startRetention({ config, store, now, elapsed, logger }: Foundation) {
  const share = store.share('retention')
  const retention = createRetention({
    store,
    logger,
    readClock: createBelievedClock({ store, now, elapsed, logger }).read,
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
