import { readFile } from 'node:fs/promises'
import type { ConfidentialClientApplication, ManagedIdentityApplication } from '@azure/msal-node'
import type { AzureClientSecretConfig, AzureKeyVaultConfig } from '../../../generated/openapi.ts'
import { BoundedMap } from '../../lib/cache.ts'
import { KeyServiceFault, loadPackage, type Outbound, type RemoteKey, shared } from '../key-service.ts'
import { addressOf } from '../secp256k1.ts'
import { pointOf } from '../signer.ts'
import { type JsonAnswer, kindOfStatus, member, RestService, textMember, tokenOf } from './rest-service.ts'

const name = 'Azure Key Vault'
const apiVersion = '7.4'

interface Audience {
  resource: string
  authority: string
}

/** The scopes of access tokens, by the domain of the vault (Microsoft, "Azure Key Vault security domains and endpoints"). */
const audiences: Record<string, Audience> = {
  'vault.azure.net': { resource: 'https://vault.azure.net', authority: 'https://login.microsoftonline.com' },
  'managedhsm.azure.net': { resource: 'https://managedhsm.azure.net', authority: 'https://login.microsoftonline.com' },
  'vault.azure.cn': { resource: 'https://vault.azure.cn', authority: 'https://login.chinacloudapi.cn' },
  'managedhsm.azure.cn': { resource: 'https://managedhsm.azure.cn', authority: 'https://login.chinacloudapi.cn' },
  'vault.usgovcloudapi.net': {
    resource: 'https://vault.usgovcloudapi.net',
    authority: 'https://login.microsoftonline.us',
  },
  'managedhsm.usgovcloudapi.net': {
    resource: 'https://managedhsm.usgovcloudapi.net',
    authority: 'https://login.microsoftonline.us',
  },
}

export const azureDomains = Object.keys(audiences)
/** An emulator on a loopback address is a vault of the public cloud. */
const publicCloud = audiences['vault.azure.net'] as Audience
const maxClients = 100

/**
 * Azure Key Vault, with access tokens by Microsoft's authentication library, which caches them. With a client secret in the
 * configuration: by it. Otherwise by the workload identity of the environment, or the managed identity of the machine.
 */
export class AzureKeyVault {
  readonly rest: RestService
  readonly #requests = new BoundedMap<string, (signal: AbortSignal) => Promise<string | undefined>>(maxClients)

  constructor(outbound: Outbound) {
    this.rest = new RestService(name, outbound)
  }

  token(config: AzureKeyVaultConfig, signal: AbortSignal): Promise<string> {
    return tokenOf(name, () => {
      const { hostname } = new URL(config.vault_url)
      const domain = azureDomains.find((suffix) => hostname.endsWith(`.${suffix}`))
      const audience = (domain === undefined ? undefined : audiences[domain]) ?? publicCloud
      const secret = hasSecret(config) && [config.tenant_id, config.client_secret]
      const of = JSON.stringify([audience, config.client_id, secret])
      return this.#requests.of(of, () => tokenRequest(config, audience))(signal)
    })
  }
}

/** A key in Azure Key Vault or Managed HSM, by its REST reference, version 7.4 (Get Key, Sign). */
export function azureKey(vault: AzureKeyVault, config: AzureKeyVaultConfig): RemoteKey {
  const path = config.key_version === undefined ? '' : `/${config.key_version}`
  const base = `${config.vault_url.replace(/\/$/, '')}/keys/${config.key_name}${path}`

  async function call(
    method: 'GET' | 'POST',
    operation: string,
    body: unknown,
    signal: AbortSignal,
  ): Promise<JsonAnswer> {
    const headers = { Authorization: `Bearer ${await vault.token(config, signal)}` }
    const answer = await vault.rest.send({
      url: `${base}${operation}?api-version=${apiVersion}`,
      method,
      headers,
      body,
      signal,
    })
    if (answer.status !== 200) throw faultOf(answer)
    return answer
  }

  return {
    async publicKey(signal) {
      const key = member((await call('GET', '', undefined, signal)).body, 'key')
      const [type, crv] = [textMember(key, 'kty'), textMember(key, 'crv')]
      if ((type !== 'EC' && type !== 'EC-HSM') || crv !== 'P-256K') {
        throw new KeyServiceFault('refused', `the key must be EC or EC-HSM on P-256K; it is ${type} on ${crv}`)
      }
      const point = pointOf(textMember(key, 'x') ?? '', textMember(key, 'y') ?? '')
      const version = textMember(key, 'kid')?.split('/').at(-1)
      if (point.length !== 65 || !version) throw damaged('is not a public key')
      return { address: addressOf(point), version }
    },
    async sign(digest, signal) {
      const value = Buffer.from(digest).toString('base64url')
      const answer = await call('POST', '/sign', { alg: 'ES256K', value }, signal)
      // RFC 8812: r and s, 32 bytes each.
      const rs = Buffer.from(textMember(answer.body, 'value') ?? '', 'base64url')
      if (rs.length !== 64) throw damaged('is not a signature')
      const requestId = requestIdOf(answer)
      return { rs, ...(requestId !== undefined && { request_id: requestId }) }
    },
  }
}

const damaged = (what: string) => new KeyServiceFault('wrong', `the answer of ${name} ${what}`)

function requestIdOf({ headers }: JsonAnswer): string | undefined {
  const id = headers['x-ms-request-id']
  return typeof id === 'string' ? id.slice(0, 80) : undefined
}

function faultOf(answer: JsonAnswer): KeyServiceFault {
  const error = member(answer.body, 'error')
  const word = textMember(error, 'code')
  const shown = word !== undefined && /^[A-Za-z]{1,60}$/.test(word) ? `${answer.status} ${word}` : `${answer.status}`
  const id = requestIdOf(answer)
  const request = id === undefined ? '' : `, request ${id}`
  return new KeyServiceFault(
    kindOfStatus(answer.status),
    `${name} answered ${shown}${request}`,
    textMember(error, 'message'),
    id,
  )
}

type Client =
  | { kind: 'application'; application: ConfidentialClientApplication }
  | { kind: 'managed'; application: ManagedIdentityApplication }

/** The library requests a token for each caller that finds none in its cache, so callers at the same time share a call. */
function tokenRequest(config: AzureKeyVaultConfig, { resource, authority }: Audience) {
  let client: Promise<Client> | undefined
  return shared(async () => {
    client ??= openClient(config, authority)
    const { kind, application } = await client.catch((error) => {
      // After a failure, the next call tries again.
      client = undefined
      throw error
    })
    const result =
      kind === 'managed'
        ? await application.acquireToken({ resource })
        : await application.acquireTokenByClientCredential({ scopes: [`${resource}/.default`] })
    return result?.accessToken
  })
}

async function openClient(config: AzureKeyVaultConfig, authorityHost: string): Promise<Client> {
  const { ConfidentialClientApplication, ManagedIdentityApplication } = await loadPackage(
    '@azure/msal-node',
    () => import('@azure/msal-node'),
  )
  const { AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_FEDERATED_TOKEN_FILE, AZURE_AUTHORITY_HOST } = process.env
  const host = AZURE_AUTHORITY_HOST ?? authorityHost
  const application = (tenantId: string, clientId: string, credential: object): Client => ({
    kind: 'application',
    application: new ConfidentialClientApplication({
      auth: {
        clientId,
        authority: new URL(tenantId, host.endsWith('/') ? host : `${host}/`).href,
        knownAuthorities: [new URL(host).host],
        ...credential,
      },
    }),
  })
  if (hasSecret(config)) {
    return application(config.tenant_id, config.client_id, { clientSecret: config.client_secret })
  }
  const clientId = config.client_id ?? AZURE_CLIENT_ID
  if (AZURE_FEDERATED_TOKEN_FILE && AZURE_TENANT_ID && clientId) {
    // The platform renews the file.
    const clientAssertion = async () => (await readFile(AZURE_FEDERATED_TOKEN_FILE, 'utf8')).trim()
    return application(AZURE_TENANT_ID, clientId, { clientAssertion })
  }
  const managedIdentityIdParams = clientId === undefined ? {} : { userAssignedClientId: clientId }
  return { kind: 'managed', application: new ManagedIdentityApplication({ managedIdentityIdParams }) }
}

const hasSecret = (config: AzureKeyVaultConfig): config is AzureClientSecretConfig => 'client_secret' in config
