import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { v7 as uuidv7 } from 'uuid'
import { type Config, ConfigError } from './config.ts'
import type { Detail } from './errors.ts'
import { messageDigest, typedDataDigest } from './evm/digest.ts'
import { createDemo, readSecrets } from './first-start.ts'
import { createApp } from './http/app.ts'
import { createAuthentication } from './http/authentication.ts'
import { compileContract } from './http/contract.ts'
import { createRateLimit } from './http/rate-limit.ts'
import { readReference } from './http/reference.ts'
import { listen } from './http/server.ts'
import { createKeyring, generateKey } from './keys/keyring.ts'
import { openKeystore } from './keys/keystore.ts'
import { createVault, type Vault } from './keys/vault.ts'
import { createOperations } from './operations/index.ts'
import { openSqliteStore } from './store/sqlite.ts'
import type { Store } from './store/store.ts'
import { createTargetCheck } from './webhooks/target.ts'

export interface Service {
  /** Where it listens: http://host:port, without a slash at the end. */
  url: string
  api_key: string
  api_key_file: string | undefined
  /** Whether the relayer `demo` is there to try. */
  demo: boolean
  /** Fails readiness, ends what is under way, and closes the store. */
  close(): Promise<void>
}

/** What a test puts in the place of the world. */
export interface World {
  /** Milliseconds, never going back. */
  now?: () => number
  logger?: pino.Logger
}

/** The one place where the parts meet. Throws ConfigError when the settings and the data do not fit together. */
export async function startService(config: Config, world: World = {}): Promise<Service> {
  const { now = () => performance.now(), logger = pino({ level: config.log_level }) } = world
  const secrets = readSecrets(config)
  const store = openSqliteStore(config.database_file)

  try {
    const vault = createVault(secrets.master_key)
    checkMasterKey(store, vault)
    const keyring = createKeyring(store, vault)
    if (!config.production) await createDemo(store, () => keyring.enclose('demo', generateKey()))

    const state = { stopping: false }
    const handlers = createOperations({
      store,
      makeId: uuidv7,
      seal: vault.seal,
      findSigner: keyring.find,
      enclose: keyring.enclose,
      generateKey,
      openKeystore,
      messageDigest,
      typedDataDigest,
      checkTarget: createTargetCheck(config.allow_private_targets),
      unready: () => unready(store, state.stopping),
    })
    const app = createApp({
      operations: compileContract(readContract()),
      handlers,
      authenticate: createAuthentication(secrets.api_key),
      rateLimit: createRateLimit(config.rate_limit_per_second, config.rate_limit_burst, now),
      reference: readReference(),
      logger,
    })
    const server = await listen(app, config.host, config.port)

    return {
      url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${server.port}`,
      api_key: secrets.api_key,
      api_key_file: secrets.api_key_file,
      demo: (await store.getRelayer('demo')) !== undefined,
      async close() {
        state.stopping = true
        await server.close()
        store.close()
      },
    }
  } catch (error) {
    store.close()
    throw error
  }
}

const contractFile = join(import.meta.dirname, '..', 'generated', 'openapi.json')

function readContract(): unknown {
  if (!existsSync(contractFile)) throw new ConfigError('generated/openapi.json is missing: run `npm run generate`')
  return JSON.parse(readFileSync(contractFile, 'utf8'))
}

function checkMasterKey(store: Store, vault: Vault): void {
  const sealed = store.vaultCheck(() => vault.seal(Buffer.from('relayer'), 'vault_check'))
  try {
    vault.open(sealed, 'vault_check')
  } catch {
    throw new ConfigError('The database is encrypted under another master key than the one given (MASTER_KEY)')
  }
}

function unready(store: Store, stopping: boolean): Detail[] {
  const reasons: Detail[] = []
  if (stopping) reasons.push({ path: 'process', message: 'is shutting down' })
  try {
    store.ping()
  } catch {
    reasons.push({ path: 'store', message: 'does not answer' })
  }
  return reasons
}
