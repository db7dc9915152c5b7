import { randomUUID } from 'node:crypto'
import { createRelayerClient, type RelayerClient, type RelayerError } from '../../client/index.ts'
import type { ScopeInput } from '../../generated/openapi.ts'
import { apiKey } from '../bench/processes.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { withService } from './blocking.ts'
import type { Finding } from './finding.ts'

// `--postgres`: what a key may do on two servers together, as fast as it can ask both in turn, beside its limits.

const relayer = '/api/v1/relayers/{relayer_id}'
const path = { relayer_id: 'demo' }
const measureMs = 5_000
const atOnce = 16
const rate = { per_second: 10, burst: 20 }
/** A server takes requests in lots, and the clock of the database is asked now and then: a second's worth on each. */
const slack = 2 * rate.per_second

/** A part of `npm run test:hostile`. */
export const servers = (): Promise<Finding[]> =>
  withService(async (_child, url, _folder, other) => {
    const admin = createRelayerClient({ baseUrl: url, token: apiKey, fetch: asOnlyWriter })
    const urls = Array.from({ length: 20 }, (_, index) => `http://127.0.0.1:1/${index}`)
    let change = 0
    const findings = [
      await accepted(admin, [url, other], ['sign'], 'signatures', 1, (client) =>
        client.post(`${relayer}/sign`, { path, body: { message: 'Hello' } }),
      ),
      await accepted(admin, [url, other], ['manage'], 'changes, five requests each', 5, (client) => {
        change += 1
        return client.patch(relayer, { path, body: { name: `${change}` } })
      }),
      await accepted(admin, [url, other], ['manage'], 'changes of 20 URLs, 25 requests each', 25, (client) => {
        change += 1
        const customRpcUrls = urls.map((one) => `${one}/${change}`)
        return client.patch(relayer, { path, body: { custom_rpc_urls: customRpcUrls } })
      }),
    ]
    await admin.patch(relayer, { path, body: { custom_rpc_urls: [] } })
    return [...findings, await revoked(admin, [url, other])]
  })

async function keyFor(admin: RelayerClient, scopes: ScopeInput[], limited: boolean) {
  const limits = limited ? { rate_limit: rate } : {}
  const body = { name: randomUUID(), scopes, relayer_ids: ['demo'], ...limits }
  return (await admin.post('/api/v1/api-keys', { body })).data
}

/** How often a key succeeds on both servers together. `weight`: the requests that one counts. */
async function accepted(
  admin: RelayerClient,
  urls: string[],
  scopes: ScopeInput[],
  ...[what, weight, ask]: [string, number, (client: RelayerClient) => Promise<unknown>]
): Promise<Finding> {
  const { token } = await keyFor(admin, scopes, true)
  const clients = urls.map((baseUrl) => createRelayerClient({ baseUrl, token, maxRetries: 0, fetch: asOnlyWriter }))
  let [count, asked] = [0, 0]
  const began = performance.now()
  const repeat = async () => {
    while (performance.now() < began + measureMs) {
      const client = clients[asked % clients.length] as RelayerClient
      asked += 1
      await ask(client).then(
        () => {
          count += 1
        },
        (error: RelayerError) => {
          if (error.status !== 429) throw error
        },
      )
    }
  }
  await Promise.all(Array.from({ length: atOnce }, repeat))
  const seconds = (performance.now() - began) / 1_000
  // What a body costs is known when it is read: those under way at once are all accepted, and what they cost is owed.
  const owed = weight > 1 ? atOnce : 0
  const most = owed + Math.ceil((rate.burst + rate.per_second * seconds + slack) / weight)
  const found = `${count} of ${asked} in ${seconds.toFixed(1)} s`
  return { what: `two servers, a key of 10 a second: ${what}`, found, wanted: `at most ${most}`, holds: count <= most }
}

/** A key that is revoked on one server, while it signs on both: what either signs after the answer. */
async function revoked(admin: RelayerClient, urls: string[]): Promise<Finding> {
  let [late, signed] = [0, 0]
  for (let round = 0; round < 10; round += 1) {
    const { api_key, token } = await keyFor(admin, ['sign'], false)
    let isRevoked = false
    const repeat = async (baseUrl: string) => {
      const client = createRelayerClient({ baseUrl, token, maxRetries: 0, fetch: asOnlyWriter })
      for (;;) {
        const isLate = isRevoked
        try {
          await client.post(`${relayer}/sign`, { path, body: { message: 'Hello' } })
        } catch {
          return
        }
        signed += 1
        if (isLate) late += 1
      }
    }
    const signing = urls.map(repeat)
    await admin.delete('/api/v1/api-keys/{api_key_id}', { path: { api_key_id: api_key.id } })
    isRevoked = true
    await Promise.all(signing)
  }
  const found = `${late} of ${signed} signatures`
  return { what: 'two servers, a key that is revoked: asked after the answer', found, wanted: '0', holds: late === 0 }
}
