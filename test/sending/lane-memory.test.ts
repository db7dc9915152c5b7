import { expect, test } from 'vitest'
import { countLeftOut, max_window, narrow, newLaneState, pollSoon, takeIn } from '../../server/sending/lane-state.ts'

const head = (number: number) => ({ number, hash: `0x${number}`, parent_hash: `0x${number - 1}` })
const chain = { blockHash: async (number: number) => `0x${number}` }

test('shrinks the window to the number that a node holds, keeps it for a block, and then grows it by a quarter', async () => {
  const laneState = newLaneState()
  expect(laneState.window).toBe(max_window)
  await takeIn(laneState, chain, { head: head(1), latest: 100 })
  narrow(laneState, 116)
  expect(laneState.window).toBe(16)
  const windows: number[] = []
  for (let block = 2; block < 40; block += 1) {
    await takeIn(laneState, chain, { head: head(block), latest: 100 + block })
    windows.push(laneState.window)
  }
  expect(windows.slice(0, 4)).toEqual([16, 20, 25, 32])
  expect(windows.at(-1)).toBe(max_window)
  // A lane that is full before its first nonce gets one transaction at a time.
  narrow(laneState, 0)
  expect(laneState.window).toBe(1)
})

test('counts the blocks that leave out the next transaction, or one whose price is below the base fee', () => {
  const laneState = { ...newLaneState(), latest: 5 }
  const row = (row_id: number, nonce: number, payable: boolean, hash = '0xa') => ({
    row: { row_id, hash },
    nonce,
    payable,
  })
  const blocks = () => [1, 2, 3].map((row_id) => laneState.left_out.get(row_id)?.blocks)
  countLeftOut(laneState, [row(1, 5, true), row(2, 6, true), row(3, 7, false)])
  expect(blocks()).toEqual([0, undefined, 0])
  countLeftOut(laneState, [row(1, 5, true), row(2, 6, true), row(3, 7, false)])
  expect(blocks()).toEqual([1, undefined, 1])
  // Other bytes, or bytes that can be paid for again, begin anew.
  countLeftOut(laneState, [row(1, 5, true, '0xb'), row(2, 6, true), row(3, 7, true)])
  expect(blocks()).toEqual([0, undefined, undefined])
})

test('delays each further poll without a new block', async () => {
  const laneState = newLaneState()
  await takeIn(laneState, chain, { head: head(1), latest: 0 })
  const waits = [0, 1, 2, 3, 4, 5, 6, 7].map(() => {
    laneState.poll_at = 10_000
    pollSoon(laneState, 1_000)
    return Math.max(0, laneState.poll_at - 1_000)
  })
  expect(waits).toEqual([0, 100, 200, 400, 800, 1_600, 3_000, 3_000])
  // An earlier poll is not postponed.
  laneState.poll_at = 1_050
  pollSoon(laneState, 1_000)
  expect(laneState.poll_at).toBe(1_050)
  await takeIn(laneState, chain, { head: head(2), latest: 0 })
  pollSoon(laneState, 1_000)
  expect(laneState.poll_at).toBe(0)
})
