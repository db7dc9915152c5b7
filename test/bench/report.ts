import { cpus } from 'node:os'
import type { CaseResult, Ratio } from './case.ts'
import { isPinned } from './cores.ts'
import { type Figures, median, medianOf } from './measure.ts'

export type Results = Record<string, CaseResult>

/** Prints a table per case: the median of each figure, then each ratio with its range over the rounds, and the limits. */
export function print(name: string, result: CaseResult, before?: CaseResult): void {
  say(`\n${name}`)
  if (result.skipped) {
    say(`  skipped: ${result.skipped}`)
    return
  }
  const names = Object.keys(result.rounds)
  const figures = [...new Set(Object.values(result.rounds).flatMap((rounds) => Object.keys(rounds[0] ?? {})))]
  const width = Math.max(14, ...names.map((one) => one.length + 1))
  const row = ([first = '', ...cells]: string[]) =>
    `  ${first.padEnd(width)}${cells.map((cell, at) => cell.padStart(Math.max(12, (figures[at] ?? '').length) + 2)).join('')}`
  say(row(['', ...figures.map(String)]))
  for (const contender of names) {
    const of = (from: CaseResult | undefined) => (figure: string) => medianOf(from?.rounds[contender], figure)
    say(row([contender, ...figures.map((figure) => shown(of(result)(figure)))]))
    if (before?.rounds[contender]) {
      say(row(['  change', ...figures.map((figure) => change(of(before)(figure), of(result)(figure)))]))
    }
  }
  for (const ratio of result.ratios) {
    const { middle, least, most } = spread(result, ratio)
    const wanted = ratio.wanted ? `   wanted ${ratio.wanted}${holds(middle, ratio.wanted) ? '' : '   MISSED'}` : ''
    const former = before?.rounds[ratio.over] ? `   before ${spread(before, ratio).middle.toFixed(2)}` : ''
    const what = `${ratio.figure} ${ratio.over} / ${ratio.under}`
    say(`  ${what.padEnd(40)} ${middle.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})${wanted}${former}`)
  }
  for (const { contender, figure, wanted } of result.limits ?? []) {
    const value = medianOf(result.rounds[contender], figure)
    const verdict = holds(value, wanted) ? '' : '   MISSED'
    say(`  ${`${figure} of ${contender}`.padEnd(40)} ${shown(value)}   wanted ${wanted}${verdict}`)
  }
}

/** The ratio of each round, from the least to the most. */
export function spread({ rounds }: CaseResult, { figure, over, under }: Ratio) {
  const value = (round: Figures | undefined) => round?.[figure] ?? Number.NaN
  const ratios = (rounds[over] ?? []).map((round, index) => value(round) / value(rounds[under]?.[index]))
  return { middle: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) }
}

export const machine = () => ({
  cores: cpus().length,
  model: cpus()[0]?.model,
  node: process.version,
  pinned: isPinned,
})

/** `wanted`: `>= 4` or `<= 4`. */
function holds(value: number, wanted: string): boolean {
  const [sign, limit] = wanted.split(' ')
  return sign === '>=' ? value >= Number(limit) : value <= Number(limit)
}

const shown = (value: number) => (Number.isNaN(value) ? '' : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0))

const change = (before: number, after: number) =>
  Number.isNaN(before) ? '' : `${after >= before ? '+' : ''}${(((after - before) * 100) / before).toFixed(0)}%`

export function say(text: string): void {
  process.stdout.write(`${text}\n`)
}
