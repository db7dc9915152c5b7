import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { setTimeout as pause } from 'node:timers/promises'

const native = createRequire(import.meta.url)('secp256k1')

/** The order of secp256k1 (SEC 2, section 2.4.1). */
const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** How a fake key service behaves; a test changes it at any time. */
export interface KeyFaults {
  /** The duration of a call. */
  delay_ms: number
  /** The most signatures per second; more are throttled. */
  per_second: number
  /** The kind of signature: valid (half of them with a high s), always with a high s, by another key, or random bytes. */
  signature: 'right' | 'high_s' | 'other_key' | 'garbage'
  /** The name of an error that every call answers with, in the words of the service. */
  error: string | undefined
  /** A call is taken, and its connection closed without an answer. */
  silent: boolean
}

export interface FaultyKeys {
  faults: KeyFaults
  /** The calls so far, by operation. */
  calls: Record<string, number>
  /** Waits as long as a call takes, and counts it. Resolves to whether it is throttled. */
  enter(operation: string): Promise<boolean>
  /** r and s. Each signature has a random nonce: the same digest never has the same signature twice. */
  sign(digest: Uint8Array, key: Uint8Array): Uint8Array
}

export function createFaultyKeys(): FaultyKeys {
  const faults: KeyFaults = {
    ...{ delay_ms: 0, per_second: Number.POSITIVE_INFINITY, signature: 'right', error: undefined, silent: false },
  }
  const calls: Record<string, number> = {}
  let second = 0
  let inSecond = 0

  return {
    faults,
    calls,
    async enter(operation) {
      calls[operation] = (calls[operation] ?? 0) + 1
      if (faults.delay_ms > 0) await pause(faults.delay_ms)
      const now = Math.floor(performance.now() / 1_000)
      if (now !== second) inSecond = 0
      second = now
      inSecond += 1
      return inSecond > faults.per_second
    },
    sign(digest, key) {
      const signature = signedBy(key, digest)
      return faults.signature === 'right' && Math.random() < 0.5
        ? highS(signature)
        : spoilt(signature, digest, faults.signature)
    },
  }
}

/** What becomes of a signature over a digest. */
export function spoilt(rs: Uint8Array, digest: Uint8Array, signature: KeyFaults['signature']): Uint8Array {
  if (signature === 'garbage') return randomBytes(64)
  if (signature === 'other_key') return signedBy(Buffer.alloc(32, 7), digest)
  return signature === 'high_s' ? highS(rs) : rs
}

/** A signature with a random nonce. */
export const signedBy = (key: Uint8Array, digest: Uint8Array): Uint8Array =>
  native.ecdsaSign(digest, key, { data: randomBytes(32) }).signature

/** The uncompressed public key, 65 bytes. */
export const publicKeyOf = (key: Uint8Array): Uint8Array => native.publicKeyCreate(key, false)

function highS(rs: Uint8Array): Uint8Array {
  const high = Buffer.from(rs)
  const s = BigInt(`0x${high.toString('hex', 32)}`)
  if (s > n / 2n) return high
  high.write((n - s).toString(16).padStart(64, '0'), 32, 'hex')
  return high
}
