import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createRelayerClient } from '../../client/index.ts'
import type { ScopeInput } from '../../generated/openapi.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { memoryOf } from './memory-of.ts'
import type { Reached, Scene } from './scene.ts'

// What a key that is limited to the relayer `attacked` can do to others: points 12, 13 and 15.

const mebibyte = 2 ** 20
const maxGrowthMb = 150
/** A stall that a person notices. */
const maxStallMs = 500
const maxRatio = 3

async function limitedClient({ url, client }: Scene, scopes: ScopeInput[], rate?: number) {
  const rateLimit = rate === undefined ? null : { per_second: rate, burst: rate }
  const key = { name: randomUUID(), scopes, relayer_ids: ['attacked'], rate_limit: rateLimit }
  const { api_key, token } = (await client.post('/api/v1/api-keys', { body: key })).data
  return {
    id: api_key.id,
    token,
    client: createRelayerClient({ baseUrl: url, token, maxRetries: 0, fetch: asOnlyWriter }),
  }
}

/** Signs with the relayer `demo` as somebody else, one request after the other, until `stop`. Returns the times in ms, sorted. */
async function signMeanwhile({ client }: Scene, stop: AbortSignal): Promise<number[]> {
  const times: number[] = []
  while (!stop.aborted) {
    const began = performance.now()
    await client.post('/api/v1/relayers/{relayer_id}/sign', {
      path: { relayer_id: 'demo' },
      body: { message: 'Hello' },
    })
    times.push(performance.now() - began)
    await pause(5)
  }
  return times.sort((a, b) => a - b)
}

const medianOf = (sorted: number[]): number => sorted[Math.floor(sorted.length / 2)] ?? 0

async function during(scene: Scene, ms: number, work: (stop: AbortSignal) => Promise<unknown>): Promise<number[]> {
  const stop = new AbortController()
  const [times] = await Promise.all([
    signMeanwhile(scene, stop.signal),
    work(stop.signal),
    pause(ms).then(() => stop.abort()),
  ])
  return times
}

/** Point 12: the relayer's own nodes answer everything with 60 MB of empty lists. */
export async function answerTooMuch(scene: Scene): Promise<Reached> {
  const { child, client } = scene
  const text = Buffer.from(`{"jsonrpc":"2.0","id":0,"result":[${'[],'.repeat((60 * mebibyte) / 3)}[]]}`)
  const server = createServer((_, response) => void response.on('error', () => undefined).end(text))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const node = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const path = { relayer_id: 'attacked' }
  await client.patch('/api/v1/relayers/{relayer_id}', { path, body: { custom_rpc_urls: [node] } })
  const { client: attacker } = await limitedClient(scene, ['read', 'send', 'manage'])
  const beforeMb = memoryOf(child.pid as number)
  let growthMb = 0
  const times = await during(scene, 8_000, async (stop) => {
    while (!stop.aborted) {
      const balance = () => attacker.get('/api/v1/relayers/{relayer_id}/balance', { path })
      const send = () =>
        attacker.post('/api/v1/relayers/{relayer_id}/transactions', {
          path,
          body: { to: `0x${'5a'.repeat(20)}`, value: 1n },
        })
      await Promise.allSettled([balance(), send(), balance(), send()])
      growthMb = Math.max(growthMb, memoryOf(child.pid as number) - beforeMb)
      await pause(20)
    }
  })
  await client.patch('/api/v1/relayers/{relayer_id}', { path, body: { custom_rpc_urls: [] } })
  server.closeAllConnections()
  server.close()
  const stallMs = times.at(-1) ?? 0
  return {
    found: `others wait ${stallMs.toFixed(0)} ms at most, +${growthMb.toFixed(0)} MB`,
    holds: stallMs < maxStallMs && growthMb < maxGrowthMb,
  }
}

/** Point 13: a batch of 1,000 signatures, whose key is revoked meanwhile. Counted are signatures after the revocation's answer. */
export async function signAfterTheEnd(scene: Scene): Promise<Reached> {
  const { url, client } = scene
  const rounds = 10
  let late = 0
  let signed = 0
  for (let round = 0; round < rounds; round += 1) {
    const { id, token } = await limitedClient(scene, ['sign'])
    const calls = Array.from({ length: 1_000 }, (_, index) => ({
      ...{ jsonrpc: '2.0', id: index, method: 'personal_sign' },
      params: [`message ${index}`],
    }))
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const asked = fetch(`${url}/api/v1/relayers/attacked/rpc`, {
      method: 'POST',
      headers,
      body: JSON.stringify(calls),
    })
    await pause(20 + 10 * round)
    await client.delete('/api/v1/api-keys/{api_key_id}', { path: { api_key_id: id } })
    const revokedMs = Date.now()
    await asked.then((answer) => answer.text()).catch(() => undefined)
    await pause(100)
    const query = { caller: id, operation: 'signMessage', per_page: 1_000 }
    const { data } = await client.get('/api/v1/audit', { query })
    const results = data.filter(({ http_status }) => http_status === 200)
    signed += results.length
    late += results.filter(({ created_at }) => Date.parse(created_at) > revokedMs).length
  }
  return { found: `${late} of ${signed} signatures of ${rounds} batches after the answer`, holds: late === 0 }
}

/** Point 15: as many changes of its relayer as a key can ask for that may make one request a second. */
export async function changeWithoutEnd(scene: Scene): Promise<Reached> {
  const { child } = scene
  const quiet = await during(scene, 2_000, async () => undefined)
  const { client: attacker } = await limitedClient(scene, ['manage'], 1)
  const beforeMb = memoryOf(child.pid as number)
  let [changed, asked] = [0, 0]
  const busy = await during(scene, 6_000, (stop) =>
    Promise.all(
      Array.from({ length: 8 }, async (_, at) => {
        while (!stop.aborted) {
          asked += 1
          const body = { name: `n${at} ${asked}`, custom_rpc_urls: [`http://127.0.0.1:1/${asked}`] }
          await attacker.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'attacked' }, body }).then(
            () => {
              changed += 1
            },
            () => undefined,
          )
          await pause(5)
        }
      }),
    ),
  )
  const growthMb = memoryOf(child.pid as number) - beforeMb
  const ratio = medianOf(busy) / medianOf(quiet)
  return {
    found: `${changed} of ${asked} changes in 6 s, p50 of others ${ratio.toFixed(1)} times, +${growthMb.toFixed(0)} MB`,
    holds: changed <= 10 && ratio < maxRatio && growthMb < maxGrowthMb,
  }
}
