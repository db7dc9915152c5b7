import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { KeyConnections } from '../../../server/api/http/connections.ts'
import { Shares } from '../../../server/api/http/shares.ts'
import { exchange, json, rawRequest } from '../../support/raw-http.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const maxBodyBytes = 1024 * 1024
const path = 'POST /api/v1/relayers/demo/sign'

/** Requests whose bodies lack only the last byte. */
function hold({ url }: TestService, token: string, count: number, headers?: string[]) {
  const body = `{"message":"${'x'.repeat(maxBodyBytes - 14)}"}`
  const bytes = rawRequest(path, [`Authorization: Bearer ${token}`, ...(headers ?? json(body))], body.slice(0, -1))
  const held = Array.from({ length: count }, () => {
    const one = { answer: '', socket: connect(Number(new URL(url).port), '127.0.0.1') }
    // One that is refused is closed before the whole body is read.
    one.socket.on('error', () => {})
    one.socket.on('data', (chunk) => {
      one.answer += chunk.toString('latin1')
    })
    one.socket.on('close', () => {
      one.answer ||= 'closed'
    })
    one.socket.write(bytes)
    onTestFinished(() => void one.socket.destroy())
    return one
  })
  return {
    unanswered: () => held.filter(({ answer }) => answer === ''),
    answers: () => held.filter(({ answer }) => answer !== '').map(({ answer }) => answer),
    finish() {
      for (const { answer, socket } of held) if (answer === '') socket.write('}')
    },
  }
}

async function keyOf({ client }: TestService, name: string): Promise<string> {
  return (await client.post('/api/v1/api-keys', { body: { name, scopes: ['sign'] } })).data.token
}

test('limits the bodies of one key to a quarter of the memory for bodies, and all bodies to the whole', async () => {
  const service = await startTestService()
  const [first, second] = [await keyOf(service, 'a'), await keyOf(service, 'b')]
  const sign = async (token: string) => {
    const body = '{"message":"Hello"}'
    const { status, headers } = await exchange(
      service.url,
      rawRequest(path, [`Authorization: Bearer ${token}`, ...json(body)], body),
    )
    return { status, retry: headers['retry-after'] }
  }
  const one = hold(service, first, 20)
  await until('four are refused', () => one.answers().length === 4)
  expect(one.answers().filter((answer) => !/HTTP\/1\.1 429|closed/.test(answer))).toEqual([])
  expect(await sign(first)).toEqual({ status: 429, retry: '1' })
  expect(await sign(second)).toEqual({ status: 200, retry: undefined })

  const all = hold(service, service.api_key, 50)
  await until('two are refused', () => all.answers().length === 2)
  expect(await sign(second)).toEqual({ status: 503, retry: '1' })
  one.finish()
  await until('all are answered', () => one.unanswered().length === 0)
  expect(one.answers().filter((answer) => answer.startsWith('HTTP/1.1 200'))).toHaveLength(16)
  expect(await sign(second)).toEqual({ status: 200, retry: undefined })
  expect(await sign(first)).toEqual({ status: 200, retry: undefined })
})

test('counts a body without a length as it arrives, and reads a body of many small chunks', async () => {
  const service = await startTestService()
  const token = await keyOf(service, 'a')
  const chunked = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
  const headers = [`Authorization: Bearer ${token}`, ...chunked]
  const chunks = (text: string) => Buffer.from([...text].map((one) => `1\r\n${one}\r\n`).join(''))
  const small = Buffer.concat([chunks(`{"message":"${'x'.repeat(50_000)}"}`), Buffer.from('0\r\n\r\n')])
  expect((await exchange(service.url, rawRequest(path, headers, small))).status).toBe(200)
  const before = hold(service, token, 16)
  const sign = () => exchange(service.url, rawRequest(path, headers, small))
  await until('the key holds its share', async () => (await sign()).status === 429)
  before.finish()
  await until('all are answered', () => before.unanswered().length === 0)
  expect((await sign()).status).toBe(200)
})

test('limits the connections of one key to a quarter, and counts each for the key that used it last', async () => {
  const service = await startTestService()
  const sockets = Array.from({ length: 3 }, () => connect(Number(new URL(service.url).port), '127.0.0.1'))
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()))
  const connections = new KeyConnections(new Shares({ name: 'connections', limit: 8, each: 2 }))
  const caller = (id: string) => ({
    id,
    roles: new Set<string>(),
    relayer_ids: undefined,
    pool_ids: new Set<string>(),
    rate_limit: null,
    budget: undefined,
  })
  const [a, b, c] = sockets as [(typeof sockets)[0], (typeof sockets)[0], (typeof sockets)[0]]
  for (const socket of [a, b, a]) connections.count(socket, caller('one'))
  expect(() => connections.count(c, caller('one'))).toThrow(
    expect.objectContaining({ code: 'rate_limited', headers: { 'Retry-After': '1', Connection: 'close' } }),
  )
  connections.count(b, caller('another'))
  connections.count(c, caller('one'))
  a.destroy()
  await new Promise((resolve) => a.once('close', resolve))
  connections.count(b, caller('one'))
})
