import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createFaultyKeys, type FaultyKeys } from './key-faults.ts'
import { coordinatesOf } from './key-forms.ts'
import { type Listener, listen } from './listener.ts'

/*
 * The operations of Azure Key Vault that this service calls, by its REST reference, version 7.4 (Get Key, Sign, "Authentication,
 * requests and responses"), and the Microsoft identity platform ("OAuth 2.0 client credentials flow", managed identities on a virtual machine).
 */

export interface FakeAzure extends FaultyKeys, Listener {
  /** Stops the vault and the identity platform. */
  close(): Promise<void>
  /** The host of the identity platform, with HTTPS. */
  authority_url: string
  tenant_id: string
  client_id: string
  client_secret: string
  /** Every request to the vault, without its token. */
  requests: { method: string; path: string; body: unknown }[]
  /** The forms of token requests, without the secret. */
  token_requests: Record<string, string>[]
  /** The permissions of the application on keys. */
  permissions: Set<string>
  /** Creates a key, or a version of the key `name`, and returns its name and version. */
  addKey(options?: { name?: string; crv?: string; kty?: string; enabled?: boolean }): { name: string; version: string }
}

interface Key {
  name: string
  version: string
  crv: string
  kty: string
  enabled: boolean
  secret: Uint8Array
}

class Refusal extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

const resource = 'https://vault.azure.net'

export async function startFakeAzure(): Promise<FakeAzure> {
  const faulty = createFaultyKeys()
  const keys: Key[] = []
  const tokens = new Set<string>()

  async function readText(request: IncomingMessage): Promise<string> {
    return Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString()
  }
  const answer = (response: ServerResponse, status: number, body: object) =>
    response
      .writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'x-ms-request-id': randomUUID() })
      .end(JSON.stringify(body))

  function issueToken(): object {
    const accessToken = `eyJ.${randomUUID()}`
    tokens.add(accessToken)
    return { token_type: 'Bearer', expires_in: 3_599, ext_expires_in: 3_599, access_token: accessToken }
  }

  const authority = await listen(async (request, response) => {
    const path = request.url ?? ''
    if (path.endsWith('/v2.0/.well-known/openid-configuration')) {
      const base = `${fake.authority_url}/${fake.tenant_id}`
      return answer(response, 200, {
        issuer: `${base}/v2.0`,
        authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
        token_endpoint: `${base}/oauth2/v2.0/token`,
        jwks_uri: `${base}/discovery/v2.0/keys`,
      })
    }
    const form = Object.fromEntries(new URLSearchParams(await readText(request)))
    const { client_secret, client_assertion, ...shown } = form
    fake.token_requests.push(shown)
    const isKnown = client_secret === fake.client_secret || client_assertion === 'federated token'
    const isRight = form.client_id === fake.client_id && form.grant_type === 'client_credentials' && isKnown
    if (!path.startsWith(`/${fake.tenant_id}/oauth2/v2.0/token`) || !isRight) {
      return answer(response, 401, {
        error: 'invalid_client',
        error_description: 'AADSTS7000215: Invalid client secret provided.',
      })
    }
    if (form.scope?.split(' ').includes(`${resource}/.default`)) return answer(response, 200, issueToken())
    answer(response, 400, {
      error: 'invalid_scope',
      error_description: 'AADSTS70011: The provided scope is not valid.',
    })
  }, {})

  const vault = await listen(async (request, response) => {
    const text = await readText(request)
    const url = new URL(request.url ?? '', 'http://vault')
    fake.requests.push({
      method: `${request.method}`,
      path: `${url.pathname}${url.search}`,
      body: text === '' ? undefined : JSON.parse(text),
    })
    try {
      const [, name, version, operation] = /^\/keys\/([^/]+)(?:\/([^/]+))?(?:\/(sign))?$/.exec(url.pathname) ?? []
      const isThrottled = await faulty.enter(operation ?? 'get')
      if (isThrottled)
        throw new Refusal(429, 'Throttled', 'Request was not processed because too many requests were received.')
      if (faulty.faults.error) throw new Refusal(500, faulty.faults.error, faulty.faults.error)
      const token = /^Bearer (.+)$/.exec(`${request.headers.authorization}`)?.[1]
      if (!tokens.has(`${token}`)) {
        response.setHeader(
          'WWW-Authenticate',
          `Bearer authorization="${fake.authority_url}/${fake.tenant_id}", resource="${resource}"`,
        )
        throw new Refusal(401, 'Unauthorized', 'AKV10000: Request is missing a Bearer or PoP token.')
      }
      if (url.searchParams.get('api-version') !== '7.4') throw new Refusal(400, 'BadParameter', 'api-version')
      if (!fake.permissions.has(operation ?? 'get')) {
        throw new Refusal(
          403,
          'Forbidden',
          `The user does not have keys ${operation ?? 'get'} permission on the key vault.`,
        )
      }
      const key = keys.findLast((one) => one.name === name && (version === undefined || one.version === version))
      if (!key) throw new Refusal(404, 'KeyNotFound', `A key with (name/id) ${name} was not found in this key vault.`)
      const kid = `https://example.vault.azure.net/keys/${key.name}/${key.version}`
      if (operation === undefined && request.method === 'GET') {
        const { kty, crv, enabled } = key
        const jwk = { kid, kty, crv, key_ops: ['sign', 'verify'], ...coordinatesOf(key.secret) }
        return answer(response, 200, { key: jwk, attributes: { enabled } })
      }
      if (!key.enabled) throw new Refusal(403, 'Forbidden', 'Operation sign is not allowed on a disabled key.')
      const { alg, value } = JSON.parse(text)
      if (alg !== 'ES256K')
        throw new Refusal(400, 'BadParameter', `Key and signing algorithm are incompatible: ${alg}.`)
      const digest = Buffer.from(value, 'base64url')
      if (digest.length !== 32 || digest.toString('base64url') !== value) {
        throw new Refusal(400, 'BadParameter', 'Property value has an invalid value: the digest has a wrong length.')
      }
      answer(response, 200, { kid, value: Buffer.from(faulty.sign(digest, key.secret)).toString('base64url') })
    } catch (error) {
      const { status = 500, code = 'InternalServerError', message } = error as Partial<Refusal>
      answer(response, status, { error: { code, message } })
    }
  })

  const fake: FakeAzure = {
    ...faulty,
    ...vault,
    async close() {
      await Promise.all([vault.stop(), authority.stop()])
    },
    authority_url: authority.url,
    tenant_id: randomUUID(),
    client_id: randomUUID(),
    client_secret: randomBytes(20).toString('base64url'),
    requests: [],
    token_requests: [],
    permissions: new Set(['get', 'sign']),
    addKey({ name = `key-${keys.length}`, crv = 'P-256K', kty = 'EC-HSM', enabled = true } = {}) {
      const version = randomBytes(16).toString('hex')
      keys.push({ name, version, crv, kty, enabled, secret: randomBytes(32) })
      return { name, version }
    },
  }
  return fake
}
