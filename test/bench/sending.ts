import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Transaction } from 'ethers/transaction'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { node_flags } from './node-flags.ts'

// `npm run bench:sending [-- throughput rest tracked] [--runs 3] [--warm-up 0] [--json FILE] [--node-args ARGS]`: how fast
// one wallet sends on anvil with a block a second, and what that costs the service, which is a process of its own. On Linux
// (it reads /proc). Medians of the runs; each has a fresh chain and a fresh database.

const transactions = 1_500
const connections = 50
const rest_transactions = 100
const idle_transactions = 20
const tracked_counts = [10, 100, 1_000]
const tracked_ms = 10_000
const deadline_ms = 120_000
const api_key = 'bench'.repeat(8)
/** Of /proc's times. */
const clock_tick_ms = 10

/** What the best known service of its kind does on a machine of this size, and what is wanted of ours. */
const goals: Record<string, { peer?: number; wanted?: string }> = {
  accepted_per_s: { peer: 156, wanted: '>= 1000' },
  mined_per_s: { peer: 136, wanted: '>= 500' },
  cpu_ms_per_transaction: { peer: 6.5 },
  rss_peak_mb: { peer: 450, wanted: '<= 150' },
  broadcast_p50_ms: { wanted: '< 50 at rest' },
  ready_ms: { wanted: '<= 5000' },
  confirmed_after_ms: { wanted: '<= 60000' },
}

export type Figures = Record<string, number>

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string', default: '3' },
      'warm-up': { type: 'string', default: '0' },
      json: { type: 'string' },
      'node-args': { type: 'string', default: '' },
    },
  })
  const warm_up = Number(values['warm-up'])
  const node_args = values['node-args'].split(' ').filter(Boolean)
  const wanted = (part: string) => positionals.length === 0 || positionals.includes(part)
  const results: Result[] = []

  if (wanted('throughput')) {
    for (const [name, extra] of Object.entries({ 'gas_limit given': { gas_limit: 21_000 }, estimated: {} })) {
      results.push(await measure('throughput', name, Number(values.runs), () => throughput(extra, warm_up, node_args)))
    }
  }
  if (wanted('rest')) {
    results.push(
      await measure('POST to broadcast at rest', 'others unmined', 1, () => atRest(rest_transactions, false)),
    )
    results.push(await measure('POST to broadcast at rest', 'nothing else', 1, () => atRest(idle_transactions, true)))
  }
  if (wanted('tracked')) {
    for (const count of tracked_counts) {
      results.push(await measure('tracked, no blocks', String(count), 1, () => tracked(count, false)))
    }
    for (const count of tracked_counts) {
      results.push(await measure('tracked, blocks without them', String(count), 1, () => tracked(count, true)))
    }
  }
  const settings = { transactions, connections, warm_up, rest_transactions, idle_transactions, tracked_ms }
  report(results, values.json, settings)
}

/** From the first POST to the last receipt, at 50 connections. */
async function throughput(extra: object, warm_up: number, node_args: string[]): Promise<Figures> {
  const stage = await setStage({ node_args })
  try {
    const { chain, tap, service } = stage
    const before = await postAll(stage, warm_up, extra)
    await allConfirmed(stage, before.length)
    const cpu_before_ms = service.cpu_ms()
    const elsewhere_before_ms = elsewhere_ms()
    const marked_us = Number(process.hrtime.bigint() / 1_000n)
    const started_at = performance.now()
    const mined = lastReceiptAt(chain, stage.address, warm_up + transactions)
    const posts = await postAll(stage, transactions, extra)
    const accepted_at = performance.now()
    const mined_at = await mined
    await allConfirmed(stage, warm_up + transactions)
    const confirmed_at = performance.now()
    const cpu_ms = service.cpu_ms() - cpu_before_ms
    const elsewhere = (elsewhere_ms() - elsewhere_before_ms) / (confirmed_at - started_at)
    await assertMinedOnce(stage, warm_up + transactions)
    return {
      accepted_per_s: perSecond(transactions, accepted_at - started_at),
      mined_per_s: perSecond(transactions, mined_at - started_at),
      confirmed_per_s: perSecond(transactions, confirmed_at - started_at),
      ...percentilesOf('answered', answeredIn(posts)),
      ...percentilesOf('broadcast', broadcastIn(posts, tap.broadcasts())),
      cpu_ms_per_transaction: cpu_ms / transactions,
      rss_peak_mb: service.rss_peak_mb(),
      rpc_requests: tap.counts().requests ?? 0,
      // Of one core, in percent: what others took of the machine meanwhile, and spoilt the figures by.
      taken_by_others_percent: elsewhere * 100,
      // For whoever cuts a profile (--node-args --cpu-prof) to the load: microseconds of the clock that it has.
      ...(node_args.includes('--cpu-prof') && { from_us: marked_us, to_us: Number(process.hrtime.bigint() / 1_000n) }),
    }
  } finally {
    await stage.end()
  }
}

/** One transaction at a time; `idle`: each when none has been under way for a while, so that nothing is known of the chain. */
async function atRest(count: number, idle: boolean): Promise<Figures> {
  const stage = await setStage({})
  try {
    const posts: Post[] = []
    for (let index = 0; index < count; index += 1) {
      if (idle) await allConfirmed(stage, index)
      // Anywhere in a block, anywhere between two looks at the chain.
      await pause(Math.random() * (idle ? 1_000 : 250))
      posts.push(...(await postAll(stage, 1, { gas_limit: 21_000 })))
      await until(() => posts.every(({ nonce }) => stage.tap.broadcasts().has(nonce)))
    }
    return {
      ...percentilesOf('answered', answeredIn(posts)),
      ...percentilesOf('broadcast', broadcastIn(posts, stage.tap.broadcasts())),
    }
  } finally {
    await stage.end()
  }
}

/** What the chain is asked while so many transactions wait and none is mined. */
async function tracked(count: number, blocks: boolean): Promise<Figures> {
  const stage = await setStage({ mining: false })
  try {
    const { chain, tap, service } = stage
    await postAll(stage, count, { gas_limit: 21_000 })
    let last = -1
    await until(() => {
      const { eth_sendRawTransaction: sent = 0 } = tap.counts()
      const still = sent > 0 && sent === last
      last = sent
      return still
    }, 1_000)
    const before = { counts: tap.counts(), cpu_ms: service.cpu_ms() }
    const started_at = performance.now()
    while (performance.now() - started_at < tracked_ms) {
      await pause(1_000)
      if (blocks) await mineNone(chain)
    }
    const seconds = (performance.now() - started_at) / 1_000
    const counts = tap.counts()
    const made = (name: string) => (counts[name] ?? 0) - (before.counts[name] ?? 0)
    const calls = Object.keys(counts).reduce((sum, name) => (name === 'requests' ? sum : sum + made(name)), 0)
    const looks = made('eth_getTransactionCount')
    return {
      looks_per_s: looks / seconds,
      calls_per_look: calls / looks,
      calls_per_s: calls / seconds,
      of_them_sends_per_s: made('eth_sendRawTransaction') / seconds,
      http_requests_per_s: made('requests') / seconds,
      cpu_ms_per_look: (service.cpu_ms() - before.cpu_ms) / looks,
    }
  } finally {
    await stage.end()
  }
}

/** A block without transactions: its base fee is more than they pay. */
async function mineNone(chain: Anvil): Promise<void> {
  await chain.setBaseFee(10n ** 15n)
  await chain.mine()
}

export interface Post {
  nonce: number
  posted_at: number
  answered_at: number
}

/** Posts so many distinct transactions over kept connections; throws when one of them is not accepted. */
export async function postAll(stage: Stage, count: number, extra: object): Promise<Post[]> {
  const posts: Post[] = []
  const first = stage.posted
  stage.posted += count
  let next = first
  await Promise.all(
    Array.from({ length: Math.min(connections, count) }, async () => {
      while (next < first + count) {
        next += 1
        const body = JSON.stringify({ to: stage.receiver, value: String(next), ...extra })
        const posted_at = performance.now()
        const { status, text } = await post(stage, body)
        const answered_at = performance.now()
        if (status !== 201) throw new Error(`The service answers ${status}: ${text}`)
        posts.push({ nonce: JSON.parse(text).data.nonce, posted_at, answered_at })
      }
    }),
  )
  return posts
}

function post({ agent, service }: Stage, body: string): Promise<{ status: number | undefined; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      Authorization: `Bearer ${api_key}`,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
    }
    const outgoing = request(`${service.url}/api/v1/relayers/bench/transactions`, { method: 'POST', agent, headers })
    outgoing.once('error', reject)
    outgoing.once('response', (response) => {
      read(response).then((text) => resolve({ status: response.statusCode, text }), reject)
    })
    outgoing.end(body)
  })
}

export async function allConfirmed({ client }: Pick<Stage, 'client'>, count: number): Promise<void> {
  const path = { relayer_id: 'bench' }
  const query = { status: ['confirmed' as const], per_page: 0 }
  await until(async () => {
    const { pagination } = await client.get('/api/v1/relayers/{relayer_id}/transactions/', { path, query })
    return pagination.total_items >= count
  }, 200)
}

/** Each nonce once, and by the very transaction that the service shows for it. */
export async function assertMinedOnce({ chain, client, address }: Stage, count: number): Promise<void> {
  const shown: string[] = []
  const path = { relayer_id: 'bench' }
  for await (const { nonce, hash } of client.all('/api/v1/relayers/{relayer_id}/transactions/', { path })) {
    shown.push(`${nonce} ${hash}`)
  }
  const mined: string[] = []
  const head = Number(await chain.rpc('eth_blockNumber'))
  for (let number = 0; number <= head; number += 1) {
    const { transactions } = await chain.rpc<Block>('eth_getBlockByNumber', [`0x${number.toString(16)}`, true])
    for (const { from, nonce, hash } of transactions) {
      if (from.toLowerCase() === address.toLowerCase()) mined.push(`${Number(nonce)} ${hash}`)
    }
  }
  const isSame = new Set(shown).size === count && new Set([...shown, ...mined]).size === count
  if (!isSame || mined.length !== count) {
    throw new Error(`${count} were accepted; the service shows ${shown.length}, the chain ${mined.length}, or others`)
  }
}

interface Block {
  transactions: { from: string; nonce: string; hash: string }[]
}

async function lastReceiptAt(chain: Anvil, address: string, count: number): Promise<number> {
  await until(async () => Number(await chain.rpc('eth_getTransactionCount', [address, 'latest'])) >= count, 25)
  return performance.now()
}

export interface Stage {
  chain: Anvil
  tap: Tap
  service: ServiceProcess
  client: RelayerClient
  agent: Agent
  /** The relayer's. */
  address: string
  receiver: string
  /** How many were posted so far: what makes the next ones distinct. */
  posted: number
  /** The same database, the same port, another process. */
  restart(): Promise<void>
  end(): Promise<void>
}

export interface StageOptions {
  /** Blocks by the second; false: by request. Default true. */
  mining?: boolean
  node_args?: string[]
  anvil_args?: string[]
}

/** A chain, a proxy that counts, a service in production's settings, and one funded relayer, `bench`. */
export async function setStage({ mining = true, node_args = [], anvil_args = [] }: StageOptions): Promise<Stage> {
  const chain = await startAnvil({ ...(mining ? { blockTime_s: 1 } : { noMining: true }), args: anvil_args })
  const tap = await startTap(chain.url)
  const data_dir = mkdtempSync(join(tmpdir(), 'relayer-bench-'))
  const service = await startProcess(data_dir, node_args)
  const client = createRelayerClient({ baseUrl: service.url, token: api_key })
  const [sender, receiver] = chain.accounts
  if (!sender || !receiver) throw new Error('The chain has no accounts')
  await client.post('/api/v1/networks', {
    body: { name: 'bench', network_type: 'evm', chain_id: chain.chain_id, rpc_urls: [tap.url] },
  })
  await client.post('/api/v1/signers', { body: { id: 'bench', type: 'plain', config: { key: sender.key } } })
  await client.post('/api/v1/relayers', {
    body: { id: 'bench', name: 'Bench', network: 'bench', network_type: 'evm', paused: false, signer_id: 'bench' },
  })

  const stage: Stage = {
    ...{ chain, tap, service, client },
    agent: new Agent({ keepAlive: true, maxSockets: connections }),
    ...{ address: sender.address, receiver: receiver.address, posted: 0 },
    async restart() {
      stage.service = await startProcess(data_dir, node_args, new URL(service.url).port)
    },
    async end() {
      stage.agent.destroy()
      await stage.service.stop('SIGTERM')
      await chain.stop()
      await tap.stop()
      rmSync(data_dir, { recursive: true, force: true })
    },
  }
  return stage
}

export interface ServiceProcess {
  url: string
  /** From the start of the process to the first `ready`. */
  ready_ms: number
  /** User and system time so far. */
  cpu_ms(): number
  rss_peak_mb(): number
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

async function startProcess(data_dir: string, node_args: string[], port = '0'): Promise<ServiceProcess> {
  const started_at = performance.now()
  const child = spawn(process.execPath, [...node_args, ...node_flags, 'server/main.ts'], {
    cwd: join(import.meta.dirname, '..', '..'),
    env: {
      ...{ NODE_ENV: 'production', ALLOW_PRIVATE_TARGETS: 'true', DATA_DIR: data_dir, PORT: port },
      ...{ API_KEY: api_key, MASTER_KEY: '11'.repeat(32) },
      ...{ RATE_LIMIT_PER_SECOND: '1000000', RATE_LIMIT_BURST: '1000000' },
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const gone = once(child, 'exit').then(() => process.off('exit', kill))
  const url = await urlOf(child)
  await until(() => fetch(`${url}/api/v1/ready`).then(({ ok }) => ok), 5)
  const ready_ms = performance.now() - started_at
  return {
    ...{ url, ready_ms },
    cpu_ms: () => cpuOf_ms(child.pid ?? 0),
    rss_peak_mb: () => Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1_024,
    async stop(signal) {
      child.kill(signal)
      await gone
    },
  }
}

/** User and system time of a process. */
function cpuOf_ms(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * clock_tick_ms
}

/** What all processes but this one and its children have taken of the machine so far. */
function elsewhere_ms(): number {
  const [, user, nice, system, , , irq, softirq] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').split(
    /\s+/,
  )
  const all_ms = [user, nice, system, irq, softirq].reduce((sum, ticks) => sum + Number(ticks), 0) * clock_tick_ms
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ').map(Number)
  return [process.pid, ...children].reduce((left, pid) => left - cpuOf_ms(pid), all_ms)
}

function urlOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.once('exit', () => reject(new Error(`The service does not start:\n${said}`)))
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      said += text
      const url = /API\s+(http\S+)\/api\/v1/.exec(said)?.[1]
      if (!url) return
      resolve(url)
      child.stdout?.removeAllListeners('data').on('data', (line) => /"level":[56]0/.test(line) && say(line))
    })
  })
}

export interface Tap {
  url: string
  /** HTTP `requests`, and calls by method. */
  counts(): Record<string, number>
  /** By nonce: when the chain was first handed it. */
  broadcasts(): Map<number, number>
  stop(): Promise<void>
}

/** Passes JSON-RPC on to the node and notes when what came; it reads the notes only when asked, not under load. */
async function startTap(target: string): Promise<Tap> {
  const agent = new Agent({ keepAlive: true })
  const unread: { at: number; body: string }[] = []
  const counted: Record<string, number> = {}
  const sent = new Map<number, number>()
  const server = createServer(async (incoming, response) => {
    const body = await read(incoming)
    unread.push({ at: performance.now(), body })
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    const outgoing = request(target, { method: 'POST', agent, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, { 'Content-Type': 'application/json' })
      answer.pipe(response)
    })
    outgoing.once('error', () => response.destroy())
    outgoing.end(body)
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const note = () => {
    for (const { at, body } of unread.splice(0)) {
      counted.requests = (counted.requests ?? 0) + 1
      for (const { method, params } of [JSON.parse(body)].flat()) {
        counted[method] = (counted[method] ?? 0) + 1
        if (method !== 'eth_sendRawTransaction') continue
        const { nonce } = Transaction.from(params[0])
        if (!sent.has(nonce)) sent.set(nonce, at)
      }
    }
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts() {
      note()
      return { ...counted }
    },
    broadcasts() {
      note()
      return sent
    },
    async stop() {
      agent.destroy()
      server.close()
      server.closeAllConnections()
    },
  }
}

async function read(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

export async function until(holds: () => boolean | Promise<boolean>, every_ms = 1): Promise<void> {
  const end = performance.now() + deadline_ms
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`It does not come true within ${deadline_ms} ms: ${holds}`)
    await pause(every_ms)
  }
}

const answeredIn = (posts: Post[]): number[] => posts.map(({ posted_at, answered_at }) => answered_at - posted_at)

const broadcastIn = (posts: Post[], broadcasts: Map<number, number>): number[] =>
  posts.map(({ nonce, posted_at }) => (broadcasts.get(nonce) ?? Number.NaN) - posted_at)

const percentilesOf = (name: string, values: number[]): Figures =>
  Object.fromEntries([50, 95, 99].map((at) => [`${name}_p${at}_ms`, percentile(values, at)]))

function percentile(values: number[], at: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * at) / 100))] ?? Number.NaN
}

const perSecond = (count: number, duration_ms: number): number => (count * 1_000) / duration_ms

export interface Result {
  /** Results of one part stand in one table. */
  part: string
  name: string
  median: Figures
  runs: Figures[]
}

export async function measure(part: string, name: string, times: number, run: () => Promise<Figures>): Promise<Result> {
  const runs: Figures[] = []
  for (let index = 0; index < times; index += 1) runs.push(await run())
  const figures = Object.keys(runs[0] ?? {})
  const median = figures.map((figure) => [
    figure,
    percentile(
      runs.map((one) => one[figure] ?? Number.NaN),
      50,
    ),
  ])
  return { part, name, median: Object.fromEntries(median), runs }
}

/** A table for each part, and all runs in a file, if one is asked for. */
export function report(results: Result[], file: string | undefined, settings: object): void {
  for (const part of new Set(results.map((result) => result.part))) {
    const columns = results.filter((result) => result.part === part)
    say(`\n${[part.padEnd(30), ...[...columns.map(({ name }) => name), 'peer', 'wanted'].map(cell)].join('')}`)
    for (const figure of Object.keys(columns[0]?.median ?? {})) {
      const { peer = '', wanted = '' } = goals[figure] ?? {}
      const cells = [...columns.map(({ median }) => (median[figure] ?? Number.NaN).toFixed(1)), String(peer), wanted]
      say([figure.padEnd(30), ...cells.map(cell)].join(''))
    }
  }
  if (file === undefined) return
  const machine = { cpus: availableParallelism(), model: cpus()[0]?.model, node: process.version }
  writeFileSync(file, `${JSON.stringify({ at: new Date().toISOString(), machine, settings, goals, results })}\n`)
}

const cell = (text: string): string => text.padStart(17)

export function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

if (import.meta.main) await main()
