import { expect, test } from 'vitest'
import { type ContractOperation, operations } from '../../support/contract.ts'
import { exchange, json, type RawAnswer, rawRequest } from '../../support/raw-http.ts'
import { startTestService } from '../../support/service.ts'

const always = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
}
const ofAnswers = {
  ...always,
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

const headersOf = ({ headers }: RawAnswer, wanted: Record<string, string>) =>
  Object.fromEntries(Object.keys(wanted).map((name) => [name, headers[name]]))

/** The target with ids that exist, so that reads succeed. */
const targetOf = ({ path }: ContractOperation) =>
  path
    .replace('{relayer_id}', 'demo')
    .replace('{network_id}', 'evm:local')
    .replaceAll(/\{\w+\}/g, 'none')

test('sends the headers with every operation, whether it succeeds, is refused or is not allowed', async () => {
  const { url, api_key } = await startTestService()
  const statuses = new Set<number>()
  for (const operation of operations) {
    const line = `${operation.method} ${targetOf(operation)}`
    const body = Object.keys(operation.bodies).length > 0 ? JSON.stringify(operation.examples[0] ?? {}) : ''
    const bearer = `Authorization: Bearer ${api_key}`
    const requests = [
      rawRequest(line, [bearer, ...(body === '' ? [] : json(body))], body),
      rawRequest(`${line}?unknown=1`, [bearer]),
      rawRequest(line),
      rawRequest(line.replace(/^\w+/, 'PROPFIND'), [bearer]),
    ]
    // A stream has no end to wait for; its head is looked at below.
    for (const bytes of operation.id.endsWith('Events') ? requests.slice(1) : requests) {
      const answer = await exchange(url, bytes)
      statuses.add(answer.status)
      expect.soft(headersOf(answer, ofAnswers), `${line} ${answer.status}`).toEqual(ofAnswers)
    }
  }
  expect([...statuses]).toEqual(expect.arrayContaining([200, 201, 400, 401, 404, 405, 415]))
})

test('sends the headers with event streams, HEAD responses, and refusals by Node’s parser', async () => {
  const { url, api_key, raw } = await startTestService()
  const stream = await raw('/api/v1/relayers/demo/events')
  for (const [name, value] of Object.entries(ofAnswers)) expect(stream.headers.get(name), name).toBe(value)
  await stream.body?.cancel()
  const head = await raw('/api/v1/relayers', { method: 'HEAD' })
  for (const [name, value] of Object.entries(ofAnswers)) expect(head.headers.get(name), name).toBe(value)

  const refused: [number, Buffer | string][] = [
    [400, 'no HTTP at all\r\n\r\n'],
    [400, rawRequest('GET /api/v1/relayers#x', [`Authorization: Bearer ${api_key}`])],
    [417, rawRequest('GET /api/v1/health', ['Expect: nothing'])],
    [431, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
  ]
  for (const [status, bytes] of refused) {
    const answer = await exchange(url, bytes)
    expect.soft({ status: answer.status, ...headersOf(answer, ofAnswers) }).toEqual({ status, ...ofAnswers })
  }
})

test('allows caching of the published documents, and only the reference’s own scripts', async () => {
  const { raw } = await startTestService()
  for (const path of ['/docs', '/openapi.json', '/openapi.yaml']) {
    const { status, headers } = await raw(path)
    expect(status).toBe(200)
    for (const [name, value] of Object.entries(always)) expect(headers.get(name), `${path} ${name}`).toBe(value)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/^default-src 'none'; /)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/script-src[^;]*'unsafe|https?:|\*/)
  }
})
