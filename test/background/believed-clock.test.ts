import pino from 'pino'
import { expect, test } from 'vitest'
import { BelievedClock } from '../../server/lib/believed-clock.ts'

const [hour, day] = [3_600_000, 86_400_000]
const start = Date.parse('2026-01-01T00:00:00.000Z')

/** A clock on the rows of a store; `pass` advances both clocks. */
function clockOver(memory: { ms: number | undefined }) {
  const time = { wall: start, mono: 0 }
  const logged: string[] = []
  const clock = new BelievedClock({
    store: {
      believedTime: async () => memory.ms,
      async believeTime(ms) {
        memory.ms = ms
      },
    },
    now: () => time.wall,
    elapsed: () => time.mono,
    logger: pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) }),
  })
  const pass = (ms: number) => {
    time.wall += ms
    time.mono += ms
    return clock.read()
  }
  const jump = (ms: number) => {
    time.wall += ms
    return clock.read()
  }
  return { pass, jump, logged }
}

test('trusts a steady clock, also at the first start and after a night without the service', async () => {
  const memory = { ms: undefined as number | undefined }
  const { pass, logged } = clockOver(memory)
  for (const ms of [0, hour, hour, 5 * day]) expect(await pass(ms)).toBeDefined()
  expect(memory.ms).toBe(start + 5 * day + 2 * hour)
  expect(await clockOver({ ms: start - 8 * hour }).pass(0)).toBe(start)
  expect(logged).toEqual([])
})

test('trusts a clock that jumps ahead only after a day of monotonic time, and warns once', async () => {
  const memory = { ms: start as number | undefined }
  const { pass, jump, logged } = clockOver(memory)
  expect(await pass(hour)).toBe(start + hour)
  expect(await jump(400 * day)).toBeUndefined()
  expect(await pass(23 * hour)).toBeUndefined()
  expect(memory.ms).toBe(start + hour)
  expect(logged.join('')).toContain('nothing is deleted by age')
  expect(logged).toHaveLength(1)
  expect(await pass(hour)).toBe(start + 401 * day + hour)
})

test('distinguishes a small correction from a jump, and trusts a clock that is set back', async () => {
  const { pass, jump } = clockOver({ ms: start })
  expect(await pass(0)).toBe(start)
  expect(await jump(hour / 2)).toBe(start + hour / 2)
  expect(await jump(-100 * day)).toBe(start + hour / 2 - 100 * day)
  // Correcting that is a jump again: waiting costs nothing.
  expect(await jump(100 * day)).toBeUndefined()
})

test('does not trust a start far ahead of the stored time for a day, however often the service starts', async () => {
  const memory = { ms: start - 30 * day }
  for (let starts = 0; starts < 3; starts += 1) {
    const { pass } = clockOver(memory)
    expect([await pass(0), await pass(12 * hour)]).toEqual([undefined, undefined])
  }
  const { pass } = clockOver(memory)
  expect([await pass(0), await pass(day)]).toEqual([undefined, start + day])
  expect(memory.ms).toBe(start + day)
})
