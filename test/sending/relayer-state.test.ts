import { expect, test } from 'vitest'
import { NonceWindow } from '../../server/domain/nonce-window.ts'
import { RelayerState } from '../../server/sender/relayer-state.ts'

const chain = { blockHash: async (number: number) => `0x${number}` }
const head = (number: number) => ({ number, hash: `0x${number}`, parent_hash: `0x${number - 1}` })

/** A state whose clock stands still until it is set. */
function newState() {
  const clock = { now: 0 }
  return { clock, state: new RelayerState('a node', () => clock.now) }
}

test('doubles the window while nodes take all, shrinks it to what a node holds, and then tries one nonce more at growing intervals', () => {
  const window = new NonceWindow()
  const upTo = (count: number) => Array.from({ length: count }, (_, index) => index)
  const sizes = [16, 32, 64, 600].map((held) => {
    window.noteAnswers(0, { taken: upTo(held), fullAt: undefined })
    return window.size
  })
  expect(sizes).toEqual([32, 64, 128, 600])
  expect(window.heldByNodes, 'no node has refused any').toBe(600)

  /** Blocks that use the window of a node which holds 16, and at which of them it refuses one more. */
  const refusedAt: number[] = []
  for (let block = 0; block < 100; block += 1) {
    const isRefused = window.size > 16
    if (isRefused) refusedAt.push(block)
    window.noteAnswers(0, { taken: upTo(Math.min(window.size, 16)), fullAt: isRefused ? 16 : undefined })
    expect([window.size, window.heldByNodes]).toEqual([16, 16])
    window.sawMined()
  }
  expect(refusedAt).toEqual([0, 4, 12, 28, 60])

  // A limit that was lifted: each try that no node refuses is twice as large as the last one.
  const grown: number[] = []
  for (let block = 0; window.size < 600 && block < 100; block += 1) {
    window.noteAnswers(0, { taken: upTo(window.size), fullAt: undefined })
    window.sawMined()
    if (window.size > (grown.at(-1) ?? 16)) grown.push(window.size)
  }
  expect(grown).toEqual([17, 19, 23, 31, 47, 79, 143, 271, 527, 600])
  // A lane that is full before its first nonce gets one transaction at a time.
  window.noteAnswers(0, { taken: [], fullAt: 0 })
  expect(window.size).toBe(1)
})

test('is silent about a transaction when the time of its tier has passed since its last broadcast', () => {
  const { clock, state } = newState()
  const silent = (now: number, tier: 'fastest' | 'average' = 'fastest') => {
    clock.now = now
    return state.isSilent({ row_id: 1, speed: tier })
  }
  expect(silent(1_000_000), 'never broadcast').toBe(false)
  clock.now = 1_000
  state.markSent(1)
  expect([silent(15_999), silent(16_000)]).toEqual([false, true])
  expect(silent(16_000, 'average')).toBe(false)
})

test('counts the blocks that leave out the next transaction, or one whose price is below the base fee', async () => {
  const { state } = newState()
  await state.advance(chain, { head: head(1), latest: 5 })
  const row = (rowId: number, nonce: number, payable: boolean, hash = '0xa') => ({
    row_id: rowId,
    hash,
    nonce,
    payable,
  })
  const count = (...rows: ReturnType<typeof row>[]) => {
    state.countLeftOut(rows, ({ payable }) => payable)
    return [1, 2, 3].map((rowId) => state.blocksWithout(rowId))
  }
  expect(count(row(1, 5, true), row(2, 6, true), row(3, 7, false))).toEqual([0, undefined, 0])
  expect(count(row(1, 5, true), row(2, 6, true), row(3, 7, false))).toEqual([1, undefined, 1])
  // Other bytes, or bytes that can be paid for again, begin anew.
  expect(count(row(1, 5, true, '0xb'), row(2, 6, true), row(3, 7, true))).toEqual([0, undefined, undefined])
})

test('delays each further poll without a new block', async () => {
  const { clock, state } = newState()
  const waits: number[] = []
  for (let poll = 0; poll < 8; poll += 1) {
    state.pollAfter(9_000)
    state.pollSoon()
    waits.push(Math.max(0, state.msUntilPoll))
  }
  expect(waits).toEqual([0, 100, 200, 400, 800, 1_600, 3_000, 3_000])
  // An earlier poll is not postponed.
  clock.now = 1_000
  state.pollAfter(50)
  state.pollSoon()
  expect(state.msUntilPoll).toBe(50)
  await state.advance(chain, { head: head(1), latest: 0 })
  state.pollSoon()
  expect(state.msUntilPoll).toBe(0)
})
