import { randomBytes } from 'node:crypto'
import { relayerNotFound } from '../domain/errors.ts'
import type { RelayerRow, SignerRow } from '../domain/rows.ts'
import { GenerationCache } from '../lib/generation-cache.ts'
import type { Store } from '../store/store.ts'
import type { KeyReference } from './key-reference.ts'
import type { KeyServices } from './key-services.ts'
import { isKey, localSigner } from './secp256k1.ts'
import type { Vault } from './secret-encryption.ts'
import type { Signer } from './signer.ts'

const maxCached = 10_000

export interface RelayerSigner {
  relayer: RelayerRow
  signer: Signer
  /** All relayers on its address, including itself, on any chain. */
  on_address: RelayerRow[]
}

export interface Keyring {
  /**
   * A relayer with its key, cached while the store's generation is unchanged. A change by any process applies from the next call
   * on. Undefined when the relayer does not exist.
   */
  find(relayerId: string): Promise<RelayerSigner | undefined>
  /** The relayer. Throws DomainError (404) when it does not exist. */
  findRelayer(relayerId: string): Promise<RelayerRow>
  /** The row of a private key: encrypted, with its address. Undefined when the bytes are not a valid private key. */
  enclose(signerId: string, key: Uint8Array): SignerRow | undefined
  /** The row of a key in a key service: the reference, encrypted, with the address of the key. */
  encloseReference(signerId: string, reference: KeyReference, address: string): SignerRow
}

export function createKeyring(store: Store, vault: Vault, keyServices: Pick<KeyServices, 'signer'>): Keyring {
  const generation = () => store.generation()
  const cache = new GenerationCache<RelayerSigner | undefined>(generation, maxCached)
  // Relayers on one address share the list.
  const byAddress = new GenerationCache<RelayerRow[]>(generation, maxCached)

  const load = async (relayerId: string): Promise<RelayerSigner | undefined> => {
    const relayer = await store.getRelayer(relayerId)
    if (!relayer) return undefined
    const row = await store.getSecret(relayer.signer_id)
    if (!row) return undefined
    const secret = vault.open(row.secret, rowOf(relayer.signer_id))
    const signer =
      row.type === 'local' ? localSigner(secret) : keyServices.signer(JSON.parse(secret.toString()), relayer.address)
    const onAddress = await byAddress.find(relayer.address, () => store.relayersOn(relayer.address))
    return { relayer, signer, on_address: onAddress }
  }
  const find = (relayerId: string) => cache.find(relayerId, () => load(relayerId))

  return {
    find,
    async findRelayer(relayerId) {
      const held = await find(relayerId)
      if (!held) throw relayerNotFound(relayerId)
      return held.relayer
    },
    enclose(signerId, key) {
      if (!isKey(key)) return undefined
      const { address } = localSigner(key)
      return { id: signerId, type: 'local', address, secret: vault.seal(key, rowOf(signerId)) }
    },
    encloseReference(signerId, { type, config }, address) {
      const secret = vault.seal(Buffer.from(JSON.stringify({ type, config })), rowOf(signerId))
      return { id: signerId, type, address, secret }
    },
  }
}

/** 32 random bytes that are a valid secp256k1 private key. */
export function generateKey(): Uint8Array {
  for (;;) {
    const key = randomBytes(32)
    if (isKey(key)) return key
  }
}

const rowOf = (signerId: string) => `signers:${signerId}`
