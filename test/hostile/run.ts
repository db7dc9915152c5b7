import { parseArgs } from 'node:util'
import { bodies, lists } from './blocking.ts'
import type { Finding, Point } from './finding.ts'
import { generated } from './generated.ts'
import { largest } from './largest.ts'
import { operations } from './operations.ts'
import { attacks, points } from './points.ts'
import { random } from './random.ts'
import { servers } from './servers.ts'
import { shares } from './shares.ts'
import { shutdown } from './shutdown.ts'
import { sockets } from './sockets.ts'

// `npm run test:hostile [-- sockets ... --rows=1000000 --minutes=2 --shared --only=eth_ --seed=1 --postgres]`: the effects of hostile clients, and of a
// stop at the worst moment, in figures: before the service was hardened, now, and the bound. A summary follows with one line for each
// kind of attack. A figure that misses its bound ends the run with exit code 1.

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '1000000' },
    shared: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '2' },
    only: { type: 'string', default: '' },
    postgres: { type: 'boolean', default: false },
    seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
  },
})
const parts: Record<string, () => Promise<Finding[]>> = {
  points,
  sockets,
  shares: () => shares(values.only),
  shutdown,
  bodies,
  lists,
  operations: () => operations(Number(values.rows)),
  largest: () => largest(values.only),
  random: () => random(Number(values.minutes)),
  servers,
  generated: () => generated(Number(values.minutes), Number(values.seed)),
}

const say = (line: string) => void process.stdout.write(`${line}\n`)

const unknown = wanted.filter((name) => !(name in parts))
if (unknown.length > 0) {
  say(`There is no part ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}.`)
  process.exit(2)
}
/** The others read the file of SQLite, or start the service in another way. */
const onPostgres = ['shares', 'bodies', 'largest', 'random', 'servers', 'generated']
const usual = values.postgres ? onPostgres : Object.keys(parts).filter((name) => name !== 'servers')
const isWanted = (name: string) => (wanted.length === 0 ? usual : wanted).includes(name)
let missed = 0

const all: Finding[] = []

function tell({ point, what, before = '-', found, wanted, holds }: Finding): void {
  const name = `${point === undefined ? '' : `(${point}) `}${what}`
  say(`  ${holds ? 'holds ' : 'MISSED'} ${name.padEnd(96)} before: ${before}; now: ${found}; bound: ${wanted}`)
}

for (const [name, part] of Object.entries(parts)) {
  if (!isWanted(name)) continue
  say(`\n${name}`)
  try {
    for (const finding of await part()) {
      if (!finding.holds) missed += 1
      all.push(finding)
      tell(finding)
    }
  } catch (error) {
    missed += 1
    say(`  MISSED ${(error as Error).stack}`)
  }
}

say('\nsummary')
for (const [number, { what, before, wanted }] of Object.entries(attacks)) {
  const point = Number(number) as Point
  const own = all.filter((finding) => finding.point === point)
  if (own.length === 0) continue
  tell({ point, what, before, found: shortened(own), wanted, holds: own.every(({ holds }) => holds) })
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
