import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

const version = 1
const nonceBytes = 12
const tagBytes = 16

/**
 * Encryption at rest: AES-256-GCM under a key derived (HKDF-SHA256) from the master key. A sealed secret is bound to its row, so
 * that it cannot be copied into another row.
 */
export class Vault {
  readonly #key: Buffer
  readonly #macKey: Buffer

  /** `masterKey`: 32 bytes. */
  constructor(masterKey: Uint8Array) {
    this.#key = Buffer.from(hkdfSync('sha256', masterKey, '', 'relayer secrets at rest', 32))
    this.#macKey = Buffer.from(hkdfSync('sha256', masterKey, '', 'rows that grant rights', 32))
  }

  /** `row`: the table and id that the secret belongs to. */
  seal(secret: Uint8Array, row: string): Uint8Array {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: tagBytes })
    cipher.setAAD(Buffer.from(row))
    const body = Buffer.concat([cipher.update(secret), cipher.final()])
    return Buffer.concat([Uint8Array.of(version), nonce, body, cipher.getAuthTag()])
  }

  /** Throws for another master key, another row or a changed byte. */
  open(sealed: Uint8Array, row: string): Buffer {
    if (sealed[0] !== version) throw new Error(`A sealed secret of ${row} has an unknown version`)
    const bodyStart = 1 + nonceBytes
    const bodyEnd = sealed.length - tagBytes
    const nonce = sealed.subarray(1, bodyStart)
    const decipher = createDecipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: tagBytes })
    decipher.setAAD(Buffer.from(row))
    decipher.setAuthTag(sealed.subarray(bodyEnd))
    return Buffer.concat([decipher.update(sealed.subarray(bodyStart, bodyEnd)), decipher.final()])
  }

  /** HMAC-SHA256 under a separate key that is derived from the master key. */
  mac(text: string): Buffer {
    return createHmac('sha256', this.#macKey).update(text).digest()
  }
}
