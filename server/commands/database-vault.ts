import type { Config } from '../config.ts'
import type { MasterKeyCheck } from '../core/rows.ts'
import { createKeyEncryption } from '../keys/key-encryption.ts'
import { masterKeyFile, type Unlocked, vaultOf } from '../secrets/master-key.ts'
import { CommandError } from './command.ts'

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
    return vaultOf([await createKeyEncryption(key_encryption_key, vault).unwrap(wrapped)], sealed)
  }
  if (wrapped) {
    throw new CommandError(`The master key of the database is encrypted by ${wrapped.by}: set MASTER_KEY to it`)
  }
  return vaultOf([master_key ?? masterKeyFile(data_dir).read()], sealed)
}
