import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { TypedDataEncoder } from 'ethers'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import type { ScopeInput } from '../../generated/openapi.ts'
import { apiKey } from '../bench/processes.ts'
import { startAnvil } from '../support/anvil.ts'
import { startFaultProxy } from '../support/fault-proxy.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { withService } from './blocking.ts'
import type { Point } from './finding.ts'
import { memoryOf } from './memory-of.ts'
import type { Reached, Scene } from './scene.ts'
import { answerTooMuch, changeWithoutEnd, signAfterTheEnd } from './tenants.ts'

const receiver = `0x${'5a'.repeat(20)}`
const mebibyte = 2 ** 20
const maxGrowthMb = 150

/** The attackers under which a running service is measured, by their point. The last one changes the database. */
const attackers: [Point, (scene: Scene) => Promise<Reached>][] = [
  [2, holdTheNode],
  [5, signByALaxRelayer],
  [6, openACostlyKeystore],
  [7, holdBodies],
  [8, takeAllStreams],
  [12, answerTooMuch],
  [13, signAfterTheEnd],
  [15, changeWithoutEnd],
  [10, forgeAKey],
]

/** Runs them one after the other on one service. */
export async function attack(): Promise<Partial<Record<Point, Reached>>> {
  const chain = await startAnvil({ blockTime_s: 1 })
  const proxy = await startFaultProxy(chain.url)
  try {
    return await withService(async (child, url, folder) => {
      const client = createRelayerClient({ baseUrl: url, token: apiKey, fetch: asOnlyWriter })
      const { data: demo } = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
      await chain.setBalance(demo.address, 10n ** 24n)
      await addRelayer(client, { id: 'attacked', network: 'local' })
      const reached: Partial<Record<Point, Reached>> = {}
      for (const [point, attacker] of attackers) {
        reached[point] = await attacker({ child, url, folder, client, proxy })
      }
      return reached
    }, proxy.url)
  } finally {
    await proxy.stop()
    await chain.stop()
  }
}

interface NewRelayer {
  id: string
  network: string
  signer_id?: string
  policies?: { allow_blind_typed_data: boolean }
}

async function addRelayer(client: RelayerClient, { id, network, signer_id = id, policies = undefined }: NewRelayer) {
  if (signer_id === id) await client.post('/api/v1/signers', { body: { id, type: 'generated' } })
  const relayer = { id, name: id, network, network_type: 'evm' as const, paused: false, signer_id }
  await client.post('/api/v1/relayers', { body: { ...relayer, ...(policies && { policies }) } })
}

/** The token of a key that is limited to the relayer `attacked`. */
async function limitedToken(client: RelayerClient, ...scopes: ScopeInput[]): Promise<string> {
  const key = { name: randomUUID(), scopes, relayer_ids: ['attacked'] }
  return (await client.post('/api/v1/api-keys', { body: key })).data.token
}

const statusOf = (answer: Promise<unknown>): Promise<number> =>
  answer.then(
    () => 200,
    (error) => error.status ?? 0,
  )

/** Point 2: eight calls at a time that the node never answers, while another caller sends. */
async function holdTheNode({ url, client, proxy }: Scene): Promise<Reached> {
  const count = 16
  const reader = createRelayerClient({
    baseUrl: url,
    token: await limitedToken(client, 'read'),
    maxRetries: 0,
    fetch: asOnlyWriter,
  })
  await proxy.setFault({ kind: 'hang', methods: ['eth_getLogs'] })
  const stop = new AbortController()
  const ask = async () => {
    while (!stop.signal.aborted) {
      const body = { jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [{ fromBlock: '0x0' }] }
      const input = { path: { relayer_id: 'attacked' }, body, signal: stop.signal }
      await reader.post('/api/v1/relayers/{relayer_id}/rpc', input).catch(() => pause(20))
    }
  }
  const asking = Array.from({ length: 8 }, ask)
  while ((proxy.counts().eth_getLogs ?? 0) === 0) await pause(10)
  const began = performance.now()
  const sent = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const answer = client.post('/api/v1/relayers/{relayer_id}/transactions', {
        path: { relayer_id: 'demo' },
        query: { wait: 'confirmed', wait_seconds: 60 },
        body: { to: receiver, value: `${index + 1}`, gas_limit: 21_000 },
      })
      return answer.then(({ data }) => data.status as string).catch((error) => `${error.status}`)
    }),
  )
  const tookS = (performance.now() - began) / 1_000
  stop.abort()
  await Promise.all(asking)
  await proxy.setFault(undefined)
  const confirmed = sent.filter((status) => status === 'confirmed').length
  return { found: `${confirmed} of ${count} confirmed in ${tookS.toFixed(1)} s`, holds: confirmed === count }
}

/** Point 5: a permit that the strict relayer of the same signer, on chain 1, forbids. */
async function signByALaxRelayer({ client }: Scene): Promise<Reached> {
  const network = { name: 'mainnet', network_type: 'evm' as const, chain_id: 1, rpc_urls: ['http://127.0.0.1:1'] }
  await client.post('/api/v1/networks', { body: network })
  const policies = { allow_blind_typed_data: false }
  await addRelayer(client, { id: 'strict', network: 'mainnet', policies })
  await addRelayer(client, { id: 'lax', network: 'local', signer_id: 'strict' })
  const domain = { name: 'Token', chainId: 1, verifyingContract: `0x${'12'.repeat(20)}` }
  const body = { domain_separator: TypedDataEncoder.hashDomain(domain), hash_struct_message: '22'.repeat(32) }
  const path = { relayer_id: 'lax' }
  const status = await statusOf(client.post('/api/v1/relayers/{relayer_id}/sign-typed-data', { path, body }))
  return { found: `${status}`, holds: status === 403 }
}

/** Point 6: a keystore of 492 bytes whose decryption needs 3.2 GB. */
async function openACostlyKeystore({ child, client }: Scene): Promise<Reached> {
  const maxMs = 1_000
  const text = '11'.repeat(32)
  const crypto = {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: '11'.repeat(16) },
    ciphertext: text,
    kdf: 'scrypt',
    kdfparams: { dklen: 32, n: 2, r: 1, p: 2 ** 23, salt: text },
    mac: text,
  }
  const config = { keystore: { version: 3, crypto } as never, passphrase: 'none' }
  const beforeMb = memoryOf(child.pid as number)
  const began = performance.now()
  const status = await statusOf(client.post('/api/v1/signers', { body: { type: 'keystore', config } }))
  const tookMs = performance.now() - began
  const growthMb = memoryOf(child.pid as number) - beforeMb
  return {
    found: `${status} after ${tookMs.toFixed(0)} ms, +${growthMb.toFixed(0)} MB`,
    holds: status === 400 && tookMs < maxMs && growthMb < maxGrowthMb,
  }
}

/** Point 7: bodies of 1 MiB without their last byte, on as many connections as one key may open. */
async function holdBodies({ child, url, client }: Scene): Promise<Reached> {
  const count = 2_000
  const token = await limitedToken(client, 'sign')
  const head =
    `POST /api/v1/relayers/attacked/sign HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${mebibyte}\r\n\r\n`
  const bytes = Buffer.from(head.padEnd(head.length + mebibyte - 1, 'x'))
  const { hostname, port } = new URL(url)
  const beforeMb = memoryOf(child.pid as number)
  let mostMb = beforeMb
  const sockets = []
  for (let index = 0; index < count; index += 1) {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => undefined).resume()
    await Promise.race([once(socket, 'connect'), once(socket, 'close')])
    socket.write(bytes)
    sockets.push(socket)
    if (index % 100 === 0) mostMb = Math.max(mostMb, memoryOf(child.pid as number))
  }
  await pause(2_000)
  mostMb = Math.max(mostMb, memoryOf(child.pid as number))
  for (const socket of sockets) socket.destroy()
  const growthMb = mostMb - beforeMb
  return { found: `+${growthMb.toFixed(0)} MB`, holds: growthMb < maxGrowthMb }
}

/** Point 8: every event stream that there is; and the notification of another tenant. */
async function takeAllStreams({ url, client }: Scene): Promise<Reached> {
  const all = 1_000
  const token = await limitedToken(client, 'read', 'manage', 'notifications')
  const stop = new AbortController()
  const open = () => {
    const headers = { Authorization: `Bearer ${token}` }
    return fetch(`${url}/api/v1/relayers/attacked/events`, { headers, signal: stop.signal }).catch(() => undefined)
  }
  // Undici ends the stream of an answer that is collected as garbage.
  const answers = await Promise.all(Array.from({ length: all }, open))
  const opened = answers.filter((answer) => answer?.status === 200).length
  stop.abort()
  await client.post('/api/v1/notifications', { body: { id: 'foreign', url: 'http://127.0.0.1:1' } })
  const tenant = createRelayerClient({ baseUrl: url, token, maxRetries: 0, fetch: asOnlyWriter })
  const path = { notification_id: 'foreign' }
  const status = await statusOf(tenant.get('/api/v1/notifications/{notification_id}', { path }))
  return {
    found: `${opened} of ${all} streams; another tenant's notification: ${status}`,
    holds: opened <= all / 4 && status === 404,
  }
}

/** Point 10: a limited key's row is changed to every scope and every relayer, by direct access to the database. */
async function forgeAKey({ url, folder, client }: Scene): Promise<Reached> {
  const forged = createRelayerClient({
    baseUrl: url,
    token: await limitedToken(client, 'read'),
    maxRetries: 0,
    fetch: asOnlyWriter,
  })
  const db = new Database(join(folder, 'relayer.sqlite'), { timeout: 60_000 })
  db.exec(`UPDATE api_keys SET is_limited = 0, scopes = '["sign","send","read","notifications","manage"]';
    UPDATE generation SET value = value + 1`)
  db.close()
  const path = { relayer_id: 'demo' }
  const signing = forged.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hello' } })
  const status = await statusOf(signing)
  return { found: `${status}`, holds: status === 401 }
}
