import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { KMSClient } from '@aws-sdk/client-kms'
import type { AwsKmsConfig } from '../../../generated/openapi.ts'
import type { AwsKey } from '../../domain/settings.ts'
import { BoundedMap } from '../../lib/cache.ts'
import {
  type EncryptionKey,
  type FaultKind,
  KeyServiceFault,
  loadPackage,
  type Outbound,
  purpose,
  type RemoteKey,
  unanswered,
} from '../key-service.ts'
import { addressOf } from '../secp256k1.ts'
import { fromDer, pointOfSpki } from '../signer.ts'
import { maxInFlight } from './remote-signer.ts'

const connectMs = 2_000
const maxClients = 100

const loadAwsSdk = () => loadPackage('@aws-sdk/client-kms', () => import('@aws-sdk/client-kms'))

/**
 * Clients of AWS KMS. One client, with its connections, serves all keys of a region and endpoint. The SDK does not repeat calls: its
 * caller does.
 */
export class AwsClients {
  readonly #lookup: LookupFunction | undefined
  readonly #clients = new BoundedMap<string, KMSClient>(maxClients)

  constructor({ lookup }: Pick<Outbound, 'lookup'>) {
    this.#lookup = lookup
  }

  async get({ region, endpoint }: { region?: string; endpoint?: string }): Promise<KMSClient> {
    const { KMSClient } = await loadAwsSdk()
    return this.#clients.of(JSON.stringify([region, endpoint]), () => {
      const agent = { keepAlive: true, maxSockets: maxInFlight, ...(this.#lookup && { lookup: this.#lookup }) }
      return new KMSClient({
        ...(region !== undefined && { region }),
        ...(endpoint !== undefined && { endpoint }),
        maxAttempts: 1,
        requestHandler: {
          connectionTimeout: connectMs,
          httpAgent: new HttpAgent(agent),
          httpsAgent: new HttpsAgent(agent),
        },
      })
    })
  }
}

/** The members of the SDK's errors that are read here. */
interface SdkError {
  name: string
  message: string
  $metadata?: { httpStatusCode?: number; requestId?: string }
}

const throttles = new Set([
  'ThrottlingException',
  'TooManyRequestsException',
  'LimitExceededException',
  'RequestLimitExceeded',
])
/** Errors after which, by AWS's reference, the request may be repeated. */
const failures = new Set(['KeyUnavailableException', 'DependencyTimeoutException', 'KMSInternalException'])
/** Raised before anything is sent. */
const noCredentials = /^(?:CredentialsProviderError|TokenProviderError)$/
const noRegion = /Region is missing/

/** Throws KeyServiceFault for an error of the SDK. */
function throwFault(error: SdkError): never {
  const { httpStatusCode, requestId } = error.$metadata ?? {}
  const name = /^[A-Za-z]{1,80}$/.test(error.name) ? error.name : 'an error'
  if (httpStatusCode === undefined) throw withoutAnswer(error)
  const request = requestId ? `, request ${requestId.slice(0, 80)}` : ''
  throw new KeyServiceFault(
    kindOf(error, httpStatusCode),
    `AWS KMS answered ${name}${request}`,
    error.message,
    requestId,
  )
}

function withoutAnswer(error: SdkError): KeyServiceFault {
  const { name, message } = error
  if (noCredentials.test(name)) {
    return new KeyServiceFault(
      'refused',
      'the AWS SDK finds no credentials: set AWS_ACCESS_KEY_ID, or use a role',
      message,
    )
  }
  if (noRegion.test(message)) {
    return new KeyServiceFault('refused', 'the AWS SDK finds no region: give `region`, or set AWS_REGION', message)
  }
  return unanswered('AWS KMS', error)
}

function kindOf({ name }: SdkError, status: number): FaultKind {
  if (throttles.has(name) || status === 429) return 'throttled'
  return failures.has(name) || status >= 500 ? 'unavailable' : 'refused'
}

/** A key in AWS KMS, by its API reference (GetPublicKey, Sign). */
export function awsKey(clients: AwsClients, config: AwsKmsConfig): RemoteKey {
  return {
    async publicKey(signal) {
      const { GetPublicKeyCommand } = await loadAwsSdk()
      const client = await clients.get(config)
      const command = new GetPublicKeyCommand({ KeyId: config.key_id })
      const found = await client.send(command, { abortSignal: signal }).catch(throwFault)
      if (found.KeySpec !== 'ECC_SECG_P256K1' || found.KeyUsage !== 'SIGN_VERIFY') {
        const is = `${found.KeySpec} with the usage ${found.KeyUsage}`
        throw new KeyServiceFault('refused', `the key must be ECC_SECG_P256K1 with the usage SIGN_VERIFY; it is ${is}`)
      }
      const point = found.PublicKey && pointOfSpki(found.PublicKey)
      if (!point) throw new KeyServiceFault('wrong', 'the answer of AWS KMS is not a secp256k1 public key')
      return { address: addressOf(point) }
    },
    async sign(digest, signal) {
      const { SignCommand } = await loadAwsSdk()
      const client = await clients.get(config)
      const command = new SignCommand({
        KeyId: config.key_id,
        Message: digest,
        MessageType: 'DIGEST',
        SigningAlgorithm: 'ECDSA_SHA_256',
      })
      const { Signature, $metadata } = await client.send(command, { abortSignal: signal }).catch(throwFault)
      const rs = Signature && fromDer(Signature)
      if (!rs) throw new KeyServiceFault('wrong', 'the answer of AWS KMS is not a signature in DER')
      const { requestId } = $metadata
      return { rs, ...(requestId !== undefined && { request_id: requestId }) }
    },
  }
}

/** A symmetric key in AWS KMS, by its API reference (Encrypt, Decrypt), with the purpose as the encryption context. */
export function awsEncryptionKey({ key_id: KeyId, ...at }: AwsKey): EncryptionKey {
  const clients = new AwsClients({ lookup: undefined })
  const shared = { KeyId, EncryptionContext: purpose }

  return {
    async encrypt(Plaintext, abortSignal) {
      const { EncryptCommand } = await loadAwsSdk()
      const client = await clients.get(at)
      const answer = await client.send(new EncryptCommand({ ...shared, Plaintext }), { abortSignal }).catch(throwFault)
      return found(answer.CiphertextBlob)
    },
    async decrypt(CiphertextBlob, abortSignal) {
      const { DecryptCommand } = await loadAwsSdk()
      const client = await clients.get(at)
      const command = new DecryptCommand({ ...shared, CiphertextBlob })
      return found((await client.send(command, { abortSignal }).catch(throwFault)).Plaintext)
    },
  }
}

function found(bytes: Uint8Array | undefined): Uint8Array {
  if (!bytes) throw new KeyServiceFault('wrong', 'the answer of AWS KMS has no content')
  return bytes
}
