import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, ConfigError } from '../config.ts'
import type { RightsFault, SignerRow } from '../store/rows.ts'
import type { Store } from '../store/store.ts'
import { createFile, lineOf } from './durable-file.ts'
import { type MasterKeyFile, masterKeyFile, sealProof, type Unlocked, vaultOf } from './master-key.ts'
import { makePrivateFile, privacyFaults } from './private-files.ts'
import { createVault, type Vault } from './vault.ts'

export interface Secrets {
  api_key: string
  /** The file of the API key; undefined when it is a setting. */
  api_key_file: string | undefined
  master_key: Buffer
  /** Undefined when the master key is a setting. */
  master_key_file: MasterKeyFile | undefined
  /** The files and folders that other users can read or write; outside production only. */
  warnings: string[]
}

/**
 * The API key and the master key: from the settings, or from files in the data folder (mode 0600) that the first start
 * creates. No master key is generated for an existing database, which is encrypted under another key. In production, files that
 * other users can read and folders that they can write to are refused. Throws ConfigError.
 */
export function readSecrets(config: Config): Secrets {
  mkdirSync(config.data_dir, { recursive: true, mode: 0o700 })
  const warnings = checkPrivacy(config)
  const secrets = { ...readKeys(config), warnings }
  makePrivateFile(config.database_file)
  return secrets
}

/** As `readSecrets`, for an operator's command on a database that exists: it needs no API key, and creates no file. */
export function readMasterKey(config: Config): Omit<Secrets, 'api_key' | 'api_key_file'> {
  const warnings = checkPrivacy(config)
  if (config.master_key !== undefined) return { master_key: config.master_key, master_key_file: undefined, warnings }
  const file = masterKeyFile(config.data_dir)
  const master_key = file.read()
  if (master_key === undefined) throw masterKeyMissing(config, file)
  return { master_key, master_key_file: file, warnings }
}

function checkPrivacy({ data_dir, database_file, production }: Config): string[] {
  const own = ['master-key', 'master-key.next', 'api-key'].map((name) => join(data_dir, name))
  const database = ['', '-wal', '-shm'].map((suffix) => `${database_file}${suffix}`)
  const faults = privacyFaults([...own, ...database], !production)
  if (production && faults.length > 0) throw new ConfigError(faults.join('\n'))
  return faults
}

function readKeys(config: Config): Omit<Secrets, 'warnings'> {
  const file = masterKeyFile(config.data_dir)
  if (config.master_key === undefined && !file.exists() && existsSync(config.database_file)) {
    throw masterKeyMissing(config, file)
  }
  if (config.master_key === undefined) readOrMake(file.path, () => randomBytes(32).toString('hex'))
  const own = config.master_key === undefined ? { master_key: file.read() as Buffer, master_key_file: file } : undefined
  const keys = own ?? { master_key: config.master_key as Buffer, master_key_file: undefined }

  if (config.api_key !== undefined) return { api_key: config.api_key, api_key_file: undefined, ...keys }
  const api_key_file = join(config.data_dir, 'api-key')
  const api_key = readOrMake(api_key_file, () => randomBytes(32).toString('base64url'))
  if (api_key.length < 32) throw new ConfigError(`${api_key_file} must contain an API key of at least 32 characters`)
  return { api_key, api_key_file, ...keys }
}

const masterKeyMissing = ({ database_file }: Config, { path }: MasterKeyFile) =>
  new ConfigError(`The database ${database_file} is encrypted under a master key: set MASTER_KEY, or put ${path} back`)

/**
 * Unlocks the database and starts the checks of its rows that grant rights. Completes a rotation of the master key that was
 * interrupted after its commit. `first_sealed`: the number of rows that got their first MAC. Throws ConfigError.
 */
export async function openVault(
  store: Store,
  { master_key, master_key_file }: Pick<Secrets, 'master_key' | 'master_key_file'>,
  report: (fault: RightsFault) => void,
): Promise<{ vault: Vault; first_sealed: number }> {
  let unlocked: Unlocked | undefined
  const { first_sealed } = await store.protect((sealed) => {
    const ours = { vault: createVault(master_key), key: master_key, is_protected: false }
    unlocked = sealed === undefined ? ours : vaultOf([master_key, master_key_file?.next()], sealed)
    if (!unlocked) {
      throw new ConfigError(
        'The database is encrypted under another master key: set MASTER_KEY to the key that the database was created with',
      )
    }
    const { vault, is_protected } = unlocked
    return { guard: vault, is_protected, sealed: sealProof(vault) }
  }, report)
  const { vault, key } = unlocked as Unlocked
  if (key !== master_key) master_key_file?.adopt()
  return { vault, first_sealed }
}

/** The content of the file, which is created if absent. Two processes that start together read the same content. */
function readOrMake(file: string, make: () => string): string {
  if (!existsSync(file)) {
    try {
      createFile(file, lineOf(make()))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
  return readFileSync(file, 'utf8').trim()
}

/** Creates the relayer `demo` with a new key on a local development chain, so that a first start can sign. */
export async function createDemo(store: Store, enclose: () => SignerRow | undefined): Promise<void> {
  if (!(await isUntouched(store))) return
  await store.createNetwork({
    id: 'evm:local',
    name: 'local',
    network_type: 'evm',
    chain_id: 31_337,
    rpc_urls: [{ url: 'http://127.0.0.1:8545', weight: 100 }],
    symbol: 'ETH',
    required_confirmations: 1,
    average_blocktime_ms: null,
    is_testnet: true,
    explorer_urls: [],
    features: [],
    tags: [],
  })
  const signer = enclose()
  if (!signer) throw new Error('A generated key is not a valid private key')
  await store.createSigner(signer)
  await store.createRelayer({
    id: 'demo',
    name: 'Demo',
    network: 'local',
    network_type: 'evm',
    paused: false,
    signer_id: signer.id,
    notification_id: null,
    policies: {},
    custom_rpc_urls: [],
    system_disabled: false,
    disabled_reason: null,
  })
}

/** Whether the store contains at most the rows of `createDemo`, so that an interrupted first start is resumed. */
async function isUntouched(store: Store): Promise<boolean> {
  const few = { offset: 0, limit: 2 }
  const [networks, signers, relayers] = [
    await store.listNetworks(few),
    await store.listSigners(few),
    await store.listRelayers(few),
  ]
  return (
    relayers.total_items === 0 &&
    networks.items.every(({ id }) => id === 'evm:local') &&
    signers.items.every(({ id }) => id === 'demo')
  )
}
