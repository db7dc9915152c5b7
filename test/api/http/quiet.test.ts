import { expect, test } from 'vitest'
import { Quiet } from '../../../server/api/http/idle.ts'

test('quiet is reached when no request has arrived for some time', async () => {
  let timeMs = 0
  const sleptMs: number[] = []
  const quiet = new Quiet(
    () => timeMs,
    async (ms) => {
      sleptMs.push(ms)
      timeMs += ms
      // Another request arrives during the first two pauses.
      if (sleptMs.length <= 2) {
        timeMs -= 20
        quiet.noteRequest()
      }
    },
  )
  await quiet.reached(50)
  expect(sleptMs).toEqual([])
  quiet.noteRequest()
  await quiet.reached(50)
  expect(sleptMs).toEqual([50, 50, 50])
  await quiet.reached(50)
  expect(sleptMs).toHaveLength(3)
})
