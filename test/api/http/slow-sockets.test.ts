import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { prepareLongList } from '../../hostile/demo.ts'
import { kindOf, names, openSlowSockets } from '../../hostile/slow-sockets.ts'
import { startTestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

/** `npm run test:hostile` does it with 5,000 sockets, the usual times and a clock. */
const count = 210
const httpTimes = { headers: 300, request: 600, answer: 600, idle: 900, check: 50 }

test('disconnects slow sockets of every kind, and serves others meanwhile', async () => {
  const { url, api_key, client } = await startTestService({}, { http_times: httpTimes })
  await prepareLongList(client)
  const slow = await openSlowSockets(url, api_key, count, 50)
  onTestFinished(slow.stop)
  const path = { relayer_id: 'demo' }
  await until('all are cut', async () => {
    await client.post('/api/v1/relayers/{relayer_id}/sign', { path, body: { message: 'Hello' } })
    return slow.left() === 0
  })
  const wanted = Array.from({ length: count }, (_, index) => kindOf(index))
  for (const name of names) expect(slow.lasted[name], name).toHaveLength(wanted.filter((kind) => kind === name).length)
  expect(new Set(wanted).size).toBe(names.length)
})

test('keeps the stream of a client that reads it, and answers a client that waits', async () => {
  const { raw } = await startTestService({}, { http_times: { ...httpTimes, answer: 50 } })
  const stream = await raw('/api/v1/relayers/demo/events')
  const reader = stream.body?.getReader()
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain('connected')
  // Longer than all timeouts: an idle connection is not a stalled one.
  for (let looked = 0; looked < 20; looked += 1) await raw('/api/v1/health').then((answer) => answer.text())
  await raw('/api/v1/relayers/demo', { method: 'PATCH', body: '{"paused":true}' })
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain('relayer')
  await reader?.cancel()
})

test('disconnects a client that stops reading more responses than the system buffers', async () => {
  const { url, api_key, client, logged } = await startTestService({}, { http_times: httpTimes })
  await prepareLongList(client)
  const socket = connect(Number(new URL(url).port), '127.0.0.1').pause()
  onTestFinished(() => void socket.destroy())
  const request = `GET /api/v1/networks HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${api_key}\r\n\r\n`
  socket.write(request.repeat(200))
  await until('an answer is given up', () => logged.some((line) => /listNetworks.*"aborted":true/.test(line)))
})

test('does not carry out a request that arrives completely after its timeout was answered', async () => {
  const { url, api_key, client, logged } = await startTestService({}, { http_times: httpTimes })
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  const body = '{"id":"late","url":"http://127.0.0.1:1"}'
  const request =
    `POST /api/v1/notifications HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${api_key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  socket.write(request.slice(0, 40))
  const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString())))
  expect(answer).toContain('HTTP/1.1 408')
  // The service cuts the connection.
  socket.on('error', () => undefined).end(request.slice(40))
  await new Promise((resolve) => socket.once('close', resolve))
  expect((await client.get('/api/v1/notifications')).data).toEqual([])
  expect(logged.filter((line) => line.includes('createNotification'))).toEqual([])
})
