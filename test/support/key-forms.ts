import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { publicKeyOf } from './key-faults.ts'

/** A signature in DER (RFC 3279, section 2.2.3) from r and s. */
export function toDer(rs: Uint8Array): Buffer {
  const integer = (bytes: Uint8Array) => {
    let digits = Buffer.from(bytes)
    while (digits.length > 1 && digits[0] === 0) digits = digits.subarray(1)
    if ((digits[0] as number) >= 0x80) digits = Buffer.concat([Buffer.alloc(1), digits])
    return Buffer.concat([Uint8Array.of(0x02, digits.length), digits])
  }
  const both = Buffer.concat([integer(rs.subarray(0, 32)), integer(rs.subarray(32))])
  return Buffer.concat([Uint8Array.of(0x30, both.length), both])
}

/** The coordinates of the public key, as in a JSON Web Key. */
export function coordinatesOf(secret: Uint8Array): { x: string; y: string } {
  const point = Buffer.from(publicKeyOf(secret))
  const coordinate = (from: number) => point.subarray(from, from + 32).toString('base64url')
  return { x: coordinate(1), y: coordinate(33) }
}

/** The public key as SubjectPublicKeyInfo, in DER. */
export function spkiOf(secret: Uint8Array): Buffer {
  const jwk = { kty: 'EC', crv: 'secp256k1', ...coordinatesOf(secret) }
  return createPublicKey({ key: jwk, format: 'jwk' }).export({ format: 'der', type: 'spki' })
}

/** A public key on another curve. */
export const p256 = () =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'der', type: 'spki' })
