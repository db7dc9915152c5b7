import { afterAll, beforeAll, expect, test } from 'vitest'
import { ApiError } from '../../../server/api/http/errors.ts'
import type { RateLimit } from '../../../server/api/http/rate-limit.ts'
import { SharedRateLimit } from '../../../server/api/http/shared-rate-limit.ts'
import { connect } from '../../../server/store/postgres/connection.ts'
import type { TakeTokens } from '../../../server/store/store.ts'
import { newDatabase, type TestDatabase } from '../../support/postgres.ts'

let database: TestDatabase
let ask: TakeTokens
let close: () => Promise<void>
let asked = 0

beforeAll(async () => {
  database = await newDatabase()
  const connection = await connect({ url: database.url, max_connections: 2, timeout_ms: 10_000, allow_weak: [] })
  close = connection.close
  const { takeTokens } = connection
  if (!takeTokens) throw new Error('The store has no shared buckets')
  ask = (...given) => {
    asked += 1
    return takeTokens(...given)
  }
})

afterAll(async () => {
  await close?.()
  await database?.drop()
})

/** Rate limits of servers that share the database. */
const serversOf = (count: number, perSecond: number, burst: number): RateLimit[] =>
  Array.from(
    { length: count },
    () => new SharedRateLimit({ per_second: perSecond, burst }, ask, () => performance.now()),
  )

/** The headers of the response, whether the request is admitted or refused. */
async function take(limit: RateLimit, id: string, count = 1): Promise<Record<string, string>> {
  try {
    return await limit.take({ id, rate_limit: null }, count)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'rate_limited') return error.headers
    throw error
  }
}
const passes = async (limit: RateLimit, id: string, count?: number) =>
  (await take(limit, id, count))['Retry-After'] === undefined

test('admits the burst over all servers at once, with few database calls', async () => {
  const servers = serversOf(3, 1, 600)
  const before = asked
  const passed = await Promise.all(
    Array.from({ length: 900 }, (_, index) => passes(servers[index % 3] as RateLimit, 'burst')),
  )
  const count = passed.filter(Boolean).length
  // The upper bound allows for tokens that accrue during the burst.
  expect(count).toBeGreaterThanOrEqual(600)
  expect(count).toBeLessThanOrEqual(630)
  expect(asked - before).toBeLessThan(30)
})

test('admits at most a tenth more than the rate over all servers, also under uneven demand', async () => {
  const [perSecond, burst] = [400, 400]
  const servers = serversOf(3, perSecond, burst)
  const before = asked
  const began = performance.now()
  const admitted = await Promise.all(
    servers.map(async (limit, index) => {
      let passed = 0
      while (performance.now() - began < 2_500) {
        const round = Array.from({ length: index === 0 ? 1 : 20 }, () => passes(limit, 'rate'))
        passed += (await Promise.all(round)).filter(Boolean).length
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      return passed
    }),
  )
  const wanted = burst + (perSecond * (performance.now() - began)) / 1_000
  const sum = admitted.reduce((total, one) => total + one, 0)
  // On a busy machine it is asked for less often than it admits.
  expect(sum / wanted).toBeGreaterThan(0.5)
  expect(sum / wanted).toBeLessThan(1.1)
  expect(asked - before).toBeLessThan(sum / 2)
})

test('returns Retry-After and the headers of a single server with a refusal', async () => {
  // Nothing accrues while the test runs.
  const [one, other] = serversOf(2, 0.01, 3) as [RateLimit, RateLimit]
  const policy = '"default";q=3;w=300'
  expect(await take(one, 'headers')).toEqual({ RateLimit: '"default";r=2;t=100', 'RateLimit-Policy': policy })
  expect(await passes(other, 'headers', 2)).toBe(true)
  const { 'Retry-After': waitS, ...headers } = await take(other, 'headers')
  expect(headers).toEqual({ RateLimit: `"default";r=0;t=${waitS}`, 'RateLimit-Policy': policy })
  expect(Number(waitS)).toBeGreaterThan(40)
  expect(Number(waitS)).toBeLessThanOrEqual(100)
  const { 'Retry-After': longerS } = await take(one, 'headers', 3)
  expect(Number(longerS) - Number(waitS)).toBeGreaterThan(150)
  await expect(take(one, 'headers', 4)).rejects.toMatchObject({ code: 'invalid_request' })
})

test('admits a caller after its Retry-After', async () => {
  const [one, other] = serversOf(2, 1, 1) as [RateLimit, RateLimit]
  let waitS: string | undefined
  while (waitS === undefined) waitS = (await take(one, 'wait'))['Retry-After']
  await new Promise((resolve) => setTimeout(resolve, Number(waitS) * 1_000))
  expect(await passes(other, 'wait')).toBe(true)
})

test('counts a large response of one server on the others', async () => {
  const [one, other] = serversOf(2, 0.01, 10) as [RateLimit, RateLimit]
  expect(await passes(one, 'large')).toBe(true)
  one.weigh({ id: 'large', rate_limit: null }, 8 * 64 * 1024)
  expect(await passes(one, 'large')).toBe(true)
  expect(await passes(other, 'large')).toBe(false)
})

test('returns unused requests of a server to the bucket', async () => {
  const clock = { ms: 0 }
  const stingy = new SharedRateLimit({ per_second: 1_000, burst: 100 }, ask, () => clock.ms)
  const [other] = serversOf(1, 1_000, 100) as [RateLimit]
  expect(await passes(stingy, 'back')).toBe(true)
  clock.ms = 2_000
  expect(await passes(stingy, 'back')).toBe(true)
  clock.ms = 4_000
  expect(await passes(stingy, 'back')).toBe(true)
  // Three were used, and one batch of 50 is on the other server: without giving back, two batches more.
  expect(await passes(other, 'back', 47)).toBe(true)
})

test('neither charges nor credits a caller when the clock is set back', async () => {
  const [one, other] = serversOf(2, 0.01, 3) as [RateLimit, RateLimit]
  expect(await passes(one, 'clock')).toBe(true)
  expect(await passes(one, 'clock')).toBe(true)
  // The state of the bucket after the clock was an hour ahead.
  await database.query(
    "UPDATE rate_buckets SET empty_at = empty_at + 3600000, asked_at = asked_at + 3600000 WHERE caller = 'clock'",
  )
  expect(await passes(other, 'clock')).toBe(true)
  expect(await passes(one, 'clock')).toBe(false)
})

test.each(['1e300', "'Infinity'", "'NaN'"])(
  'has room within a second under a high limit, with a bucket that is full until %s',
  async (time) => {
    const [one, other] = serversOf(2, 100_000, 100_000) as [RateLimit, RateLimit]
    const id = `full until ${time}`
    expect(await passes(one, id)).toBe(true)
    await database.query(`UPDATE rate_buckets SET empty_at = ${time} WHERE caller = $caller$${id}$caller$`)
    const { 'Retry-After': waitS = '0' } = await take(other, id)
    expect(Number(waitS)).toBeLessThanOrEqual(1)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(await passes(other, id)).toBe(true)
  },
)

test.each([Number.NaN, Number.POSITIVE_INFINITY])('rejects a charge of %s', async (charge) => {
  const bucket = { interval_ms: 1, tolerance_ms: 10, max_debt_ms: 60_000 }
  const id = `charge ${charge}`
  await ask(id, bucket, 0, 1)
  await expect(ask(id, bucket, charge, 1)).rejects.toThrow('a number of requests is needed')
  expect(await ask(id, bucket, 0, 1)).toMatchObject({ granted: 1 })
})

test('discards an invalid number or size from the database', async () => {
  const asked: number[] = []
  let granted: number = Number.NaN
  const limit = new SharedRateLimit(
    { per_second: 10, burst: 10 },
    (_caller, _bucket, charge) => {
      asked.push(charge)
      return Number.isNaN(granted)
        ? Promise.reject(new Error('A bucket gave no answer'))
        : Promise.resolve({ granted, empty_in_ms: 0 })
    },
    () => 0,
  )
  limit.weigh({ id: 'odd', rate_limit: null }, Number.NaN)
  await expect(take(limit, 'odd')).rejects.toThrow('A bucket gave no answer')
  granted = 1
  expect(await passes(limit, 'odd')).toBe(true)
  expect(asked.map((charge) => charge + 0)).toEqual([0, 0])
})

test('admits nothing while the database is unreachable', async () => {
  const failing = new SharedRateLimit(
    { per_second: 10, burst: 10 },
    () => Promise.reject(new ApiError('unavailable', 'Service Unavailable')),
    () => performance.now(),
  )
  await expect(take(failing, 'client')).rejects.toMatchObject({ code: 'unavailable' })
})
