import { setTimeout as pause } from 'node:timers/promises'
import { ConfigError } from '../domain/errors.ts'
import type { WrappedKey } from '../domain/rows.ts'
import type { KeyEncryptionKey, VaultAccess } from '../domain/settings.ts'
import { withTimeout } from '../lib/timers.ts'
import { type EncryptionKey, KeyServiceFault } from './key-service.ts'
import { awsEncryptionKey } from './providers/aws-kms.ts'
import { googleEncryptionKey } from './providers/google-cloud-kms.ts'
import { vaultEncryptionKey } from './providers/vault.ts'

const keyBytes = 32
const callMs = 5_000
const maxAttempts = 3
const firstBackoffMs = 250

/** Encrypts and decrypts the master key with a key in a key service. Both reject with ConfigError, within 20 s. */
export class KeyEncryption {
  /** As in the setting MASTER_KEY, without its parameters. */
  readonly name: string
  readonly #key: EncryptionKey

  constructor(key: KeyEncryptionKey, vault: VaultAccess | undefined) {
    this.name = key.name
    this.#key = open(key, vault)
  }

  /** Decrypts the result too: a key that only encrypts would lock the database. */
  async wrap(masterKey: Uint8Array): Promise<WrappedKey> {
    const { name } = this
    const bytes = await limited((signal) => this.#key.encrypt(masterKey, signal)).catch((error) => {
      throw told(`${name} does not encrypt the master key`, error)
    })
    const wrapped = { by: name, bytes }
    if (!(await this.unwrap(wrapped)).equals(masterKey)) throw new ConfigError(`${name} decrypts to another master key`)
    return wrapped
  }

  async unwrap({ by, bytes }: WrappedKey): Promise<Buffer> {
    const { name } = this
    const masterKey = await limited((signal) => this.#key.decrypt(bytes, signal)).catch((error) => {
      const other = by === name ? '' : ` (${by} encrypted it)`
      throw told(`${name} does not decrypt the master key${other}`, error)
    })
    if (masterKey.length !== keyBytes)
      throw new ConfigError(`${name} decrypts to a value that is not a master key of 32 bytes`)
    return Buffer.from(masterKey)
  }
}

function open(key: KeyEncryptionKey, vault: VaultAccess | undefined): EncryptionKey {
  switch (key.service) {
    case 'aws-kms':
      return awsEncryptionKey(key)
    case 'gcp-kms':
      return googleEncryptionKey(key)
    case 'vault':
      if (!vault) {
        throw new ConfigError(`${key.name} needs VAULT_ADDR, and VAULT_TOKEN or VAULT_ROLE_ID with VAULT_SECRET_ID`)
      }
      return vaultEncryptionKey(key, vault)
  }
}

/** Repeats a call that was throttled or has no answer, a few times: a restarting key service must not fail a start. */
async function limited<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await withTimeout(callMs, late, call)
    } catch (error) {
      const isRepeated = error instanceof KeyServiceFault && ['unavailable', 'throttled'].includes(error.kind)
      if (!isRepeated || attempt === maxAttempts) throw error
      await pause(firstBackoffMs * 2 ** (attempt - 1))
    }
  }
}

const late = () => new KeyServiceFault('unavailable', 'no answer in time')

function told(what: string, error: unknown): Error {
  if (!(error instanceof KeyServiceFault)) return error as Error
  const { message, detail } = error
  return new ConfigError(`${what}: ${message}${detail === '' ? '' : `: ${detail}`}`)
}
