import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { testChain } from '../../support/chain.ts'
import { json, rawRequest } from '../../support/raw-http.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const receiver = `0x${'5a'.repeat(20)}`

/** A connection and the text it has received so far. */
function open({ url }: TestService) {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  const connection = { socket, received: '', isClosed: false }
  socket.on('data', (chunk) => {
    connection.received += chunk.toString('latin1')
  })
  socket.on('end', () => {
    connection.isClosed = true
  })
  socket.on('error', () => {})
  return connection
}

const answersIn = (received: string) => [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))

const request = ({ api_key }: TestService, line: string, body = '') =>
  rawRequest(line, [`Authorization: Bearer ${api_key}`, ...(body === '' ? [] : json(body))], body)

const notification = (id: string) => JSON.stringify({ id, url: 'http://127.0.0.1:1/' })

test('carries out a request that is followed by bytes that do not parse once, answers it, and closes the connection', async () => {
  const service = await startTestService()
  for (const [id, garbage] of [
    ['a', '\0\0\0\r\n\r\n'],
    ['b', 'garbage\r\n\r\n'],
    ['c', '{"more":1}\r\n\r\n'],
  ] as const) {
    const connection = open(service)
    const create = request(service, 'POST /api/v1/notifications', notification(id))
    connection.socket.write(Buffer.concat([create, Buffer.from(garbage)]))
    await until('it is closed', () => connection.isClosed)
    expect([id, answersIn(connection.received)]).toEqual([id, [201]])
    expect(connection.received).toMatch(/Connection: close/i)
  }
  const { data } = await service.client.get('/api/v1/notifications')
  expect(data.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
})

test('answers all pipelined requests before bytes that do not parse close the connection', async () => {
  const service = await startTestService()
  const connection = open(service)
  const sign = request(service, 'POST /api/v1/relayers/demo/sign', '{"message":"Hello"}')
  connection.socket.write(Buffer.concat([sign, sign, sign, Buffer.from('\0\0\r\n')]))
  await until('it is closed', () => connection.isClosed)
  expect(answersIn(connection.received)).toEqual([200, 200, 200])
})

test('does not carry out a body that does not parse, and answers 400 after the earlier requests', async () => {
  const service = await startTestService()
  const connection = open(service)
  const headers = [
    `Authorization: Bearer ${service.api_key}`,
    'Content-Type: application/json',
    'Transfer-Encoding: chunked',
  ]
  const broken = rawRequest('POST /api/v1/notifications', headers, 'a\r\n{"id":"x",\r\nnot a chunk\r\n')
  const sign = request(service, 'POST /api/v1/relayers/demo/sign', '{"message":"Hello"}')
  connection.socket.write(Buffer.concat([sign, broken]))
  await until('it is closed', () => connection.isClosed)
  expect(answersIn(connection.received)).toEqual([200, 400])
  expect((await service.client.get('/api/v1/notifications')).data).toEqual([])
  expect(service.logged.filter((line) => line.includes('a request failed'))).toEqual([])
})

test('keeps an event stream intact when bytes that do not parse arrive', async () => {
  const service = await startTestService()
  const connection = open(service)
  connection.socket.write(request(service, 'GET /api/v1/relayers/demo/events'))
  await until('it has begun', () => connection.received.includes('connected'))
  connection.socket.write('\0\0garbage\r\n\r\n')
  await service.client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' }, body: { paused: true } })
  await until('the event is there', () => connection.received.includes('event: relayer'))
  expect(answersIn(connection.received)).toEqual([200])
  connection.socket.end()
  await until('it is closed', () => connection.isClosed)
})

test('answers a client that has closed its side of the connection, and ends its event stream', async () => {
  const chain = await testChain({ noMining: true })
  const service = await startTestService()
  const network = { path: { network_id: 'evm:local' }, body: { rpc_urls: [chain.url] } }
  await service.client.patch('/api/v1/networks/{network_id}', network)
  const { data: relayer } = await service.client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
  await chain.setBalance(relayer.address, 10n ** 20n)
  const connection = open(service)
  const body = JSON.stringify({ to: receiver, value: '1' })
  connection.socket.end(request(service, 'POST /api/v1/relayers/demo/transactions?wait=mined&wait_seconds=60', body))
  await once(connection.socket, 'finish')
  await until('it is submitted', async () => {
    const { data } = await service.client.get('/api/v1/relayers/{relayer_id}/transactions/', {
      path: { relayer_id: 'demo' },
    })
    return data[0]?.status === 'submitted'
  })
  await until(
    'it is answered',
    () => connection.isClosed,
    () => chain.mine(),
  )
  expect(answersIn(connection.received)).toEqual([201])
  expect(connection.received).toMatch(/"status":"(mined|confirmed)"/)

  const stream = open(service)
  stream.socket.write(request(service, 'GET /api/v1/relayers/demo/events'))
  await until('it has begun', () => stream.received.includes('connected'))
  stream.socket.end()
  await until('it is closed', () => stream.isClosed)
})
