import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { apiKey } from '../bench/processes.ts'
import { startAnvil } from '../support/anvil.ts'
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { json, rawRequest } from '../support/raw-http.ts'
import { withService } from './blocking.ts'
import type { Finding } from './finding.ts'
import { memoryOf } from './memory-of.ts'

// What requests hold while they wait: what another caller's sends, waits and reads take beside the attack, compared with without, and the
// memory that it takes.

const base = '/api/v1/relayers/{relayer_id}'
const receiver = `0x${'5a'.repeat(20)}`
const phaseMs = 6_000
const slowMs = 2_000
const maxRatio = 1.5
/** Less than this is noise of the machine. */
const smallMs = 100
const maxGrowthMb = 150
/** The default of the service, which the harness raises for other attacks. */
const usualRate = { per_second: 1_000, burst: 3_000 }

interface Stage {
  child: ChildProcess
  url: string
  client: RelayerClient
  proxy: FaultProxy
  /** Of a relayer that the attacker's key is limited to. */
  attacked: { id: string; address: string; token: string; usual: string }
}

type Attack = (stage: Stage, stop: AbortSignal) => Promise<unknown>

const attacks: { what: string; before: string; attack: Attack }[] = [
  {
    what: '5,000 pipelined waits on four sockets',
    before: 'waits of others end after 2 s, turns of 1.5 s',
    attack: waits,
  },
  { what: '200 pipelined pages of 1 MB, nothing read', before: '+730 MB', attack: unread },
  { what: '12 slow dry runs at a time', before: 'sends of others 49 ms to 4.6 s', attack: dryRuns },
  { what: '300 slow balances at a time', before: 'reads of others 45 ms to 12.3 s', attack: balances },
  { what: 'changes of twenty custom_rpc_urls, each used', before: '1,521 connections kept, +232 MB', attack: changes },
]

/** A part of `npm run test:hostile`. */
export async function shares(only: string): Promise<Finding[]> {
  const chain = await startAnvil({ blockTime_s: 1 })
  const proxy = await startFaultProxy(chain.url)
  try {
    return await withService(async (child, url) => {
      const client = createRelayerClient({ baseUrl: url, token: apiKey, fetch: asOnlyWriter })
      const attacked = await addRelayer(client)
      const { data: demo } = await client.get(base, { path: { relayer_id: 'demo' } })
      for (const { address } of [demo, attacked]) await chain.setBalance(address, 10n ** 24n)
      await fillPage(client)
      proxy.setLiar(async ({ method, params }) => {
        if (!['eth_estimateGas', 'eth_getBalance'].includes(method)) return undefined
        if (JSON.stringify(params).includes(attacked.address)) await pause(slowMs)
        return undefined
      })
      const stage = { child, url, client, proxy, attacked }
      await besideOf(stage, phaseMs / 4, async () => undefined)
      const findings: Finding[] = []
      const wanted = attacks.filter(({ what }) => new RegExp(only).test(what))
      for (const { what, before, attack } of wanted) findings.push(...(await measure(stage, what, before, attack)))
      return findings
    }, proxy.url)
  } finally {
    await proxy.stop()
    await chain.stop()
  }
}

async function addRelayer(client: RelayerClient): Promise<Stage['attacked']> {
  await client.post('/api/v1/signers', { body: { id: 'attacked', type: 'generated' } })
  const relayer = { id: 'attacked', name: 'attacked', network: 'local', network_type: 'evm' as const, paused: false }
  const { data } = await client.post('/api/v1/relayers', { body: { ...relayer, signer_id: 'attacked' } })
  const key = { name: 'attacker', scopes: ['read' as const, 'send' as const, 'manage' as const] }
  const created = await client.post('/api/v1/api-keys', { body: { ...key, relayer_ids: ['attacked'] } })
  const usual = await client.post('/api/v1/api-keys', {
    body: { ...key, name: 'usual', relayer_ids: ['attacked'], rate_limit: usualRate },
  })
  return { id: data.id, address: data.address, token: created.data.token, usual: usual.data.token }
}

/** A page of 1 MB. */
async function fillPage(client: RelayerClient): Promise<void> {
  const data = `0x${'ab'.repeat(60_000)}`
  for (let index = 0; index < 8; index += 1)
    await client.post(`${base}/transactions`, {
      path: { relayer_id: 'attacked' },
      body: { to: receiver, value: '0', data, gas_limit: 3_000_000 },
    })
}

type Times = Record<'send' | 'wait' | 'read', number[]>

async function measure(stage: Stage, what: string, before: string, attack: Attack): Promise<Finding[]> {
  const quiet = await besideOf(stage, phaseMs, async () => undefined)
  const [memoryMb, sockets] = [memoryOf(stage.child.pid as number), socketsOf(stage)]
  const busy = await besideOf(stage, phaseMs, attack)
  const growthMb = memoryOf(stage.child.pid as number) - memoryMb
  await pause(slowMs)
  const findings = (['send', 'wait', 'read'] as const).map((kind): Finding => {
    const [withoutMs, besideMs] = [p95(quiet[kind]), p95(busy[kind])]
    const ratio = besideMs / withoutMs
    const found = `${withoutMs.toFixed(0)} ms to ${besideMs.toFixed(0)} ms, ${ratio.toFixed(2)} times`
    const holds = ratio <= maxRatio || besideMs <= smallMs
    return {
      what: `${what}: p95 of another's ${kind}`,
      before,
      found,
      wanted: `${maxRatio} times, or ${smallMs} ms`,
      holds,
    }
  })
  const found = `+${growthMb.toFixed(0)} MB, +${socketsOf(stage) - sockets} sockets after it`
  return [
    ...findings,
    { what: `${what}: memory`, before, found, wanted: `+${maxGrowthMb} MB`, holds: growthMb < maxGrowthMb },
  ]
}

/** What another caller's requests take beside an attack. */
async function besideOf(stage: Stage, ms: number, attack: Attack): Promise<Times> {
  const { client } = stage
  const path = { relayer_id: 'demo' }
  const body = { to: receiver, value: '1' }
  const stop = new AbortController()
  const times: Times = { send: [], wait: [], read: [] }
  const repeat = async (kind: keyof Times, ask: () => Promise<unknown>) => {
    while (!stop.signal.aborted) {
      const began = performance.now()
      await ask()
      times[kind].push(performance.now() - began)
      await pause(20)
    }
  }
  const query = { wait: 'mined' as const, wait_seconds: 30 }
  const attacking = attack(stage, stop.signal)
  await Promise.all([
    repeat('send', () => client.post(`${base}/transactions`, { path, body })),
    repeat('wait', () => client.post(`${base}/transactions`, { path, body, query })),
    repeat('read', () => client.get(`${base}/balance`, { path })),
    pause(ms).then(() => stop.abort()),
  ])
  await attacking
  return times
}

const p95 = (times: number[]): number => times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? 0

const socketsOf = ({ child }: Stage): number => readdirSync(`/proc/${child.pid}/fd`).length

function openSocket(url: string): Socket {
  const { hostname, port } = new URL(url)
  return connect(Number(port), hostname).on('error', () => undefined)
}

const ended = async (stop: AbortSignal) => stop.aborted || once(stop, 'abort')

async function waits({ url, attacked }: Stage, stop: AbortSignal) {
  const body = JSON.stringify({ to: receiver, value: '1', gas_limit: 21_000 })
  const line = `POST /api/v1/relayers/attacked/transactions?wait=confirmed&wait_seconds=60`
  const request = rawRequest(line, [`Authorization: Bearer ${attacked.token}`, ...json(body)], body).toString()
  const sockets = Array.from({ length: 4 }, () => openSocket(url).resume())
  for (const socket of sockets) socket.write(request.repeat(1_250))
  await ended(stop)
  for (const socket of sockets) socket.destroy()
}

async function unread({ url, attacked }: Stage, stop: AbortSignal) {
  const line = 'GET /api/v1/relayers/attacked/transactions/?per_page=8'
  const socket = openSocket(url).pause()
  socket.write(
    rawRequest(line, [`Authorization: Bearer ${attacked.token}`])
      .toString()
      .repeat(200),
  )
  await ended(stop)
  socket.destroy()
}

/** Asks so many times at a time, without end. */
const asking = (count: number, stop: AbortSignal, ask: () => Promise<unknown>) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      while (!stop.aborted) await ask().catch(() => pause(20))
    }),
  )

const attackerOf = ({ url, attacked }: Stage, token = attacked.token) =>
  createRelayerClient({ baseUrl: url, token, maxRetries: 0, fetch: asOnlyWriter })

function dryRuns(stage: Stage, stop: AbortSignal) {
  const attacker = attackerOf(stage)
  const path = { relayer_id: 'attacked' }
  const body = { to: receiver, value: '1' }
  return asking(12, stop, () => attacker.post(`${base}/transactions/dry-run`, { path, body, signal: stop }))
}

function balances(stage: Stage, stop: AbortSignal) {
  const attacker = attackerOf(stage)
  return asking(300, stop, () => attacker.get(`${base}/balance`, { path: { relayer_id: 'attacked' }, signal: stop }))
}

async function changes(stage: Stage, stop: AbortSignal) {
  const attacker = attackerOf(stage, stage.attacked.usual)
  const path = { relayer_id: 'attacked' }
  const server = createServer(async (request, response) => {
    const asked = [JSON.parse((await request.toArray()).join(''))].flat()
    const answers = asked.map(({ id }: { id: number }) => ({ jsonrpc: '2.0', id, result: '0x7a69' }))
    response.end(JSON.stringify(answers.length === 1 ? answers[0] : answers))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const node = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let change = 0
  await asking(4, stop, async () => {
    change += 1
    const customRpcUrls = Array.from({ length: 20 }, (_, index) => `${node}/${change}-${index}`)
    await attacker.patch(base, { path, body: { custom_rpc_urls: customRpcUrls } })
    await attacker.get(`${base}/balance`, { path })
  })
  await attacker.patch(base, { path, body: { custom_rpc_urls: [] } }).catch(() => undefined)
  await stage.client.patch(base, { path, body: { custom_rpc_urls: [] } })
  await stage.client.get(`${base}/balance`, { path })
  server.closeAllConnections()
  server.close()
}
