import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { testChain } from '../../support/chain.ts'
import { json, rawRequest } from '../../support/raw-http.ts'
import { createRelayer } from '../../support/resources.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

/** A connection and the text that it has received so far. */
function open({ url }: TestService) {
  const connection = { socket: connect(Number(new URL(url).port), '127.0.0.1'), received: '', isClosed: false }
  onTestFinished(() => void connection.socket.destroy())
  connection.socket.on('data', (chunk) => {
    connection.received += chunk.toString('latin1')
  })
  connection.socket.on('close', () => {
    connection.isClosed = true
  })
  connection.socket.on('error', () => undefined)
  return connection
}

const get = ({ api_key }: TestService, path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${api_key}\r\n\r\n`

const handled = ({ logged }: TestService, operation: string) =>
  logged.filter((line) => line.includes(`"${operation}"`)).length

test('carries out a pipelined request when the answer before it is written, and none of a connection that has ended', async () => {
  const service = await startTestService()
  const { socket } = open(service)
  // The first has no end.
  socket.write(get(service, '/api/v1/relayers/demo/events') + get(service, '/api/v1/networks').repeat(3))
  await new Promise((resolve) => socket.once('data', resolve))
  socket.destroy()
  const over = (count: number) => service.logged.filter((line) => line.includes('"aborted":true')).length === count
  await until('all are over', () => over(4))
  expect(handled(service, 'listNetworks')).toBe(0)
})

test('answers any number of pipelined requests, one after another and in their order', async () => {
  const service = await startTestService()
  const connection = open(service)
  const count = 3_000
  const paths = Array.from({ length: count }, (_, index) => get(service, `/api/v1/relayers/r${index}`))
  connection.socket.write(paths.join(''))
  const ids = () => [...connection.received.matchAll(/Relayer with ID r(\d+) not found/g)].map(([, id]) => Number(id))
  await until('all are answered', () => ids().length === count)
  expect(ids()).toEqual(Array.from({ length: count }, (_, index) => index))
})

test('closes connections that pipeline without end, and serves others', async () => {
  const service = await startTestService()
  const request = get(service, '/api/v1/health').replace(/Authorization.*\r\n/, '')
  const waiting = Array.from({ length: 40 }, () => {
    const connection = open(service)
    connection.socket.write(get(service, '/api/v1/relayers/demo/events') + request.repeat(2_000))
    return connection
  })
  await until('some are closed', () => waiting.some(({ isClosed }) => isClosed))
  const other = open(service)
  other.socket.write(request.repeat(8))
  await until('all are answered', () => other.received.split('HTTP/1.1 200').length === 9)
  expect(waiting.some(({ isClosed }) => !isClosed)).toBe(true)
})

test('keeps the waits of others while four connections pipeline thousands', async () => {
  const chain = await testChain({ blockTime_s: 1 })
  const service = await startTestService()
  const { client } = service
  const network = { rpc_urls: [chain.url], required_confirmations: 1, average_blocktime_ms: 1_000 }
  await client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body: network })
  const [hostile, other] = [await createRelayer(client), await createRelayer(client)]
  for (const { address } of [hostile, other]) await chain.setBalance(address, 10n ** 20n)
  const key = { name: 'hostile', scopes: ['send' as const], relayer_ids: [hostile.id] }
  const { token } = (await client.post('/api/v1/api-keys', { body: key })).data
  const body = JSON.stringify({ to: `0x${'5a'.repeat(20)}`, value: '1', gas_limit: 21_000 })
  const wait = `POST /api/v1/relayers/${hostile.id}/transactions?wait=confirmed&wait_seconds=60`
  const request = rawRequest(wait, [`Authorization: Bearer ${token}`, ...json(body)], body).toString()
  for (let index = 0; index < 4; index += 1) open(service).socket.write(request.repeat(1_300))
  const accepted = async () => {
    const query = { per_page: 1 }
    const path = { relayer_id: hostile.id }
    return (await client.get('/api/v1/relayers/{relayer_id}/transactions/', { path, query })).pagination.total_items
  }
  await until('the first are accepted', async () => (await accepted()) >= 4)
  const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    path: { relayer_id: other.id },
    query: { wait: 'confirmed', wait_seconds: 60 },
    body: { to: `0x${'5a'.repeat(20)}`, value: '1', gas_limit: 21_000 },
  })
  expect(data.status).toBe('confirmed')
  expect(await accepted()).toBeLessThan(1_000)
})
