import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { KMSClient } from '@aws-sdk/client-kms'
import { type FaultKind, KeyServiceFault, type Outbound } from './key-service.ts'
import { loadPackage } from './load-package.ts'
import { max_in_flight } from './remote-signer.ts'
import { unanswered } from './unanswered.ts'

const connect_ms = 2_000
const max_clients = 100

export const loadAwsSdk = () => loadPackage('@aws-sdk/client-kms', () => import('@aws-sdk/client-kms'))

/**
 * Clients of AWS KMS. One client, with its connections, serves all keys of a region and endpoint. The SDK does not repeat calls: its
 * caller does.
 */
export function createAwsClients({
  lookup,
}: Pick<Outbound, 'lookup'>): (at: { region?: string; endpoint?: string }) => Promise<KMSClient> {
  const clients = new Map<string, KMSClient>()

  return async ({ region, endpoint }) => {
    const { KMSClient } = await loadAwsSdk()
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
const no_credentials = /^(?:CredentialsProviderError|TokenProviderError)$/
const no_region = /Region is missing/

/** Throws KeyServiceFault for an error of the SDK. */
export function throwFault(error: SdkError): never {
  const { httpStatusCode, requestId } = error.$metadata ?? {}
  const name = /^[A-Za-z]{1,80}$/.test(error.name) ? error.name : 'an error'
  if (httpStatusCode === undefined) throw withoutAnswer(error)
  const request = requestId ? `, request ${requestId.slice(0, 80)}` : ''
  throw new KeyServiceFault(kindOf(error, httpStatusCode), `AWS KMS answered ${name}${request}`, error.message)
}

function withoutAnswer(error: SdkError): KeyServiceFault {
  const { name, message } = error
  if (no_credentials.test(name)) {
    return new KeyServiceFault(
      'refused',
      'the AWS SDK finds no credentials: set AWS_ACCESS_KEY_ID, or use a role',
      message,
    )
  }
  if (no_region.test(message)) {
    return new KeyServiceFault('refused', 'the AWS SDK finds no region: give `region`, or set AWS_REGION', message)
  }
  return unanswered('AWS KMS', error)
}

function kindOf({ name }: SdkError, status: number): FaultKind {
  if (throttles.has(name) || status === 429) return 'throttled'
  return failures.has(name) || status >= 500 ? 'unavailable' : 'refused'
}
