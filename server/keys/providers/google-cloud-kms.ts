import type { AuthClient } from 'google-auth-library'
import { createCRC32 } from 'hash-wasm'
import type { GoogleCloudKmsConfig } from '../../../generated/openapi.ts'
import type { GoogleKey } from '../../domain/settings.ts'
import { BoundedMap } from '../../lib/cache.ts'
import {
  type EncryptionKey,
  KeyServiceFault,
  loadPackage,
  type Outbound,
  purposeBytes,
  type RemoteKey,
} from '../key-service.ts'
import { addressOf } from '../secp256k1.ts'
import { fromDer, pointOfSpki } from '../signer.ts'
import { type JsonAnswer, kindOfStatus, member, RestService, textMember, tokenOf } from './rest-service.ts'

const googleName = 'Google Cloud KMS'
const scopes = ['https://www.googleapis.com/auth/cloudkms']
const maxClients = 100

type Account = GoogleCloudKmsConfig['service_account']

/** "Verifying end-to-end data integrity". An int64 in JSON is a string (proto3). */
function checkCrc(answer: unknown, field: string, bytes: Uint8Array): void {
  if (`${member(answer, field)}` !== `${crc32c(bytes)}`) throw damaged(`has a wrong checksum (${field})`)
}

const damaged = (what: string) => new KeyServiceFault('wrong', `the answer of ${googleName} ${what}`)

/** Errors have the form of google.rpc.Status. RESOURCE_EXHAUSTED: a quota; it has the status 429. */
function googleFault({ status, body }: JsonAnswer): KeyServiceFault {
  const error = member(body, 'error')
  const word = textMember(error, 'status')
  const shown = word !== undefined && /^[A-Z_]{1,40}$/.test(word) ? `${status} ${word}` : `${status}`
  return new KeyServiceFault(kindOfStatus(status), `${googleName} answered ${shown}`, textMember(error, 'message'))
}

export const googleDomains = ['googleapis.com']
export const googleEndpoint = 'https://cloudkms.googleapis.com'

/** Google Cloud KMS, with access tokens by a service account or by the Application Default Credentials. */
export class GoogleCloudKms {
  readonly rest: RestService
  readonly #clients = new BoundedMap<string, Promise<AuthClient>>(maxClients)

  constructor(outbound: Pick<Outbound, 'lookup'>) {
    this.rest = new RestService(googleName, outbound)
  }

  /** An Authorization header. */
  token(account: Account): Promise<string> {
    return tokenOf(googleName, async () => {
      const client = await this.#clientOf(account)
      return (await client.getRequestHeaders()).get('authorization')
    })
  }

  #clientOf(account: Account): Promise<AuthClient> {
    const of = JSON.stringify(account ?? null)
    return this.#clients.of(of, () => {
      const client = openClient(account)
      // Missing credentials may appear later.
      client.catch(() => this.#clients.delete(of))
      return client
    })
  }
}

/**
 * A key in Google Cloud KMS, by its REST reference, version 1 (cryptoKeyVersions.getPublicKey, cryptoKeyVersions.asymmetricSign), with
 * the checksums of "Verifying end-to-end data integrity".
 */
export function googleKey(kms: GoogleCloudKms, config: GoogleCloudKmsConfig): RemoteKey {
  const base = `${(config.endpoint ?? googleEndpoint).replace(/\/$/, '')}/v1/${config.key_version}`

  async function call(method: 'GET' | 'POST', operation: string, body: unknown, signal: AbortSignal): Promise<unknown> {
    const headers = { Authorization: await kms.token(config.service_account) }
    const answer = await kms.rest.send({ url: `${base}${operation}`, method, headers, body, signal })
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
      if (member(answer, 'verifiedDigestCrc32c') !== true) throw damaged('does not confirm the checksum of the digest')
      const signature = Buffer.from(textMember(answer, 'signature') ?? '', 'base64')
      checkCrc(answer, 'signatureCrc32c', signature)
      const rs = fromDer(signature)
      if (!rs) throw damaged('is not a signature in DER')
      return { rs }
    },
  }
}

/**
 * A symmetric key in Google Cloud KMS, by its REST reference, version 1 (cryptoKeys.encrypt, cryptoKeys.decrypt), with the purpose as
 * additional authenticated data, and the Application Default Credentials.
 */
export function googleEncryptionKey({ key, endpoint = googleEndpoint }: GoogleKey): EncryptionKey {
  const kms = new GoogleCloudKms({ lookup: undefined })
  const additional = {
    additionalAuthenticatedData: Buffer.from(purposeBytes).toString('base64'),
    additionalAuthenticatedDataCrc32c: `${crc32c(purposeBytes)}`,
  }

  async function call(operation: string, field: string, bytes: Uint8Array, signal: AbortSignal): Promise<unknown> {
    const answer = await kms.rest.send({
      url: `${endpoint.replace(/\/$/, '')}/v1/${key}:${operation}`,
      method: 'POST',
      headers: { Authorization: await kms.token(undefined) },
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

/** The CRC-32C (Castagnoli) of bytes: `zlib.crc32` has another polynomial. */
const crc = await createCRC32(0x82f63b78)
export const crc32c = (bytes: Uint8Array): number => Number.parseInt(crc.init().update(bytes).digest('hex'), 16)

/** A service account signs its own access tokens (AIP-4111). */
async function openClient(account: Account): Promise<AuthClient> {
  const { GoogleAuth, JWT } = await loadPackage('google-auth-library', () => import('google-auth-library'))
  if (!account) {
    const client = (await new GoogleAuth({ scopes }).getClient()) as AuthClient
    if (client instanceof JWT) client.useJWTAccessWithScope = true
    return client
  }
  const { client_email: email, private_key: key, private_key_id: keyId } = account
  const client = new JWT({ email, key, scopes, ...(keyId !== undefined && { keyId }) })
  client.useJWTAccessWithScope = true
  return client
}
