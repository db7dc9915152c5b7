import { openScene, type Place } from './trial.ts'

// `npm run test:funding`: one refill, with a kill -9 at each of its steps: before and after every commit, and at every call of the node.
// FUNDING_EVERY (1): only every n-th step.

const every = Number(process.env.FUNDING_EVERY ?? 1)
if (!Number.isSafeInteger(every) || every < 1) throw new Error(`FUNDING_EVERY is invalid: ${process.env.FUNDING_EVERY}`)

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
  process.stdout.write(faults === 0 ? 'Passed.\n' : `Failed: ${faults} faults.\n`)
  process.exitCode = faults === 0 ? 0 : 1
} finally {
  await scene.stop()
}
