import type { VaultKey } from '../core/settings/key-encryption-key.ts'
import type { VaultAccess } from '../core/settings/vault-access.ts'
import { type EncryptionKey, purpose_bytes } from './encryption-key.ts'
import { member, textMember } from './json-request.ts'
import { KeyServiceFault } from './key-service.ts'
import { createVaultApi } from './vault-api.ts'

/**
 * A key of the Transit secrets engine of HashiCorp Vault or OpenBao, by their API documentation (secret/transit, "Encrypt data",
 * "Decrypt data"), with the purpose as associated data.
 */
export function vaultEncryptionKey({ mount, key }: VaultKey, access: VaultAccess): EncryptionKey {
  const vault = createVaultApi(access, undefined)
  const associated_data = Buffer.from(purpose_bytes).toString('base64')

  async function call(operation: 'encrypt' | 'decrypt', input: object, field: string, signal: AbortSignal) {
    const answer = await vault.call('POST', `${mount}/${operation}/${key}`, { ...input, associated_data }, signal)
    const text = textMember(member(answer, 'data'), field)
    if (text === undefined) throw new KeyServiceFault('wrong', 'the answer of Vault has no content')
    return text
  }

  return {
    async encrypt(plain, signal) {
      const plaintext = Buffer.from(plain).toString('base64')
      return Buffer.from(await call('encrypt', { plaintext }, 'ciphertext', signal))
    },
    async decrypt(encrypted, signal) {
      const ciphertext = Buffer.from(encrypted).toString()
      return Buffer.from(await call('decrypt', { ciphertext }, 'plaintext', signal), 'base64')
    },
  }
}
