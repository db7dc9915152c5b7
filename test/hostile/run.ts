import { bodies, lists } from './blocking.ts'
import type { Finding } from './finding.ts'
import { shutdown } from './shutdown.ts'
import { sockets } from './sockets.ts'

// `npm run test:hostile [-- sockets ...]`: what hostile clients and a stop at the worst moment do to the service, in figures. Any
// that is not what it has to be ends it with 1.

const parts: Record<string, () => Promise<Finding[]>> = { sockets, shutdown, bodies, lists }

const say = (line: string) => void process.stdout.write(`${line}\n`)

const wanted = process.argv.slice(2)
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
      say(`  ${what.padEnd(64)} ${found.padStart(10)}  ${holds ? 'holds' : 'MISSED'}: ${wanted}`)
    }
  } catch (error) {
    missed += 1
    say(`  MISSED: ${(error as Error).stack}`)
  }
}
say(missed === 0 ? '\nAll of it holds.' : `\n${missed} missed.`)
process.exitCode = missed === 0 ? 0 : 1
