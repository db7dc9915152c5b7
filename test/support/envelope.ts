import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** A call to encrypt: its content, and the additional data that it is bound to, as text. */
export interface Encrypted {
  plain: Buffer
  bound_to: string
}

/** AES-256-GCM with additional data, as the fake key services encrypt. */
export function encrypt(key: Uint8Array, plain: Uint8Array, additional: Uint8Array): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(additional)
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Throws for another key, other additional data or a changed byte. */
export function decrypt(key: Uint8Array, encrypted: Uint8Array, additional: Uint8Array): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(0, 12), { authTagLength: 16 })
  decipher.setAAD(additional).setAuthTag(encrypted.subarray(-16))
  return Buffer.concat([decipher.update(encrypted.subarray(12, -16)), decipher.final()])
}
