import { existsSync, linkSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ConfigError } from '../domain/errors.ts'
import { keyBytes } from '../domain/settings.ts'
import { createFile, lineOf, sync } from '../lib/durable-file.ts'
import { Vault } from './secret-encryption.ts'

/**
 * The file of a generated master key and, during a rotation, the file of the next key. The next key is on the disk before anything
 * is encrypted under it, and replaces the current file after that. A process that finds the database under the next key completes
 * the last step. So the folder contains the right key wherever a rotation is interrupted.
 */
export interface MasterKeyFile {
  path: string
  exists(): boolean
  /** Undefined without a file. Throws ConfigError when the file contains no key. */
  read(): Buffer | undefined
  next(): Buffer | undefined
  /** Stores the next key beside the current one, durably. */
  announce(key: Buffer): void
  /** Replaces the current key with the next one. Returns the file that the former key is in now. */
  adopt(): string | undefined
  /** Puts the key aside, for one that is not in a file. Returns the file that it is in now. */
  retire(): string | undefined
}

export function masterKeyFile(dataDir: string): MasterKeyFile {
  const path = join(dataDir, 'master-key')
  const nextPath = `${path}.next`

  /** Backups that were made before still need the former key. */
  function keepFormer(): string | undefined {
    if (!existsSync(path)) return undefined
    const former = `${path}.former-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
    if (!existsSync(former)) linkSync(path, former)
    return former
  }

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
      const former = keepFormer()
      renameSync(nextPath, path)
      sync(dirname(path))
      return former
    },
    retire() {
      const former = keepFormer()
      for (const file of [nextPath, path]) rmSync(file, { force: true })
      sync(dirname(path))
      return former
    },
  }
}

function readKey(path: string): Buffer | undefined {
  if (!existsSync(path)) return undefined
  const key = keyBytes(readFileSync(path, 'utf8').trim())
  if (key === undefined)
    throw new ConfigError(`${path} must contain a master key: 32 bytes as 64 hex digits or as base64`)
  return key
}

const proof = 'vault_check'
/** The proof of an older database, whose rows carry no MAC, contains another word. */
const protectedWord = 'relayer, rights protected'

/** The proof in the database by which a master key is recognized. */
export const sealProof = (vault: Vault): Uint8Array => vault.seal(Buffer.from(protectedWord), proof)

export interface Unlocked {
  vault: Vault
  key: Buffer
  /** Whether the rows of the database that grant rights carry a MAC. */
  is_protected: boolean
}

/** The vault of the first key that opens the proof; undefined when none does. */
export function vaultOf(keys: (Buffer | undefined)[], sealed: Uint8Array): Unlocked | undefined {
  for (const key of keys) {
    if (key === undefined) continue
    const vault = new Vault(key)
    try {
      const word = vault.open(sealed, proof).toString()
      return { vault, key, is_protected: word === protectedWord }
    } catch {
      // Another key sealed the proof.
    }
  }
  return undefined
}
