import { writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { type Figures, percentile } from '../measure.ts'
import { say } from '../report.ts'
import type { Post } from './load.ts'

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

export const answeredIn = (posts: Post[]): number[] =>
  posts.map(({ posted_at, answered_at }) => answered_at - posted_at)

export const broadcastIn = (posts: Post[], broadcasts: Map<number, number>): number[] =>
  posts.map(({ nonce, posted_at }) => (broadcasts.get(nonce) ?? Number.NaN) - posted_at)

export const percentilesOf = (name: string, values: number[]): Figures =>
  Object.fromEntries([50, 95, 99].map((at) => [`${name}_p${at}_ms`, percentile(values, at)]))

export const perSecond = (count: number, durationMs: number): number => (count * 1_000) / durationMs

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
