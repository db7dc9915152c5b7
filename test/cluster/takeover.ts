import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { startAnvil } from '../support/anvil.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { randomFrom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { available, makeRelayers } from './callers.ts'
import { startHook } from './hook.ts'
import { token } from './member.ts'
import { type Stage, startStage } from './stage.ts'

export interface TakeoverOptions {
  servers: number
  relayers: number
  kills: number
  stalls: number
  cuts: number
  seed: number
}

export interface Takeover {
  /** From the failure of a server until another one has signed the next transaction of each of its relayers, in ascending order. */
  taken_over_ms: Record<Way, number[]>
  /** Transactions that were mined more or less than once, by the chain's counts and balances. */
  doubles: number
  /** Servers that were well, and lost their leases. */
  flaps: number
  /** Statements of a server in a second, while it has nothing to do. */
  at_rest_per_s: number
}

type Way = 'kill' | 'stall' | 'cut'

const receiver = `0x${'77'.repeat(20)}`
const lookMs = 10
const patienceMs = 60_000
/** Anywhere in the beats of all servers, and in their work. */
const beforeMs = 400
const restS = 20

interface Relayer {
  id: string
  address: string
}

const signed = `SELECT id FROM relayers WHERE id = ANY ($1)
  AND NOT EXISTS (SELECT 1 FROM transactions WHERE relayer_row_id = relayers.row_id AND status = 'pending')`
const holders = `SELECT relayers.id, servers.row_id AS server, servers.name FROM work_leases JOIN servers ON servers.row_id = server_row_id
  JOIN relayers ON relayers.row_id = work_leases.row_id WHERE kind = 'sender'`
const statements = `SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = current_database()`

/** Servers that have work are killed, stalled and cut off, one after the other, at random moments. */
export async function measureTakeover(options: TakeoverOptions): Promise<Takeover> {
  const chain = await startAnvil({ blockTime_s: 0.25 })
  const hook = await startHook()
  const stage = await startStage({ servers: options.servers })
  const database = new pg.Client({ connectionString: stage.database.url() })
  const random = randomFrom(options.seed)
  try {
    await database.connect()
    const clients = stage.members.map(({ url }) => createRelayerClient({ baseUrl: url, token, fetch: asOnlyWriter }))
    const atRestPerS = (await statementsIn(stage, restS)) / options.servers
    const relayers = await makeRelayers(clients[0] as RelayerClient, chain.url, hook.url, options.relayers)
    for (const { address } of relayers) await chain.setBalance(address, 10n ** 24n)
    const run = { stage, clients, relayers, database, sent: new Map(relayers.map(({ id }) => [id, 0])), random }
    const result: Takeover = {
      taken_over_ms: { kill: [], stall: [], cut: [] },
      ...{ doubles: 0, flaps: 0, at_rest_per_s: atRestPerS },
    }
    const ways = [
      ...Array<Way>(options.kills).fill('kill'),
      ...Array<Way>(options.stalls).fill('stall'),
      ...Array<Way>(options.cuts).fill('cut'),
    ]
    for (const way of ways) await failOnce(run, way, result)
    await settled(run)
    for (const { id, address } of relayers) {
      const count = Number(await chain.rpc('eth_getTransactionCount', [address, 'latest']))
      result.doubles += Math.abs(count - (run.sent.get(id) ?? 0))
    }
    const all = [...run.sent.values()].reduce((sum, count) => sum + count, 0)
    result.doubles += Math.abs(Number(await chain.rpc('eth_getBalance', [receiver, 'latest'])) - all)
    for (const times of Object.values(result.taken_over_ms)) times.sort((a, b) => a - b)
    return result
  } finally {
    await database.end()
    await stage.stop()
    await hook.stop()
    await chain.stop()
  }
}

interface Run {
  stage: Stage
  clients: RelayerClient[]
  relayers: Relayer[]
  database: pg.Client
  /** Accepted transactions of each relayer. */
  sent: Map<string, number>
  random: () => number
}

async function failOnce(run: Run, way: Way, result: Takeover): Promise<void> {
  const { stage, relayers, random, database } = run
  await settled(run)
  for (const { id } of relayers) await send(run, id, Math.floor(random() * stage.members.length))
  const before = await stage.rows<{ id: string; server: string; name: string }>(holders)
  const working = stage.members.flatMap(({ pid }, index) =>
    before.some(({ name }) => name.endsWith(` ${pid()}`)) ? index : [],
  )
  const at = working[Math.floor(random() * working.length)] as number
  const member = stage.members[at] as Stage['members'][number]
  const orphans = before.filter(({ name }) => name.endsWith(` ${member.pid()}`))
  const others = new Set(before.filter(({ name }) => !name.endsWith(` ${member.pid()}`)).map(({ server }) => server))
  await pause(random() * beforeMs)

  const began = performance.now()
  const network = stage.networks[at] as Stage['networks'][number]
  const processId = member.pid() as number
  if (way === 'stall') process.kill(processId, 'SIGSTOP')
  else if (way === 'kill') await member.kill()
  else await network.set(random() < 0.5 ? 'closed' : 'silent')
  const other = (at + 1) % stage.members.length
  const left = new Set(orphans.map(({ id }) => id))
  const posted = new Set<string>()
  for (const id of left) void send(run, id, other).then(() => posted.add(id))
  while (left.size > 0) {
    if (performance.now() - began > patienceMs) throw new Error(`Not taken over: ${[...left].join(', ')}`)
    await pause(lookMs)
    const { rows } = await database.query<{ id: string }>(signed, [[...left].filter((id) => posted.has(id))])
    for (const { id } of rows) if (left.delete(id)) result.taken_over_ms[way].push(performance.now() - began)
  }
  const [ended] = await stage.rows<{ count: string }>(
    `SELECT count(*) AS count FROM servers WHERE state = 'ended' AND row_id = ANY ($1::bigint[])`,
    [[...others]],
  )
  result.flaps += Number(ended?.count)
  if (way === 'stall') process.kill(processId, 'SIGCONT')
  if (way === 'cut') await network.set('open')
  await Promise.all(stage.members.map((its) => its.ready()))
}

async function send({ clients, sent }: Run, relayerId: string, at: number): Promise<void> {
  const number = (sent.get(relayerId) ?? 0) + 1
  sent.set(relayerId, number)
  await available(() =>
    (clients[at] as RelayerClient).post('/api/v1/relayers/{relayer_id}/transactions', {
      path: { relayer_id: relayerId },
      header: { 'Idempotency-Key': `${relayerId}-${number}` },
      body: { to: receiver, value: '1', gas_limit: 50_000 },
    }),
  )
}

/** Until all is confirmed, and the servers share the relayers. */
async function settled({ stage }: Run): Promise<void> {
  await until('all is confirmed', async () => {
    const [row] = await stage.rows<{ count: string }>(
      "SELECT count(*) AS count FROM transactions WHERE status <> 'confirmed'",
    )
    return Number(row?.count) === 0
  })
}

/** How many statements all servers run in this time. */
async function statementsIn({ rows }: Stage, seconds: number): Promise<number> {
  const count = async () => Number((await rows<{ count: string }>(statements))[0]?.count)
  await pause(2_000)
  const before = await count()
  await pause(seconds * 1_000)
  return ((await count()) - before) / seconds
}

/** For a person: a line for each way, and one for all. */
export function takeoverLines({ taken_over_ms, doubles, flaps, at_rest_per_s }: Takeover): string[] {
  const line = (name: string, times: number[]) => {
    const at = (part: number) => `${Math.round(times[Math.ceil(times.length * part) - 1] ?? 0)} ms`
    return `${name}: ${times.length} relayers taken over, p50 ${at(0.5)}, p95 ${at(0.95)}, p99 ${at(0.99)}, most ${at(1)}`
  }
  const all = Object.values(taken_over_ms).flat()
  return [
    ...Object.entries(taken_over_ms).map(([way, times]) => line(way, times)),
    line(
      'all',
      all.sort((a, b) => a - b),
    ),
    `${doubles} doubles or losses; ${flaps} servers that were well lost their leases; ${at_rest_per_s.toFixed(1)} statements/s of a server at rest`,
  ]
}
