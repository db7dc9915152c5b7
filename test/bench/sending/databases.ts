import { setTimeout as pause } from 'node:timers/promises'
import { createRelayerClient } from '../../../client/index.ts'
import { asOnlyWriter } from '../../support/only-writer.ts'
import type { CaseResult, Ratio } from '../case.ts'
import { put } from '../load.ts'
import type { LoadRequest } from '../load-types.ts'
import { type Figures, percentile } from '../measure.ts'
import { perSecond } from './figures.ts'
import { allConfirmed, assertMinedOnce, lastReceiptAt } from './load.ts'
import { type Postgres, query, startBenchPostgres } from './postgres.ts'
import { holdTo, pinTo, release } from './quota.ts'
import { apiKey } from './service-process.ts'
import { connections, type Stage, setStage } from './stage.ts'
import { until } from './until.ts'

export interface DatabasesOptions {
  /** How many servers on PostgreSQL, a contender each. SQLite is another one, with one server. */
  servers: number[]
  rounds: number
  /** Of load, in whole seconds. */
  seconds: number
  node_args: string[]
  /** The folder of another working copy, whose service is measured too. */
  against?: string | undefined
  /** Each server is held to such a part of a core, and PostgreSQL to a core of its own. */
  quota?: number | undefined
}

interface Contender {
  name: string
  stage: Stage
  /** In PostgreSQL. */
  database?: { name: string; url: string }
}

const relayerCount = 10
const signingConnections = 32
/** Shorter than in the other parts: few seconds of load would otherwise be told in few blocks. */
const blockMs = 250
const latencySamples = 30
const latencyPauseMs = 100
/** For each server, before the first round. */
const warmUpAmounts = { transactions: 500, signatures: 1_000 }

const parts = ['1 relayer', `${relayerCount} relayers`, 'at rest, and signatures'] as const
type Part = (typeof parts)[number]

/** SQLite and PostgreSQL side by side: all servers run all the time and are under load in turns. A result for each part. */
export async function databases(options: DatabasesOptions): Promise<Record<Part, CaseResult>> {
  const postgres = await startBenchPostgres()
  const contenders: Contender[] = []
  if (options.quota) pinTo(postgres.pid, 0)
  const held: number[] = []
  try {
    const settings = { relayers: relayerCount, block_ms: blockMs, node_args: options.node_args }
    const versions = [{ suffix: '', roots: {} }]
    if (options.against) versions.push({ suffix: ` (${options.against})`, roots: { root: options.against } })
    for (const { suffix, roots } of versions) {
      contenders.push({ name: `SQLite${suffix}`, stage: await setStage({ ...settings, ...roots }) })
      for (const servers of options.servers) {
        const name = `database_${contenders.length}`
        const url = await postgres.create(name)
        const stage = await setStage({ ...settings, ...roots, servers, database_url: url })
        contenders.push({ name: `${nameOf(servers)}${suffix}`, stage, database: { name, url } })
      }
    }
    for (const contender of contenders) {
      await warmUp(contender)
      if (options.quota === undefined) continue
      for (const { pid } of serversOf(contender.stage)) {
        holdTo(pid, options.quota)
        held.push(pid)
      }
    }

    const rounds = Object.fromEntries(parts.map((part) => [part, {}])) as Record<Part, Record<string, Figures[]>>
    const note = (part: Part, { name }: Contender, figures: Figures) => {
      rounds[part][name] = [...(rounds[part][name] ?? []), figures]
    }
    for (let round = 0; round < options.rounds; round += 1) {
      for (const contender of contenders) {
        const waits = await broadcastsAtRest(contender)
        note('1 relayer', contender, await send(contender, 1, options.seconds, postgres))
        note('10 relayers', contender, await send(contender, relayerCount, options.seconds, postgres))
        note('at rest, and signatures', contender, { ...waits, ...(await sign(contender, options.seconds)) })
      }
    }
    for (const { stage } of contenders) await assertMinedOnce(stage, await acceptedBy(stage))
    return Object.fromEntries(
      parts.map((part) => [part, { rounds: rounds[part], ...wantedOf(part, options.servers) }]),
    ) as Record<Part, CaseResult>
  } finally {
    for (const { stage } of contenders) await stage.end()
    for (const pid of held) release(pid)
    await postgres.stop()
  }
}

const nameOf = (servers: number) => (servers === 1 ? 'PostgreSQL' : `PostgreSQL, ${servers} servers`)

const serversOf = ({ service, others }: Stage) => [service, ...others]

async function warmUp({ stage }: Contender): Promise<void> {
  for (const { url } of serversOf(stage)) {
    await putAll([url], transfers(stage, relayerCount), connections, { amount: warmUpAmounts.transactions })
    await putAll([url], [signature], signingConnections, { amount: warmUpAmounts.signatures })
  }
  await allConfirmed(stage, await acceptedBy(stage))
}

/** From a POST to the broadcast, one transaction at a time. With several servers: by a server that does not send for the relayer. */
async function broadcastsAtRest({ stage, database }: Contender): Promise<Figures> {
  const [relayer] = stage.relayers
  if (!relayer) throw new Error('There is no relayer')
  const waits: number[] = []
  for (let sent = 0; waits.length < latencySamples && sent < 2 * latencySamples; sent += 1) {
    await pause(Math.random() * latencyPauseMs)
    const all = serversOf(stage)
    const sender = all.length > 1 && database ? await senderOf(database.url, relayer.id) : undefined
    const others = all.filter(({ pid }) => pid !== sender)
    const client = createRelayerClient({
      baseUrl: others[sent % others.length]?.url ?? '',
      token: apiKey,
      fetch: asOnlyWriter,
    })
    const before = stage.tap.sends().length
    const postedAt = performance.now()
    await client.post('/api/v1/relayers/{relayer_id}/transactions', {
      path: { relayer_id: relayer.id },
      body: transfer(stage),
    })
    await until(() => stage.tap.sends().length > before)
    // A relayer without work for a while has no lease: this transaction has brought it one, for the next.
    if (all.length > 1 && sender === undefined) continue
    waits.push((stage.tap.sends()[before] ?? Number.NaN) - postedAt)
  }
  await allConfirmed(stage, await acceptedBy(stage))
  return { broadcast_p50_ms: percentile(waits, 50), broadcast_p95_ms: percentile(waits, 95) }
}

/** The process that has the relayer's lease, if one has. */
async function senderOf(databaseUrl: string, relayerId: string): Promise<number | undefined> {
  const [sender] = await query<{ name: string }>(
    databaseUrl,
    `SELECT servers.name FROM work_leases JOIN servers ON servers.row_id = server_row_id
     JOIN relayers ON relayers.row_id = work_leases.row_id WHERE kind = 'sender' AND relayers.id = '${relayerId}'`,
  )
  return sender && Number(sender.name.split(' ').at(-1))
}

/** Transactions as fast as they are accepted, and until the last one is confirmed. */
async function send(contender: Contender, relayers: number, seconds: number, postgres: Postgres): Promise<Figures> {
  const { stage } = contender
  const before = { count: await acceptedBy(stage), ...(await spentBy(contender, postgres)) }
  const urls = serversOf(stage).map(({ url }) => url)
  const startedAt = performance.now()
  const acceptedPerS = await putAll(urls, transfers(stage, relayers), connections, { seconds })
  // With those whose answers nobody waited for in the end.
  const total = await acceptedBy(stage)
  const minedAt = await lastReceiptAt(stage, total)
  await allConfirmed(stage, total)
  const after = await spentBy(contender, postgres)
  const count = total - before.count
  return {
    accepted_per_s: acceptedPerS,
    mined_per_s: perSecond(count, minedAt - startedAt),
    servers_cpu_ms: (after.servers_ms - before.servers_ms) / count,
    postgres_cpu_ms: (after.postgres_ms - before.postgres_ms) / count,
    statements: (after.statements - before.statements) / count,
    commits: (after.commits - before.commits) / count,
  }
}

/** So far. The figures of PostgreSQL are NaN for SQLite. */
async function spentBy({ stage, database }: Contender, postgres: Postgres) {
  const none = { statements: Number.NaN, commits: Number.NaN }
  return {
    servers_ms: serversOf(stage).reduce((sum, server) => sum + server.cpu_ms(), 0),
    postgres_ms: database ? postgres.cpu_ms() : Number.NaN,
    ...(database ? await postgres.counts(database.name) : none),
  }
}

async function sign({ stage }: Contender, seconds: number): Promise<Figures> {
  const urls = serversOf(stage).map(({ url }) => url)
  return { signatures_per_s: await putAll(urls, [signature], signingConnections, { seconds }) }
}

/** Answers a second of all servers together, which have equal shares of the connections. */
async function putAll(urls: string[], requests: LoadRequest[], count: number, duration: object): Promise<number> {
  const startedAt = performance.now()
  const taken = await Promise.all(
    urls.map((url, index) => {
      const share = Math.floor((count + index) / urls.length)
      return put({ url, pid: process.pid, requests, connections: share, seconds: 1, ...duration })
    }),
  )
  const elapsedMs = performance.now() - startedAt
  const failed = taken.flatMap((one) => one.failed)
  if (failed.length > 0) throw new Error(`${failed.length} requests failed: ${[...new Set(failed)].slice(0, 5)}`)
  return perSecond(
    taken.reduce((sum, one) => sum + one.count, 0),
    elapsedMs,
  )
}

/** Transactions of all relayers together. */
async function acceptedBy({ client, relayers }: Stage): Promise<number> {
  const pages = await Promise.all(
    relayers.map(({ id }) =>
      client.get('/api/v1/relayers/{relayer_id}/transactions/', { path: { relayer_id: id }, query: { per_page: 0 } }),
    ),
  )
  return pages.reduce((sum, { pagination }) => sum + pagination.total_items, 0)
}

const transfer = ({ receiver }: Stage) => ({ to: receiver, value: '1', gas_limit: 21_000 })

const transfers = (stage: Stage, relayers: number): LoadRequest[] =>
  stage.relayers.slice(0, relayers).map(({ id }) => post(`${id}/transactions`, transfer(stage)))

const post = (path: string, body: object): LoadRequest => ({
  method: 'POST',
  path: `/api/v1/relayers/${path}`,
  headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})

const signature = post('bench/sign', { message: 'Hello, this is a message of a common length.' })

function wantedOf(part: Part, servers: number[]): Pick<CaseResult, 'ratios' | 'limits'> {
  const one = nameOf(1)
  const ratio = (figure: string, over: string, under: string, wanted?: string): Ratio => ({
    figure,
    over,
    under,
    ...(wanted && { wanted }),
  })
  const more = servers.filter((count) => count > 1)
  const has = (count: number) => servers.includes(count)
  if (part === 'at rest, and signatures') {
    return {
      ratios: has(1)
        ? [
            ratio('signatures_per_s', one, 'SQLite', '>= 0.8'),
            ...more.map((count) => ratio('signatures_per_s', nameOf(count), one)),
          ]
        : [],
      limits: more.map((count) => ({ contender: nameOf(count), figure: 'broadcast_p50_ms', wanted: '<= 100' })),
    }
  }
  return {
    ratios: has(1)
      ? [
          ratio('accepted_per_s', one, 'SQLite', '>= 0.8'),
          ...more.map((count) => ratio('accepted_per_s', nameOf(count), one, count === 2 ? '>= 1' : undefined)),
          ratio('mined_per_s', one, 'SQLite'),
          ...more.map((count) => ratio('mined_per_s', nameOf(count), one)),
        ]
      : [],
  }
}
