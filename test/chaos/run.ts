import type { RelayerError } from '../../client/error.ts'
import { startRig } from '../support/rig.ts'
import { type Outcome, wrongIn } from './outcome.ts'
import { type Part, parts } from './parts.ts'

// `npm run test:chaos [-- reorgs drops ...]`: all known faults of chains and nodes, in numbers. Each part has a separate
// chain and service, and prints a scoreboard computed from the chain. Any violation ends the run with exit code 1.

const say = (line: string) => void process.stdout.write(`${line}\n`)

async function runPart(name: string, { options, run }: Part): Promise<boolean> {
  const start = performance.now()
  const rig = await startRig(options)
  let sound = true
  try {
    const outcomes = Object.entries(await run(rig))
    say(`\n${name} (${Math.round((performance.now() - start) / 1_000)} s)`)
    for (const [what, outcome] of outcomes) {
      const wrong = wrongIn(outcome)
      sound &&= wrong.length === 0
      say(`  ${what.padEnd(38)} ${scoreboard(outcome)}  ${wrong.length === 0 ? 'sound' : `WRONG: ${wrong.join('; ')}`}`)
    }
  } catch (error) {
    const { details = [] } = error as Partial<RelayerError>
    say(`\n${name}: WRONG: ${(error as Error).stack} ${JSON.stringify(details)}`)
    sound = false
  } finally {
    await rig.stop()
  }
  return sound
}

const scoreboard = ({ score, money, faults, seen }: Outcome) =>
  Object.entries({ ...score, ...money, ...faults, ...seen })
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in parts))
if (unknown.length > 0) {
  say(`There is no part ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}.`)
  process.exit(2)
}
const broken: string[] = []
for (const [name, part] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  if (!(await runPart(name, part))) broken.push(name)
}
say(broken.length === 0 ? '\nNothing lost, nothing doubled.' : `\nSomething is off, see above: ${broken.join(', ')}.`)
process.exitCode = broken.length === 0 ? 0 : 1
