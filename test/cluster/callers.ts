import { setTimeout as pause } from 'node:timers/promises'
import { type CreateSignerRequest, createRelayerClient, type RelayerClient, RelayerError } from '../../client/index.ts'
import { token } from './member.ts'
import type { Stage } from './stage.ts'

export const blockMs = 500
/** More than one, so that failures come between `mined` and `confirmed` too. */
const confirmations = 2
/** How long a server may respond that the database is down: on a busy machine, a slow response may look like that. */
const setupMs = 60_000
const againMs = 200
const network = { name: 'cluster', network_type: 'evm' } as const

interface Relayer {
  id: string
  address: string
}

/** Sends each request to a random server. */
export function randomClient({ members }: Stage, random: () => number, maxRetries: number): RelayerClient {
  const base = (members[0] as Stage['members'][number]).url
  return createRelayerClient({
    baseUrl: base,
    token,
    maxRetries,
    async fetch(request) {
      const { url } = members[Math.floor(random() * members.length)] as Stage['members'][number]
      const { method, headers, signal } = request
      const body = method === 'GET' ? null : await request.text()
      return fetch(request.url.replace(base, url), { method, headers, signal, body })
    },
  })
}

/** Creates relayers with new keys, whose nonces begin at 0, and a webhook. */
export async function makeRelayers(client: RelayerClient, rpcUrl: string, hookUrl: string, count: number) {
  await available(() =>
    client.post('/api/v1/networks', {
      body: {
        ...network,
        chain_id: 31_337,
        rpc_urls: [rpcUrl],
        required_confirmations: confirmations,
        average_blocktime_ms: blockMs,
      },
    }),
  )
  await available(() => client.post('/api/v1/notifications', { body: { id: 'hook', url: hookUrl } }))
  const relayers: Relayer[] = []
  for (let index = 0; index < count; index += 1) relayers.push(await makeRelayer(client, { type: 'generated' }))
  return relayers
}

export async function makeRelayer(client: RelayerClient, its: CreateSignerRequest): Promise<Relayer> {
  const { data: signer } = await available(() => client.post('/api/v1/signers', { body: its }))
  const { data } = await available(() =>
    client.post('/api/v1/relayers', {
      body: {
        name: `Relayer of ${signer.id}`,
        network: network.name,
        network_type: network.network_type,
        paused: false,
        signer_id: signer.id,
        notification_id: 'hook',
      },
    }),
  )
  return { id: data.id, address: data.address }
}

export async function makePool(client: RelayerClient, relayers: Relayer[]): Promise<string> {
  const relayerIds = relayers.map(({ id }) => id)
  const { data } = await available(() =>
    client.post('/api/v1/pools', { body: { id: 'all', network: network.name, relayer_ids: relayerIds } }),
  )
  return data.id
}

/** Repeats a request after a 503, which changes nothing. */
export async function available<T>(request: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + setupMs; ; await pause(againMs)) {
    try {
      return await request()
    } catch (error) {
      const isUnavailable = error instanceof RelayerError && error.status === 503
      if (!isUnavailable || performance.now() > end) throw error
    }
  }
}
