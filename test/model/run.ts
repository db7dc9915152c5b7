import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { kindOf, type ModelResult, runModel, shorten } from './model.ts'
import { checkModelFaults, modelFaults } from './seeded-faults.ts'
import { everything } from './steps.ts'

// `npm run test:model [-- --runs N --seed S]`: random scenarios of lies, troubles, reorganizations, crashes and operations
// against the real service over a chain model, in virtual time; prints which promises were broken. `--shrink` shortens one
// scenario of each kind; `--without lies,price_lies,deep_reorgs,foreign` leaves kinds of steps out; `--fault NAME`, or `all`,
// seeds a mistake into the service and fails unless the model sees it.

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    seed: { type: 'string', default: `${Date.now() % 1_000_000}` },
    without: { type: 'string', default: '' },
    fault: { type: 'string', default: '' },
    shrink: { type: 'boolean', default: false },
  },
})
const [runs, seed] = [Number(values.runs), Number(values.seed)]
const say = (line: string) => void process.stdout.write(`${line}\n`)
process.exitCode = (values.fault === '' ? await holds() : seesAll(values.fault)) ? 0 : 1

async function holds(): Promise<boolean> {
  const without = values.without.split(',')
  const kept = Object.entries(everything).map(([name, isAllowed]) => [name, isAllowed && !without.includes(name)])
  say(`${runs} scenarios from seed ${seed}`)
  const start = performance.now()
  const result = await runModel({ runs, seed, allowed: Object.fromEntries(kept) })
  await explain(result)
  const { accepted, pooled, refills, crashes, failures } = result
  const tookS = Math.round((performance.now() - start) / 1_000)
  say(
    `\n${result.runs} scenarios, ${accepted} accepted transactions (${pooled} through a pool), ${refills} refills, ${crashes} crashes, ${tookS} s`,
  )
  say(failures.length === 0 ? 'Every promise was kept.' : `${failures.length} scenarios broke a promise.`)
  return failures.length === 0
}

/** One scenario of each kind of violation, the shortest. */
async function explain({ failures }: ModelResult): Promise<void> {
  const each = failures.flatMap(({ scenario, violations }) => violations.map((violation) => ({ scenario, violation })))
  for (const [kind, found] of Map.groupBy(each, ({ violation }) => kindOf(violation))) {
    const [example] = found.toSorted((a, b) => a.scenario.steps.length - b.scenario.steps.length)
    if (!example) continue
    const shown = values.shrink ? await shorten(example.scenario, kind) : example.scenario
    say(`\n${kind}: in ${new Set(found.map(({ scenario }) => scenario)).size} scenarios, e.g. ${example.violation}`)
    say(`  ${JSON.stringify(shown)}`)
  }
}

/** Each in a process of its own, whose sources are changed as they are loaded. */
function seesAll(name: string): boolean {
  checkModelFaults()
  const names = name === 'all' ? Object.keys(modelFaults) : [name]
  const unseen = names.filter((one) => !sees(one))
  say(
    `${names.length - unseen.length} of ${names.length} faults were seen${unseen.map((one) => `; not ${one}`).join('')}`,
  )
  return unseen.length === 0
}

function sees(name: string): boolean {
  const fault = modelFaults[name]
  if (!fault) throw new Error(`--fault must be all, or one of ${Object.keys(modelFaults).join(', ')}`)
  const loader = join(import.meta.dirname, '..', 'crash', 'faults.ts')
  const ownArguments = ['--runs', `${runs}`, '--seed', `${seed}`, '--without', values.without]
  const { stdout } = spawnSync(process.execPath, ['--import', loader, import.meta.filename, ...ownArguments], {
    env: { ...process.env, CRASH_FAULT: JSON.stringify(fault) },
    encoding: 'utf8',
  })
  const seen = fault.caught_by.filter((kind) => new RegExp(`^${kind}: in `, 'm').test(stdout))
  say(`${name}: ${seen.length > 0 ? `seen by ${seen.join(', ')}` : `NOT SEEN\n${stdout}`}`)
  return seen.length > 0
}
