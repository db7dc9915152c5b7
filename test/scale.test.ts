import { expect, onTestFinished, test } from 'vitest'
import { runScale } from './scale/scale.ts'
import { newDatabase } from './support/postgres.ts'

// The long form: `npm run model:scale`.
test('servers that fail lose no work, do none twice, and are replaced within the time of a lease and a few seconds', {
  timeout: 240_000,
}, async () => {
  const { url, drop } = await newDatabase()
  onTestFinished(drop)
  const { taken_over_ms, ...result } = await runScale(url, {
    ...{ servers: 4, relayers: 40, seed: 7 },
    ...{ kills: 1, stalls: 1, stops: 1 },
  })
  expect(result).toMatchObject({ lost: 0, twice: 0, held_twice: 0, most_uneven: { most: 10, fewest: 10 } })
  expect(Object.values(taken_over_ms).map((times) => times.length)).toEqual([10, 10, 10])
  expect(Math.max(...Object.values(taken_over_ms).flat())).toBeLessThanOrEqual(4_000)
})
