import { randomBytes } from 'node:crypto'
import { ConfigError } from '../domain/errors.ts'
import type { MasterKeyCheck, RightsFault, WrappedKey } from '../domain/rows.ts'
import type { KeyEncryption } from '../keys/key-encryption.ts'
import { sealProof, type Unlocked, vaultOf } from '../keys/master-key.ts'
import type { Secrets } from '../keys/read-secrets.ts'
import { Vault } from '../keys/secret-encryption.ts'
import type { Store } from '../store/store.ts'

const masterKeyBytes = 32

/** The master keys that the database may be encrypted under. */
interface Candidates {
  keys: [Buffer, ...(Buffer | undefined)[]]
  /** The first key as the key service encrypts it; null: no key service is used. */
  wrapped: WrappedKey | null
}

/** Another server stored its master key in a new database first. */
class OtherMasterKey extends Error {}

/**
 * Unlocks the database and starts the checks of its rows that grant rights. Completes a rotation of the master key that was
 * interrupted after its commit. `first_sealed`: the number of rows that got their first MAC. With a key service: for a new database,
 * makes a master key, and stores it encrypted, in the same database transaction as the proof of it. Throws ConfigError.
 */
export async function openVault(
  store: Store,
  { master_key, master_key_file }: Pick<Secrets, 'master_key' | 'master_key_file'>,
  report: (fault: RightsFault) => void,
  keyEncryption?: KeyEncryption,
): Promise<{ vault: Vault; first_sealed: number }> {
  for (let isLast = false; ; isLast = true) {
    const candidates: Candidates =
      master_key === undefined
        ? await fromKeyService(keyEncryption, await store.masterKeyCheck())
        : { keys: [master_key, master_key_file?.next()], wrapped: null }
    try {
      const { unlocked, first_sealed } = await unlock(store, candidates, report)
      if (unlocked.key !== master_key) master_key_file?.adopt()
      return { vault: unlocked.vault, first_sealed }
    } catch (error) {
      if (isLast || !(error instanceof OtherMasterKey)) throw error
    }
  }
}

async function fromKeyService(
  service: KeyEncryption | undefined,
  held: MasterKeyCheck | undefined,
): Promise<Candidates> {
  if (!service) throw new Error('There is neither a master key nor a key that encrypts it')
  if (held && !held.wrapped) {
    throw new ConfigError(
      `The master key of the database is not in a key service: run \`npm run rotate-master-key\` with MASTER_KEY as before, and NEW_MASTER_KEY=${service.name}`,
    )
  }
  if (held?.wrapped) return { keys: [await service.unwrap(held.wrapped)], wrapped: held.wrapped }
  const key = randomBytes(masterKeyBytes)
  return { keys: [key], wrapped: await service.wrap(key) }
}

async function unlock(store: Store, { keys, wrapped }: Candidates, report: (fault: RightsFault) => void) {
  const [key] = keys
  let unlocked: Unlocked | undefined
  const { first_sealed } = await store.protect((held) => {
    if (held?.wrapped && !wrapped) {
      throw new ConfigError(`The master key of the database is encrypted by ${held.wrapped.by}: set MASTER_KEY to it`)
    }
    if (held && !isSame(held.wrapped, wrapped)) throw new OtherMasterKey('Another master key is in the database now')
    unlocked = held ? vaultOf(keys, held.sealed) : { vault: new Vault(key), key, is_protected: false }
    if (!unlocked) {
      throw new ConfigError(
        'The database is encrypted under another master key: set MASTER_KEY to the key that the database was created with',
      )
    }
    const { vault, is_protected } = unlocked
    return { guard: vault, is_protected, sealed: sealProof(vault), wrapped }
  }, report)
  return { unlocked: unlocked as Unlocked, first_sealed }
}

const isSame = (one: WrappedKey | null, other: WrappedKey | null): boolean =>
  one === null || other === null ? one === other : Buffer.compare(one.bytes, other.bytes) === 0
