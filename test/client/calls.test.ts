import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { createRelayerClient, type Middleware, type RelayerClientOptions, RelayerError } from '../../client/index.ts'
import { listen } from '../support/listen.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { testRig } from '../support/test-rig.ts'

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const hello = { message: 'Hello' }
const never = () => new Promise<never>(() => {})
/** The error of a deadline, as that of AbortSignal.timeout. */
const timeout = (message: string) => expect.objectContaining({ name: 'TimeoutError', message })

const clientOf = (
  { url, api_key }: Pick<TestService, 'url' | 'api_key'>,
  options: Partial<RelayerClientOptions> = {},
) => createRelayerClient({ baseUrl: url, token: api_key, ...options })

test('ends a call after its deadline, in the pause before a retry too', async () => {
  const service = await startTestService(
    { RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '1' },
    // The time of the rate limit stands still: every retry is refused.
    { elapsed: () => 0 },
  )
  const statuses: number[] = []
  const client = clientOf(service)
  client.use({ onResponse: ({ response }) => void statuses.push(response.status) })
  await client.signing.signMessage('demo', hello)
  const limited = client.signing.signMessage('demo', hello, { timeoutMs: 1_500 })
  await expect(limited).rejects.toEqual(timeout('The call took over 1500 ms'))
  expect(statuses).toContain(429)
})

test('takes the deadline of the client where the call names none', async () => {
  const service = await startTestService()
  const client = clientOf(service, { fetch: never, timeoutMs: 50 })
  await expect(client.service.getHealth()).rejects.toEqual(timeout('The call took over 50 ms'))
  await expect(client.get('/api/v1/health', { timeoutMs: 20 })).rejects.toEqual(timeout('The call took over 20 ms'))
  await expect(client.relayers.list({ timeoutMs: 30 }).next()).rejects.toEqual(timeout('The call took over 30 ms'))
  const [nothing, tooLong] = [0, 2 ** 31].map((timeoutMs) => client.get('/api/v1/health', { timeoutMs }))
  await expect(nothing).rejects.toThrow(RangeError)
  await expect(tooLong).rejects.toThrow('The timeout of the call must be 1 to 2147483647 ms; it is 2147483648')
})

test('ends an attempt whose answer stops in the middle', async () => {
  const server = createServer((_, response) => void response.writeHead(200).write('{"success":'))
  const client = createRelayerClient({ baseUrl: await listen(server), token: 't', attemptTimeoutMs: 100 })
  await expect(client.service.getHealth()).rejects.toEqual(timeout('The attempt took over 100 ms'))
})

test('repeats a transaction under its key after an attempt without an answer, and sends it once', async () => {
  const { chain, addAccount, client, url, api_key } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  const keys: (string | null)[] = []
  const impatient = clientOf(
    { url: url(), api_key },
    {
      attemptTimeoutMs: 1_500,
      fetch: async (request) => {
        keys.push(request.headers.get('Idempotency-Key'))
        const response = await fetch(request)
        return keys.length === 1 ? never() : response
      },
    },
  )
  const sent = await impatient.transactions.send(account.relayer_id, { to }, { wait: 'submitted' })
  expect(keys.length).toBeGreaterThan(1)
  expect(new Set(keys).size).toBe(1)
  const listed = await Array.fromAsync(client().transactions.listRelayerTransactions(account.relayer_id))
  expect(listed.map(({ id }) => id)).toEqual([sent.id])
  // A transaction that is never mined.
  const wait = client().transactions.wait(account.relayer_id, sent.id, { timeoutMs: 100 })
  await expect(wait).rejects.toEqual(timeout('The call took over 100 ms'))
  await account.finished(chain.mine)
})

test('asks a function for the token at each attempt, so that a rotated token is taken', async () => {
  const service = await startTestService()
  const { api_key, token } = await service.client.apiKeys.create({ name: 'rotated', scopes: ['read'] })
  let current = token
  const sent: (string | null)[] = []
  const client = clientOf(service, {
    token: async () => current,
    fetch: (request) => {
      sent.push(request.headers.get('Authorization'))
      return sent.length === 2
        ? Promise.resolve(new Response(null, { status: 429, headers: { 'Retry-After': '0' } }))
        : fetch(request)
    },
  })
  expect((await client.apiKeys.getOwn()).id).toBe(api_key.id)
  const { token: rotated } = await service.client.apiKeys.rotate(api_key.id, {
    previous_token_valid_seconds: 0,
  })
  client.use({
    onResponse() {
      current = rotated
    },
  })
  expect((await client.apiKeys.getOwn()).id).toBe(api_key.id)
  expect(sent).toEqual([token, token, rotated].map((each) => `Bearer ${each}`))

  const failing = clientOf(service, { token: () => Promise.reject(new Error('no token')) })
  await expect(failing.apiKeys.getOwn()).rejects.toThrow('no token')
  const hanging = clientOf(service, { token: never, attemptTimeoutMs: 50 })
  await expect(hanging.apiKeys.getOwn()).rejects.toEqual(timeout('The attempt took over 50 ms'))
})

test('gives status, headers and request id of a success', async () => {
  const { client } = await startTestService()
  const created = client.signers.create({ id: 'key', type: 'generated' })
  const { data, response, requestId } = await created.withResponse()
  expect([data.id, response.status]).toEqual(['key', 201])
  expect(requestId).toMatch(/^[\w-]{36}$/)
  expect(response.headers.get('X-Request-Id')).toBe(requestId)
  expect(await created).toBe(data)

  const byPath = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } }).withResponse()
  expect(byPath.response.headers.get('ETag')).toBe(`"${byPath.data.data.revision}"`)
  const missing = client.relayers.get('nobody').withResponse()
  await expect(missing).rejects.toBeInstanceOf(RelayerError)
})

test('calls middleware of openapi-fetch for each attempt', async () => {
  const service = await startTestService()
  const statuses: number[] = []
  let answers = [429, 200]
  const client = clientOf(service, {
    fetch: (request) => {
      const [status, ...others] = answers
      answers = others
      if (status === undefined) throw new TypeError('fetch failed')
      return status === 200
        ? fetch(request)
        : Promise.resolve(new Response(null, { status, headers: { 'Retry-After': '0' } }))
    },
  })
  const middleware: Middleware = {
    onRequest: ({ request }) => request.headers.set('If-Match', '*'),
    onResponse: ({ response }) => void statuses.push(response.status),
    onError: ({ error }) => new Error('not reached', { cause: error }),
  }
  client.use(middleware)
  // Without the header of the middleware the service answers 428.
  expect((await client.relayers.update('demo', { name: 'Renamed' })).name).toBe('Renamed')
  expect(statuses).toEqual([429, 200])
  await expect(client.relayers.get('demo')).rejects.toThrow('not reached')
  client.eject(middleware)
  await expect(client.relayers.get('demo')).rejects.toThrow('fetch failed')
})
