import { parseArgs } from 'node:util'
import type { CaseResult } from './case.ts'
import type { Figures } from './measure.ts'
import { print } from './report.ts'
import { atRest } from './sending/at-rest.ts'
import { measure, type Result, report } from './sending/figures.ts'
import { relayers, waiting } from './sending/relayers.ts'
import { connections } from './sending/stage.ts'
import { throughput, transactions } from './sending/throughput.ts'
import { tracked, tracked_ms } from './sending/tracked.ts'

// `npm run bench:sending [-- relayers throughput key-service rest tracked] [--quick] [--against DIR] [--runs 3] [--warm-up 0] [--json FILE]
// [--node-args ARGS]`: how fast relayers send on anvil with a block a second, and what that costs the service, which is a process
// of its own. On Linux (it reads /proc). Medians of the runs; each has a fresh chain and a fresh database. `--quick`: the part
// `relayers` only, once. `--against DIR`: the same part with the service of another working copy too, in turns.

const quick_transactions = 600
const rest_transactions = 100
const key_delay_ms = 50
const idle_transactions = 20
const tracked_counts = [10, 100, 1_000]

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
    },
  })
  const warm_up = Number(values['warm-up'])
  const node_args = values['node-args'].split(' ').filter(Boolean)
  const wanted = (part: string) => positionals.length === 0 || positionals.includes(part)
  const results: Result[] = []

  if (wanted('relayers')) {
    const [rounds, amount] = values.quick ? [1, quick_transactions] : [Number(values.runs), transactions]
    const roots = { ...(values.against && { [values.against]: values.against }), 'this version': undefined }
    await compareRelayers(rounds, amount, roots, node_args)
  }
  if (values.quick) return

  if (wanted('throughput')) {
    for (const [name, extra] of Object.entries({ 'gas_limit given': { gas_limit: 21_000 }, estimated: {} })) {
      results.push(await measure('throughput', name, Number(values.runs), () => throughput(extra, warm_up, node_args)))
    }
  }
  if (wanted('key-service')) {
    const options = { key_service: { delay_ms: key_delay_ms } }
    results.push(
      await measure('key service', `${key_delay_ms} ms a call`, Number(values.runs), () =>
        throughput({ gas_limit: 21_000 }, warm_up, node_args, options),
      ),
    )
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
  if (results.length === 0) return
  const settings = { transactions, connections, warm_up, rest_transactions, idle_transactions, tracked_ms }
  report(results, values.json, settings)
}

/** One round of each version after the other, so that other work on the machine disturbs both alike. */
async function compareRelayers(
  rounds: number,
  amount: number,
  roots: Record<string, string | undefined>,
  node_args: string[],
): Promise<void> {
  const all = Object.entries(roots).map(([name, root]) => ({ name, root, result: emptyResult, waits: [] as Figures[] }))
  for (let round = 0; round < rounds; round += 1) {
    for (const version of all) {
      const options = { node_args, ...(version.root && { root: version.root }) }
      version.result = joined(version.result, await relayers(amount, options))
      version.waits.push(await waiting(options))
    }
  }
  for (const { name, result, waits } of all) {
    print(`relayers: ${amount} transactions (${name})`, result)
    print(`10 relayers wait on a network with 250 ms blocks (${name})`, { rounds: { waiting: waits }, ratios: [] })
  }
}

const emptyResult: CaseResult = { rounds: {}, ratios: [] }

const joined = (before: CaseResult, { rounds, ratios }: CaseResult): CaseResult => ({
  rounds: Object.fromEntries(
    Object.entries(rounds).map(([name, figures]) => [name, [...(before.rounds[name] ?? []), ...figures]]),
  ),
  ratios,
})

if (import.meta.main) await main()
