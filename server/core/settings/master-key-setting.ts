import { type KeyEncryptionKey, key_encryption_key_forms, readKeyEncryptionKey } from './key-encryption-key.ts'

export const master_key_forms = `32 bytes, as 64 hex digits or as base64, or a key in a key service: ${key_encryption_key_forms}`

/** A master key, or the key in a key service that encrypts it. Undefined for any other text. */
export const readMasterKeySetting = (text: string): Buffer | KeyEncryptionKey | undefined =>
  keyBytes(text) ?? readKeyEncryptionKey(text)

/** The two members of the configuration, of which at most one is set. */
export const masterKeyOf = (given: Buffer | KeyEncryptionKey | undefined) =>
  given === undefined || given instanceof Uint8Array
    ? { master_key: given, key_encryption_key: undefined }
    : { master_key: undefined, key_encryption_key: given }

/** 32 bytes from 64 hex digits or from base64 (either alphabet); undefined for anything else. */
export function keyBytes(text: string): Buffer | undefined {
  if (/^(?:0x)?[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text.slice(-64), 'hex')
  if (/^[A-Za-z0-9+/\-_]{43}=?$/.test(text)) return Buffer.from(text, 'base64')
  return undefined
}
