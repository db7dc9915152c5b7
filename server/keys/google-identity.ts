import type { AuthClient } from 'google-auth-library'
import type { GoogleCloudKmsConfig } from '../../generated/openapi.ts'
import { BoundedMap } from '../core/bounded-map.ts'
import { loadPackage } from './load-package.ts'
import { tokenOf } from './rest-service.ts'

const scopes = ['https://www.googleapis.com/auth/cloudkms']
const max_clients = 100

type Account = GoogleCloudKmsConfig['service_account']

/** Access tokens for Google Cloud, as an Authorization header: by a service account, or the Application Default Credentials. */
export function createGoogleIdentity(name: string): (account: Account) => Promise<string> {
  const clients = new BoundedMap<string, Promise<AuthClient>>(max_clients)

  function clientOf(account: Account): Promise<AuthClient> {
    const of = JSON.stringify(account ?? null)
    const known = clients.get(of)
    if (known) return known
    const client = openClient(account)
    clients.set(of, client)
    // Missing credentials may appear later.
    client.catch(() => clients.delete(of))
    return client
  }

  return (account) =>
    tokenOf(name, async () => (await (await clientOf(account)).getRequestHeaders()).get('authorization'))
}

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
