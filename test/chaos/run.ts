import type { RelayerError } from '../../client/error.ts'
import { type Account, type Rig, type RigOptions, startRig } from '../support/rig.ts'
import { clockMoves } from './clock.ts'
import { drops } from './drops.ts'
import { faults } from './faults.ts'
import { cap, feeSpike } from './fees.ts'
import { type Outcome, wrongIn } from './outcome.ts'
import { confirmations, reorgs } from './reorgs.ts'

// `npm run test:chaos [-- reorgs drops ...]`: everything that can happen between the service and its chain, in numbers. Each part
// has a chain and a service of its own and prints a scoreboard by what the chain itself says; any score that is off ends it with 1.

interface Part {
  options: RigOptions
  run(rig: Rig): Promise<Record<string, Outcome>>
}

const withAccount =
  (name: string, run: (rig: Rig, account: Account) => Promise<Outcome>, gas_price_cap?: bigint): Part['run'] =>
  async (rig) => {
    const account = await rig.addAccount(gas_price_cap ? { policies: { gas_price_cap: `${gas_price_cap}` } } : {})
    return { [name]: await run(rig, account) }
  }

const chain = { noMining: true }

const parts: Record<string, Part> = {
  reorgs: {
    options: { chain, confirmations },
    run: withAccount('100 reorganizations of depth 1 to 10', (rig, account) => reorgs(rig, account, 100)),
  },
  drops: {
    options: { chain },
    run: withAccount('200 dropped transactions', (rig, account) => drops(rig, account, 200)),
  },
  fees: {
    options: { chain },
    run: withAccount('base fee x10 over 100 pending', (rig, account) => feeSpike(rig, account, 100, false)),
  },
  cap: {
    options: { chain },
    run: withAccount('the same under a cap', (rig, account) => feeSpike(rig, account, 100, true), cap),
  },
  faults: {
    options: { chain: { blockTime_s: 0.5 } },
    run: async (rig) => Object.fromEntries((await faults(rig, 50)).map(({ kind, outcome }) => [kind, outcome])),
  },
  clock: {
    options: { chain },
    run: withAccount('40 moves of the clock by a day', (rig, account) => clockMoves(rig, account, 40)),
  },
}

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
let sound = true
for (const [name, part] of Object.entries(parts)) {
  if (wanted.length === 0 || wanted.includes(name)) sound = (await runPart(name, part)) && sound
}
say(sound ? '\nNothing lost, nothing doubled.' : '\nSomething is off: see above.')
process.exitCode = sound ? 0 : 1
