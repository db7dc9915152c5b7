import { createRequire } from 'node:module'
import { keccak256, SigningKey } from 'ethers/crypto'
import type { RawSignature, Signer } from './signer.ts'

/** The operations on secp256k1. Both implementations return the same bytes; a test compares them. */
export interface Curve {
  /** True when 0 < key < n. */
  isKey(key: Uint8Array): boolean
  /** The uncompressed public key, 65 bytes. */
  publicKey(key: Uint8Array): Uint8Array
  sign(digest: Uint8Array, key: Uint8Array): RawSignature
}

/** libsecp256k1, which Ethereum and Bitcoin nodes use; undefined where its native binding does not load. */
export const nativeCurve = loadNativeCurve()

/** Portable fallback, ten times slower. */
export const ethersCurve: Curve = {
  isKey(key) {
    try {
      // The constructor does not check the key; its first use does.
      return new SigningKey(key).publicKey !== ''
    } catch {
      // The error's message contains the key and must not be passed on.
      return false
    }
  },
  publicKey: (key) => Buffer.from(new SigningKey(key).publicKey.slice(2), 'hex'),
  sign(digest, key) {
    const { r, s, yParity } = new SigningKey(key).sign(digest)
    return { rs: Buffer.from(r.slice(2) + s.slice(2), 'hex'), recovery: yParity }
  },
}

const curve = nativeCurve ?? ethersCurve

export const isKey = (key: Uint8Array): boolean => key.length === 32 && curve.isKey(key)

/** A signer whose key is in this process's memory. `key`: 32 bytes for which `isKey` holds. */
export function localSigner(key: Uint8Array): Signer {
  const address = `0x${keccak256(curve.publicKey(key).subarray(1)).slice(-40)}`
  return { address, sign: (digest) => curve.sign(digest, key) }
}

function loadNativeCurve(): Curve | undefined {
  try {
    // The native binding directly, because the package's main file falls back to a JavaScript curve with known faults.
    const native = createRequire(import.meta.url)('secp256k1/bindings')
    return {
      isKey: (key) => native.privateKeyVerify(key),
      publicKey: (key) => native.publicKeyCreate(key, false),
      sign(digest, key) {
        const { signature, recid } = native.ecdsaSign(digest, key)
        return { rs: signature, recovery: recid }
      },
    }
  } catch {
    return undefined
  }
}
