import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ConfigError } from '../domain/errors.ts'
import { movedFile } from '../domain/settings.ts'
import { createFile, lineOf } from '../lib/durable-file.ts'
import { type MasterKeyFile, masterKeyFile } from './master-key.ts'
import { makePrivateFile, privacyFaults } from './private-files.ts'

/** The settings that tell where the secrets are. */
interface SecretSettings {
  production: boolean
  data_dir: string
  secret_files: string[]
  database: { type: 'sqlite'; file: string } | { type: 'postgres' }
  api_key: string | undefined
  master_key: Buffer | undefined
  key_encryption_key: object | undefined
}

export interface Secrets {
  api_key: string
  /** The file of the API key; undefined when it is a setting. */
  api_key_file: string | undefined
  /** Undefined when a key service decrypts it. */
  master_key: Buffer | undefined
  /** Undefined when the master key, or the key that encrypts it, is a setting. */
  master_key_file: MasterKeyFile | undefined
  /** The files and folders that other users can read or write; outside production only. */
  warnings: string[]
}

/**
 * The API key and the master key: from the settings, or from files in the data folder (mode 0600) that the first start
 * creates; the master key has no file when a key service encrypts it. No master key is generated for an existing database, which is
 * encrypted under another key. In production, files that other users can read and folders that they can write to are refused. Throws
 * ConfigError.
 */
export function readSecrets(config: SecretSettings): Secrets {
  checkNotMoved(config.database)
  makeFolder(config.data_dir)
  const warnings = checkPrivacy(config)
  const secrets = { ...readKeys(config), warnings }
  if (config.database.type === 'sqlite') makePrivateFile(config.database.file)
  return secrets
}

/** Throws ConfigError: an empty database in the place of one that was moved would look as if all were lost. */
function checkNotMoved(database: SecretSettings['database']): void {
  if (database.type !== 'sqlite' || existsSync(database.file) || !existsSync(movedFile(database.file))) return
  throw new ConfigError(
    `The database ${database.file} was moved to PostgreSQL: set DATABASE_URL to it. For a new database here, move ${movedFile(database.file)} to another folder first.`,
  )
}

/** mkdir's own `recursive` never returns where a folder that is there says that it is not, as /proc does. */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!existsSync(path)) throw error
  }
}

/** As `readSecrets`, for an operator's command on a database that exists: it needs no API key, and creates no file. */
export function readMasterKey(config: SecretSettings): Omit<Secrets, 'api_key' | 'api_key_file'> {
  const warnings = checkPrivacy(config)
  if (isGiven(config)) return { master_key: config.master_key, master_key_file: undefined, warnings }
  const file = masterKeyFile(config.data_dir)
  const masterKey = file.read()
  if (masterKey === undefined) throw masterKeyMissing(config, file)
  return { master_key: masterKey, master_key_file: file, warnings }
}

function checkPrivacy({ data_dir, database, production, secret_files }: SecretSettings): string[] {
  const own = ['master-key', 'master-key.next', 'api-key'].map((name) => join(data_dir, name))
  const files =
    database.type === 'sqlite' ? ['', '-wal', '-shm', '-journal'].map((suffix) => `${database.file}${suffix}`) : []
  const faults = privacyFaults([...own, ...files], secret_files, !production)
  if (production && faults.length > 0) throw new ConfigError(faults.join('\n'))
  return faults
}

function readKeys(config: SecretSettings): Omit<Secrets, 'warnings'> {
  const keys = isGiven(config)
    ? { master_key: config.master_key, master_key_file: undefined }
    : readOrMakeMasterKey(config)
  if (config.api_key !== undefined) return { api_key: config.api_key, api_key_file: undefined, ...keys }
  const apiKeyFile = join(config.data_dir, 'api-key')
  const apiKey = readOrMake(apiKeyFile, () => randomBytes(32).toString('base64url'))
  if (apiKey.length < 32) throw new ConfigError(`${apiKeyFile} must contain an API key of at least 32 characters`)
  return { api_key: apiKey, api_key_file: apiKeyFile, ...keys }
}

function readOrMakeMasterKey(config: SecretSettings) {
  const file = masterKeyFile(config.data_dir)
  // Whether a database of PostgreSQL is new is known after it was opened: `openVault` refuses the wrong key.
  const isKnown = config.database.type === 'sqlite' && existsSync(config.database.file)
  if (!file.exists() && isKnown) throw masterKeyMissing(config, file)
  readOrMake(file.path, () => randomBytes(32).toString('hex'))
  return { master_key: file.read(), master_key_file: file }
}

const isGiven = ({ master_key, key_encryption_key }: SecretSettings) =>
  master_key !== undefined || key_encryption_key !== undefined

const masterKeyMissing = ({ database }: SecretSettings, { path }: MasterKeyFile) =>
  new ConfigError(
    `The database ${database.type === 'sqlite' ? database.file : ''} is encrypted under a master key: set MASTER_KEY, or put ${path} back`,
  )

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
