import { parseArgs } from 'node:util'
import { createRelayerClient } from '../../client/index.ts'
import type { Seed } from '../crash/seeded-faults.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { runCluster } from './cluster.ts'
import type { Replication } from './database.ts'
import { measureLatency } from './latency.ts'
import { token } from './member.ts'
import { isWell, runRevocation } from './revocation.ts'
import { scoreboard, wrongIn } from './scoreboard.ts'
import { clusterFaults, revocationFaults } from './seeded-faults.ts'
import { startStage } from './stage.ts'
import { measureTakeover, takeoverLines } from './takeover.ts'

// `npm run test:cluster [-- --kills=100 --stalls=20 --cuts=20 --stops=10 --submissions=2000 --servers=3 --relayers=8 --seed=N]`: servers are
// killed, stalled and cut off, and PostgreSQL fails, while clients submit.
// `npm run test:cluster -- pool [...]`: the same through one pool of the relayers.
// `npm run test:cluster -- revocation [--rounds=1000 --servers=3 --seed=N]`: one server removes and restores rights while all servers sign.
// `npm run test:cluster -- failover [--times=10 --servers=2 --submissions=2000 --relayers=8 --seed=N]`: the primary is stopped in the middle
// of a burst and its synchronous standby promoted. `--fault=stopped-standby`: one that does not have the newest commits.
// `npm run test:cluster -- latency [--count=100]`: the time from a POST on one server to the broadcast by another.
// `npm run test:cluster -- takeover [--kills=34 --stalls=33 --cuts=33 --servers=3 --relayers=8 --seed=N]`: the time until the relayers of a
// server that fails are taken over, and the statements of servers at rest.
// `--fault=NAME`: checks that the harness detects the seeded fault of that name.

const defaults = {
  servers: 3,
  kills: 100,
  stalls: 20,
  cuts: 20,
  stops: 10,
  submissions: 2_000,
  relayers: 8,
  rounds: 1_000,
  count: 100,
  times: 10,
}

const defaultsOf: Record<string, Partial<typeof defaults>> = {
  failover: { servers: 2 },
  takeover: { kills: 34, stalls: 33, cuts: 33 },
}

try {
  const options = Object.fromEntries(
    [...Object.keys(defaults), 'seed', 'fault'].map((name) => [name, { type: 'string' as const }]),
  )
  const { positionals, values } = parseArgs({ allowPositionals: true, options })
  const its = { ...defaults, ...(defaultsOf[positionals[0] ?? ''] ?? {}) }
  const numbers = { ...its, seed: Date.now() % 1_000_000 }
  for (const name of Object.keys(numbers) as (keyof typeof numbers)[]) {
    const text = values[name]
    if (typeof text === 'string') numbers[name] = wholeOf(name, text)
  }
  const fault = typeof values.fault === 'string' ? values.fault : undefined
  const parts: Record<string, () => Promise<boolean>> = {
    latency: () => latency(numbers),
    takeover: () => takeover(numbers),
    revocation: () => revocation(numbers, fault),
    failover: () => failover(numbers, fault),
    cluster: () => cluster(numbers, { fault: faultCalled(clusterFaults, fault) }),
    pool: () => cluster({ ...numbers, pool: true }, { fault: faultCalled(clusterFaults, fault) }),
  }
  const part = parts[positionals[0] ?? 'cluster']
  if (!part) throw new Error(`The first argument must be one of ${Object.keys(parts).join(', ')}`)
  const isPassed = await part()
  process.exitCode = isPassed === (fault === undefined) ? 0 : 1
} catch (error) {
  process.stderr.write(`${(error as Error).stack}\n`)
  process.exitCode = 1
}

type Numbers = typeof defaults & { seed: number }

interface Mistake {
  fault?: Seed[] | undefined
  replication?: Replication | undefined
}

async function cluster(numbers: Numbers & { failovers?: number; pool?: boolean }, mistake: Mistake): Promise<boolean> {
  const result = await runCluster({
    ...numbers,
    ...mistake,
    patience_ms: mistake.fault || mistake.replication ? 20_000 : 60_000,
    happened(count) {
      if (process.stderr.isTTY) process.stderr.write(`\r${count} incidents \r`)
    },
  })
  const wrong = wrongIn(result.verdict)
  process.stdout.write(scoreboard(result))
  say(wrong.length === 0 ? 'Passed.' : `Failed: ${wrong.join(', ')}.`)
  return mistake.replication ? result.verdict.forgotten === 0 : wrong.length === 0
}

async function failover(numbers: Numbers, fault: string | undefined): Promise<boolean> {
  if (fault !== undefined && fault !== 'stopped-standby') throw new Error('--fault must be stopped-standby')
  const only = { kills: 0, stalls: 0, cuts: 0, stops: 0, failovers: numbers.times }
  return cluster({ ...numbers, ...only }, fault === undefined ? {} : { replication: 'stopped' })
}

async function revocation({ servers, rounds, seed }: Numbers, fault: string | undefined): Promise<boolean> {
  const stage = await startStage({ servers, fault: faultCalled(revocationFaults, fault) })
  try {
    const places = stage.members.map(({ url }) => ({
      url,
      client: createRelayerClient({ baseUrl: url, token, fetch: asOnlyWriter }),
    }))
    const result = await runRevocation({ places, rounds, seed })
    const { late, missed, wrong, signed, refused, duration_ms } = result
    say(`Revocation on ${servers} servers, seed ${seed}: ${rounds} rounds in ${Math.round(duration_ms / 1_000)} s`)
    say(`  signed ${signed}, refused ${refused}`)
    say(`  ${late.length} signatures began after the answer that took the right away`)
    say(`  ${missed.length} refusals began after the answer that gave it back`)
    say(`  ${wrong.length} other answers`)
    for (const line of [...late, ...missed, ...wrong].slice(0, 10)) say(`    ${line}`)
    say(isWell(result) ? 'Passed.' : 'Failed.')
    return isWell(result)
  } finally {
    await stage.stop()
  }
}

async function latency({ servers, count }: Numbers): Promise<boolean> {
  const measured = await measureLatency(servers, count)
  for (const [name, times] of Object.entries(measured)) {
    const at = (part: number) => `${times[Math.floor((times.length - 1) * part)]?.toFixed(1)} ms`
    say(`${name}: median ${at(0.5)}, p95 ${at(0.95)}, most ${at(1)}`)
  }
  return true
}

async function takeover(numbers: Numbers): Promise<boolean> {
  const measured = await measureTakeover(numbers)
  say(`Takeover: ${numbers.servers} servers, seed ${numbers.seed}`)
  for (const line of takeoverLines(measured)) say(`  ${line}`)
  return measured.doubles === 0
}

function faultCalled(faults: Record<string, Seed[]>, name: string | undefined): Seed[] | undefined {
  if (name === undefined) return undefined
  const fault = faults[name]
  if (!fault) throw new Error(`--fault must be one of ${Object.keys(faults).join(', ')}`)
  return fault
}

function wholeOf(name: string, text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new Error(`--${name} must be a whole number`)
  return Number(text)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
