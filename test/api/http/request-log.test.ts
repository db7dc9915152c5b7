import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { spawnService } from '../../support/process.ts'
import { exchange, json, rawRequest } from '../../support/raw-http.ts'
import { startTestService, type TestService, temporaryFolder } from '../../support/service.ts'
import { rowsOf } from '../../support/service-database.ts'
import { until } from '../../support/until.ts'

interface Line {
  level: number
  msg: string
  request_id: string
  [name: string]: unknown
}

const linesOf = ({ logged }: Pick<TestService, 'logged'>): Line[] => logged.map((line) => JSON.parse(line))

/** The log line of a request, which is written after the response is sent. */
async function lineOf(service: TestService, requestId: string): Promise<Line> {
  const find = () => linesOf(service).find((line) => line.msg === 'request' && line.request_id === requestId)
  await until(`there is a line for ${requestId}`, () => find() !== undefined)
  return find() as Line
}

const made = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const body = '{"message":"Hello"}'
const sign = 'POST /api/v1/relayers/demo/sign'

describe('a request id', () => {
  test('returns a well-formed request id, and replaces any other', async () => {
    const { raw } = await startTestService()
    const answered = async (id: string) =>
      (await raw('/api/v1/health', { headers: { 'X-Request-Id': id } })).headers.get('x-request-id')
    for (const id of ['a', 'A-1._z', 'x'.repeat(64)]) expect(await answered(id)).toBe(id)
    for (const id of ['', 'x'.repeat(65), 'a b', 'a"b', 'a\\u0000', 'a/b', 'é', '{}']) {
      expect.soft(await answered(id), id).toMatch(made)
    }
  })

  test('is in every response and in its log line', async () => {
    const service = await startTestService({ RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '5' }, { elapsed: () => 0 })
    const bearer = `Authorization: Bearer ${service.api_key}`
    const cases: [string, number, Buffer | string][] = [
      ['health', 200, rawRequest('GET /api/v1/health', ['X-Request-Id: health'])],
      ['page', 200, rawRequest('GET /docs', ['X-Request-Id: page'])],
      ['sign', 200, rawRequest(sign, ['X-Request-Id: sign', bearer, ...json(body)], body)],
      ['token', 401, rawRequest(sign, ['X-Request-Id: token', ...json(body)], body)],
      ['nowhere', 404, rawRequest('GET /nowhere', ['X-Request-Id: nowhere', bearer])],
      ['method', 405, rawRequest('DELETE /api/v1/relayers', ['X-Request-Id: method', bearer])],
      ['unknown', 404, rawRequest('GET /api/v1/relayers/x', ['X-Request-Id: unknown', bearer])],
      ['query', 400, rawRequest('GET /api/v1/relayers?x=1', ['X-Request-Id: query', bearer])],
      ['limited', 429, rawRequest(sign, ['X-Request-Id: limited', bearer, ...json(body)], body)],
      ['hash', 400, rawRequest('GET /api/v1/relayers#x', ['X-Request-Id: hash', bearer])],
      ['expect', 417, rawRequest('GET /api/v1/health', ['X-Request-Id: expect', 'Expect: nothing'])],
    ]
    for (const [requestId, status, bytes] of cases) {
      const answer = await exchange(service.url, bytes)
      expect.soft([answer.status, answer.headers['x-request-id']], requestId).toEqual([status, requestId])
      expect.soft((await lineOf(service, requestId)).status, requestId).toBe(status)
    }
    const operations = await Promise.all(
      ['sign', 'limited', 'unknown', 'token', 'nowhere'].map((id) => lineOf(service, id)),
    )
    expect(operations.map(({ operation }) => operation)).toEqual([
      'signMessage',
      'signMessage',
      'getRelayer',
      null,
      null,
    ])
    expect(operations.map(({ caller }) => caller)).toEqual([
      'environment',
      'environment',
      'environment',
      null,
      'environment',
    ])
  })

  test('is in refusals by Node’s parser too', async () => {
    const service = await startTestService()
    const unreadable: [number, string][] = [
      [400, 'no HTTP at all\r\n\r\n'],
      [431, `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
    ]
    for (const [status, bytes] of unreadable) {
      const answer = await exchange(service.url, bytes)
      expect(answer.status).toBe(status)
      expect(answer.headers['x-request-id']).toMatch(made)
      expect((await lineOf(service, answer.headers['x-request-id'] as string)).status).toBe(status)
    }
  })
})

test('logs operation, caller and duration, and no input of the caller', async () => {
  const service = await startTestService()
  const planted = 'planted-secret'
  const bytes = rawRequest(
    `POST /api/v1/relayers/${planted}/sign?${planted}=${planted}`,
    ['X-Request-Id: plain', `Authorization: Bearer ${service.api_key}`, `Cookie: ${planted}`, ...json(planted)],
    planted,
  )
  expect((await exchange(service.url, bytes)).status).toBe(400)
  expect(await lineOf(service, 'plain')).toEqual({
    level: 30,
    time: expect.any(Number),
    pid: process.pid,
    hostname: expect.any(String),
    request_id: 'plain',
    method: 'POST',
    operation: 'signMessage',
    status: 400,
    duration_ms: expect.any(Number),
    caller: 'environment',
    remote_address: '127.0.0.1',
    msg: 'request',
  })
  expect(service.logged.join('')).not.toContain(planted)
  expect(service.logged.join('')).not.toContain(service.api_key)
})

test('logs an internal error with the id of its request', async () => {
  const service = await startTestService()
  await service.client.post('/api/v1/notifications', { body: { id: 'hook', url: 'https://hooks.example.com' } })
  await rowsOf(service, 'ALTER TABLE delivery_blocks RENAME TO gone')
  const headers = {
    Authorization: `Bearer ${service.api_key}`,
    'Content-Type': 'application/json',
    'X-Request-Id': 'ill',
  }
  const answer = await service.raw('/api/v1/notifications/hook/deliveries', { headers })
  expect([answer.status, answer.headers.get('x-request-id')]).toEqual([500, 'ill'])
  expect(linesOf(service).filter(({ level, request_id }) => level === 50 && request_id !== undefined)).toEqual([
    expect.objectContaining({ msg: 'request failed', request_id: 'ill' }),
  ])
})

test('logs a request that the client aborted', async () => {
  const service = await startTestService()
  const leaving = new AbortController()
  const headers = { Authorization: `Bearer ${service.api_key}`, 'X-Request-Id': 'gone' }
  const stream = await service.raw('/api/v1/relayers/demo/events', { headers, signal: leaving.signal })
  leaving.abort()
  await stream.body?.cancel().catch(() => undefined)
  expect(await lineOf(service, 'gone')).toMatchObject({ operation: 'streamRelayerEvents', status: 200, aborted: true })
})

test.each([
  ['info', 3],
  ['warn', 0],
])('writes all its log lines before a process ends: at level %s %i of them', async (LogLevel, count) => {
  const dataDir = temporaryFolder()
  const service = spawnService({ DATA_DIR: dataDir, LOG_LEVEL: LogLevel })
  const [, url = ''] = await service.wrote(/API\s+(http:\/\/[^\s/]+)\/api\/v1\n/)
  const headers = { Authorization: `Bearer ${readFileSync(join(dataDir, 'api-key'), 'utf8').trim()}` }
  for (const path of ['/api/v1/relayers', '/api/v1/signers', '/nowhere']) await fetch(`${url}${path}`, { headers })
  service.signal('SIGTERM')
  expect(await service.ended).toBe(0)
  expect(service.out().match(/^\{"level":30,.*"msg":"request"\}$/gm) ?? []).toHaveLength(count)
})
