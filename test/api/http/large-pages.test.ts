import { expect, test } from 'vitest'
import { createRelayerClient, RelayerError } from '../../../client/index.ts'
import { StreamPace } from '../../../server/api/http/shares.ts'
import { startTestService } from '../../support/service.ts'
import { rowsOf, zeroBytes } from '../../support/service-database.ts'
import { insertTransactions } from '../../support/transactions.ts'

const route = '/api/v1/relayers/{relayer_id}/transactions/'
const path = { relayer_id: 'demo' }
const dataBytes = 128_000
const count = 200

/** A service with 200 transactions of 128 KB each, and the token of an API key that may only read. */
async function startFull() {
  const service = await startTestService()
  await insertTransactions(service, 'demo', count)
  await rowsOf(service, `INSERT INTO transaction_data SELECT row_id, ${zeroBytes(dataBytes)} FROM transactions`)
  await rowsOf(service, `UPDATE transactions SET data_row_id = row_id, data_bytes = ${dataBytes}`)
  const body = { name: 'reader', scopes: ['read' as const] }
  return { ...service, token: (await service.client.post('/api/v1/api-keys', { body })).data.token }
}

test('rejects a page of more than 16 MiB before it is read, and serves a smaller one', async () => {
  const { client } = await startFull()
  const refused = await client.get(route, { path, query: { per_page: count } }).catch((error) => error)
  expect(refused).toBeInstanceOf(RelayerError)
  expect(refused).toMatchObject({
    status: 400,
    details: [
      {
        path: '/query/per_page',
        message: 'is too large: the data of these transactions has 25000 KiB, and a page has at most 16384 KiB',
      },
    ],
  })
  const served = await client.get(route, { path, query: { per_page: 100 } })
  expect(served.data.map(({ data }) => data?.length)).toEqual(Array.from({ length: 100 }, () => 2 * dataBytes + 2))
})

test('charges unread pages to the share of their API key only', async () => {
  const { client, url, token } = await startFull()
  const slow = new AbortController()
  const ask = () =>
    fetch(`${url}/api/v1/relayers/demo/transactions/?per_page=100`, {
      headers: { Authorization: `Bearer ${token}` },
      signal: slow.signal,
    })
  const held = await ask()
  expect(held.status).toBe(200)
  const next = await ask()
  expect(next.status).toBe(429)
  expect(await next.json()).toMatchObject({ details: [{ path: 'answer_bytes' }] })
  expect((await client.get(route, { path, query: { per_page: 10 } })).data).toHaveLength(10)
  slow.abort()
  const reader = createRelayerClient({ baseUrl: url, token })
  await expect
    .poll(() => reader.get(route, { path, query: { per_page: 100 } }).then(({ data }) => data.length))
    .toBe(100)
})

test('charges every unread response to the share of its API key, whatever it has', async () => {
  const { client, url } = await startTestService()
  const explorerUrls = Array.from({ length: 20 }, (_, index) => `http://127.0.0.1:1/${index}${'x'.repeat(2_000)}`)
  const network = { network_type: 'evm' as const, rpc_urls: ['http://127.0.0.1:1'], explorer_urls: explorerUrls }
  const usual = { required_confirmations: 1, average_blocktime_ms: 1_000, is_testnet: true }
  for (let index = 1; index <= 150; index += 1)
    await client.post('/api/v1/networks', {
      body: { ...network, ...usual, name: `long-${index}`, chain_id: 1_000 + index },
    })
  const { data } = await client.post('/api/v1/api-keys', { body: { name: 'reader', scopes: ['read'] } })
  const slow = new AbortController()
  const answers = []
  for (let index = 0; index < 12; index += 1) {
    const headers = { Authorization: `Bearer ${data.token}` }
    answers.push(await fetch(`${url}/api/v1/networks?per_page=1000`, { headers, signal: slow.signal }))
  }
  const last = answers.at(-1)
  expect([last?.status, await last?.json()]).toMatchObject([429, { details: [{ path: 'answer_bytes' }] }])
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(1)
  expect((await client.get('/api/v1/networks', { query: { per_page: 1_000 } })).data.length).toBeGreaterThan(150)
  slow.abort()
})

test('limits the pace of all streams of an API key together', () => {
  let time = 0
  const pace = new StreamPace(() => time)
  expect(pace.waitMs({ id: 'a' }, 8_000_000)).toBe(1_000)
  expect(pace.waitMs({ id: 'a' }, 8_000_000)).toBe(2_000)
  expect(pace.waitMs({ id: 'b' }, 8_000)).toBe(1)
  time = 5_000
  expect(pace.waitMs({ id: 'a' }, 8_000)).toBe(1)
})
