import { expect, test } from 'vitest'
import { createQuiet } from '../../../server/api/http/idle.ts'

test('quiet is reached when no request has arrived for some time', async () => {
  let time_ms = 0
  const slept_ms: number[] = []
  const quiet = createQuiet(
    50,
    () => time_ms,
    async (ms) => {
      slept_ms.push(ms)
      time_ms += ms
      // Another request arrives during the first two pauses.
      if (slept_ms.length <= 2) {
        time_ms -= 20
        quiet.noteRequest()
      }
    },
  )
  await quiet.reached()
  expect(slept_ms).toEqual([])
  quiet.noteRequest()
  await quiet.reached()
  expect(slept_ms).toEqual([50, 50, 50])
  await quiet.reached()
  expect(slept_ms).toHaveLength(3)
})
