import type { GoogleCloudKmsConfig } from '../../generated/openapi.ts'
import { crc32c } from './crc32c.ts'
import { addressOf } from './curve.ts'
import { checkCrc, damaged, google_name, googleFault } from './google-answers.ts'
import { createGoogleIdentity } from './google-identity.ts'
import { member, textMember } from './json-request.ts'
import { KeyServiceFault, type Outbound, type RemoteKey } from './key-service.ts'
import { createRestService } from './rest-service.ts'
import { fromDer, pointOfSpki } from './signature-form.ts'

export const google_domains = ['googleapis.com']
export const google_endpoint = 'https://cloudkms.googleapis.com'

/**
 * Keys in Google Cloud KMS, by its REST reference, version 1 (cryptoKeyVersions.getPublicKey, cryptoKeyVersions.asymmetricSign), with
 * the checksums of "Verifying end-to-end data integrity".
 */
export function createGoogleCloudKms(outbound: Outbound): (config: GoogleCloudKmsConfig) => RemoteKey {
  const rest = createRestService(google_name, outbound)
  const token = createGoogleIdentity(google_name)

  return (config) => {
    const base = `${(config.endpoint ?? google_endpoint).replace(/\/$/, '')}/v1/${config.key_version}`

    async function call(
      method: 'GET' | 'POST',
      operation: string,
      body: unknown,
      signal: AbortSignal,
    ): Promise<unknown> {
      const headers = { Authorization: await token(config.service_account) }
      const answer = await rest.send({
        ...{ url: `${base}${operation}`, method, headers, signal },
        ...(body !== undefined && { body }),
      })
      if (answer.status !== 200) throw googleFault(answer)
      if (member(answer.body, 'name') !== config.key_version) throw damaged('is for another key')
      return answer.body
    }

    return {
      async publicKey(signal) {
        const answer = await call('GET', '/publicKey', undefined, signal)
        const algorithm = textMember(answer, 'algorithm')
        if (algorithm !== 'EC_SIGN_SECP256K1_SHA256') {
          throw new KeyServiceFault('refused', `the key must be EC_SIGN_SECP256K1_SHA256; it is ${algorithm}`)
        }
        const pem = textMember(answer, 'pem') ?? ''
        checkCrc(answer, 'pemCrc32c', Buffer.from(pem))
        const point = pointOfSpki(Buffer.from(pem.replace(/-----[A-Z ]+-----/g, ''), 'base64'))
        if (!point) throw damaged('is not a secp256k1 public key')
        return { address: addressOf(point) }
      },
      async sign(digest, signal) {
        const body = {
          digest: { sha256: Buffer.from(digest).toString('base64') },
          digestCrc32c: `${crc32c(digest)}`,
        }
        const answer = await call('POST', ':asymmetricSign', body, signal)
        if (member(answer, 'verifiedDigestCrc32c') !== true)
          throw damaged('does not confirm the checksum of the digest')
        const signature = Buffer.from(textMember(answer, 'signature') ?? '', 'base64')
        checkCrc(answer, 'signatureCrc32c', signature)
        const rs = fromDer(signature)
        if (!rs) throw damaged('is not a signature in DER')
        return { rs }
      },
    }
  }
}
