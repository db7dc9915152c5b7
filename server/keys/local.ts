import { addressOf, curve } from './curve.ts'
import type { Signer } from './signer.ts'

/** A signer whose key is in this process's memory. `key`: 32 bytes for which `isKey` holds. */
export function localSigner(key: Uint8Array): Signer {
  return { address: addressOf(curve.publicKey(key)), at_once: 1, sign: (digest) => curve.sign(digest, key) }
}
