import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { CaseResult } from './case.ts'
import type { Figures } from './measure.ts'
import { machine, print } from './report.ts'
import { atRest } from './sending/at-rest.ts'
import { type DatabasesOptions, databases } from './sending/databases.ts'
import { measure, type Result, report } from './sending/figures.ts'
import { limits } from './sending/limits.ts'
import { pools, relayers, waiting } from './sending/relayers.ts'
import { connections, type StageOptions } from './sending/stage.ts'
import { throughput, transactions } from './sending/throughput.ts'
import { tracked, trackedMs } from './sending/tracked.ts'

// `npm run bench:sending [-- relayers pool throughput key-service rest tracked] [--quick] [--against DIR] [--runs 3] [--warm-up 0] [--json FILE]
// [--node-args ARGS]`: how fast relayers send on anvil with a block a second, and what that costs the service, which is a process
// of its own. `-- limits`: a pool of eight and one relayer where nodes hold 16 of an account. On Linux (it reads /proc). Medians of the runs; each has a fresh chain and a fresh database. `--quick`: the part
// `relayers` only, once. `--against DIR`: the same part with the service of another working copy too, in turns.
// `-- --database postgres [--servers 1,2,3] [--runs 3] [--seconds 1] [--against DIR] [--json FILE]`: only SQLite against PostgreSQL with so
// many servers, in turns, each with 10 relayers on a chain of its own with 250 ms blocks; `--seconds` of load, whole ones, in each round.
// `--quota 0.5`: PostgreSQL has one core, each server half of another (as root, with version 1 of cgroups): how much a second server adds.

const quickTransactions = 600
const restTransactions = 100
const keyDelayMs = 50
const idleTransactions = 20
const trackedCounts = [10, 100, 1_000]

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      runs: { type: 'string', default: '3' },
      'warm-up': { type: 'string', default: '0' },
      json: { type: 'string' },
      'node-args': { type: 'string', default: '' },
      quick: { type: 'boolean', default: false },
      against: { type: 'string' },
      database: { type: 'string' },
      servers: { type: 'string', default: '1,2,3' },
      seconds: { type: 'string', default: '1' },
      quota: { type: 'string' },
    },
  })
  const warmUp = Number(values['warm-up'])
  const nodeArgs = values['node-args'].split(' ').filter(Boolean)
  const wanted = (part: string) => positionals.length === 0 || positionals.includes(part)
  if (values.database !== undefined) {
    if (values.database !== 'postgres') throw new Error('--database is postgres; SQLite is measured beside it')
    const servers = values.servers.split(',').map(Number)
    const { runs, seconds, against } = values
    const quota = values.quota === undefined ? undefined : Number(values.quota)
    const options = { servers, rounds: Number(runs), seconds: Number(seconds), node_args: nodeArgs, against, quota }
    await compareDatabases(options, values.json)
    return
  }
  const results: Result[] = []

  if (wanted('relayers')) {
    const [rounds, amount] = values.quick ? [1, quickTransactions] : [Number(values.runs), transactions]
    const roots = { ...(values.against && { [values.against]: values.against }), 'this version': undefined }
    await compareRelayers(rounds, amount, roots, nodeArgs)
  }
  if (values.quick) return

  if (wanted('pool')) {
    let result = emptyResult
    for (let round = 0; round < Number(values.runs); round += 1) {
      result = joined(result, await pools(transactions, { node_args: nodeArgs }))
    }
    print(`pool: ${transactions} transactions`, result)
  }
  if (positionals.includes('limits')) await compareLimits(Number(values.runs), values.against, nodeArgs)
  if (wanted('throughput')) {
    for (const [name, extra] of Object.entries({ 'gas_limit given': { gas_limit: 21_000 }, estimated: {} })) {
      results.push(await measure('throughput', name, Number(values.runs), () => throughput(extra, warmUp, nodeArgs)))
    }
  }
  if (wanted('key-service')) await compareKeyServices(Number(values.runs), warmUp, nodeArgs)
  if (wanted('rest')) {
    results.push(await measure('POST to broadcast at rest', 'others unmined', 1, () => atRest(restTransactions, false)))
    results.push(await measure('POST to broadcast at rest', 'nothing else', 1, () => atRest(idleTransactions, true)))
  }
  if (wanted('tracked')) {
    for (const count of trackedCounts) {
      results.push(await measure('tracked, no blocks', String(count), 1, () => tracked(count, false)))
    }
    for (const count of trackedCounts) {
      results.push(await measure('tracked, blocks without them', String(count), 1, () => tracked(count, true)))
    }
  }
  if (results.length === 0) return
  const settings = {
    transactions,
    connections,
    warm_up: warmUp,
    rest_transactions: restTransactions,
    idle_transactions: idleTransactions,
    tracked_ms: trackedMs,
  }
  report(results, values.json, settings)
}

/** One round of each version after the other, so that other work on the machine disturbs both alike. */
async function compareRelayers(
  rounds: number,
  amount: number,
  roots: Record<string, string | undefined>,
  nodeArgs: string[],
): Promise<void> {
  const all = Object.entries(roots).map(([name, root]) => ({ name, root, result: emptyResult, waits: [] as Figures[] }))
  for (let round = 0; round < rounds; round += 1) {
    for (const version of all) {
      const options = { node_args: nodeArgs, ...(version.root && { root: version.root }) }
      version.result = joined(version.result, await relayers(amount, options))
      version.waits.push(await waiting(options))
    }
  }
  for (const { name, result, waits } of all) {
    print(`relayers: ${amount} transactions (${name})`, result)
    print(`10 relayers wait on a network with 250 ms blocks (${name})`, { rounds: { waiting: waits }, ratios: [] })
  }
}

/** A pool of eight against one relayer where nodes hold 16 of an account. */
async function compareLimits(rounds: number, against: string | undefined, nodeArgs: string[]): Promise<void> {
  for (const root of [...(against ? [against] : []), undefined]) {
    const runs: Record<string, Figures[]> = { '1 relayer': [], 'a pool of 8': [] }
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, relayers] of [
        ['1 relayer', 1],
        ['a pool of 8', 8],
      ] as const)
        runs[name]?.push(await limits(relayers, { node_args: nodeArgs, ...(root && { root }) }))
    }
    const ratios = [{ figure: 'mined_per_s', over: 'a pool of 8', under: '1 relayer', wanted: '>= 6.5' }]
    print(`nodes that hold 16 of an account (${root ?? 'this version'})`, { rounds: runs, ratios })
  }
}

async function compareDatabases(options: DatabasesOptions, file: string | undefined): Promise<void> {
  const parts = await databases(options)
  for (const [part, result] of Object.entries(parts)) print(`SQLite and PostgreSQL: ${part}`, result)
  if (file === undefined) return
  const { cores, model, node } = machine()
  const report = { at: new Date().toISOString(), machine: { cores, model, node }, options, parts }
  writeFileSync(file, `${JSON.stringify(report)}\n`)
}

/** One relayer with a local key, and with keys in key services of different latency, in turns. */
async function compareKeyServices(runs: number, warmUp: number, nodeArgs: string[]): Promise<void> {
  const slow = `${keyDelayMs} ms`
  const contenders: Record<string, StageOptions> = {
    'local key': {},
    '0 ms': { key_service: { delay_ms: 0 } },
    [slow]: { key_service: { delay_ms: keyDelayMs } },
  }
  const rounds: Record<string, Figures[]> = {}
  for (let run = 0; run < runs; run += 1) {
    for (const [name, options] of Object.entries(contenders)) {
      const figures = await throughput({ gas_limit: 21_000 }, warmUp, nodeArgs, options)
      rounds[name] = [...(rounds[name] ?? []), figures]
    }
  }
  const shown = [
    'accepted_per_s',
    'mined_per_s',
    'cpu_ms_per_transaction',
    'broadcast_p50_ms',
    'taken_by_others_percent',
  ]
  const only = (figures: Figures) => Object.fromEntries(shown.map((name) => [name, figures[name] ?? Number.NaN]))
  print('key service: calls of so many ms', {
    rounds: Object.fromEntries(Object.entries(rounds).map(([name, all]) => [name, all.map(only)])),
    ratios: [
      { figure: 'mined_per_s', over: slow, under: '0 ms', wanted: '>= 0.9' },
      { figure: 'mined_per_s', over: slow, under: 'local key' },
    ],
    limits: [{ contender: slow, figure: 'mined_per_s', wanted: '>= 300' }],
  })
}

const emptyResult: CaseResult = { rounds: {}, ratios: [] }

const joined = (before: CaseResult, { rounds, ratios }: CaseResult): CaseResult => ({
  rounds: Object.fromEntries(
    Object.entries(rounds).map(([name, figures]) => [name, [...(before.rounds[name] ?? []), ...figures]]),
  ),
  ratios,
})

// What was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
if (import.meta.main) await main()
