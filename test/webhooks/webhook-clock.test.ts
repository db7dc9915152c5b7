import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { startReceiver } from '../support/receiver.ts'
import { startTestService } from '../support/service.ts'

// The whole schedule through the service, on a clock that only the tests move.

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const waitsMs = [...[5 * second, 5 * minute, 30 * minute], ...[2, 5, 10, 14, 20, 24].map((hours) => hours * hour)]
const demo = { path: { relayer_id: 'demo' } }
const hook = { path: { notification_id: 'hook' } }
const start = Date.UTC(2030, 0, 1)

type Answer = (response: ServerResponse) => unknown
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (response) =>
    response.writeHead(code, headers).end('as it is')

/** A service on a clock of its own, and a receiver whose answer can be changed. */
async function startClocked() {
  const clock = { now: start }
  const target = { answer: status(500) }
  const receiver = await startReceiver(({ event }, response) => {
    if (event.event !== 'test') target.answer(response)
  })
  const service = await startTestService({}, { now: () => clock.now })
  const { client } = service
  const body = { id: 'hook', url: receiver.url, signing_key: 'a key' }
  await client.post('/api/v1/notifications', { body })
  await client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { notification_id: 'hook' } })
  const events = () => receiver.got.filter(({ event }) => event.event !== 'test')

  const deliveries = async () => (await client.get('/api/v1/notifications/{notification_id}/deliveries', hook)).data
  /** The latest delivery, once so many attempts of it are settled. */
  const attempted = async (count: number) => {
    await expect.poll(async () => (await deliveries())[0]?.attempts.length).toBe(count)
    return (await deliveries())[0] as NonNullable<Awaited<ReturnType<typeof deliveries>>[number]>
  }
  const redeliverSince = async (since: number) => {
    const given = { ...hook, body: { status: 'failed' as const, since: new Date(since).toISOString() } }
    return (await client.post('/api/v1/notifications/{notification_id}/redeliver', given)).data.redelivered_count
  }

  return {
    client,
    clock,
    target,
    receiver,
    events,
    deliveries,
    attempted,
    redeliverSince,
    pause: (paused: boolean) => client.patch('/api/v1/relayers/{relayer_id}', { ...demo, body: { paused } }),
    health: async () => (await client.get('/api/v1/notifications/{notification_id}/health', hook)).data,
    update: (changes: { url?: string; signing_key?: string }) =>
      client.patch('/api/v1/notifications/{notification_id}', { ...hook, body: changes }),
    /** Sets the clock, and has the service look for what is due: nothing has failed so late. */
    async at(time: number) {
      clock.now = time
      expect(await redeliverSince(time + 1_000 * hour)).toBe(0)
    },
    /** Whatever the look before has begun has arrived when this has: it was begun earlier. */
    async settle() {
      await client.post('/api/v1/notifications/{notification_id}/test', hook)
    },
  }
}

const timeOf = (text: string | null | undefined) => Date.parse(text ?? '')

test('makes ten attempts at 0, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, each within a fifth and never early', async () => {
  const { clock, pause, attempted, at, settle, events, health, redeliverSince, target, deliveries } =
    await startClocked()
  await pause(true)
  const factors: number[] = []
  for (const [index, waitMs] of waitsMs.entries()) {
    const { attempts, status, next_attempt_at } = await attempted(index + 1)
    expect(status).toBe('pending')
    const { attempted_at: attemptedAt, number } = attempts[index] ?? {}
    expect([timeOf(attemptedAt), number]).toEqual([clock.now, index + 1])
    const next = timeOf(next_attempt_at)
    factors.push((next - clock.now) / waitMs)
    await at(next - 1)
    await settle()
    expect(events()).toHaveLength(index + 1)
    await at(next)
  }
  const last = await attempted(waitsMs.length + 1)
  expect(last).toMatchObject({ status: 'failed', next_attempt_at: null })
  for (const factor of factors) expect(Math.abs(factor - 1)).toBeLessThanOrEqual(0.201)
  expect(new Set(factors.map((factor) => factor.toFixed(4))).size).toBeGreaterThan(1)
  expect(new Set(events().map(({ body }) => body)).size).toBe(1)
  expect(await health()).toMatchObject({
    status: 'enabled',
    failed_count: 1,
    pending_count: 0,
    failing_since: iso(start),
  })

  // Failed since then: what is older stays as it is; and the schedule begins anew.
  expect(await redeliverSince(start + 1)).toBe(0)
  expect(await redeliverSince(start)).toBe(1)
  const again = await attempted(waitsMs.length + 2)
  expect((timeOf(again.next_attempt_at) - clock.now) / (5 * second)).toBeCloseTo(1, 0)
  target.answer = status(200)
  await at(timeOf(again.next_attempt_at))
  expect(await attempted(waitsMs.length + 3)).toMatchObject({ status: 'delivered' })
  expect((await deliveries()).length).toBe(1)
  expect(await health()).toMatchObject({ failing_since: null, failed_count: 0 })
})

const iso = (time: number) => new Date(time).toISOString()

test.each<[string, (now: number) => string, number]>([
  ['shorter than the schedule', () => '2', 2 * second],
  ['longer than the schedule', () => '7200', 2 * hour],
  ['of no time at all: a second', () => '0', second],
  ['of a month: a day', () => '2592000', 24 * hour],
  ['as a date', (now) => new Date(now + 90 * second).toUTCString(), 90 * second],
  ['as a date that is past: a second', (now) => new Date(now - hour).toUTCString(), second],
])('replaces the wait by Retry-After: %s', async (_, retryAfter, waitMs) => {
  const { clock, pause, attempted, at, target } = await startClocked()
  target.answer = (response) => status(503, { 'Retry-After': retryAfter(clock.now) })(response)
  await pause(true)
  const { next_attempt_at } = await attempted(1)
  expect(timeOf(next_attempt_at)).toBe(start + waitMs)
  target.answer = status(200)
  await at(start + waitMs)
  expect(await attempted(2)).toMatchObject({ status: 'delivered' })
})

test('counts Retry-After as one attempt of the ten', async () => {
  const { clock, pause, attempted, at, target } = await startClocked()
  target.answer = status(429, { 'Retry-After': '10' })
  await pause(true)
  for (let count = 1; count <= 9; count += 1) {
    await attempted(count)
    await at(clock.now + 10 * second)
  }
  expect(await attempted(10)).toMatchObject({ status: 'failed' })
  expect(clock.now - start).toBe(90 * second)
})

test.each([
  ['url', (url: string) => ({ url })],
  ['signing_key', () => ({ signing_key: 'another key' })],
] as const)('disables at once after 410 with the reason; an update of the %s enables', async (_, changesFor) => {
  const { receiver, pause, health, events, target, update, redeliverSince, attempted, settle } = await startClocked()
  target.answer = status(410)
  await pause(true)
  await expect.poll(async () => (await health()).status).toBe('disabled')
  expect(await health()).toMatchObject({ failed_count: 1, disabled_reason: expect.stringContaining('410') })
  await pause(false)
  await settle()
  expect(events()).toHaveLength(1)

  target.answer = status(204)
  await update(changesFor(receiver.url))
  expect(await health()).toMatchObject({
    status: 'enabled',
    disabled_reason: null,
    failing_since: null,
    failed_count: 2,
  })
  expect(await redeliverSince(start)).toBe(2)
  await attempted(1)
  expect(events().map(({ event }) => event.sequence)).toEqual([1, 1, 2])
  expect(await health()).toMatchObject({ failed_count: 0, pending_count: 0 })
})

test('disables a notification with the reason after 120 hours of failures, and starts again after a success', async () => {
  const { clock, pause, attempted, at, health, target, events, settle, update, receiver } = await startClocked()
  await pause(true)
  await attempted(1)
  target.answer = status(200)
  const firstEnd = start + 100 * hour
  await at(firstEnd)
  await attempted(2)
  expect(await health()).toMatchObject({ status: 'enabled', failing_since: null })

  target.answer = status(500)
  await pause(false)
  const { next_attempt_at } = await attempted(1)
  expect((await health()).failing_since).toBe(iso(firstEnd))
  expect(timeOf(next_attempt_at)).toBeLessThan(firstEnd + 120 * hour)
  await at(firstEnd + 120 * hour - 1)
  const { status: still } = await attempted(2)
  expect([still, (await health()).status]).toEqual(['pending', 'enabled'])
  await at(clock.now + 1 * hour)
  expect(await attempted(3)).toMatchObject({ status: 'failed' })
  expect(await health()).toMatchObject({
    status: 'disabled',
    disabled_reason: 'Every attempt has failed for 120 hours; the last failure: HTTP 500',
    pending_count: 0,
  })

  await pause(true)
  await settle()
  expect(events()).toHaveLength(5)
  await update({ url: receiver.url })
  await pause(false)
  await attempted(1)
  expect(await health()).toMatchObject({ status: 'enabled', failing_since: iso(clock.now) })
})
