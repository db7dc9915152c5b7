import { randomUUID } from 'node:crypto'
import { decrypt, type Encrypted, encrypt } from './envelope.ts'
import { type Listener, listen } from './listener.ts'

/*
 * The operations of HashiCorp Vault that this service calls, by its API documentation: auth/approle ("Login with AppRole"), secret/kv/kv-v2
 * ("Read secret version"), secret/transit ("Encrypt data", "Decrypt data"), and "HTTP status codes".
 */

export interface FakeVault extends Listener {
  token: string
  role_id: string
  secret_id: string
  /** By path within the mount `secret`. */
  secrets: Record<string, Record<string, unknown>>
  /** The keys of the Transit engine at the mount `transit`. */
  transit: Map<string, Buffer>
  /** The plain texts that were encrypted so far. */
  encrypted: Encrypted[]
  /** These operations of the Transit engine are answered with 403. */
  denied: Set<string>
  /** A sealed Vault answers 503 to everything. */
  sealed: boolean
  /** Method and path of each request. */
  requests: string[]
}

export async function startFakeVault(): Promise<FakeVault> {
  const tokens = new Set<string>()
  const listener = await listen(async (request, response) => {
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    }
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString()
    const path = request.url ?? ''
    vault.requests.push(`${request.method} ${path}`)
    if (vault.sealed) return answer(503, { errors: ['Vault is sealed'] })
    if (request.method === 'POST' && path === '/v1/auth/approle/login') {
      const { role_id, secret_id } = JSON.parse(body)
      if (role_id !== vault.role_id) return answer(400, { errors: ['invalid role or secret ID'] })
      if (secret_id !== vault.secret_id) return answer(400, { errors: ['invalid role or secret ID'] })
      const clientToken = `hvs.${randomUUID()}`
      tokens.add(clientToken)
      return answer(200, { auth: { client_token: clientToken, lease_duration: 1_200, renewable: true } })
    }
    const token = `${request.headers['x-vault-token']}`
    if (token !== vault.token && !tokens.has(token)) return answer(403, { errors: ['permission denied'] })
    const [, operation, key = ''] = /^\/v1\/transit\/(encrypt|decrypt)\/([\w-]+)$/.exec(path) ?? []
    if (operation !== undefined) {
      const [status, answered] = transit(vault, operation, key, JSON.parse(body))
      return answer(status, answered)
    }
    const [, name] = /^\/v1\/secret\/data\/(.+)$/.exec(path) ?? []
    const data = request.method === 'GET' && name !== undefined ? vault.secrets[name] : undefined
    if (!data) return answer(404, { errors: [] })
    answer(200, { data: { data, metadata: { version: 1, destroyed: false } } })
  })
  const vault: FakeVault = {
    ...listener,
    token: `hvs.${randomUUID()}`,
    role_id: randomUUID(),
    secret_id: randomUUID(),
    secrets: {},
    transit: new Map(),
    encrypted: [],
    denied: new Set(),
    sealed: false,
    requests: [],
  }
  return vault
}

const bytesOf = (text = '') => Buffer.from(text, 'base64')

function transit(
  { transit: keys, denied, encrypted }: FakeVault,
  operation: string,
  name: string,
  { plaintext, ciphertext, associated_data }: Record<string, string | undefined>,
): [number, object] {
  const key = keys.get(name)
  if (denied.has(operation)) return [403, { errors: ['1 error occurred: permission denied'] }]
  if (!key) return [400, { errors: ['encryption key not found'] }]
  if (operation === 'encrypt') {
    encrypted.push({ plain: bytesOf(plaintext), bound_to: bytesOf(associated_data).toString() })
    const text = encrypt(key, bytesOf(plaintext), bytesOf(associated_data)).toString('base64')
    return [200, { data: { ciphertext: `vault:v1:${text}`, key_version: 1 } }]
  }
  try {
    const bytes = decrypt(key, bytesOf(ciphertext?.replace('vault:v1:', '')), bytesOf(associated_data))
    return [200, { data: { plaintext: bytes.toString('base64') } }]
  } catch {
    return [400, { errors: ['cipher: message authentication failed'] }]
  }
}
