import { expect, test } from 'vitest'
import { DatabaseClock } from '../../server/store/postgres/connection.ts'

/** `hears`: the database read its clock `read_ms` after the question, and the answer is read `answered_ms` after it. */
function clockWith() {
  const time = { mono_ms: 5_000, database_ms: 1_000_000 }
  const clock = new DatabaseClock(() => time.mono_ms)
  const pass = (ms: number) => {
    time.mono_ms += ms
    time.database_ms += ms
  }
  const hears = (readMs: number, answeredMs: number) => {
    const askedMs = time.mono_ms
    pass(readMs)
    const { database_ms } = time
    pass(answeredMs - readMs)
    clock.heard(database_ms, askedMs)
  }
  return { clock, time, pass, hears, error: () => clock.now() - time.database_ms }
}

test('shows the time of the database, and goes on without it', () => {
  const { hears, pass, error } = clockWith()
  hears(1, 1)
  expect(error()).toBe(0)
  pass(86_400_000)
  expect(error()).toBe(0)
})

test('keeps its time when an answer is read late', () => {
  const { hears, error } = clockWith()
  hears(1, 1)
  hears(1, 60_000)
  expect(error()).toBe(0)
  hears(60_000, 60_000)
  expect(error()).toBe(0)
})

test('is at most as wrong as the answer took', () => {
  const { hears, error } = clockWith()
  hears(0, 40)
  expect(error()).toBe(-40)
  hears(2, 5)
  expect(error()).toBe(-3)
})

test.each([
  ['ahead', 3_600_000],
  ['back', -3_600_000],
])('follows the clock of a database that is set %s', (_, byMs) => {
  const { hears, time, error } = clockWith()
  hears(0, 0)
  time.database_ms += byMs
  hears(0, 0)
  expect(error()).toBe(0)
})

test('follows the database after this machine stood still', () => {
  const { hears, time, error } = clockWith()
  hears(1, 1)
  time.database_ms += 86_400_000
  expect(error()).toBe(-86_400_000)
  hears(1, 1)
  expect(error()).toBe(0)
})
