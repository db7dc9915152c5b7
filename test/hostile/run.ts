import { parseArgs } from 'node:util'
import { bodies, lists } from './blocking.ts'
import type { Finding } from './finding.ts'
import { operations } from './operations.ts'
import { random } from './random.ts'
import { shutdown } from './shutdown.ts'
import { sockets } from './sockets.ts'

// `npm run test:hostile [-- sockets ... --rows=1000000 --minutes=2 --shared]`: what hostile clients and a stop at the worst moment do to the service, in figures. Any
// that is not what it has to be ends it with 1.

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '1000000' },
    shared: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '2' },
  },
})
const parts: Record<string, () => Promise<Finding[]>> = {
  sockets,
  shutdown,
  bodies,
  lists,
  operations: () => operations(Number(values.rows)),
  random: () => random(Number(values.minutes)),
}

const say = (line: string) => void process.stdout.write(`${line}\n`)

const unknown = wanted.filter((name) => !(name in parts))
if (unknown.length > 0) {
  say(`There is no part ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}.`)
  process.exit(2)
}
let missed = 0
for (const [name, part] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  say(`\n${name}`)
  try {
    for (const { what, found, wanted, holds } of await part()) {
      if (!holds) missed += 1
      say(`  ${what.padEnd(84)} ${found.padStart(20)}  ${holds ? 'holds' : 'MISSED'}: ${wanted}`)
    }
  } catch (error) {
    missed += 1
    say(`  MISSED: ${(error as Error).stack}`)
  }
}
say(missed === 0 ? '\nAll of it holds.' : `\n${missed} missed.`)
process.exitCode = missed === 0 ? 0 : 1
