import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/*
 * HashiCorp Vault as far as this service calls it, by its API documentation: auth/approle ("Login with AppRole"), secret/kv/kv-v2
 * ("Read secret version"), and "HTTP status codes".
 */

export interface FakeVault {
  url: string
  token: string
  role_id: string
  secret_id: string
  /** By path within the mount `secret`. */
  secrets: Record<string, Record<string, unknown>>
  /** A sealed Vault answers 503 to everything. */
  sealed: boolean
  /** Method and path of each request. */
  requests: string[]
  stop(): Promise<void>
}

export async function startFakeVault(): Promise<FakeVault> {
  const tokens = new Set<string>()
  const server = createServer(async (request, response) => {
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
      const client_token = `hvs.${randomUUID()}`
      tokens.add(client_token)
      return answer(200, { auth: { client_token, lease_duration: 1_200, renewable: true } })
    }
    const token = `${request.headers['x-vault-token']}`
    if (token !== vault.token && !tokens.has(token)) return answer(403, { errors: ['permission denied'] })
    const [, name] = /^\/v1\/secret\/data\/(.+)$/.exec(path) ?? []
    const data = request.method === 'GET' && name !== undefined ? vault.secrets[name] : undefined
    if (!data) return answer(404, { errors: [] })
    answer(200, { data: { data, metadata: { version: 1, destroyed: false } } })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const vault: FakeVault = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: `hvs.${randomUUID()}`,
    role_id: randomUUID(),
    secret_id: randomUUID(),
    secrets: {},
    sealed: false,
    requests: [],
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return vault
}
