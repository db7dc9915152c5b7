import { afterEach, expect, test, vi } from 'vitest'
import { createRelayerClient } from '../../client/index.ts'
import { startTestService, type TestService } from '../support/service.ts'

const signPath = '/api/v1/relayers/{relayer_id}/sign'
const hello = { path: { relayer_id: 'demo' }, body: { message: 'Hello' } }
const baseUrl = 'http://service.test'
const token = 't'.repeat(32)

type Fetch = (request: Request) => Promise<Response>

const clientOf = (service: TestService, fetch: Fetch, maxRetries = 3) =>
  createRelayerClient({ baseUrl: service.url, token: service.api_key, fetch, maxRetries })

const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  Response.json(body, { status, headers })

const failure = (message: string) => ({ success: false, data: null, message })
const page1 = { current_page: 1, per_page: 1, total_items: 1 }
const healthy = () => json(200, { success: true, data: { status: 'ok' }, error: '', pagination: page1 })

/** What the call is rejected with; a failure when it is not. */
const rejectionOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'it succeeds',
    (reason: unknown) => reason,
  )

afterEach(() => void vi.useRealTimers())

/** Answers 429 `times` times, then well. */
function limited(times: number, retryAfter: string | undefined) {
  const requests: Request[] = []
  const fetch: Fetch = async (request) => {
    requests.push(request)
    if (requests.length > times) return healthy()
    return json(429, failure('Too Many Requests'), retryAfter === undefined ? {} : { 'Retry-After': retryAfter })
  }
  return { requests, client: createRelayerClient({ baseUrl, token, fetch }) }
}

test('repeats a request after the Retry-After of a 429, in any of its forms, and never earlier', async () => {
  for (const form of ['seconds', 'date']) {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) })
    const retryAfter = form === 'date' ? new Date(Date.now() + 7_000).toUTCString() : '7'
    const { requests, client } = limited(1, retryAfter)
    const call = client.get('/api/v1/health')
    await vi.advanceTimersByTimeAsync(6_999)
    expect(requests, form).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect((await call).data.status).toBe('ok')
    expect(requests, form).toHaveLength(2)
  }
})

test('sends the whole body at every attempt', async () => {
  const { requests, client } = limited(3, '0')
  await client.post(signPath, hello)
  expect(await Promise.all(requests.map((request) => request.text()))).toEqual(Array(4).fill('{"message":"Hello"}'))
})

test('gives up after three retries, and at once when the wait is unknown or too long', async () => {
  const many = limited(9, '0')
  expect(await rejectionOf(many.client.get('/api/v1/health'))).toMatchObject({ status: 429, retryAfter: 0 })
  expect(many.requests).toHaveLength(4)
  for (const retryAfter of [undefined, '61', '86400', 'soon']) {
    const { requests, client } = limited(1, retryAfter)
    expect.soft(await rejectionOf(client.get('/api/v1/health')), retryAfter).toMatchObject({ status: 429 })
    expect.soft(requests, retryAfter).toHaveLength(1)
  }
})

test('ignores a Retry-After that is neither whole seconds nor a date', async () => {
  // Date.parse takes both of these for days of the year 2001, which are over.
  for (const retryAfter of ['-1', '1.5']) {
    const { requests, client } = limited(1, retryAfter)
    const error = await rejectionOf(client.get('/api/v1/health'))
    expect.soft(error, retryAfter).toMatchObject({ status: 429, retryAfter: undefined })
    expect.soft(requests, retryAfter).toHaveLength(1)
  }
})

test('does not repeat a request after another failure, even with a Retry-After, because the service may have carried it out', async () => {
  let count = 0
  const fetch: Fetch = async () => {
    count += 1
    return json(503, failure('Service Unavailable'), { 'Retry-After': '0' })
  }
  const error = await rejectionOf(createRelayerClient({ baseUrl, token, fetch }).post(signPath, hello))
  expect(error).toMatchObject({ status: 503, retryAfter: 0 })
  expect(count).toBe(1)
})

test('ends the wait when the signal aborts, and clears its timer', async () => {
  vi.useFakeTimers()
  const { requests, client } = limited(1, '60')
  const abort = new AbortController()
  const call = rejectionOf(client.get('/api/v1/health', { signal: abort.signal }))
  await vi.advanceTimersByTimeAsync(59_000)
  abort.abort(new Error('enough'))
  expect(await call).toBe(abort.signal.reason)
  expect(vi.getTimerCount()).toBe(0)
  expect(requests).toHaveLength(1)
})

test('is admitted after the Retry-After', async () => {
  let nowMs = 0
  const service = await startTestService(
    { RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '2' },
    { elapsed: () => nowMs },
  )
  let refusals = 0
  const client = clientOf(service, async (request) => {
    const response = await fetch(request)
    if (response.status !== 429) return response
    refusals += 1
    // The service's clock is what passes here.
    nowMs += Number(response.headers.get('Retry-After')) * 1_000
    return json(429, await response.json(), { 'Retry-After': '0' })
  })
  for (let count = 0; count < 5; count += 1) await client.post(signPath, hello)
  expect(refusals).toBe(3)
  const impatient = await rejectionOf(clientOf(service, fetch, 0).post(signPath, hello))
  expect(impatient).toMatchObject({ status: 429, code: 'rate_limited', retryAfter: 1 })
})
