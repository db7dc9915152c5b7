import type { GoogleKey } from '../core/settings/key-encryption-key.ts'
import { crc32c } from './crc32c.ts'
import { type EncryptionKey, purpose_bytes } from './encryption-key.ts'
import { checkCrc, damaged, google_name, googleFault } from './google-answers.ts'
import { google_endpoint } from './google-cloud-kms.ts'
import { createGoogleIdentity } from './google-identity.ts'
import { member, textMember } from './json-request.ts'
import { createRestService } from './rest-service.ts'

/**
 * A symmetric key in Google Cloud KMS, by its REST reference, version 1 (cryptoKeys.encrypt, cryptoKeys.decrypt), with the purpose as
 * additional authenticated data, and the Application Default Credentials.
 */
export function googleEncryptionKey({ key, endpoint = google_endpoint }: GoogleKey): EncryptionKey {
  const rest = createRestService(google_name, { lookup: undefined })
  const token = createGoogleIdentity(google_name)
  const additional = {
    additionalAuthenticatedData: Buffer.from(purpose_bytes).toString('base64'),
    additionalAuthenticatedDataCrc32c: `${crc32c(purpose_bytes)}`,
  }

  async function call(operation: string, field: string, bytes: Uint8Array, signal: AbortSignal): Promise<unknown> {
    const answer = await rest.send({
      url: `${endpoint.replace(/\/$/, '')}/v1/${key}:${operation}`,
      method: 'POST',
      headers: { Authorization: await token(undefined) },
      body: {
        [field]: Buffer.from(bytes).toString('base64'),
        [`${field}Crc32c`]: `${crc32c(bytes)}`,
        ...additional,
      },
      signal,
    })
    if (answer.status !== 200) throw googleFault(answer)
    return answer.body
  }

  function content(answer: unknown, field: string): Uint8Array {
    const bytes = Buffer.from(textMember(answer, field) ?? '', 'base64')
    checkCrc(answer, `${field}Crc32c`, bytes)
    return bytes
  }

  return {
    async encrypt(plain, signal) {
      const answer = await call('encrypt', 'plaintext', plain, signal)
      for (const field of ['verifiedPlaintextCrc32c', 'verifiedAdditionalAuthenticatedDataCrc32c']) {
        if (member(answer, field) !== true) throw damaged(`does not confirm a checksum (${field})`)
      }
      return content(answer, 'ciphertext')
    },
    async decrypt(encrypted, signal) {
      return content(await call('decrypt', 'ciphertext', encrypted, signal), 'plaintext')
    },
  }
}
