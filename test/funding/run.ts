import { type Balancer, refillBehind } from './balancer.ts'
import { openScene, type Place } from './trial.ts'

// `npm run test:funding`: one refill, with a kill -9 at each of its steps: before and after every commit, and at every call of the node.
// Then refills behind one URL of two honest nodes, of which one lags. FUNDING_EVERY (1): only every n-th step. FUNDING_ROUNDS (50): for
// each kind of lag.

const numberIn = (name: string, usual: number): number => {
  const its = Number(process.env[name] ?? usual)
  if (!Number.isSafeInteger(its) || its < 1) throw new Error(`${name} is invalid: ${process.env[name]}`)
  return its
}
const every = numberIn('FUNDING_EVERY', 1)
const rounds = numberIn('FUNDING_ROUNDS', 50)
const lags: Omit<Balancer, 'rounds' | 'seed'>[] = [
  ...[1, 2, 3, 4, 5].map((lag) => ({ lag, drawn: 'fixed' as const, by: 'request' as const })),
  { lag: 5, drawn: 'random', by: 'request' },
  { lag: 5, drawn: 'random', by: 'call' },
]

async function killed(): Promise<number> {
  const scene = await openScene()
  let faults = 0
  try {
    for (const place of ['commit', 'call'] satisfies Place[]) {
      const steps = await scene.stepsOf(place)
      let kills = 0
      for (let step = place === 'commit' ? 0 : 1; step <= steps; step += every) {
        const its = await scene.run(place, step)
        if (its.killed) kills += 1
        faults += its.faults.length
        for (const fault of its.faults) process.stdout.write(`${place} ${step}: ${fault}\n`)
      }
      process.stdout.write(`${place}: ${steps} steps, ${kills} kills\n`)
    }
    return faults
  } finally {
    await scene.stop()
  }
}

async function behind(): Promise<number> {
  let faults = 0
  for (const [seed, its] of lags.entries()) {
    const { refills, doubled, excess_eth } = await refillBehind({ ...its, rounds, seed: seed + 1 })
    faults += doubled
    const name = `${its.drawn === 'random' ? '1 to ' : ''}${its.lag} blocks behind, by ${its.by}`
    process.stdout.write(
      `${name}: ${rounds} rounds, ${refills} refills, ${doubled} doubled, ${excess_eth} ETH too much\n`,
    )
  }
  return faults
}

const faults = (await killed()) + (await behind())
process.stdout.write(faults === 0 ? 'Passed.\n' : `Failed: ${faults} faults.\n`)
process.exitCode = faults === 0 ? 0 : 1
