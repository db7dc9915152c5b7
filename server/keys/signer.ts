import { createPublicKey } from 'node:crypto'

/** A recoverable secp256k1 signature over a digest: r and s (32 bytes each, s low), and the parity of R's y (0 or 1). */
export interface Signature {
  rs: Uint8Array
  recovery: number
  /** The id that the key service gave the request. Absent for a local key. */
  request_id?: string
}

/** A private key that signs: a local one synchronously, one in a key service asynchronously. */
export interface Signer {
  /** 20 bytes, lower case, with 0x. */
  address: string
  /**
   * The number of signatures that a caller may request at the same time. 1: the process computes them one by one. Otherwise it is at
   * least 2, and changes with what the key service allows.
   */
  readonly at_once: number
  /**
   * `digest`: 32 bytes. A local key is deterministic (RFC 6979); a key service may give another signature each time. Rejects with
   * KeyServiceUnavailable when the key service does not sign. `preimage`: the bytes that have this keccak-256, for a key service that
   * hashes. `signal`: a request that still waits is dropped when it aborts. `check`: called directly before each call of a key service,
   * because a request may wait for its turn; when it rejects, so does the signature.
   */
  sign(
    digest: Uint8Array,
    preimage: () => Uint8Array,
    signal?: AbortSignal,
    check?: () => Promise<unknown>,
  ): Signature | Promise<Signature>
}

/** The order of secp256k1 (SEC 2, section 2.4.1). */
const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** r and s (32 bytes each) of a signature in DER (RFC 3279, section 2.2.3); undefined when it has another form. */
export function fromDer(der: Uint8Array): Uint8Array | undefined {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined
  const r = integerAt(der, 2)
  const s = r && integerAt(der, r.end)
  return s?.end === der.length ? Buffer.concat([r?.bytes as Buffer, s.bytes]) : undefined
}

function integerAt(der: Uint8Array, at: number): { bytes: Buffer; end: number } | undefined {
  const length = der[at + 1] ?? 0
  const end = at + 2 + length
  if (der[at] !== 0x02 || length === 0 || end > der.length) return undefined
  let digits = der.subarray(at + 2, end)
  // A leading zero keeps the integer positive.
  while (digits[0] === 0 && digits.length > 1) digits = digits.subarray(1)
  if (digits.length > 32) return undefined
  const bytes = Buffer.alloc(32)
  bytes.set(digits, 32 - digits.length)
  return { bytes, end }
}

/** The same signature with a low s (EIP-2): s and n - s are both valid. */
export function lowered(rs: Uint8Array): Uint8Array {
  const s = BigInt(`0x${Buffer.from(rs.subarray(32)).toString('hex')}`)
  if (s <= n / 2n || s >= n) return rs
  const low = Buffer.from(rs)
  low.write((n - s).toString(16).padStart(64, '0'), 32, 'hex')
  return low
}

/** The uncompressed point (65 bytes) of a SubjectPublicKeyInfo (RFC 5480) on secp256k1; undefined when it is another key. */
export function pointOfSpki(der: Uint8Array): Uint8Array | undefined {
  try {
    const { crv, x, y } = createPublicKey({ key: Buffer.from(der), format: 'der', type: 'spki' }).export({
      format: 'jwk',
    })
    return crv === 'secp256k1' ? pointOf(x as string, y as string) : undefined
  } catch {
    return undefined
  }
}

/** The uncompressed point of the coordinates of a JSON Web Key (RFC 7518, section 6.2.1). */
export const pointOf = (x: string, y: string) =>
  Buffer.concat([Uint8Array.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')])
