import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ConfigError, keyBytes } from '../config.ts'
import { createFile, lineOf, sync } from './durable-file.ts'
import { createVault, type Vault } from './vault.ts'

/**
 * The file of a master key that is no setting, and beside it, while the key is being changed, the one that is to come. The next
 * key is on the disk before anything is sealed under it, and takes the file's place after that; whoever finds the database
 * under the next key does the last step. So a change that is cut short anywhere leaves a key in the folder that opens it.
 */
export interface MasterKeyFile {
  path: string
  exists(): boolean
  /** Undefined when there is none. Throws ConfigError when it holds no key. */
  read(): Buffer | undefined
  next(): Buffer | undefined
  /** Puts the next key beside the present one, durably. */
  announce(key: Buffer): void
  /** The next key takes the place of the present one. */
  adopt(): void
}

export function masterKeyFile(data_dir: string): MasterKeyFile {
  const path = join(data_dir, 'master-key')
  const nextPath = `${path}.next`

  return {
    path,
    exists: () => existsSync(path),
    read: () => readKey(path),
    next: () => readKey(nextPath),
    announce(key) {
      rmSync(nextPath, { force: true })
      createFile(nextPath, lineOf(key.toString('hex')))
    },
    adopt() {
      renameSync(nextPath, path)
      sync(dirname(path))
    },
  }
}

function readKey(path: string): Buffer | undefined {
  if (!existsSync(path)) return undefined
  const key = keyBytes(readFileSync(path, 'utf8').trim())
  if (key === undefined) throw new ConfigError(`${path} does not hold a master key`)
  return key
}

const proof = 'vault_check'
/** A database whose rows that grant rights carry no MAC has another word in its proof. */
const protected_word = 'relayer, rights protected'

/** What the database keeps to know its master key by. */
export const sealProof = (vault: Vault): Uint8Array => vault.seal(Buffer.from(protected_word), proof)

export interface Unlocked {
  vault: Vault
  key: Buffer
  /** Whether the rows of the database that grant rights carry a MAC. */
  is_protected: boolean
}

/** The vault of the first of the keys that has sealed the proof; undefined when none has. */
export function vaultOf(keys: (Buffer | undefined)[], sealed: Uint8Array): Unlocked | undefined {
  for (const key of keys) {
    if (key === undefined) continue
    const vault = createVault(key)
    try {
      const word = vault.open(sealed, proof).toString()
      return { vault, key, is_protected: word === protected_word }
    } catch {
      // Not this one.
    }
  }
  return undefined
}
