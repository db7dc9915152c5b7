import { expect, test } from 'vitest'
import { runCluster } from './cluster/cluster.ts'
import { scoreboard, wrongIn } from './cluster/scoreboard.ts'
import { clusterFaults, revocationFaults } from './cluster/seeded-faults.ts'
import { checkFault } from './crash/seeded-faults.ts'

// The short form of `npm run test:cluster`.

test('loses and repeats nothing while servers are killed, stalled and cut off and the database fails', {
  timeout: 600_000,
}, async () => {
  const result = await runCluster({
    ...{ servers: 3, relayers: 3, submissions: 20, seed: 16, patience_ms: 60_000 },
    ...{ kills: 1, stalls: 1, cuts: 1, stops: 1 },
  })
  expect(wrongIn(result.verdict), scoreboard(result)).toEqual([])
})

test.each(Object.entries({ ...revocationFaults, ...clusterFaults }))('can still seed: %s', (_, faults) => {
  for (const fault of faults) checkFault(fault)
})
