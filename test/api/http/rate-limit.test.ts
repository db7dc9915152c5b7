import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ApiError, toFailure } from '../../../server/api/http/errors.ts'
import { LocalRateLimit, rateLimited } from '../../../server/api/http/rate-limit.ts'
import { errorOf } from '../../../server/domain/errors.ts'
import { type ContractOperation, operations, responseFault } from '../../support/contract.ts'
import { startTestService } from '../../support/service.ts'

/** A limit on a clock that stands still until it is moved. */
function limitOf(perSecond: number, burst: number, startMs = 0) {
  const clock = { now_ms: startMs }
  const limit = new LocalRateLimit({ per_second: perSecond, burst }, () => clock.now_ms)
  /** The headers of the response, whether the request is admitted or refused. */
  const take = (caller = 'a'): Record<string, string> => {
    try {
      return limit.take({ id: caller, rate_limit: null })
    } catch (error) {
      if (error instanceof ApiError && error.code === 'rate_limited') return error.headers
      throw error
    }
  }
  const refused = (headers: Record<string, string>) => headers['Retry-After'] !== undefined
  return { clock, limit, take, passes: (caller?: string) => !refused(take(caller)) }
}

test.each([
  ['a limit', rateLimited(90_000, '"default";q=1;w=1')],
  ['a key service', errorOf('unavailable', 'signer', 'rests', { retry_after_s: 90_000 })],
])('asks nobody to wait for longer than an hour: %s', (_, error) => {
  expect(toFailure(error, { request_id: 'a', caller: undefined }).headers['Retry-After']).toBe('3600')
})

describe('the algorithm', () => {
  test('admits a burst, and then one request per interval', () => {
    const { clock, take } = limitOf(2, 3)
    const policy = '"default";q=3;w=2'
    const passed = (left: number, resetS: number) => ({
      RateLimit: `"default";r=${left};t=${resetS}`,
      'RateLimit-Policy': policy,
    })
    const refused = (waitS: number) => ({
      'Retry-After': `${waitS}`,
      RateLimit: `"default";r=0;t=${waitS}`,
      'RateLimit-Policy': policy,
    })
    const table: [at_ms: number, headers: Record<string, string>][] = [
      [0, passed(2, 1)],
      [0, passed(1, 1)],
      [0, passed(0, 2)],
      [0, refused(1)],
      [499, refused(1)],
      [500, passed(0, 2)],
      [500, refused(1)],
      [1_500, passed(1, 1)],
      [1_500, passed(0, 2)],
      [1_500, refused(1)],
      // A long silence gives the burst back, and no more than that.
      [60_000, passed(2, 1)],
      [60_000, passed(1, 1)],
      [60_000, passed(0, 2)],
      [60_000, refused(1)],
    ]
    for (const [atMs, headers] of table) {
      clock.now_ms = atMs
      expect({ at_ms: atMs, headers: take() }).toEqual({ at_ms: atMs, headers })
    }
  })

  test('does not count a refused request', () => {
    const { clock, passes } = limitOf(1, 1)
    expect(passes()).toBe(true)
    for (let again = 0; again < 1_000; again += 1) expect(passes()).toBe(false)
    clock.now_ms = 1_000
    expect(passes()).toBe(true)
  })

  test('counts a large request or response once for each 64 KiB', () => {
    const { clock, limit, take, passes } = limitOf(1, 2)
    const piece = 64 * 1024
    const caller = { id: 'a', rate_limit: null }
    expect(passes()).toBe(true)
    limit.weigh(caller, piece - 1)
    expect(passes(), 'counts once').toBe(true)
    limit.weigh(caller, 3 * piece)
    expect(take()['Retry-After']).toBe('4')
    clock.now_ms = 4_000
    expect(passes()).toBe(true)
    // Nobody waits longer than a minute for a single response.
    limit.weigh(caller, 1_000 * piece)
    expect(take()['Retry-After']).toBe('61')
    clock.now_ms = 65_000
    expect(passes()).toBe(true)
  })

  test('limits each caller separately', () => {
    const { passes } = limitOf(1, 1)
    expect(['a', 'a', 'b', 'b', 'a'].map(passes)).toEqual([true, false, true, false, false])
  })

  const rate = fc.integer({ min: 1, max: 10_000 })
  const burst = fc.integer({ min: 1, max: 300 })
  // performance.now() has fractions of a microsecond; a service runs for days.
  const start = fc.double({ min: 0, max: 1e9, noNaN: true })

  test('admits exactly the burst at once, for any rate and time', () => {
    fc.assert(
      fc.property(rate, burst, start, (perSecond, most, startMs) => {
        const { passes } = limitOf(perSecond, most, startMs)
        const passed = Array.from({ length: most + 5 }, () => passes()).filter(Boolean).length
        expect(passed).toBe(most)
      }),
      { numRuns: 2_000 },
    )
  })

  test('admits a caller after its Retry-After', () => {
    fc.assert(
      fc.property(rate, burst, start, (perSecond, most, startMs) => {
        const { clock, take, passes } = limitOf(perSecond, most, startMs)
        let waitS: string | undefined
        for (let taken = 0; taken <= most + 1 && waitS === undefined; taken += 1) waitS = take()['Retry-After']
        expect(Number(waitS)).toBeGreaterThanOrEqual(1)
        clock.now_ms += Number(waitS) * 1_000
        expect(passes()).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  test('admits no more than the rate over a long time', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        // A burst of one loses the rest of an interval each time, by its nature.
        fc.integer({ min: 2, max: 20 }),
        start,
        (perSecond, most, startMs) => {
          const { clock, passes } = limitOf(perSecond, most, startMs)
          let passed = 0
          for (let step = 0; step < 1_000; step += 1) {
            clock.now_ms = startMs + step * 10
            while (passes()) passed += 1
          }
          // 9.99 seconds of the rate on top of the burst, and at most one more for the rounding of the clock's fractions.
          const mostPassed = most + Math.floor(9.99 * perSecond)
          expect(passed).toBeGreaterThanOrEqual(mostPassed - 1)
          expect(passed).toBeLessThanOrEqual(mostPassed + 1)
        },
      ),
      { numRuns: 50 },
    )
  })

  test('admits no caller with a debt after idle callers were forgotten', () => {
    const { clock, passes } = limitOf(1, 1)
    for (let caller = 0; caller < 10_000; caller += 1) passes(`caller ${caller}`)
    clock.now_ms = 990
    // Full of callers that still owe: none of them may be forgotten.
    expect(passes('one more')).toBe(true)
    expect(passes('caller 0')).toBe(false)
    clock.now_ms = 1_000
    expect(passes('caller 0')).toBe(true)
    expect(passes('caller 0')).toBe(false)
    expect(passes('one more')).toBe(false)
  })
})

describe('the API', () => {
  const sign = '/api/v1/relayers/demo/sign'
  const post = (body: string) => ({ method: 'POST', body })
  const limited = operations.filter(({ statuses }) => statuses.includes(429))
  const changing = new Set(['manage', 'notifications', 'administer'])
  const configuring = limited.filter(
    ({ method, roles }) => method !== 'GET' && roles.some((role) => changing.has(role)),
  )
  /** A change of the configuration counts as five. */
  const burst = limited.length + 4 * configuring.length
  const slow = { RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: `${burst}` }
  const others = operations.filter((operation) => operation.guarded && !limited.includes(operation))
  /** A request to a resource that does not exist, without required members, so that it has no effect. */
  const failing = ({ method, path, bodies }: ContractOperation): [path: string, init: RequestInit] => [
    path.replaceAll(/\{\w+\}/g, 'none'),
    Object.keys(bodies).length > 0 ? { method, body: '{"none":0}' } : { method },
  ]

  test('limits every operation that needs a token, counts changes as five, and returns Retry-After with 429', async () => {
    expect(others).toEqual([])
    const clock = { now_ms: 5_000 }
    const { raw } = await startTestService(slow, { elapsed: () => clock.now_ms })
    const first = await raw(sign, post('{"message":""}'))
    expect(first.status).toBe(200)
    expect(first.headers.get('RateLimit')).toBe(`"default";r=${burst - 1};t=1`)
    expect(first.headers.get('RateLimit-Policy')).toBe(`"default";q=${burst};w=${burst}`)
    // Requests that fail count as well: only then is guessing limited.
    for (const operation of limited.slice(1)) {
      const { status } = await raw(...failing(operation))
      expect({ id: operation.id, limited: status === 429 }).toEqual({ id: operation.id, limited: false })
    }

    for (const operation of limited) {
      const answer = await raw(...failing(operation))
      const body = await answer.json()
      expect({ id: operation.id, status: answer.status }).toEqual({ id: operation.id, status: 429 })
      expect(body).toMatchObject({ success: false, data: null, code: 'rate_limited', message: 'Too Many Requests' })
      expect(answer.headers.get('Retry-After')).toBe('1')
      expect(answer.headers.get('RateLimit')).toBe('"default";r=0;t=1')
      expect(answer.headers.get('RateLimit-Policy')).toBe(`"default";q=${burst};w=${burst}`)
      expect(responseFault(operation, 429, Object.fromEntries(answer.headers), body)).toBe(undefined)
    }

    clock.now_ms += 1_000
    expect((await raw(sign, post('{"message":""}'))).status).toBe(200)
    expect((await raw(sign, post('{"message":""}'))).status).toBe(429)
  })

  test('does not count a request without a token', async () => {
    const { raw } = await startTestService({ ...slow, RATE_LIMIT_BURST: '1' }, { elapsed: () => 0 })
    for (let again = 0; again < 3; again += 1) {
      expect((await raw(sign, { ...post('{"message":""}'), headers: {} })).status).toBe(401)
      expect((await raw('/api/v1/health')).status).toBe(200)
    }
    expect((await raw(sign, post('{"message":""}'))).status).toBe(200)
    expect((await raw(sign, post('no JSON'))).status).toBe(429)
    expect((await raw('/api/v1/relayers/demo/sign')).status).toBe(429)
  })
})

test('counts requests that no operation answers', async () => {
  const { client, url } = await startTestService()
  const rateLimit = { per_second: 1, burst: 3 }
  const { data } = await client.post('/api/v1/api-keys', {
    body: { name: 'a', scopes: ['read'], rate_limit: rateLimit },
  })
  const headers = { Authorization: `Bearer ${data.token}` }
  const status = async (path: string, method = 'GET') => (await fetch(`${url}${path}`, { method, headers })).status
  expect([
    await status('/api/v1/nothing'),
    await status('/api/v1/relayers/demo', 'PUT'),
    await status('/api/v1/relayers/none'),
    await status('/api/v1/nothing'),
    await status('/api/v1/relayers/demo', 'PUT'),
  ]).toEqual([404, 405, 404, 429, 429])
})
