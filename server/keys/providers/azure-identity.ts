import { readFile } from 'node:fs/promises'
import type { ConfidentialClientApplication, ManagedIdentityApplication } from '@azure/msal-node'
import type { AzureClientSecretConfig, AzureKeyVaultConfig } from '../../../generated/openapi.ts'
import { BoundedMap } from '../../lib/bounded-map.ts'
import { loadPackage, shared } from '../key-service.ts'
import { tokenOf } from './rest-service.ts'

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

type Client =
  | { kind: 'application'; application: ConfidentialClientApplication }
  | { kind: 'managed'; application: ManagedIdentityApplication }

/**
 * Access tokens for Azure Key Vault, by Microsoft's authentication library, which caches them. With a client secret in the
 * configuration: by it. Otherwise by the workload identity of the environment, or the managed identity of the machine.
 */
export function createAzureIdentity(): (config: AzureKeyVaultConfig, signal: AbortSignal) => Promise<string> {
  const clients = new BoundedMap<string, (signal: AbortSignal) => Promise<string | undefined>>(maxClients)
  const load = () => loadPackage('@azure/msal-node', () => import('@azure/msal-node'))

  async function openClient(config: AzureKeyVaultConfig, authorityHost: string): Promise<Client> {
    const { ConfidentialClientApplication, ManagedIdentityApplication } = await load()
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

  /** The library requests a token for each caller that finds none in its cache, so callers at the same time share a call. */
  function openToken(config: AzureKeyVaultConfig, { resource, authority }: Audience) {
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

  return (config, signal) =>
    tokenOf('Azure Key Vault', () => {
      const { hostname } = new URL(config.vault_url)
      const domain = azureDomains.find((suffix) => hostname.endsWith(`.${suffix}`))
      const audience = (domain === undefined ? undefined : audiences[domain]) ?? publicCloud
      const of = JSON.stringify([
        audience,
        config.client_id,
        hasSecret(config) && [config.tenant_id, config.client_secret],
      ])
      return clients.of(of, () => openToken(config, audience))(signal)
    })
}

const hasSecret = (config: AzureKeyVaultConfig): config is AzureClientSecretConfig => 'client_secret' in config
