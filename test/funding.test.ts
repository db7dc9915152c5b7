import { expect, onTestFinished, test } from 'vitest'
import { refillBehind } from './funding/balancer.ts'
import { openScene, type Place } from './funding/trial.ts'

// The short form of `npm run test:funding`.

test('refills once, whatever commit or call of the node the process is killed at', async () => {
  const scene = await openScene()
  onTestFinished(scene.stop)
  const [commits, calls] = [await scene.stepsOf('commit'), await scene.stepsOf('call')]
  // The refill is planned and accepted in the first half, signed, sent and seen in the second.
  const steps: [Place, number][] = [
    ['commit', Math.floor(commits / 3)],
    ['commit', Math.floor((commits * 2) / 3)],
    ['call', Math.floor(calls / 2)],
  ]
  for (const [place, step] of steps) {
    expect(await scene.run(place, step)).toEqual({ place, step, killed: true, faults: [] })
  }
})

test('refills once behind one URL of two nodes, of which one lacks up to five blocks', async () => {
  const outcome = await refillBehind({ lag: 5, drawn: 'random', by: 'request', rounds: 5, seed: 3 })
  expect(outcome).toEqual({ rounds: 5, refills: 5, doubled: 0, excess_eth: 0 })
})
