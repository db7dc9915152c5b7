import { expect, test } from 'vitest'
import { type Advance, countLeftOut, newChainState, takeIn } from '../../server/sender/chain-state.ts'
import { isSilent, maxWindow, narrow, newMempoolState, noteSent, sawBlocks } from '../../server/sender/mempool-state.ts'
import { newSchedule, pollSoon, sawNewBlock } from '../../server/sender/schedule.ts'

const head = (number: number) => ({ number, hash: `0x${number}`, parent_hash: `0x${number - 1}` })
const chain = { blockHash: async (number: number) => `0x${number}` }

test('shrinks the window to the number that a node holds, keeps it for a block, and then grows it by a quarter', async () => {
  const [seen, pool] = [newChainState(), newMempoolState()]
  const see = async (block: number, latest: number) =>
    sawBlocks(pool, (await takeIn(seen, chain, { head: head(block), latest })) as Advance)
  expect(pool.window).toBe(maxWindow)
  await see(1, 100)
  narrow(pool, 116, seen.latest)
  expect(pool.window).toBe(16)
  const windows: number[] = []
  for (let block = 2; block < 40; block += 1) {
    await see(block, 100 + block)
    windows.push(pool.window)
  }
  expect(windows.slice(0, 4)).toEqual([16, 20, 25, 32])
  expect(windows.at(-1)).toBe(maxWindow)
  // A lane that is full before its first nonce gets one transaction at a time.
  narrow(pool, 0, seen.latest)
  expect(pool.window).toBe(1)
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
