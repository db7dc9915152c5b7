import { randomBytes } from 'node:crypto'
import { relayerNotFound } from '../domain/errors.ts'
import type { RelayerRow, SignerRow } from '../domain/rows.ts'
import { GenerationCache } from '../lib/cache.ts'
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

export class Keyring {
  readonly #store: Store
  readonly #vault: Vault
  readonly #keyServices: Pick<KeyServices, 'signer'>
  readonly #cache = new GenerationCache<RelayerSigner | undefined>(() => this.#store.generation(), maxCached)
  // Relayers on one address share the list.
  readonly #byAddress = new GenerationCache<RelayerRow[]>(() => this.#store.generation(), maxCached)

  constructor(store: Store, vault: Vault, keyServices: Pick<KeyServices, 'signer'>) {
    this.#store = store
    this.#vault = vault
    this.#keyServices = keyServices
  }

  /**
   * A relayer with its key, cached while the store's generation is unchanged. A change by any process applies from the next call
   * on. Undefined when the relayer does not exist.
   */
  find(relayerId: string): Promise<RelayerSigner | undefined> {
    return this.#cache.find(relayerId, () => this.#load(relayerId))
  }

  /** The relayer. Throws DomainError (404) when it does not exist. */
  async findRelayer(relayerId: string): Promise<RelayerRow> {
    const held = await this.find(relayerId)
    if (!held) throw relayerNotFound(relayerId)
    return held.relayer
  }

  /** The row of a private key: encrypted, with its address. Undefined when the bytes are not a valid private key. */
  enclose(signerId: string, key: Uint8Array): SignerRow | undefined {
    if (!isKey(key)) return undefined
    const { address } = localSigner(key)
    return { id: signerId, type: 'local', address, secret: this.#vault.seal(key, rowOf(signerId)) }
  }

  /** The row of a key in a key service: the reference, encrypted, with the address of the key. */
  encloseReference(signerId: string, { type, config }: KeyReference, address: string): SignerRow {
    const secret = this.#vault.seal(Buffer.from(JSON.stringify({ type, config })), rowOf(signerId))
    return { id: signerId, type, address, secret }
  }

  async #load(relayerId: string): Promise<RelayerSigner | undefined> {
    const relayer = await this.#store.getRelayer(relayerId)
    if (!relayer) return undefined
    const row = await this.#store.getSecret(relayer.signer_id)
    if (!row) return undefined
    const secret = this.#vault.open(row.secret, rowOf(relayer.signer_id))
    const signer =
      row.type === 'local'
        ? localSigner(secret)
        : this.#keyServices.signer(JSON.parse(secret.toString()), relayer.address)
    const onAddress = await this.#byAddress.find(relayer.address, () => this.#store.relayersOn(relayer.address))
    return { relayer, signer, on_address: onAddress }
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
