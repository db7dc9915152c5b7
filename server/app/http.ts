import { randomUUID } from 'node:crypto'
import { createOperations } from '../api/handlers/index.ts'
import { maxPageCharacters } from '../api/handlers/transactions.ts'
import { createApp } from '../api/http/app.ts'
import { ApiKeyUses, Authentication } from '../api/http/authentication.ts'
import { KeyConnections } from '../api/http/connections.ts'
import { readConsole } from '../api/http/console.ts'
import { callsFromPages } from '../api/http/headers.ts'
import { Quiet } from '../api/http/idle.ts'
import { LocalRateLimit, type RateLimit } from '../api/http/rate-limit.ts'
import { readReference } from '../api/http/reference.ts'
import { listen } from '../api/http/server.ts'
import { SharedRateLimit } from '../api/http/shared-rate-limit.ts'
import { Shares, StreamPace } from '../api/http/shares.ts'
import { jsonRpc } from '../api/json-rpc/json-rpc.ts'
import { mcp } from '../api/json-rpc/mcp.ts'
import { sponsoredJsonRpc } from '../api/json-rpc/sponsored.ts'
import type { Fault } from '../domain/errors.ts'
import type { Caller, Handlers } from '../domain/operation.ts'
import type { PoolRow } from '../domain/rows.ts'
import { GenerationCache } from '../lib/cache.ts'
import type { ServicesContext } from '../services/context.ts'
import { ProblemList } from '../services/problems.ts'
import { relayerOfTransaction } from '../services/transactions/list.ts'
import type { FacilitatorRow } from '../store/queries/facilitators.ts'
import type { Foundation, TestOverrides } from './foundation.ts'
import type { StartedSending } from './sender.ts'
import type { Webhooks } from './webhooks.ts'

/** Limits of one process. One API key gets at most a quarter of each. */
const bodyByteLimits = { name: 'body_bytes', limit: 64 * 1024 * 1024, each: 16 * 1024 * 1024 }
const connectionLimits = { name: 'connections', limit: 10_000, each: 2_500 }
const streamLimits = { name: 'streams', limit: 1_000, each: 250 }
/** Responses that are read, checked and written. One key may have the largest page and some more. */
const answerByteLimits = {
  name: 'answer_bytes',
  limit: 5 * maxPageCharacters,
  each: 1.25 * maxPageCharacters,
}
const waitLimits = { name: 'waits', limit: 5_000, each: 1_250 }

/** Pools, and facilitators. */
const maxCached = 1_000

interface Parts {
  foundation: Foundation
  sending: StartedSending
  webhooks: Webhooks
  rateLimit: RateLimit
  problems: ProblemList
  isStopping(): boolean
}

/** Starts the HTTP server. `opened`: gets what the caller closes. Throws when the address is not available. */
export async function serveHttp(
  parts: Pick<Parts, 'foundation' | 'sending' | 'webhooks'>,
  opened: AsyncDisposableStack,
  httpTimes: TestOverrides['http_times'],
) {
  const { foundation } = parts
  const { config, secrets, contract, observation, store, now, elapsed, logger, audit } = foundation
  let stopping = false
  const apiKeyUses = new ApiKeyUses(store.noteApiKeyUses, now, (error) =>
    logger.error({ err: error }, 'API key uses not stored'),
  )
  opened.defer(() => apiKeyUses.stop())
  const limit = { per_second: config.rate_limit_per_second, burst: config.rate_limit_burst }
  const rateLimit = store.takeTokens
    ? new SharedRateLimit(limit, store.takeTokens, elapsed)
    : new LocalRateLimit(limit, elapsed)
  const quiet = new Quiet(elapsed)
  const { pages, isBuilt } = readConsole()
  if (!isBuilt) logger.warn('the console is not built: run `npm run build:console`')
  const pageOrigins = new GenerationCache<ReadonlySet<string>>(store.generation, 1)
  const isStopping = () => stopping
  const problems = new ProblemList({
    ...parts.sending,
    background: foundation.chains,
    elapsed,
    unready: () => unready(foundation, stopping),
  })
  const app = createApp({
    operations: contract.operations,
    known: { someIds: store.someIds, relayerOfTransaction: (id) => relayerOfTransaction(foundation, id) },
    handlers: createHandlers({ ...parts, rateLimit, problems, isStopping }),
    authentication: new Authentication({
      api_key: secrets.api_key,
      apiKey: store.apiKey,
      generation: store.generation,
      now,
      noteUse: (apiKeyId) => apiKeyUses.note(apiKeyId),
      trusted_proxies: config.trusted_proxies,
    }),
    rateLimit,
    audit,
    reference: [...readReference(), ...pages],
    bodyBytes: new Shares(bodyByteLimits),
    answerBytes: new Shares(answerByteLimits),
    streamPace: new StreamPace(() => performance.now()),
    callsFromPages: callsFromPages(() => pageOrigins.find('', store.sponsorshipOrigins)),
    quiet,
    keyConnections: new KeyConnections(new Shares(connectionLimits)),
    logger,
  })
  const metrics = await observation.serve(problems)
  if (metrics) opened.defer(metrics.close)
  const server = await listen({
    listener: observation.around(app),
    host: config.host,
    port: config.port,
    makeId: randomUUID,
    elapsed,
    ended: observation.ended,
    times: httpTimes,
  })
  opened.defer(() => {
    stopping = true
    parts.sending.waits.stop()
    return server.close()
  })

  return {
    url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${server.port}`,
    metrics_url: metrics?.url,
    untilQuiet: (quietMs: number) => quiet.reached(quietMs),
  }
}

function createHandlers({ foundation, sending, webhooks, rateLimit, problems, isStopping }: Parts): Handlers {
  const { store, observer, elapsed, vault, chains, keyring, keyServices, checkTarget, contract, logger, observation } =
    foundation
  const context: ServicesContext = {
    ...sending,
    observer,
    keyring,
    keyServices,
    vault,
    chains,
    background: chains,
    webhooks,
    checkTarget,
    shares: {
      streams: new Shares(streamLimits),
      waits: new Shares(waitLimits),
    },
    countCalls: counting(rateLimit),
    pools: new GenerationCache<PoolRow | undefined>(() => store.generation(), maxCached),
    facilitators: new GenerationCache<FacilitatorRow | undefined>(() => store.generation(), maxCached),
    elapsed,
    isStopping,
    problems,
    incidents: observation.incidents,
    keyServiceStates: observation.keyServiceStates,
    version: contract.document.info.version,
    unready: () => unready(foundation, isStopping()),
    unexpected: (error: unknown) => logger.error({ err: error }, 'request failed unexpectedly'),
  }
  const operations = createOperations(context)
  const forJsonRpc = { ...context, operations, contract: contract.document }
  return { ...operations, ...jsonRpc(forJsonRpc), ...sponsoredJsonRpc(forJsonRpc), ...mcp(forJsonRpc) }
}

/** Counts the members of a batch beside the request itself. */
const counting = (rateLimit: RateLimit) => async (caller: Caller, count: number) => {
  if (count > 0) await rateLimit.take(caller, count)
}

async function unready({ store }: Foundation, stopping: boolean): Promise<Fault[]> {
  const reasons: Fault[] = stopping ? [{ of: 'process', field: [], message: 'is shutting down' }] : []
  try {
    await store.ping()
  } catch {
    reasons.push({ of: 'store', field: [], message: 'does not answer' })
  }
  return reasons
}
