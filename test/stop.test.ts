import { expect, test } from 'vitest'
import { stopUnderLoad } from './hostile/stop.ts'
import { temporaryFolder } from './support/service.ts'

/** `npm run test:hostile` does it at 200 requests a second, with a clock. */
const options = { rate: 50, half_open: 10, before_ms: 1_000 }

test('loses nothing accepted at a SIGTERM under load', async () => {
  const result = await stopUnderLoad(temporaryFolder(), options)
  expect(result).toMatchObject({ code: 0, dropped: [], lost: 0 })
  expect(result.accepted).toBeGreaterThan(0)
})
