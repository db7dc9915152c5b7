import { parseArgs } from 'node:util'
import { bodies, lists } from './blocking.ts'
import type { Finding } from './finding.ts'
import { operations } from './operations.ts'
import { points } from './points.ts'
import { random } from './random.ts'
import { shutdown } from './shutdown.ts'
import { sockets } from './sockets.ts'

// `npm run test:hostile [-- sockets ... --rows=1000000 --minutes=2 --processes=1,2 --shared]`: what hostile clients and a stop at the
// worst moment do to the service, in figures: before it was hardened, now, and the bound. Any that misses its bound ends it with 1.

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '1000000' },
    shared: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '2' },
    processes: { type: 'string', default: '1,2' },
  },
})
const parts: Record<string, (processes: number) => Promise<Finding[]>> = {
  sockets,
  shutdown,
  bodies,
  lists,
  operations: (processes) => operations(Number(values.rows), processes),
  random: (processes) => random(Number(values.minutes), processes),
}

const say = (line: string) => void process.stdout.write(`${line}\n`)

const unknown = wanted.filter((name) => name !== 'points' && !(name in parts))
if (unknown.length > 0) {
  say(`There is no part ${unknown.join(', ')}; there are points, ${Object.keys(parts).join(', ')}.`)
  process.exit(2)
}
const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name)
let missed = 0

async function tell(title: string, part: () => Promise<Finding[]>): Promise<void> {
  say(`\n${title}`)
  try {
    for (const { point, what, before = '-', found, wanted, holds } of await part()) {
      if (!holds) missed += 1
      const name = `${point === undefined ? '' : `(${point}) `}${what}`
      say(`  ${holds ? 'holds ' : 'MISSED'} ${name.padEnd(96)} before: ${before}; now: ${found}; bound: ${wanted}`)
    }
  } catch (error) {
    missed += 1
    say(`  MISSED ${(error as Error).stack}`)
  }
}

if (isWanted('points')) await tell('points', points)
for (const [name, part] of Object.entries(parts)) {
  if (!isWanted(name)) continue
  for (const processes of values.processes.split(',').map(Number)) {
    await tell(`${name}, ${processes} process${processes === 1 ? '' : 'es'}`, () => part(processes))
  }
}
say(missed === 0 ? '\nAll of it holds.' : `\n${missed} missed.`)
process.exitCode = missed === 0 ? 0 : 1
