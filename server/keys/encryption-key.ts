/** A key in a key service that encrypts a few bytes. Both calls reject with KeyServiceFault. */
export interface EncryptionKey {
  encrypt(plain: Uint8Array, signal: AbortSignal): Promise<Uint8Array>
  decrypt(encrypted: Uint8Array, signal: AbortSignal): Promise<Uint8Array>
}

/**
 * Authenticated with every encrypted master key: the key service decrypts nothing else for this service, and its permissions can be
 * limited to it.
 */
export const purpose = { application: 'evm-relayer-service', purpose: 'master-key' }

/** The purpose as additional authenticated data, where those are bytes. */
export const purposeBytes: Uint8Array = Buffer.from('application=evm-relayer-service,purpose=master-key')
