import { randomUUID } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import type { Logger } from 'pino'
import { createBelievedClock } from './background/believed-clock.ts'
import { createLease } from './background/lease.ts'
import { createRetention } from './background/retention.ts'
import { createWorker, type WorkerDependencies } from './background/worker.ts'
import { type Config, ConfigError } from './config.ts'
import { createChains } from './evm/chains.ts'
import { messageDigest, typedDataDigest } from './evm/digest.ts'
import { authorityOf, authorizationDigest, readSigned, seal } from './evm/envelope.ts'
import * as fees from './evm/fees.ts'
import { contradictionOf, flawOf } from './evm/flaws.ts'
import type { Post } from './evm/post.ts'
import { AnswerTooLarge } from './evm/post.ts'
import { RpcError, RpcUnavailable } from './evm/rpc.ts'
import { revertDataOf } from './evm/rpc-error.ts'
import { hashTypedData } from './evm/typed-data.ts'
import { parseUnsigned } from './evm/unsigned-transaction.ts'
import { createApiKeyUses } from './http/api-key-uses.ts'
import { createApp } from './http/app.ts'
import { createAudit } from './http/audit.ts'
import { createAuthentication } from './http/authentication.ts'
import { checkRoles } from './http/authorization.ts'
import { type Contract, mountContract, type Operation, readContract } from './http/contract.ts'
import { parseJson } from './http/json.ts'
import { createKeyConnections } from './http/key-connections.ts'
import { createRateLimit } from './http/rate-limit.ts'
import { readReference } from './http/reference.ts'
import { bodyFaults, readableMethods, schemaCheck } from './http/schema-check.ts'
import { type HttpTimes, listen } from './http/server.ts'
import { createShares } from './http/shares.ts'
import { createStreamPace } from './http/stream-pace.ts'
import { makeId } from './ids.ts'
import { jsonRpc } from './json-rpc/json-rpc.ts'
import { KeyServiceUnavailable } from './keys/key-service.ts'
import { createKeyServices } from './keys/key-services.ts'
import { createKeyring, generateKey } from './keys/keyring.ts'
import { openKeystore } from './keys/keystore.ts'
import { createOperations } from './operations/index.ts'
import { show as showRelayer } from './operations/relayers.ts'
import { readTransactionRequest } from './operations/transaction-request.ts'
import { max_page_characters, readIdempotencyKey } from './operations/transactions.ts'
import { createLookup, createTargetCheck } from './outbound/address-guard.ts'
import { checkFee } from './policies/fee-policies.ts'
import { checkPolicies, overLimit, spendingOf } from './policies/transaction-policies.ts'
import { createDemo, openVault, readSecrets, type Secrets } from './secrets/first-start.ts'
import type { Vault } from './secrets/vault.ts'
import { createChainRestart } from './sending/chain-restart.ts'
import { createDryRun } from './sending/dry-run.ts'
import { createExplain } from './sending/explain-transaction.ts'
import { createNonces } from './sending/nonces.ts'
import { createPreparation } from './sending/preparation.ts'
import { underpriced } from './sending/replacement.ts'
import { createSender } from './sending/sender.ts'
import { createSubmit, stateOf } from './sending/submit.ts'
import { createWaiting } from './sending/waiting.ts'
import type { RelayerRow } from './store/rows.ts'
import { openSqliteStore, StoreError } from './store/sqlite.ts'
import type { Store } from './store/store.ts'
import { createLog } from './telemetry/log.ts'
import { createObservation } from './telemetry/observation.ts'
import type { Observer } from './telemetry/observer.ts'
import { createSendAttempt } from './webhooks/attempt.ts'
import { createDeliverer } from './webhooks/deliverer.ts'
import { eventStream } from './webhooks/event-stream.ts'

/** Limits of one process. One API key gets at most a quarter of each. */
const body_byte_limits = { name: 'body_bytes', limit: 64 * 1024 * 1024, each: 16 * 1024 * 1024 }
const connection_limits = { name: 'connections', limit: 10_000, each: 2_500 }
const stream_limits = { name: 'streams', limit: 1_000, each: 250 }
/** The data of transactions, as hex, in the pages that are being written. */
const page_byte_limits = { name: 'page_bytes', limit: 128 * 1024 * 1024, each: max_page_characters }
const rpc_call_limits = { name: 'rpc_calls', limit: 32, each: 8 }

/** The pause between two batches of a bulk change, in which other database transactions run. */
const bulk_rest_ms = 5
/** EX_IOERR of sysexits.h. */
const exit_code_io = 74

export interface Service {
  /** The address that the service listens on: http://host:port, without a trailing slash. */
  url: string
  /** The metrics endpoint; undefined: metrics are off. */
  metrics_url: string | undefined
  api_key: string
  api_key_file: string | undefined
  /** Whether the relayer `demo` exists. */
  demo: boolean
  /** Fails readiness, waits for requests and background work in progress, and closes the store. */
  close(): Promise<void>
}

/** The outside world: tests replace the clock, the log and the network. */
export interface World {
  /** A monotonic clock in milliseconds. */
  elapsed?: () => number
  /** The wall clock: milliseconds since the Unix epoch. */
  now?: () => number
  logger?: Logger
  /** Resolves host names; the default follows ALLOW_PRIVATE_TARGETS. */
  lookup?: LookupFunction
  /** Sends a JSON-RPC body to a node; the default is HTTP. */
  openPost?: (url: string, max_bytes?: number) => Post
  /** A contract that is already compiled, for tests that start many services. */
  contract?: Contract
  /** Replaces some of the default HTTP timeouts. */
  http_times?: Partial<HttpTimes>
}

/**
 * Connects all modules; the only file that imports from every folder. Throws ConfigError when settings and stored data disagree.
 */
export async function startService(config: Config, world: World = {}): Promise<Service> {
  const { elapsed = () => performance.now(), now = Date.now, logger = createLog(config.log_level) } = world
  const secrets = readSecrets(config)
  for (const warning of secrets.warnings) logger.warn({ warning }, 'files are not private')
  const contract = world.contract ?? (await openContract(logger))
  const { operations } = contract
  const observation = await createObservation(config, {
    store: () => store,
    chains: () => chains,
    operations,
    logger,
    now,
    elapsed,
  })
  const { observer } = observation
  // After a failed fsync the state of the file is unknown. Acknowledged changes are on the disk, and a new process reads them.
  const broken = (error: unknown) => {
    logger.fatal({ err: error }, 'database failed: the process exits, because the state of the file is unknown')
    process.exit(exit_code_io)
  }
  const storeWorld = { now, makeId, checkEvent: schemaCheck(contract.document, 'Event'), showRelayer, observer, broken }
  const store = openStore(config.database_file, storeWorld)

  const lookup = world.lookup ?? createLookup(config.allow_private_targets)
  const chains = createChains(store, lookup, elapsed, observer, world.openPost)

  try {
    const vault = unlock(store, secrets, logger, observer)
    const checkTarget = createTargetCheck(config.allow_private_targets)
    const keyServices = createKeyServices({ lookup, checkTarget }, elapsed)
    const keyring = createKeyring(store, vault, keyServices)
    if (!config.production) await createDemo(store, () => keyring.enclose('demo', generateKey()))

    const waiting = createWaiting()
    const lease = createLease(store, 'sender')
    const nonces = createNonces({ store, observer, makeId, now, elapsed })
    const sending = {
      store,
      observer,
      makeId,
      now,
      elapsed,
      fees,
      seal,
      readSigned,
      authorityOf,
      kindOf,
      isAgreed,
      flawOf,
      contradictionOf,
      wrongChain,
      keyServiceFault,
      nonces,
      findSigner: keyring.find,
      networkClient: chains.networkClient,
      changed() {
        waiting.changed()
        deliveries.look()
      },
    }
    const audit = createAudit(store, now, elapsed, logger)
    const afterAudit = (work: WorkerDependencies['work']): WorkerDependencies['work'] => {
      return (key, signal) => {
        audit.flushOverdue()
        return work(key, signal)
      }
    }
    const sender = createSender(sending)
    const restartChain = createChainRestart(sending)
    const preparation = createPreparation(sending)
    const worker = createWorker({
      work: afterAudit(sender.work),
      find: store.relayersAtWork,
      claim: lease.claim,
      version: store.version,
      logger,
    })
    const hurry = (relayer_key: number, resend = false) => {
      sender.hurry(relayer_key, resend)
      worker.wake(relayer_key)
    }

    const deliverer = createDeliverer({
      store,
      observer,
      makeId,
      now,
      logger,
      open: vault.open,
      send: createSendAttempt({ checkTarget, lookup, publicOnly: !config.allow_private_targets, now }),
      scale: config.webhook_time_scale,
      wake: (notification_key) => deliveries.wake(notification_key),
    })
    const bulkLease = createLease(store, 'bulk changes')
    const bulkChanges = createWorker({
      async work() {
        const isFound = await store.continueBulkChange()
        deliveries.look()
        return isFound ? bulk_rest_ms : undefined
      },
      find: async () => ((await store.hasBulkChange()) ? [0] : []),
      claim: bulkLease.claim,
      version: store.version,
      logger,
    })
    const deliveryLease = createLease(store, 'deliverer')
    const deliveries = createWorker({
      work: afterAudit(deliverer.work),
      find: store.targetsAtWork,
      claim: deliveryLease.claim,
      version: store.version,
      logger,
    })

    const apiKeyUses = createApiKeyUses(store.noteApiKeyUses, now, (error) =>
      logger.error({ err: error }, 'writing the last uses of API keys failed'),
    )

    const retentionLease = createLease(store, 'retention')
    const retention = createRetention({
      store,
      logger,
      readClock: createBelievedClock({ store, now, elapsed, logger }).read,
      days: config.retention_days,
      claim: retentionLease.claim,
    })

    const submit = createSubmit({ ...sending, preparation, readTransactionRequest, wake: worker.wake })
    const rateLimit = createRateLimit(
      { per_second: config.rate_limit_per_second, burst: config.rate_limit_burst },
      config.processes,
      elapsed,
    )
    const state = { stopping: false }
    const streams = createShares(stream_limits)
    const rpcCalls = createShares(rpc_call_limits)
    const pages = createShares(page_byte_limits)
    const rest = createOperations({
      store,
      observer,
      makeId,
      now,
      seal: vault.seal,
      findSigner: keyring.find,
      enclose: keyring.enclose,
      encloseReference: keyring.encloseReference,
      admitKey: keyServices.admit,
      generateKey,
      openKeystore,
      messageDigest,
      typedDataDigest,
      authorizationDigest,
      hashTypedData,
      parseUnsigned,
      stateOf,
      checkPolicies,
      checkFee,
      spendingOf,
      overLimit,
      checkTarget,
      changed: sending.changed,
      sendTest: deliverer.test,
      wakeDeliverer: deliveries.wake,
      follow: (relayer_key, last_event_id) =>
        eventStream(
          { store, nextChange: waiting.nextChange, isStopping: () => state.stopping },
          relayer_key,
          last_event_id,
        ),
      submit,
      dryRun: createDryRun({ ...sending, preparation, readTransactionRequest }),
      explain: createExplain(sending),
      waitUntil: waiting.until,
      hurry,
      networkClient: chains.networkClient,
      nonceState: async (relayer, latest) => {
        const networkClient = await chains.networkClient(relayer)
        return nonces.state(relayer, networkClient?.each ?? [], latest)
      },
      async restart(relayer, auditEntry) {
        const networkClient = await chains.networkClient(relayer)
        if (networkClient) await restartChain(relayer, networkClient, auditEntry)
      },
      async heal(relayer, stated_nonce) {
        await healAccount(relayer, stated_nonce)
        hurry(relayer.key, true)
        await worker.run(relayer.key)
      },
      rpcErrorOf: (error) => (error instanceof RpcError ? error.error : undefined),
      isUnreachable: (error) => error instanceof RpcUnavailable,
      tooLarge: (error) => (error instanceof AnswerTooLarge ? error.message : undefined),
      holdRpcCall: (caller) => rpcCalls.hold(caller, 1),
      holdPage: (caller, bytes) => pages.hold(caller, bytes),
      holdStream: (caller) => streams.hold(caller, 1),
      unready: () => unready(store, state.stopping),
    })
    const handlers = {
      ...rest,
      ...jsonRpc({
        store,
        operations: rest,
        submit,
        findSigner: keyring.find,
        faultOf: bodyFaults(contract.document),
        parseJson: (text) => parseJson(text, undefined),
        readIdempotencyKey,
        underpriced: (row, body) => underpriced(fees, row, body),
        waitUntil: waiting.until,
        hurry,
        authorize: (caller, id) => checkRoles(caller, operations.find((known) => known.id === id) as Operation),
        countCalls: (caller, count) => void (count > 0 && rateLimit.take(caller, count)),
        readable: readableMethods(contract.document),
        revertIn,
        nextNonce,
        client_version: `evm-relayer-service/${contract.document.info.version}`,
        elapsed,
        unexpected: (error) => logger.error({ err: error }, 'json-rpc call failed'),
      }),
    }

    /** What the counter says, or the chain where it is ahead: then the counter follows it before a nonce is assigned. */
    async function nextNonce(relayer: RelayerRow): Promise<number> {
      const { next_nonce } = await store.getAccount(relayer.chain_id, relayer.address)
      const networkClient = await chains.networkClient(relayer)
      const latest = await networkClient?.funds(relayer.address).then(
        (funds) => funds.latest,
        () => 0,
      )
      return Math.max(next_nonce, latest ?? 0)
    }

    /** An account without unfinished transactions has no lane that follows its chain, so the request does it. */
    async function healAccount(relayer: RelayerRow, stated_nonce: number | undefined): Promise<void> {
      const networkClient = await chains.networkClient(relayer)
      if (!networkClient) return
      await nonces.heal(relayer, networkClient, stated_nonce)
    }

    const app = createApp({
      operations,
      handlers,
      authenticate: createAuthentication({
        api_key: secrets.api_key,
        apiKeys: store.apiKeys,
        generation: store.generation,
        now,
        noteUse: apiKeyUses.note,
        trusted_proxies: config.trusted_proxies,
      }),
      rateLimit,
      audit,
      reference: readReference(),
      bodyBytes: createShares(body_byte_limits),
      streamPace: createStreamPace(() => performance.now()),
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
      times: world.http_times,
    })

    // Validators compile in the background; a request that needs one earlier compiles it.
    if (!world.contract) void contract.warmUp()

    return {
      url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${server.port}`,
      metrics_url,
      api_key: secrets.api_key,
      api_key_file: secrets.api_key_file,
      demo: (await store.listRelayers({ offset: 0, limit: 1 }, new Set(['demo']))).total_items > 0,
      async close() {
        state.stopping = true
        waiting.stop()
        await server.close()
        await observation.close()
        keyServices.stop()
        await Promise.all([worker.stop(), deliveries.stop(), bulkChanges.stop(), deliverer.stop(), retention.stop()])
        lease.release()
        deliveryLease.release()
        bulkLease.release()
        apiKeyUses.stop()
        audit.stop()
        retentionLease.release()
        store.close()
      },
    }
  } catch (error) {
    store.close()
    await observation.close()
    throw error
  }
}

function openStore(...parameters: Parameters<typeof openSqliteStore>): Store {
  try {
    return openSqliteStore(...parameters)
  } catch (error) {
    throw error instanceof StoreError ? new ConfigError(error.message) : error
  }
}

async function openContract(logger: Logger): Promise<Contract> {
  try {
    return await mountContract(readContract(), logger)
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw isMissing ? new ConfigError('generated/openapi.json is missing: run `npm run generate`') : error
  }
}

/** Opens the vault, and logs rows that another program has changed. Throws ConfigError. */
function unlock(store: Store, secrets: Secrets, logger: Logger, observer: Observer): Vault {
  try {
    const { vault, first_sealed } = openVault(store, secrets, (fault) => {
      logger.error(fault, 'row refused: another program has changed the database')
      observer.rowRefused?.(fault.table)
    })
    if (first_sealed > 0) {
      logger.warn({ rows: first_sealed }, 'rows that grant rights now carry a MAC: rotate the master key once')
    }
    return vault
  } catch (error) {
    throw error instanceof StoreError ? new ConfigError(error.message) : error
  }
}

/** The kind of an RPC error, as evm/rpc-error.ts classifies it; `unreachable` when no node answers; undefined: not an RPC error. */
function kindOf(error: unknown): string | undefined {
  if (error instanceof RpcError) return error.kind
  return error instanceof RpcUnavailable ? 'unreachable' : undefined
}

const isAgreed = (error: unknown) => error instanceof RpcError && error.isAgreed

const wrongChain = (error: unknown) => (error instanceof RpcUnavailable ? error.wrong_chain : undefined)

/** The bytes of a revert; null: it reverts without bytes; undefined: the error is no revert. */
function revertIn(error: unknown): string | null | undefined {
  if (error instanceof RpcError) return revertDataOf(error.error)
  return typeof error === 'object' && error !== null ? revertDataOf(error) : undefined
}

const keyServiceFault = (error: unknown) => (error instanceof KeyServiceUnavailable ? error.reason : undefined)

function unready(store: Store, stopping: boolean) {
  const reasons = stopping ? [{ path: 'process', message: 'is shutting down' }] : []
  try {
    store.ping()
  } catch {
    reasons.push({ path: 'store', message: 'does not answer' })
  }
  return reasons
}
