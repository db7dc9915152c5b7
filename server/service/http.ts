import { randomUUID } from 'node:crypto'
import { messageDigest, messagePreimage, typedDataDigest, typedDataPreimage } from '../core/encoding/digest.ts'
import { authorizationDigest, authorizationPreimage } from '../core/encoding/envelope.ts'
import { hashTypedData } from '../core/encoding/typed-data.ts'
import { parseUnsigned } from '../core/encoding/unsigned-transaction.ts'
import type { Caller, Handlers } from '../core/operation.ts'
import { checkFee } from '../core/policies/fee-policies.ts'
import { checkPolicies, overLimit, spendingOf } from '../core/policies/transaction-policies.ts'
import { RpcError, RpcUnavailable } from '../evm/rpc.ts'
import { revertDataOf } from '../evm/rpc-error.ts'
import { createApiKeyUses } from '../http/api-key-uses.ts'
import { createApp } from '../http/app.ts'
import { createAuthentication } from '../http/authentication.ts'
import { readConsole } from '../http/console.ts'
import { parseJson } from '../http/json.ts'
import { createKeyConnections } from '../http/key-connections.ts'
import { createQuiet } from '../http/quiet.ts'
import { createRateLimit, type RateLimit } from '../http/rate-limit.ts'
import { readReference } from '../http/reference.ts'
import { bodyFaults, readableMethods } from '../http/schema-check.ts'
import { listen } from '../http/server.ts'
import { createSharedRateLimit } from '../http/shared-rate-limit.ts'
import { createShares } from '../http/shares.ts'
import { createStreamPace } from '../http/stream-pace.ts'
import { makeId } from '../ids.ts'
import { jsonRpc } from '../json-rpc/json-rpc.ts'
import { isUnsigned } from '../keys/key-service.ts'
import { generateKey } from '../keys/keyring.ts'
import { openKeystore } from '../keys/keystore.ts'
import { createOperations } from '../operations/index.ts'
import { max_page_characters } from '../operations/transaction-lists.ts'
import { readIdempotencyKey } from '../operations/transactions.ts'
import { underpriced } from '../sending/request/replacement.ts'
import { stateOf } from '../sending/request/submit.ts'
import { eventStream } from '../webhooks/event-stream.ts'
import type { Sending } from './sending.ts'
import type { Storage, World } from './storage.ts'
import type { Webhooks } from './webhooks.ts'

/** Limits of one process. One API key gets at most a quarter of each. */
const body_byte_limits = { name: 'body_bytes', limit: 64 * 1024 * 1024, each: 16 * 1024 * 1024 }
const connection_limits = { name: 'connections', limit: 10_000, each: 2_500 }
const stream_limits = { name: 'streams', limit: 1_000, each: 250 }
/** The data of transactions, as hex, in the pages that are being written. */
const page_byte_limits = { name: 'page_bytes', limit: 128 * 1024 * 1024, each: max_page_characters }
const rpc_call_limits = { name: 'rpc_calls', limit: 32, each: 8 }

/** The checks of the contract are compiled in steps of up to 30 ms, between bursts of requests. */
const quiet_ms = 50

interface Parts {
  storage: Storage
  sending: Sending
  webhooks: Webhooks
  rateLimit: RateLimit
  isStopping(): boolean
}

/** Starts the HTTP server. Throws when the address is not available. */
export async function serveHttp(
  parts: Pick<Parts, 'storage' | 'sending' | 'webhooks'>,
  http_times: World['http_times'],
) {
  const { storage } = parts
  const { config, secrets, contract, observation, store, now, elapsed, logger, audit } = storage
  let stopping = false
  const apiKeyUses = createApiKeyUses(store.noteApiKeyUses, now, (error) =>
    logger.error({ err: error }, 'API key uses not stored'),
  )
  const limit = { per_second: config.rate_limit_per_second, burst: config.rate_limit_burst }
  const rateLimit = store.takeTokens
    ? createSharedRateLimit(limit, store.takeTokens, elapsed)
    : createRateLimit(limit, config.processes, elapsed)
  const quiet = createQuiet(quiet_ms, elapsed)
  const { pages, isBuilt } = readConsole()
  if (!isBuilt) logger.warn('the console is not built: run `npm run build:console`')
  const app = createApp({
    operations: contract.operations,
    handlers: createHandlers({ ...parts, rateLimit, isStopping: () => stopping }),
    authenticate: createAuthentication({
      api_key: secrets.api_key,
      apiKey: store.apiKey,
      generation: store.generation,
      now,
      noteUse: apiKeyUses.note,
      trusted_proxies: config.trusted_proxies,
    }),
    rateLimit,
    audit,
    reference: [...readReference(), ...pages],
    bodyBytes: createShares(body_byte_limits),
    streamPace: createStreamPace(() => performance.now()),
    quiet,
    countConnection: createKeyConnections(createShares(connection_limits)),
    logger,
  })
  const metrics_url = await observation.serve()
  const server = await listen({
    listener: observation.around(app),
    host: config.host,
    port: config.port,
    makeId: randomUUID,
    elapsed,
    ended: observation.ended,
    times: http_times,
  })

  return {
    url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${server.port}`,
    metrics_url,
    untilQuiet: quiet.reached,
    async close() {
      stopping = true
      parts.sending.stopWaiting()
      await server.close()
      await apiKeyUses.stop()
    },
  }
}

function createHandlers(parts: Parts): Handlers {
  const { storage, sending, webhooks, isStopping } = parts
  const { store, observer, now, vault, chains, keyring, keyServices, checkTarget } = storage
  const { changed, hurry, submit, dryRun, explain, waitUntil, nonceState, heal, restart, nextChange } = sending
  const streams = createShares(stream_limits)
  const rpcCalls = createShares(rpc_call_limits)
  const pages = createShares(page_byte_limits)
  const operations = createOperations({
    store,
    observer,
    makeId,
    now,
    seal: vault.seal,
    findSigner: keyring.find,
    isUnsigned,
    findRelayer: keyring.findRelayer,
    enclose: keyring.enclose,
    encloseReference: keyring.encloseReference,
    admitKey: keyServices.admit,
    generateKey,
    openKeystore,
    messageDigest,
    messagePreimage,
    typedDataDigest,
    typedDataPreimage,
    authorizationDigest,
    authorizationPreimage,
    hashTypedData,
    parseUnsigned,
    countCalls: counting(parts.rateLimit),
    stateOf,
    unexpected: (error) => parts.storage.logger.error({ err: error }, 'request failed after its commit'),
    checkPolicies,
    checkFee,
    spendingOf,
    overLimit,
    checkTarget,
    changed,
    sendTest: webhooks.sendTest,
    wakeDeliverer: webhooks.wake,
    follow: (relayer_row_id, last_event_id) =>
      eventStream({ store, nextChange, isStopping }, relayer_row_id, last_event_id),
    submit,
    dryRun,
    explain,
    waitUntil,
    hurry,
    networkClient: chains.networkClient,
    nodesOf: async ({ name }) => (await chains.networkClient({ network: name, custom_rpc_urls: [] }))?.nodes() ?? [],
    nonceState,
    restart,
    heal,
    rpcErrorOf: (error) => (error instanceof RpcError ? error.error : undefined),
    isUnreachable: (error) => error instanceof RpcUnavailable,
    tooLarge: (error) => (error instanceof RpcUnavailable ? error.too_large : undefined),
    holdRpcCall: (caller) => rpcCalls.hold(caller, 1),
    holdPage: (caller, bytes) => pages.hold(caller, bytes),
    holdStream: (caller) => streams.hold(caller, 1),
    unready: () => unready(storage, isStopping()),
  })
  return { ...operations, ...createJsonRpc(parts, operations) }
}

/** Counts the members of a batch beside the request itself. */
const counting = (rateLimit: RateLimit) => async (caller: Caller, count: number) => {
  if (count > 0) await rateLimit.take(caller, count)
}

function createJsonRpc({ storage, sending, rateLimit }: Parts, operations: Omit<Handlers, 'callJsonRpc'>) {
  const { store, contract, keyring, elapsed, logger } = storage
  const { submit, waitUntil, hurry, nextNonce } = sending
  return jsonRpc({
    store,
    operations,
    submit,
    findSigner: keyring.find,
    faultOf: bodyFaults(contract.document),
    parseJson: (text) => parseJson(text, undefined),
    readIdempotencyKey,
    underpriced,
    waitUntil,
    hurry,
    countCalls: counting(rateLimit),
    readable: readableMethods(contract.document),
    revertIn,
    nextNonce,
    client_version: `evm-relayer-service/${contract.document.info.version}`,
    elapsed,
    unexpected: (error) => logger.error({ err: error }, 'json-rpc call failed'),
  })
}

/** The bytes of a revert; null: it reverts without bytes; undefined: the error is no revert. */
function revertIn(error: unknown): string | null | undefined {
  if (error instanceof RpcError) return revertDataOf(error.error)
  return typeof error === 'object' && error !== null ? revertDataOf(error) : undefined
}

async function unready({ store }: Storage, stopping: boolean) {
  const reasons = stopping ? [{ path: 'process', message: 'is shutting down' }] : []
  try {
    await store.ping()
  } catch {
    reasons.push({ path: 'store', message: 'does not answer' })
  }
  return reasons
}
