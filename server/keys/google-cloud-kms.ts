import type { AuthClient } from 'google-auth-library'
import type { GoogleCloudKmsConfig } from '../../generated/openapi.ts'
import { crc32c } from './crc32c.ts'
import { addressOf } from './curve.ts'
import { type JsonAnswer, member, textMember } from './json-request.ts'
import { KeyServiceFault, type Outbound, type RemoteKey } from './key-service.ts'
import { loadPackage } from './load-package.ts'
import { createRestService, kindOfStatus, tokenOf } from './rest-service.ts'
import { fromDer, pointOfSpki } from './signature-form.ts'

export const google_domains = ['googleapis.com']
export const google_endpoint = 'https://cloudkms.googleapis.com'
const scopes = ['https://www.googleapis.com/auth/cloudkms']
const name = 'Google Cloud KMS'
const max_clients = 100

/**
 * Keys in Google Cloud KMS, by its REST reference, version 1 (cryptoKeyVersions.getPublicKey, cryptoKeyVersions.asymmetricSign), with
 * the checksums of "Verifying end-to-end data integrity". A service account signs its own access tokens (AIP-4111).
 */
export function createGoogleCloudKms(outbound: Outbound): (config: GoogleCloudKmsConfig) => RemoteKey {
  const rest = createRestService(name, outbound)
  const clients = new Map<string, Promise<AuthClient>>()

  async function openClient(account: GoogleCloudKmsConfig['service_account']): Promise<AuthClient> {
    const { GoogleAuth, JWT } = await loadPackage('google-auth-library', () => import('google-auth-library'))
    if (!account) return (await new GoogleAuth({ scopes }).getClient()) as AuthClient
    const { client_email: email, private_key: key, private_key_id: keyId } = account
    const client = new JWT({ email, key, scopes, ...(keyId !== undefined && { keyId }) })
    client.useJWTAccessWithScope = true
    return client
  }

  function clientOf({ service_account }: GoogleCloudKmsConfig): Promise<AuthClient> {
    const of = JSON.stringify(service_account ?? null)
    const known = clients.get(of)
    if (known) return known
    if (clients.size >= max_clients) clients.clear()
    const client = openClient(service_account)
    clients.set(of, client)
    // Missing credentials may appear later.
    client.catch(() => clients.delete(of))
    return client
  }

  return (config) => {
    const base = `${(config.endpoint ?? google_endpoint).replace(/\/$/, '')}/v1/${config.key_version}`

    async function call(
      method: 'GET' | 'POST',
      operation: string,
      body: unknown,
      signal: AbortSignal,
    ): Promise<unknown> {
      const token = await tokenOf(name, async () => {
        const headers = await (await clientOf(config)).getRequestHeaders()
        return headers.get('authorization')
      })
      const answer = await rest.send({
        ...{ url: `${base}${operation}`, method, headers: { Authorization: token }, signal },
        ...(body !== undefined && { body }),
      })
      if (answer.status !== 200) throw faultOf(answer)
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

/** An int64 in JSON is a string (proto3). */
function checkCrc(answer: unknown, field: string, bytes: Uint8Array): void {
  if (`${member(answer, field)}` !== `${crc32c(bytes)}`) throw damaged(`has a wrong checksum (${field})`)
}

const damaged = (what: string) => new KeyServiceFault('wrong', `the answer of ${name} ${what}`)

/** Errors have the form of google.rpc.Status. RESOURCE_EXHAUSTED: a quota; it has the status 429. */
function faultOf({ status, body }: JsonAnswer): KeyServiceFault {
  const error = member(body, 'error')
  const word = textMember(error, 'status')
  const shown = word !== undefined && /^[A-Z_]{1,40}$/.test(word) ? `${status} ${word}` : `${status}`
  return new KeyServiceFault(kindOfStatus(status), `${name} answered ${shown}`, textMember(error, 'message'))
}
