import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createRelayerClient } from '../../client/index.ts'
import type { WebhookEvent } from '../../generated/openapi.ts'
import { createVictim } from '../crash/victim.ts'
import { asOnlyWriter } from '../support/only-writer.ts'

// `npm run bench:webhooks [-- --rounds 12 --seconds 4]`: from an event to its arrival at 19 targets, while the 20th answers like
// them and while it takes connections and never answers, in turns. The service is a process of its own.

const healthyCount = 19
/** The 20th has so many relayers, so that all deliveries it may have open at once are open, and more wait. */
const holedRelayers = 20
const healthyPeriodMs = 200
const holedPeriodMs = 500
/** After each change nothing is counted for so long. */
const warmUpMs = 2_000
const goalMs = 50
/** What the hole has left is tried again, and gone, before anything is counted without one. */
const settings = { LOG_LEVEL: 'fatal', WEBHOOK_TIME_SCALE: '0.01' }

type Side = 'with' | 'without'

async function main(): Promise<void> {
  const options = { rounds: { type: 'string', default: '12' }, seconds: { type: 'string', default: '4' } } as const
  const { values } = parseArgs({ options })
  const folder = mkdtempSync(join(tmpdir(), 'relayer-bench-'))
  /** A list a round. */
  const latenciesMs: Record<Side, number[][]> = { with: [], without: [] }
  const targets = await startTargets((side, latencyMs) => latenciesMs[side].at(-1)?.push(latencyMs))
  const victim = await createVictim(folder, undefined, settings)
  const stopping = new AbortController()
  try {
    await victim.start()
    await victim.ready()
    const toggles = await setUp(victim, targets.url)
    const running = toggles.map(({ toggle, period_ms }) => repeat(toggle, period_ms, stopping.signal))
    for (let round = 0; round < Number(values.rounds); round += 1) {
      for (const side of ['without', 'with'] as const) {
        targets.setHole(side === 'with')
        await pause(warmUpMs)
        latenciesMs[side].push([])
        targets.count(side)
        await pause(Number(values.seconds) * 1_000)
        targets.count(undefined)
      }
    }
    stopping.abort()
    await Promise.all(running)
    report(latenciesMs, targets.held())
  } finally {
    stopping.abort()
    await victim.kill().catch(() => {})
    targets.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `/0` to `/18` answer at once, and so does `/hole` unless it is one. */
async function startTargets(measured: (side: Side, latencyMs: number) => unknown) {
  const held = new Set<ServerResponse>()
  let side: Side | undefined
  let isHole = false
  let most = 0
  const server = createServer(async (request, response) => {
    const at = Date.now()
    const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>)
    if (request.url === '/hole' && isHole) {
      held.add(response.once('close', () => held.delete(response)))
      most = Math.max(most, held.size)
      return
    }
    response.writeHead(204).end()
    const { timestamp } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as WebhookEvent
    if (request.url !== '/hole' && side) measured(side, at - Date.parse(timestamp))
  })
  server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The most that the hole has held at once. */
    held: () => most,
    count(next: Side | undefined) {
      side = next
    },
    setHole(next: boolean) {
      isHole = next
      for (const response of held) response.destroy()
    },
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}

async function setUp({ url, token }: { url: string; token: string }, targets: string) {
  const client = createRelayerClient({ baseUrl: url, token, fetch: asOnlyWriter })
  const network = { network: 'bench', network_type: 'evm' } as const
  const rpcUrls = ['http://127.0.0.1:1']
  await client.post('/api/v1/networks', {
    body: { name: 'bench', network_type: 'evm', chain_id: 31_337, rpc_urls: rpcUrls },
  })
  const ids = [...Array.from({ length: healthyCount }, (_, index) => `${index}`), 'hole']
  for (const id of ids)
    await client.post('/api/v1/notifications', { body: { id, url: `${targets}/${id}`, signing_key: id } })

  const add = async (notificationId: string, name: string, periodMs: number) => {
    const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
    const relayer = { id: name, name, ...network, paused: false, signer_id: signer.id, notification_id: notificationId }
    await client.post('/api/v1/relayers', { body: relayer })
    let paused = false
    const toggle = async () => {
      paused = !paused
      await client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: name }, body: { paused } })
    }
    return { toggle, period_ms: periodMs }
  }
  const toggles = []
  for (const id of ids.slice(0, healthyCount)) toggles.push(await add(id, `relayer-${id}`, healthyPeriodMs))
  for (let index = 0; index < holedRelayers; index += 1) {
    toggles.push(await add('hole', `holed-${index}`, holedPeriodMs))
  }
  return toggles
}

async function repeat(toggle: () => Promise<void>, periodMs: number, signal: AbortSignal): Promise<void> {
  await pause(Math.random() * periodMs)
  while (!signal.aborted) {
    const next = performance.now() + periodMs
    await toggle()
    await pause(Math.max(0, next - performance.now()))
  }
}

/** The medians of the rounds' percentiles: what else the machine does spoils a round, and not the figure. */
function report(latenciesMs: Record<Side, number[][]>, held: number): void {
  const percentile = (numbers: number[], share: number) =>
    numbers.toSorted((a, b) => a - b)[Math.ceil(share * numbers.length) - 1] ?? Number.NaN
  const median = (side: Side, share: number) =>
    percentile(
      latenciesMs[side].map((round) => percentile(round, share)),
      0.5,
    )
  const say = (text: string) => process.stdout.write(`${text}\n`)
  say(`From an event to its arrival at ${healthyCount} targets; the black hole held ${held} at once`)
  for (const side of ['without', 'with'] as const) {
    const rounds = latenciesMs[side]
    const [p50, p99, all] = [median(side, 0.5), median(side, 0.99), percentile(rounds.flat(), 0.99)]
    say(
      `  ${side.padEnd(8)} the black hole: p50 ${p50} ms, p99 ${p99} ms; p99 of all ${rounds.flat().length}: ${all} ms`,
    )
    say(`    p99 by round: ${rounds.map((round) => percentile(round, 0.99)).join(' ')}`)
  }
  const moved = median('with', 0.99) - median('without', 0.99)
  say(`  p99 moves by ${moved} ms (wanted: less than ${goalMs} ms)`)
  if (!(moved < goalMs)) process.exitCode = 1
}

if (import.meta.main) await main()
