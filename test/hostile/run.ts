import { parseArgs } from 'node:util'
import { bodies, lists } from './blocking.ts'
import type { Finding, Point } from './finding.ts'
import { largest } from './largest.ts'
import { operations } from './operations.ts'
import { attacks, points } from './points.ts'
import { random } from './random.ts'
import { shares } from './shares.ts'
import { shutdown } from './shutdown.ts'
import { sockets } from './sockets.ts'

// `npm run test:hostile [-- sockets ... --rows=1000000 --minutes=2 --processes=1,2 --shared --only=eth_]`: the effects of hostile clients, and of a
// stop at the worst moment, in figures: before the service was hardened, now, and the bound. A summary follows with one line for each
// kind of attack. A figure that misses its bound ends the run with exit code 1.

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '1000000' },
    shared: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '2' },
    processes: { type: 'string', default: '1,2' },
    only: { type: 'string', default: '' },
  },
})
const parts: Record<string, (processes: number) => Promise<Finding[]>> = {
  points,
  sockets,
  shares: (processes) => shares(processes, values.only),
  shutdown,
  bodies,
  lists,
  operations: (processes) => operations(Number(values.rows), processes),
  largest: (processes) => largest(processes, values.only),
  random: (processes) => random(Number(values.minutes), processes),
}

const say = (line: string) => void process.stdout.write(`${line}\n`)

const unknown = wanted.filter((name) => !(name in parts))
if (unknown.length > 0) {
  say(`There is no part ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}.`)
  process.exit(2)
}
const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name)
let missed = 0

const counted = (processes: number) => `${processes} process${processes === 1 ? '' : 'es'}`
const all: { processes: number; finding: Finding }[] = []

function tell({ point, what, before = '-', found, wanted, holds }: Finding): void {
  const name = `${point === undefined ? '' : `(${point}) `}${what}`
  say(`  ${holds ? 'holds ' : 'MISSED'} ${name.padEnd(96)} before: ${before}; now: ${found}; bound: ${wanted}`)
}

for (const [name, part] of Object.entries(parts)) {
  if (!isWanted(name)) continue
  for (const processes of values.processes.split(',').map(Number)) {
    say(`\n${name}, ${counted(processes)}`)
    try {
      for (const finding of await part(processes)) {
        if (!finding.holds) missed += 1
        all.push({ processes, finding })
        tell(finding)
      }
    } catch (error) {
      missed += 1
      say(`  MISSED ${(error as Error).stack}`)
    }
  }
}

say('\nsummary')
for (const [number, { what, before, wanted }] of Object.entries(attacks)) {
  const point = Number(number) as Point
  const own = all.filter(({ finding }) => finding.point === point)
  if (own.length === 0) continue
  const found = [...new Set(own.map(({ processes }) => processes))]
    .map((processes) => {
      const findings = own.filter((one) => one.processes === processes).map(({ finding }) => finding)
      return `${counted(processes)}: ${shortened(findings)}`
    })
    .join(' | ')
  tell({ point, what, before, found, wanted, holds: own.every(({ finding }) => finding.holds) })
}

/** Of blocks of the event loop the longest one. */
function shortened(findings: Finding[]): string {
  const blocks = findings.filter(({ block_ms }) => block_ms !== undefined)
  const [worst] = blocks.sort((a, b) => Number(b.block_ms) - Number(a.block_ms))
  const others = findings.filter(({ block_ms }) => block_ms === undefined)
  const longest = worst ? [`longest block of ${blocks.length}: ${worst.found}`] : []
  return [...longest, ...others.map(({ found }) => found)].join('; ')
}

say(missed === 0 ? '\nAll of it holds.' : `\n${missed} missed.`)
process.exitCode = missed === 0 ? 0 : 1
