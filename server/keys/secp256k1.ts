import { createRequire } from 'node:module'
import { keccak256, SigningKey } from 'ethers/crypto'
import type { Signature, Signer } from './signer.ts'

/** The operations on secp256k1. Both implementations return the same bytes; a test compares them. */
interface Curve {
  /** True when 0 < key < n. */
  isKey(key: Uint8Array): boolean
  /** The uncompressed public key, 65 bytes. */
  publicKey(key: Uint8Array): Uint8Array
  sign(digest: Uint8Array, key: Uint8Array): Signature
  /** The uncompressed public key that the signature belongs to; undefined: to none. */
  recover(digest: Uint8Array, signature: Signature): Uint8Array | undefined
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
  publicKey: (key) => fromHex(new SigningKey(key).publicKey),
  sign(digest, key) {
    const { r, s, yParity } = new SigningKey(key).sign(digest)
    return { rs: Buffer.from(r.slice(2) + s.slice(2), 'hex'), recovery: yParity }
  },
  recover(digest, { rs, recovery }) {
    const [r, s] = [rs.subarray(0, 32), rs.subarray(32)].map((half) => `0x${Buffer.from(half).toString('hex')}`)
    try {
      return fromHex(SigningKey.recoverPublicKey(digest, { r: r as string, s: s as string, v: 27 + recovery }))
    } catch {
      return undefined
    }
  },
}

export const curve = nativeCurve ?? ethersCurve

export const isKey = (key: Uint8Array): boolean => key.length === 32 && curve.isKey(key)

/** The address of an uncompressed public key: 20 bytes, lower case, with 0x. */
export const addressOf = (publicKey: Uint8Array): string => `0x${keccak256(publicKey.subarray(1)).slice(-40)}`

const fromHex = (text: string) => Buffer.from(text.slice(2), 'hex')

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
      recover(digest, { rs, recovery }) {
        try {
          return native.ecdsaRecover(rs, recovery, digest, false)
        } catch {
          return undefined
        }
      },
    }
  } catch {
    return undefined
  }
}

/** A signer whose key is in this process's memory. `key`: 32 bytes for which `isKey` holds. */
export function localSigner(key: Uint8Array): Signer {
  return { address: addressOf(curve.publicKey(key)), at_once: 1, sign: (digest) => curve.sign(digest, key) }
}
