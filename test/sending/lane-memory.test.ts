import { expect, test } from 'vitest'
import { countLeftOut, newChainState } from '../../server/sender/chain-state.ts'
import { isSilent, newMempoolState, noteSent } from '../../server/sender/mempool-state.ts'
import { newSchedule, pollSoon, sawNewBlock } from '../../server/sender/schedule.ts'
import { heldByNodes, newWindow, noteAnswers, noteMined } from '../../server/sender/window.ts'

test('doubles the window while nodes take all, shrinks it to what a node holds, and then tries one nonce more at growing intervals', () => {
  const window = newWindow()
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)
  const sizes = [16, 32, 64, 600].map((held) => {
    noteAnswers(window, 0, { taken: upTo(held), full_at: undefined })
    return window.size
  })
  expect(sizes).toEqual([32, 64, 128, 600])
  expect(heldByNodes(window), 'no node has refused any').toBe(600)

  /** Blocks that use the window of a node which holds 16, and at which of them it refuses one more. */
  const refusedAt: number[] = []
  for (let block = 0; block < 100; block += 1) {
    const isRefused = window.size > 16
    if (isRefused) refusedAt.push(block)
    noteAnswers(window, 0, { taken: upTo(Math.min(window.size, 16)), full_at: isRefused ? 16 : undefined })
    expect([window.size, heldByNodes(window)]).toEqual([16, 16])
    noteMined(window)
  }
  expect(refusedAt).toEqual([0, 4, 12, 28, 60])

  // A limit that was lifted: each try that no node refuses is twice as large as the last one.
  const grown: number[] = []
  for (let block = 0; window.size < 600 && block < 100; block += 1) {
    noteAnswers(window, 0, { taken: upTo(window.size), full_at: undefined })
    noteMined(window)
    if (window.size > (grown.at(-1) ?? 16)) grown.push(window.size)
  }
  expect(grown).toEqual([17, 19, 23, 31, 47, 79, 143, 271, 527, 600])
  // A lane that is full before its first nonce gets one transaction at a time.
  noteAnswers(window, 0, { taken: [], full_at: 0 })
  expect(window.size).toBe(1)
})

test('is silent about a transaction when the time of its tier has passed since its last broadcast', () => {
  const pool = newMempoolState()
  expect(isSilent(pool, 1, 'fastest', 1_000_000), 'never broadcast').toBe(false)
  noteSent(pool, 1, 1_000)
  expect([15_999, 16_000].map((elapsed) => isSilent(pool, 1, 'fastest', elapsed))).toEqual([false, true])
  expect(isSilent(pool, 1, 'average', 16_000)).toBe(false)
})

test('counts the blocks that leave out the next transaction, or one whose price is below the base fee', () => {
  const seen = { ...newChainState(), latest: 5 }
  const row = (rowId: number, nonce: number, payable: boolean, hash = '0xa') => ({
    row: { row_id: rowId, hash },
    nonce,
    payable,
  })
  const blocks = () => [1, 2, 3].map((rowId) => seen.left_out.get(rowId)?.blocks)
  countLeftOut(seen, [row(1, 5, true), row(2, 6, true), row(3, 7, false)])
  expect(blocks()).toEqual([0, undefined, 0])
  countLeftOut(seen, [row(1, 5, true), row(2, 6, true), row(3, 7, false)])
  expect(blocks()).toEqual([1, undefined, 1])
  // Other bytes, or bytes that can be paid for again, begin anew.
  countLeftOut(seen, [row(1, 5, true, '0xb'), row(2, 6, true), row(3, 7, true)])
  expect(blocks()).toEqual([0, undefined, undefined])
})

test('delays each further poll without a new block', () => {
  const schedule = newSchedule()
  const waits = [0, 1, 2, 3, 4, 5, 6, 7].map(() => {
    schedule.poll_at = 10_000
    pollSoon(schedule, 1_000)
    return Math.max(0, schedule.poll_at - 1_000)
  })
  expect(waits).toEqual([0, 100, 200, 400, 800, 1_600, 3_000, 3_000])
  // An earlier poll is not postponed.
  schedule.poll_at = 1_050
  pollSoon(schedule, 1_000)
  expect(schedule.poll_at).toBe(1_050)
  sawNewBlock(schedule)
  pollSoon(schedule, 1_000)
  expect(schedule.poll_at).toBe(0)
})
