import { expect, test } from 'vitest'
import { createRelayerClient, RelayerError } from '../../client/index.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { insertTransactions, transactionId } from '../support/transactions.ts'

const signPath = '/api/v1/relayers/{relayer_id}/sign'
const sendPath = '/api/v1/relayers/{relayer_id}/transactions'
const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const transactionsPath = '/api/v1/relayers/{relayer_id}/transactions/'
const demo = { path: { relayer_id: 'demo' } }
const hello = { ...demo, body: { message: 'Hello' } }
const baseUrl = 'http://service.test'
const token = 't'.repeat(32)

type Fetch = (request: Request) => Promise<Response>

const clientOf = (service: TestService, fetch: Fetch) =>
  createRelayerClient({ baseUrl: service.url, token: service.api_key, fetch })

const json = (status: number, body: unknown) => Response.json(body, { status })

const page1 = { current_page: 1, per_page: 1, total_items: 1 }
const healthy = () => json(200, { success: true, data: { status: 'ok' }, error: '', pagination: page1 })

/** What the call is rejected with, which must be a RelayerError. */
async function rejection(call: Promise<unknown>): Promise<RelayerError> {
  const error = await call.then(
    () => expect.fail('The call succeeds'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(RelayerError)
  return error as RelayerError
}

test('throws a RelayerError with the message, code and details of a failure', async () => {
  const { client, url } = await startTestService()
  const error = await rejection(client.post(signPath, { ...demo, body: { message: 1 as never } }))
  expect(error).toMatchObject({
    name: 'RelayerError',
    status: 400,
    code: 'invalid_request',
    message: 'body/message: must be a string',
    retryAfter: undefined,
    requestId: expect.stringMatching(/^[\w-]{36}$/),
  })
  expect(error.details).toEqual([{ path: '/body/message', code: 'invalid_type', message: 'must be a string' }])
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({
    error: {
      name: 'RelayerError',
      status: 400,
      code: 'invalid_request',
      message: error.message,
      details: error.details,
      requestId: error.requestId,
      docUrl: `${url}/docs#/section/errors/invalid_request`,
    },
  })
  const both = await rejection(client.post(signPath, { ...demo, body: { message: 1, more: 2 } as never }))
  expect(both.message).toMatch(/^body.*: .+ \(and 1 more\)$/)
  const missing = await rejection(client.post(signPath, { ...hello, path: { relayer_id: 'no-such' } }))
  expect([missing.status, missing.message, missing.details]).toEqual([404, 'Not found', []])
})

test('throws a RelayerError for a wrong token', async () => {
  const { url } = await startTestService()
  const error = await rejection(createRelayerClient({ baseUrl: url, token }).get('/api/v1/relayers'))
  expect([error.status, error.message]).toEqual([401, 'headers/authorization: is no API key that is valid now'])
})

test('throws a RelayerError with status and message for a response of a proxy', async () => {
  const answers: [Response, string][] = [
    [new Response('<h1>Bad gateway</h1>', { status: 502, statusText: 'Bad Gateway' }), 'Bad Gateway'],
    [new Response(null, { status: 503, statusText: 'Service Unavailable' }), 'Service Unavailable'],
    [new Response('', { status: 599 }), 'HTTP 599'],
    [json(500, 'text'), 'HTTP 500'],
    [json(500, null), 'HTTP 500'],
    [json(500, { message: 7, details: 'none' }), 'HTTP 500'],
    [json(500, { details: [null, 'none', { path: 7 }, {}] }), 'HTTP 500'],
  ]
  for (const [response, message] of answers) {
    const client = createRelayerClient({ baseUrl, token, fetch: async () => response })
    const error = await rejection(client.get('/api/v1/health'))
    expect([error.status, error.code, error.message, error.details]).toEqual([response.status, undefined, message, []])
  }
})

test('throws an error of fetch unchanged', async () => {
  const refused = new TypeError('fetch failed')
  const client = createRelayerClient({ baseUrl, token, fetch: () => Promise.reject(refused) })
  await expect(client.get('/api/v1/health')).rejects.toBe(refused)
})

test('calls the given fetch with the token, and follows no redirect', async () => {
  const requests: Request[] = []
  const fetch: Fetch = async (request) => {
    requests.push(request)
    return healthy()
  }
  const client = createRelayerClient({ baseUrl, token, fetch })
  await client.get('/api/v1/notifications/{notification_id}', { path: { notification_id: "a'b,c:d@e" } })
  await client.post(signPath, hello)
  const seen = requests.map(({ method, url, redirect }) => `${method} ${decodeURIComponent(url)} ${redirect}`)
  expect(seen).toEqual([
    `GET ${baseUrl}/api/v1/notifications/a'b,c:d@e error`,
    `POST ${baseUrl}/api/v1/relayers/demo/sign error`,
  ])
  for (const { headers } of requests) expect(headers.get('Authorization')).toBe(`Bearer ${token}`)
  expect(await requests[1]?.json()).toEqual({ message: 'Hello' })
})

test('accepts an amount as a bigint, and rejects a number that has lost digits before sending it', async () => {
  const bodies: string[] = []
  const fetch: Fetch = async (request) => {
    bodies.push(await request.text())
    expect(request.headers.get('Content-Type')).toBe('application/json')
    return healthy()
  }
  const client = createRelayerClient({ baseUrl, token, fetch })
  // A program in JavaScript passes a number.
  const send = (value: string | number | bigint) =>
    client.post(sendPath, { ...demo, body: { to, value: value as string } })
  for (const value of [10n ** 24n, 7, '007']) await send(value)
  expect(bodies.map((body) => JSON.parse(body).value)).toEqual([`1${'0'.repeat(24)}`, 7, '007'])
  await expect(send(2 ** 53)).rejects.toThrow('value: 9007199254740992 is above Number.MAX_SAFE_INTEGER')
  expect(bodies).toHaveLength(3)
})

test('sends no value for a transaction without one', async () => {
  const { client } = await startTestService()
  const dryRun = '/api/v1/relayers/{relayer_id}/transactions/dry-run'
  const { data } = await client.post(dryRun, { ...demo, body: { to } })
  expect(data.refusals.map(({ http_status }) => http_status)).toEqual([503])
})

test('iterates over every item of a list once, in order, with no request for an extra page', async () => {
  const service = await startTestService()
  await insertTransactions(service, 'demo', 250)
  const urls: string[] = []
  const client = clientOf(service, (request) => {
    urls.push(new URL(request.url).search)
    return fetch(request)
  })
  const walk = async (query?: { page?: number; per_page?: number }) => {
    urls.length = 0
    const ids: string[] = []
    for await (const { id } of client.all(transactionsPath, { ...demo, ...(query && { query }) })) ids.push(id)
    return ids
  }
  const all = Array.from({ length: 250 }, (_, index) => transactionId('demo', 250 - index))
  expect(await walk()).toEqual(all)
  expect(urls).toHaveLength(3)
  const slashless = client.all('/api/v1/relayers/{relayer_id}/transactions', demo)
  expect((await Array.fromAsync(slashless)).map(({ id }) => id)).toEqual(all)
  urls.length = 0
  expect(await walk({ per_page: 50 })).toEqual(all)
  expect(urls).toHaveLength(5)
  expect(await walk({ per_page: 5_000 })).toEqual(all)
  expect(urls).toHaveLength(1)
  expect(await walk({ page: 2, per_page: 100 })).toEqual(all.slice(100))
  expect(await walk({ page: 0, per_page: 100 })).toEqual(all)
  expect(await walk({ page: 9 })).toEqual([])
  expect(await walk({ per_page: 0 })).toEqual([])
  expect(urls).toHaveLength(1)
})

test('repeats no item and skips none when rows arrive during an iteration', async () => {
  const service = await startTestService()
  await insertTransactions(service, 'demo', 25)
  let newest = 25
  const client = clientOf(service, async (request) => {
    const response = await fetch(request)
    // Between any two pages three more arrive, while the walk is on.
    if (newest < 40) {
      await insertTransactions(service, 'demo', 3, newest + 1)
      newest += 3
    }
    return response
  })
  const ids: string[] = []
  for await (const { id } of client.all(transactionsPath, { ...demo, query: { per_page: 5 } })) ids.push(id)
  expect(ids).toEqual(Array.from({ length: 25 }, (_, index) => transactionId('demo', 25 - index)))
  expect(newest).toBeGreaterThan(25)
})

test('requests no further page after the loop ends early', async () => {
  const service = await startTestService()
  await insertTransactions(service, 'demo', 25)
  let requests = 0
  const client = clientOf(service, (request) => {
    requests += 1
    return fetch(request)
  })
  for await (const { id } of client.all(transactionsPath, { ...demo, query: { per_page: 5 } })) {
    if (id === transactionId('demo', 19)) break
  }
  expect(requests).toBe(2)
})
