import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { collectBufferGarbage } from '../../server/app/garbage.ts'

const look_ms = 100
const large_bytes = 20 * 1024 * 1024

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
  vi.advanceTimersByTime(look_ms)
  expect(gc).not.toHaveBeenCalled()
  const held = [Buffer.alloc(large_bytes)]
  vi.advanceTimersByTime(look_ms)
  expect(gc).toHaveBeenCalledExactlyOnceWith({ type: 'minor', execution: 'sync' })
  vi.advanceTimersByTime(look_ms)
  expect(gc).toHaveBeenCalledTimes(1)
  held.push(Buffer.alloc(large_bytes))
  vi.advanceTimersByTime(look_ms)
  expect(gc).toHaveBeenCalledTimes(2)
  expect(held).toHaveLength(2)
})

test('does nothing in a process without --expose-gc', () => {
  vi.stubGlobal('gc', undefined)
  collectBufferGarbage()
  expect(vi.getTimerCount()).toBe(0)
})
