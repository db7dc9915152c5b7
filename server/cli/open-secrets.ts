import type { Config } from '../config.ts'
import type { MasterKeyCheck } from '../domain/rows.ts'
import { KeyEncryption } from '../keys/key-encryption.ts'
import { masterKeyFile, type Unlocked, vaultOf } from '../keys/master-key.ts'
import { openPostgresSecrets } from '../store/postgres.ts'
import { StoreError } from '../store/queries/database.ts'
import { type SecretsStore, secrets } from '../store/queries/secrets.ts'
import { type Connection, connect } from '../store/sqlite/connection.ts'
import { CommandError, requireDatabase, sqliteDatabase } from './command.ts'

/** Opens the secrets of the database. Throws CommandError. */
export async function openSecrets(config: Pick<Config, 'database'>): Promise<SecretsStore> {
  const { database } = config
  if (database.type === 'sqlite') return sqliteSecrets(open(sqliteDatabase(config)))
  await requireDatabase(config)
  return openPostgresSecrets(database)
}

/** Opens a SQLite database with exclusive access. Throws CommandError. */
export function open(databaseFile: string): Connection {
  try {
    return connect(databaseFile, {}, true)
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const inUse = /locked|busy/.test(error.message)
    throw new CommandError(inUse ? 'The database is in use; stop every service on it first' : error.message)
  }
}

function sqliteSecrets(connection: Connection): SecretsStore {
  return {
    now: Date.now,
    ...secretsOf(connection),
    sweepOut: async () => (sweepOut(connection) ? undefined : 'the file'),
    close: async () => connection.close(),
  }
}

/** The secrets of a database to which this process has exclusive access. */
export const secretsOf = ({ read, writeCached }: Connection) =>
  secrets({ read, writeCached, snapshot: (work) => work(read), beAlone: async () => {} })

/** Deleted rows and old ciphertexts stay in free pages and in the WAL, where the old key could open them. */
function sweepOut({ db }: Connection): boolean {
  try {
    db.exec('VACUUM')
    db.pragma('wal_checkpoint(TRUNCATE)')
    return true
  } catch {
    return false
  }
}

/** What names the master key of a database. */
export type KeyConfig = Pick<Config, 'data_dir' | 'master_key' | 'key_encryption_key' | 'vault'>

/** Whether the master key is in the data folder. */
export const isInFolder = ({ master_key, key_encryption_key }: KeyConfig): boolean =>
  master_key === undefined && key_encryption_key === undefined

/**
 * The vault of a database by the configured master key; undefined when the key does not open it. Rejects with ConfigError when a key
 * service does not decrypt the master key, and with CommandError when the database has its master key in another place.
 */
export async function openDatabaseVault(
  config: KeyConfig,
  { sealed, wrapped }: MasterKeyCheck,
): Promise<Unlocked | undefined> {
  const { master_key, key_encryption_key, vault, data_dir } = config
  if (key_encryption_key) {
    if (!wrapped) throw new CommandError('The master key of the database is not in a key service: set MASTER_KEY to it')
    return vaultOf([await new KeyEncryption(key_encryption_key, vault).unwrap(wrapped)], sealed)
  }
  if (wrapped) {
    throw new CommandError(`The master key of the database is encrypted by ${wrapped.by}: set MASTER_KEY to it`)
  }
  return vaultOf([master_key ?? masterKeyFile(data_dir).read()], sealed)
}
