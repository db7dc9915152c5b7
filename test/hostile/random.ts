import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { api_key } from '../bench/processes.ts'
import { startAnvil } from '../support/anvil.ts'
import { operations } from '../support/contract.ts'
import { withService } from './blocking.ts'
import type { Finding } from './finding.ts'
import { bodiesOf } from './shapes.ts'
import { table } from './table.ts'
import type { Wide } from './wide.ts'

const idle_ms = 10_000
const rate = { per_second: 10, burst: 20 }
const at_once = 16
/** Between two signatures of another caller. */
const sign_ms = 25
/** Between two transactions of another caller. */
const send_ms = 500
const max_factor = 3
/** Below this the factor of a latency says nothing. */
const least_ms = 5
const max_growth_mb = 150
const end_ms = 60_000
const seed = 13

/** Weights of the operations that a limited key sends in the worst form that is known. */
const weights: Record<string, number> = {
  ...{ sendTransaction: 8, replaceTransaction: 2, cancelPendingTransactions: 1, dryRunTransaction: 4, callRpc: 4 },
  ...{ signMessage: 4, signTypedDataFull: 4, signTransaction: 4, listTransactions: 4, streamEvents: 2, getNonce: 1 },
}

/** Random requests of a key that is limited to one relayer, and what others notice of them, for so many minutes. */
export async function random(minutes: number): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const processes of [1, 2]) {
    const chain = await startAnvil({ blockTime_s: 1 })
    try {
      const attack = (url: string, pid: number) => attackFor(minutes * 60_000, url, pid, chain.setBalance)
      const found = await withService((child, url) => attack(url, child.pid as number), chain.url, {
        RELAYER_PROCESSES: `${processes}`,
      })
      findings.push(...found.map((finding) => ({ ...finding, what: `${processes} process(es): ${finding.what}` })))
    } finally {
      await chain.stop()
    }
  }
  return findings
}

async function attackFor(
  duration_ms: number,
  url: string,
  pid: number,
  setBalance: (address: string, balance: bigint) => Promise<void>,
): Promise<Finding[]> {
  const client = createRelayerClient({ baseUrl: url, token: api_key })
  for (const id of ['demo', 'attacked']) {
    if (id !== 'demo') await addRelayer(client, id)
    const { address } = (await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: id } })).data
    await setBalance(address, 10n ** 24n)
  }
  const key = {
    name: 'limited',
    scopes: ['sign' as const, 'send' as const, 'read' as const],
    relayer_ids: ['attacked'],
  }
  const { token } = (await client.post('/api/v1/api-keys', { body: { ...key, rate_limit: rate } })).data

  const others = watch(client)
  await pause(idle_ms)
  const idle_p99 = others.p99()
  const idle_mb = memoryOf(pid)

  let sent = 0
  const end = performance.now() + duration_ms
  const requests = fc.sample(requestArbitrary(), { seed, numRuns: 5_000 })
  await Promise.all(
    Array.from({ length: at_once }, async () => {
      while (performance.now() < end) {
        const request = requests[sent % requests.length] as Wide
        sent += 1
        await attackOnce(url, token, request)
      }
    }),
  )
  const attacked_p99 = others.p99()
  const growth_mb = memoryOf(pid) - idle_mb
  const { failures, lost, accepted } = await others.end()
  const limit_ms = max_factor * Math.max(idle_p99, least_ms)
  const line = (what: string, found: string, wanted: string, holds: boolean): Finding => ({
    what,
    found,
    wanted,
    holds,
  })
  return [
    line(
      `p99 of other callers' signatures (idle ${idle_p99.toFixed(1)} ms), ${sent} hostile requests`,
      `${attacked_p99.toFixed(1)} ms`,
      `at most ${limit_ms.toFixed(1)} ms`,
      attacked_p99 <= limit_ms,
    ),
    line('memory', `+${growth_mb.toFixed(0)} MB`, `at most ${max_growth_mb} MB`, growth_mb <= max_growth_mb),
    line(`failures of other callers ${failures.slice(0, 3)}`, `${failures.length}`, '0', failures.length === 0),
    line(`of ${accepted} transactions of others, not confirmed`, `${lost}`, '0', lost === 0 && accepted > 0),
  ]
}

async function addRelayer(client: RelayerClient, id: string): Promise<void> {
  await client.post('/api/v1/signers', { body: { id, type: 'generated' } })
  const relayer = { id, name: id, network: 'local', network_type: 'evm' as const, paused: false, signer_id: id }
  await client.post('/api/v1/relayers', { body: relayer })
}

/** The worst requests that are known, and bodies of any shape. */
function requestArbitrary(): fc.Arbitrary<Wide> {
  const stored = { rows: 1_000, unfinished: [], api_keys: [] }
  const ours = (path: string) => path.replace(/\/relayers\/(?:demo|full|\{relayer_id\})/, '/relayers/attacked')
  const worst = Object.entries(weights).flatMap(([id, weight]) =>
    (table[id]?.(stored, 0) ?? []).map((request) => ({
      weight,
      arbitrary: fc.constant({ ...request, path: ours(request.path) }),
    })),
  )
  const shaped = operations
    .filter(({ id, bodies }) => id in weights && Object.keys(bodies).length > 0)
    .map((operation) => {
      const type = Object.keys(operation.bodies)[0] as string
      const bodies = [...bodiesOf(operation)]
      const { method, path } = operation
      const arbitrary = fc.nat(bodies.length - 1).map((index): Wide => {
        const { name, text } = bodies[index] as { name: string; text: string }
        return { name, method, type, path: ours(path).replaceAll(/\{\w+\}/g, 'none'), body: text }
      })
      return { weight: 1, arbitrary }
    })
  return fc.oneof(...worst, ...shaped)
}

async function attackOnce(url: string, token: string, { method, path, type, body, stream }: Wide): Promise<void> {
  const headers: Record<string, string> = { Authorization: `Bearer ${token}` }
  if (body !== undefined && type !== undefined) headers['Content-Type'] = type
  if (stream) headers['Last-Event-ID'] = '0'
  const init = {
    method,
    headers,
    signal: AbortSignal.timeout(stream ? 1_000 : 30_000),
    ...(body !== undefined && { body }),
  }
  const answer = await fetch(`${url}${path}`, init).catch(() => undefined)
  await answer?.arrayBuffer().catch(() => undefined)
  if (answer?.status === 429) await pause(Math.random() * 200)
}

/** Other callers: signatures and transactions at a steady rate, all of which have to succeed. */
function watch(client: RelayerClient) {
  const path = { relayer_id: 'demo' }
  const failures: string[] = []
  const ids: string[] = []
  const running: Promise<void>[] = []
  let durations: number[] = []
  let value = 0
  const noted = (work: Promise<unknown>) =>
    running.push(
      work.then(
        () => undefined,
        (error) => void failures.push(`${error}`),
      ),
    )
  const sign = async () => {
    const began = performance.now()
    await client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hello' } })
    durations.push(performance.now() - began)
  }
  const send = async () => {
    value += 1
    const body = { to: `0x${'5a'.repeat(20)}`, value: `${value}`, gas_limit: 21_000 }
    ids.push((await client.post('/api/v1/relayers/{relayer_id}/transactions', { path, body })).data.id)
  }
  const timers = [setInterval(() => noted(sign()), sign_ms), setInterval(() => noted(send()), send_ms)]
  return {
    /** Of the signatures since it was asked last, in milliseconds. */
    p99(): number {
      const sorted = durations.sort((a, b) => a - b)
      durations = []
      return sorted[Math.floor(sorted.length * 0.99)] ?? Number.POSITIVE_INFINITY
    },
    async end() {
      for (const timer of timers) clearInterval(timer)
      await Promise.all(running)
      const unfinished = new Set(ids)
      const end = performance.now() + end_ms
      while (unfinished.size > 0 && performance.now() < end) {
        for (const transaction_id of unfinished) {
          const route = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
          const { data } = await client.get(route, { path: { ...path, transaction_id } })
          if (data.status === 'confirmed') unfinished.delete(transaction_id)
        }
        await pause(500)
      }
      return { failures, lost: unfinished.size, accepted: ids.length }
    },
  }
}

/** Of a process and those that it started. */
function memoryOf(pid: number): number {
  const own = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.reduce((sum, child) => sum + memoryOf(Number(child)), own)
}
