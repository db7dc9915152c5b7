import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { KMSClient } from '@aws-sdk/client-kms'
import type { AwsKmsConfig } from '../../generated/openapi.ts'
import { addressOf } from './curve.ts'
import { type FaultKind, KeyServiceFault, type Outbound, type RemoteKey } from './key-service.ts'
import { loadPackage } from './load-package.ts'
import { max_in_flight } from './remote-signer.ts'
import { fromDer, pointOfSpki } from './signature-form.ts'

const connect_ms = 2_000
const max_clients = 100

/**
 * Keys in AWS KMS, by its API reference (GetPublicKey, Sign). One client, with its connections, serves all keys of a region and
 * endpoint. The SDK does not repeat calls: the signer does.
 */
export function createAwsKms({ lookup }: Outbound): (config: AwsKmsConfig) => RemoteKey {
  const clients = new Map<string, KMSClient>()
  const load = () => loadPackage('@aws-sdk/client-kms', () => import('@aws-sdk/client-kms'))

  async function clientOf({ region, endpoint }: AwsKmsConfig): Promise<KMSClient> {
    const { KMSClient } = await load()
    const name = JSON.stringify([region, endpoint])
    const known = clients.get(name)
    if (known) return known
    if (clients.size >= max_clients) clients.clear()
    const agent = { keepAlive: true, maxSockets: max_in_flight, ...(lookup && { lookup }) }
    const client = new KMSClient({
      ...(region !== undefined && { region }),
      ...(endpoint !== undefined && { endpoint }),
      maxAttempts: 1,
      requestHandler: {
        connectionTimeout: connect_ms,
        httpAgent: new HttpAgent(agent),
        httpsAgent: new HttpsAgent(agent),
      },
    })
    clients.set(name, client)
    return client
  }

  return (config) => ({
    async publicKey(signal) {
      const { GetPublicKeyCommand } = await load()
      const client = await clientOf(config)
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
      const { SignCommand } = await load()
      const client = await clientOf(config)
      const command = new SignCommand({
        KeyId: config.key_id,
        Message: digest,
        MessageType: 'DIGEST',
        SigningAlgorithm: 'ECDSA_SHA_256',
      })
      const { Signature, $metadata } = await client.send(command, { abortSignal: signal }).catch(throwFault)
      const rs = Signature && fromDer(Signature)
      if (!rs) throw new KeyServiceFault('wrong', 'the answer of AWS KMS is not a signature in DER')
      const { requestId: request_id } = $metadata
      return { rs, ...(request_id !== undefined && { request_id }) }
    },
  })
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
/** Raised before anything is sent: the SDK finds no credentials or no region. */
const local = /^CredentialsProviderError$|^TokenProviderError$|Region is missing/

function throwFault(error: SdkError): never {
  const { httpStatusCode, requestId } = error.$metadata ?? {}
  const name = /^[A-Za-z]{1,80}$/.test(error.name) ? error.name : 'an error'
  const told = httpStatusCode === undefined ? `no answer from AWS KMS (${name})` : `AWS KMS answered ${name}`
  const request = requestId ? `, request ${requestId.slice(0, 80)}` : ''
  throw new KeyServiceFault(kindOf(error, httpStatusCode), `${told}${request}`, error.message)
}

function kindOf({ name, message }: SdkError, status: number | undefined): FaultKind {
  if (throttles.has(name) || status === 429) return 'throttled'
  if (failures.has(name) || (status !== undefined && status >= 500)) return 'away'
  if (local.test(name) || local.test(message)) return 'refused'
  return status === undefined ? 'away' : 'refused'
}
