import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { collectBufferGarbage } from '../../server/app/garbage.ts'

const lookMs = 100
const largeBytes = 20 * 1024 * 1024

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

test('collects when buffers have grown, and not again before they grow again', () => {
  const gc = vi.fn()
  vi.stubGlobal('gc', gc)
  collectBufferGarbage()
  vi.advanceTimersByTime(lookMs)
  expect(gc).not.toHaveBeenCalled()
  const held = [Buffer.alloc(largeBytes)]
  vi.advanceTimersByTime(lookMs)
  expect(gc).toHaveBeenCalledExactlyOnceWith({ type: 'minor', execution: 'sync' })
  vi.advanceTimersByTime(lookMs)
  expect(gc).toHaveBeenCalledTimes(1)
  held.push(Buffer.alloc(largeBytes))
  vi.advanceTimersByTime(lookMs)
  expect(gc).toHaveBeenCalledTimes(2)
  expect(held).toHaveLength(2)
})

test('does nothing in a process without --expose-gc', () => {
  vi.stubGlobal('gc', undefined)
  collectBufferGarbage()
  expect(vi.getTimerCount()).toBe(0)
})
