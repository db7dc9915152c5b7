import type { LookupFunction } from 'node:net'
import type { Logger } from 'pino'
import { Audit } from '../api/http/audit.ts'
import { type Contract, mountContract, readContract } from '../api/http/contract.ts'
import { schemaCheck } from '../api/http/schema-check.ts'
import type { HttpTimes } from '../api/http/server.ts'
import { Chains } from '../chain/chains.ts'
import { openPost, type Post } from '../chain/post.ts'
import type { Config } from '../config.ts'
import { ConfigError } from '../domain/errors.ts'
import type { Observer } from '../domain/observer.ts'
import type { RightsFault } from '../domain/rows.ts'
import { KeyEncryption } from '../keys/key-encryption.ts'
import { KeyServices } from '../keys/key-services.ts'
import { generateKey, Keyring } from '../keys/keyring.ts'
import { TokenLogins } from '../keys/providers/pkcs11.ts'
import { readSecrets, type Secrets } from '../keys/read-secrets.ts'
import type { Vault } from '../keys/secret-encryption.ts'
import { makeId } from '../lib/ids.ts'
import { lookupPublic, type TargetCheck, targetFault } from '../lib/ssrf-guard.ts'
import { DatabaseDown, StoreError, type StoreWorld } from '../store/queries/database.ts'
import { openSqliteStore } from '../store/sqlite.ts'
import type { Store } from '../store/store.ts'
import { openLog } from '../telemetry/log.ts'
import { createDemo } from './first-start.ts'
import { type Observation, openObservation } from './observation.ts'
import { openVault } from './open-vault.ts'

/** The outside world: tests replace the clock, the log and the network. */
export interface TestOverrides {
  /** A monotonic clock in milliseconds. */
  elapsed?: () => number
  /** The wall clock: milliseconds since the Unix epoch; the default is the store's. */
  now?: () => number
  logger?: Logger
  /** Resolves host names; the default follows ALLOW_PRIVATE_TARGETS. */
  lookup?: LookupFunction
  /** Sends a JSON-RPC body to a node; the default is HTTP. */
  openPost?: (url: string) => Post
  /** A contract that is already compiled, for tests that start many services. */
  contract?: Contract
  /** Replaces some of the default HTTP timeouts. */
  http_times?: Partial<HttpTimes>
}

/** The parts that all others build on. */
export interface Foundation {
  config: Config
  secrets: Secrets
  contract: Contract
  logger: Logger
  now(): number
  elapsed(): number
  lookup: LookupFunction | undefined
  observation: Observation
  observer: Observer
  store: Store
  chains: Chains
  vault: Vault
  keyring: Keyring
  keyServices: KeyServices
  checkTarget: TargetCheck
  audit: Audit
}

/** EX_IOERR of sysexits.h. */
const exitCodeIo = 74

/**
 * Reads the secrets and the contract, and opens the store, its vault, the chains and the keys. `opened`: gets what the caller closes, also
 * when a later part cannot be opened. Throws ConfigError.
 */
export async function openFoundation(
  config: Config,
  dependencies: TestOverrides,
  opened: AsyncDisposableStack,
): Promise<Foundation> {
  const {
    elapsed = () => performance.now(),
    now = () => store.now(),
    logger = openLog(config.log_level),
  } = dependencies
  const secrets = readSecrets(config)
  for (const warning of secrets.warnings) logger.warn({ warning }, 'files are not private')
  for (const warning of config.unknown_settings) logger.warn({ warning }, 'setting unknown')
  const contract = dependencies.contract ?? (await openContract(logger))
  const observation = await openObservation(config, {
    store: () => store,
    chains: () => chains,
    operations: contract.operations,
    logger,
    now,
    elapsed,
  })
  opened.defer(observation.close)
  const { observer } = observation
  // After a failed fsync the state of the file is unknown. Acknowledged changes are on the disk, and a new process reads them.
  const broken = (error: unknown) => {
    logger.fatal({ err: error }, 'database failed: the process exits, because the state of the database is unknown')
    process.exit(exitCodeIo)
  }
  const databaseDown = (reason?: string) => {
    if (reason === undefined) logger.info('database up')
    else logger.error({ reason }, 'database down: requests return 503')
  }
  const checkEvent = schemaCheck(contract.document, 'WebhookEvent')
  const storeWorld = {
    ...(dependencies.now && { now: dependencies.now }),
    makeId,
    checkEvent,
    observer,
    broken,
    databaseDown,
    checkpointsApart: true,
  }
  const store = await orConfigError(() => openStore(config, storeWorld, logger))
  opened.defer(store.close)
  const lookup = dependencies.lookup ?? (config.allow_private_targets ? undefined : lookupPublic)
  const checkTarget: TargetCheck = (url) => targetFault(url, config.allow_private_targets)
  const openNode = dependencies.openPost ?? ((url: string) => openPost(url, lookup))
  const chains = new Chains({ store, openPost: openNode, checkTarget, now: elapsed, observer })
  const vault = await orConfigError(() => unlock(config, { store, secrets, logger, observer }))
  const keyServices = new KeyServices({
    outbound: { lookup, checkTarget },
    settings: config,
    logins: new TokenLogins(store, vault),
    elapsed,
    observer,
  })
  opened.defer(() => keyServices.stop())
  const keyring = new Keyring(store, vault, keyServices)
  if (!config.production) await createDemo(store, () => keyring.enclose('demo', generateKey()))
  const audit = await Audit.open({ store, now, elapsed, logger, observer })
  opened.defer(() => audit.stop())
  const outside = { config, secrets, contract, logger, now, elapsed, lookup }
  return { ...outside, observation, observer, store, chains, vault, keyring, keyServices, checkTarget, audit }
}

/** Throws StoreError when the database cannot be used. */
async function openStore({ database }: Config, world: StoreWorld, logger: Logger): Promise<Store> {
  if (database.type === 'sqlite') return openSqliteStore(database.file, world)
  const weakDatabase = (setting: string) => logger.warn({ setting }, 'PostgreSQL may lose acknowledged commits')
  const { openPostgresStore } = await import('../store/postgres.ts')
  return openPostgresStore(database, { ...world, weakDatabase })
}

async function openContract(logger: Logger): Promise<Contract> {
  try {
    return await mountContract(readContract(), logger)
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw isMissing ? new ConfigError('generated/openapi.json is missing: run `npm run generate`') : error
  }
}

/** Opens the vault, and logs rows that another program has changed. */
async function unlock(
  { key_encryption_key, vault: vaultAccess }: Config,
  { store, secrets, logger, observer }: Pick<Foundation, 'store' | 'secrets' | 'logger' | 'observer'>,
): Promise<Vault> {
  const report = (fault: RightsFault) => {
    logger.error(fault, 'row refused: another program has changed the database')
    observer.rowRefused?.(fault.table)
  }
  const keyEncryption = key_encryption_key && new KeyEncryption(key_encryption_key, vaultAccess)
  const { vault, first_sealed } = await openVault(store, secrets, report, keyEncryption)
  if (first_sealed > 0) {
    logger.warn({ rows: first_sealed }, 'rows that grant rights now carry a MAC: rotate the master key once')
  }
  return vault
}

async function orConfigError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isLasting = error instanceof StoreError && !(error instanceof DatabaseDown)
    throw isLasting ? new ConfigError(error.message) : error
  }
}
