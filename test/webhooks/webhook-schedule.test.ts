import { expect, test } from 'vitest'
import type { AttemptResult } from '../../server/webhooks/attempt.ts'
import { type Circumstances, verdictOf } from '../../server/webhooks/schedule.ts'

const at = 1_000_000_000_000
const answer = (status: number | null, retryAfterS?: number) => ({
  status,
  error: 'x',
  answer: '',
  retry_after_s: retryAfterS,
})
const second = 1_000
const hour = 3_600 * second

const judge = (result: AttemptResult, circumstances: Partial<Circumstances>) =>
  verdictOf(result, { failures: 0, failing_since: undefined, now: at, random: 0.5, scale: 1, ...circumstances })

test.each([200, 204, 299])('treats %d as a success', (status) => {
  expect(judge(answer(status), { failures: 3, failing_since: at - 200 * hour })).toMatchObject({
    status: 'delivered',
    failures: 3,
  })
})

test('waits longer after each failure, within a fifth, and gives up after the tenth attempt', () => {
  const waits = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
  for (const [failures, waitS] of waits.entries()) {
    for (const [chance, factor] of [
      [0, 0.8],
      [0.5, 1],
      [1, 1.2],
    ] as const) {
      const verdict = judge(answer(500), { failures, random: chance })
      expect(verdict).toMatchObject({ status: 'pending', failures: failures + 1 })
      expect(Math.abs(verdict.next_at - at - waitS * second * factor)).toBeLessThanOrEqual(1)
    }
  }
  expect(judge(answer(500), { failures: 9 })).toMatchObject({ status: 'failed', failures: 10 })
})

test.each([
  ['shorter than the schedule', 2, 2],
  ['longer than the schedule', 7_200, 7_200],
  ['at least a second', 0, 1],
  ['at most a day', 1_000_000, 86_400],
])('replaces the wait by Retry-After: %s', (_, askedS, waitS) => {
  expect(judge(answer(503, askedS), { failures: 1, random: 0 }).next_at).toBe(at + waitS * second)
})

test.each([301, 302, 307, 308, 400, 401, 404, 429, 500, null])('treats %s as a failure', (status) => {
  expect(judge(answer(status), { failures: 0 })).toMatchObject({ status: 'pending', next_at: at + 5 * second })
})

test('disables a notification at once after 410', () => {
  expect(judge(answer(410), { failures: 0 })).toMatchObject({
    status: 'failed',
    disable: expect.stringContaining('410'),
  })
})

test('disables a notification after 120 hours of failures, and not earlier', () => {
  expect(judge(answer(500), { failures: 2, failing_since: at - 120 * hour + 1 }).disable).toBeUndefined()
  expect(judge(answer(500), { failures: 2, failing_since: at - 120 * hour })).toMatchObject({ status: 'failed' })
  expect(judge(answer(500), { failures: 2, failing_since: at - 120 * hour }).disable).toContain('120 hours')
})

test('scales all delays', () => {
  expect(judge(answer(500), { failures: 0, scale: 0.001 }).next_at).toBe(at + 5)
  expect(judge(answer(500), { failures: 2, failing_since: at - 120 * 3_600, scale: 0.001 }).disable).toBeDefined()
})

test.each([
  ['no failures', undefined, false],
  ['failures for less than a minute', 59_000, false],
  ['failures for a minute', 60_000, true],
])('makes the waiting deliveries due by a success after %s: %s ms', (_, failedForMs, recovered) => {
  const since = failedForMs === undefined ? undefined : 1_000_000 - failedForMs
  expect(judge(answer(200), { failures: 3, failing_since: since, now: 1_000_000 })).toMatchObject({
    status: 'delivered',
    recovered,
  })
})
