import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import {
  createRelayerClient,
  type RelayerClient,
  type RelayerError,
  type RelayerPoliciesInput,
} from '../client/index.ts'
import { runRevocation } from './cluster/revocation.ts'
import { type Anvil, startAnvil } from './support/anvil.ts'
import { unsigned } from './support/policies.ts'
import { newDatabase, type TestDatabase } from './support/postgres.ts'
import { type Server, serversApiKey, startServers } from './support/servers.ts'

// Three servers on one PostgreSQL database, through the API.

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const callers = 100
const dayMs = 86_400_000

let chain: Anvil
let database: TestDatabase
let servers: Server[] = []
let stop: () => Promise<void>

beforeAll(async () => {
  ;[chain, database] = await Promise.all([startAnvil(), newDatabase()])
  const { url } = database
  const started = await startServers([url, url, url], { RATE_LIMIT_BURST: '100000', DATABASE_TIMEOUT_MS: '10000' })
  stop = started.stop
  servers = started.servers
  await clientOf(0).patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [chain.url], required_confirmations: 1, average_blocktime_ms: 500 },
  })
})

afterAll(async () => {
  await stop?.()
  await Promise.all([database?.drop(), chain?.stop()])
})

function clientOf(index: number): RelayerClient {
  const server = servers[index % servers.length]
  if (!server) throw new Error('The servers have not started')
  return server.client
}

/** A relayer with funds. */
async function addRelayer(policies: RelayerPoliciesInput = {}): Promise<string> {
  const { data: signer } = await clientOf(0).post('/api/v1/signers', { body: { type: 'generated' } })
  const { data } = await clientOf(1).post('/api/v1/relayers', {
    body: { name: 'Shared', network: 'local', network_type: 'evm', paused: false, signer_id: signer.id, policies },
  })
  await chain.setBalance(data.address, 10n ** 20n)
  return data.id
}

const send = (index: number, relayerId: string, value: string, key?: string, wait: 'none' | 'confirmed' = 'none') =>
  clientOf(index).post('/api/v1/relayers/{relayer_id}/transactions', {
    path: { relayer_id: relayerId },
    query: { wait, wait_seconds: 60 },
    ...(key !== undefined && { header: { 'Idempotency-Key': key } }),
    body: { to, value },
  })

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

test('answers a client that waits on one server for a transaction that another one sends', async () => {
  const relayers = await Promise.all(numbers(4).map(() => addRelayer()))
  const sent = await Promise.all(
    numbers(24).map((index) => send(index, relayers[index % 4] as string, `${index + 1}`, undefined, 'confirmed')),
  )
  expect(sent.map(({ data }) => data.status)).toEqual(numbers(24).map(() => 'confirmed'))
  for (const relayerId of relayers) {
    const path = { relayer_id: relayerId }
    const listed = await Array.fromAsync(clientOf(2).all('/api/v1/relayers/{relayer_id}/transactions/', { path }))
    expect(listed.map(({ nonce }) => nonce)).toEqual([5, 4, 3, 2, 1, 0])
  }
})

test('streams all events of a relayer in their order from any server', async () => {
  const relayerId = await addRelayer()
  const stopped = new AbortController()
  const streams = servers.map(async ({ url }) => {
    const response = await fetch(`${url}/api/v1/relayers/${relayerId}/events`, {
      headers: { Authorization: `Bearer ${serversApiKey}`, 'Last-Event-ID': '0' },
      signal: stopped.signal,
    })
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      // The fifth transaction's last event.
      if (text.split('"status":"confirmed"').length > 5) return text
    }
    return text
  })
  for (const index of numbers(5)) await send(index, relayerId, '1')
  const told = await Promise.all(streams)
  stopped.abort()
  for (const text of told) {
    const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
    expect(ids).toEqual(numbers(ids.length).map((index) => index + 1))
  }
  expect(new Set(told.map((text) => text.replaceAll(/^: .*\n\n/gm, '')))).toHaveLength(1)
})

test('creates one transaction for the same idempotency key on all servers at once', async () => {
  const relayerId = await addRelayer()
  const answers = await Promise.all(
    numbers(10).map((key) => Promise.all(numbers(6).map((index) => send(index, relayerId, `${key}`, `key-${key}`)))),
  )
  for (const same of answers) expect(new Set(same.map(({ data }) => JSON.stringify(data)))).toHaveLength(1)
  expect(new Set(answers.flat().map(({ data }) => data.nonce))).toEqual(new Set(numbers(10)))
})

test('enforces a daily limit for 100 callers on two servers', async () => {
  const relayerId = await addRelayer({ max_value_per_day: '37' })
  const results = await Promise.allSettled(numbers(callers).map((index) => send(index % 2, relayerId, '1')))
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as RelayerError] : []))
  expect(new Set(refused.map(({ status, code }) => `${status} ${code}`))).toEqual(new Set(['403 policy_violation']))
  expect(callers - refused.length).toBe(37)
})

test('enforces the rate limit of an API key over all servers', async () => {
  const relayerId = await addRelayer()
  const { data } = await clientOf(0).post('/api/v1/api-keys', {
    body: { name: 'Limited', scopes: ['sign'], rate_limit: { per_second: 1, burst: 60 } },
  })
  const clients = servers.map(({ url }) => createRelayerClient({ baseUrl: url, token: data.token, maxRetries: 0 }))
  const beganMs = performance.now()
  const results = await Promise.allSettled(
    numbers(callers).map((index) =>
      clients[index % 3]?.post('/api/v1/relayers/{relayer_id}/sign', {
        path: { relayer_id: relayerId },
        body: { message: `${index}` },
      }),
    ),
  )
  const passed = results.filter(({ status }) => status === 'fulfilled').length
  expect(passed).toBeGreaterThanOrEqual(60)
  // One a second accrues meanwhile.
  const accrued = Math.ceil((performance.now() - beganMs) / 1_000)
  expect(passed).toBeLessThanOrEqual(60 + accrued)
})

test.each([
  ['ahead', 3 * dayMs],
  ['behind', -3 * dayMs],
])(
  'counts a daily limit and the life of an API key by the database when the clock of a server is %s',
  async (_, offMs) => {
    const relayerId = await addRelayer({ max_value_per_day: '100' })
    // A new key ends in the future; a change may end it in the past.
    const keyUntil = async (ms: number) => {
      const made = await clientOf(0).apiKeys.create({ name: randomUUID(), scopes: ['sign'] })
      const end = { expires_at: new Date(Date.now() + ms).toISOString() }
      await clientOf(0).apiKeys.update(made.api_key.id, end, { revision: '*' })
      return made
    }
    const [valid, expired] = await Promise.all([keyUntil(dayMs), keyUntil(-dayMs)])
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offMs })
    onTestFinished(() => void vi.useRealTimers())
    const { servers: others, stop } = await startServers([database.url])
    onTestFinished(stop)
    vi.useRealTimers()
    const signs = async (server: Server | undefined, value: string, token = serversApiKey) => {
      const response = await fetch(`${server?.url}/api/v1/relayers/${relayerId}/sign-transaction`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ unsigned_transaction: unsigned({ value }) }),
      })
      return response.status
    }
    const [well] = servers
    expect(await signs(well, '60')).toBe(200)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offMs })
    const [wrong] = others
    expect([await signs(wrong, '41'), await signs(wrong, '30')]).toEqual([403, 200])
    expect([await signs(wrong, '1', expired.token), await signs(wrong, '1', valid.token)]).toEqual([401, 200])
    vi.useRealTimers()
    expect([await signs(well, '10'), await signs(well, '9')]).toEqual([403, 200])
  },
)

test('applies a revoked right on all servers before the response is sent', async () => {
  const result = await runRevocation({ places: servers, rounds: 35, seed: 16 })
  const { late, missed, wrong } = result
  expect({ late, missed, wrong }).toEqual({ late: [], missed: [], wrong: [] })
  expect(result.signed).toBeGreaterThan(49)
})

test('a pool sends each idempotency key once and keeps an ordering key on one relayer, whichever servers are asked', async () => {
  const relayerIds = await Promise.all(Array.from({ length: 4 }, () => addRelayer()))
  await clientOf(0).post('/api/v1/pools', { body: { id: 'shared', network: 'local', relayer_ids: relayerIds } })
  const post = async (index: number, key: string, orderingKey: string | null = null) =>
    (
      await clientOf(index).post('/api/v1/pools/{pool_id}/transactions', {
        path: { pool_id: 'shared' },
        header: { 'Idempotency-Key': key },
        body: { to, value: '1', gas_limit: 21_000, ordering_key: orderingKey },
      })
    ).data
  const keys = Array.from({ length: 200 }, (_, index) => `key-${index}`)
  const pairs = await Promise.all(keys.map((key, index) => Promise.all([post(index, key), post(index + 1, key)])))
  expect(pairs.filter(([one, other]) => one?.id !== other?.id)).toEqual([])
  const ordered = await Promise.all(keys.slice(0, 60).map((key, index) => post(index, `ordered-${key}`, 'customer')))
  expect(new Set(ordered.map(({ relayer_id }) => relayer_id)).size).toBe(1)

  const listed = await Promise.all(
    relayerIds.map((relayerId) =>
      clientOf(2).get('/api/v1/relayers/{relayer_id}/transactions/', {
        path: { relayer_id: relayerId },
        query: { per_page: 1000 },
      }),
    ),
  )
  const nonces = listed.map(({ data }) => data.map(({ nonce }) => Number(nonce)).sort((a, b) => a - b))
  for (const its of nonces) expect(its).toEqual(its.map((_, index) => index))
  expect(nonces.flat()).toHaveLength(260)
  expect(nonces.every((its) => its.length > 0)).toBe(true)
})

test('two servers refill each of several relayers once', async () => {
  const treasury = await addRelayer()
  const relayerIds = await Promise.all(Array.from({ length: 5 }, () => addRelayer()))
  const ether = 10n ** 18n
  const path = '/api/v1/relayers/{relayer_id}/funding'
  const addressOf = async (relayerId: string) =>
    (await clientOf(0).get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayerId } })).data.address
  for (const relayerId of relayerIds) await chain.setBalance(await addressOf(relayerId), 0n)
  await Promise.all(
    relayerIds.map((relayerId, index) =>
      clientOf(index).put(path, {
        path: { relayer_id: relayerId },
        body: {
          ...{ treasury_id: treasury, min_balance: `${ether}`, target_balance: `${2n * ether}` },
          ...{ max_amount_per_day: `${50n * ether}`, max_fee_per_gas: '100000000000' },
        },
      }),
    ),
  )
  const states = () =>
    Promise.all(
      relayerIds.map(async (relayerId) => (await clientOf(1).get(path, { path: { relayer_id: relayerId } })).data),
    )
  await vi.waitUntil(async () => (await states()).every(({ status }) => status === 'sufficient'), {
    timeout: 120_000,
    interval: 100,
  })
  const its = await states()
  expect(its.map(({ balance, refills }) => [balance, refills.length])).toEqual(its.map(() => [`${2n * ether}`, 1]))
  const { pagination } = await clientOf(2).get('/api/v1/relayers/{relayer_id}/transactions/', {
    path: { relayer_id: treasury },
  })
  expect(pagination.total_items).toBe(5)
})

test('accepts and sends for other relayers while another connection holds the row of one', async () => {
  const [locked, ...others] = await Promise.all(numbers(7).map(() => addRelayer()))
  // What only the first transaction needs is stored.
  for (const id of [locked as string, ...others]) await send(0, id, '1', undefined, 'confirmed')
  const own = new pg.Client({ connectionString: database.url })
  await own.connect()
  onTestFinished(() => own.end())
  await own.query('BEGIN')
  await own.query('SELECT 1 FROM relayers WHERE id = $1 FOR NO KEY UPDATE', [locked])

  let answered = 0
  const waiting = numbers(30).map((index) =>
    send(index, locked as string, '1').finally(() => {
      answered += 1
    }),
  )
  // A failure below must not leave them behind.
  const ended = Promise.allSettled(waiting)
  const sent = others.flatMap((id, index) => [send(index, id, '1'), send(index, id, '2', undefined, 'confirmed')])
  const statuses = (await Promise.all(sent)).map(({ data }) => data.status)
  expect(statuses.filter((status) => status === 'confirmed')).toHaveLength(others.length)
  expect(answered).toBe(0)
  await own.query('ROLLBACK')
  expect(new Set((await ended).map(({ status }) => status))).toEqual(new Set(['fulfilled']))
})

/** What two operators change at once, from the revision that both have read. `number`: another one each time. */
const changedByTwo: Record<string, { path: string; method?: string; change(number: number): object }> = {
  relayer: {
    path: 'relayers/limited',
    change: (number) => ({ policies: { whitelist_receivers: [receiver(number)] } }),
  },
  pool: { path: 'pools/written', change: (number) => ({ policies: { max_value: `${number}` } }) },
  'weights of a pool': { path: 'pools/written', change: (weight) => ({ weights: { written: weight } }) },
  notification: { path: 'notifications/written', change: (number) => ({ url: `http://127.0.0.1:9/${number}` }) },
  'API key': { path: 'api-keys/{key}', change: (number) => ({ name: `${number}`, scopes: ['read'] }) },
  network: { path: 'networks/evm:other', change: (number) => ({ symbol: `S${number}` }) },
  sponsorship: { path: 'sponsorships/written', change: (number) => ({ delegates: [receiver(number)] }) },
  funding: { path: 'relayers/written/funding', method: 'PUT', change: (number) => fundingOf(`${number + 2}`) },
  'funding of a pool': { path: 'pools/written/funding', method: 'PUT', change: (number) => fundingOf(`${number + 2}`) },
  'content of a transaction': {
    ...{ path: 'relayers/written/transactions/{transaction}', method: 'PUT' },
    change: (number) => ({ to: receiver(number), value: '1', max_fee_per_gas: '1' }),
  },
}
const receiver = (number: number) => `0x${`${number}`.padStart(40, '0')}`
const fundingOf = (limit: string) => ({
  ...{ treasury_id: 'treasury', min_balance: '1', target_balance: '2' },
  ...{ max_amount_per_day: limit, max_fee_per_gas: '1' },
})

interface Created {
  id: string
  address: string
  api_key: { id: string }
}

test('of two writers on two servers with the same revision, one changes the resource and the other gets 412', async () => {
  const ask = async (server: number, method: string, path: string, body?: object, headers: object = {}) => {
    const response = await fetch(`${servers[server]?.url}/api/v1/${path}`, {
      method,
      headers: { Authorization: `Bearer ${serversApiKey}`, 'Content-Type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as { data: Created; details?: object }
    return { status: response.status, etag: response.headers.get('ETag') ?? '', answer }
  }
  const create = async (path: string, body: object) => {
    const { status, answer } = await ask(0, 'POST', path, body)
    expect([path, status, answer.details]).toEqual([path, 201, undefined])
    return answer.data
  }
  const network = { name: 'other', network_type: 'evm', chain_id: 77, is_testnet: true }
  await create('networks', { ...network, rpc_urls: ['http://127.0.0.1:9'] })
  for (const id of ['written', 'treasury', 'limited']) {
    await create('signers', { id, type: 'generated' })
    const relayer = { id, name: id, network: 'local', network_type: 'evm', paused: false, signer_id: id }
    await chain.setBalance((await create('relayers', relayer)).address, 10n ** 20n)
  }
  await create('pools', { id: 'written', network: 'local', relayer_ids: ['written'] })
  await create('notifications', { id: 'written', url: 'http://127.0.0.1:9/' })
  const { api_key } = await create('api-keys', { name: 'written', scopes: ['sign'] })
  const rules = { relayer_id: 'treasury', max_gas_per_call: 100_000, max_fee_per_call: '1', max_fee_per_day: '1' }
  await create('sponsorships', { id: 'written', ...rules })
  for (const of of ['relayers', 'pools']) await ask(0, 'PUT', `${of}/written/funding`, fundingOf('2'))
  // Its price keeps it out of every block.
  const { id } = await create('relayers/written/transactions', { to, value: '1', max_fee_per_gas: '1' })

  for (const [kind, { path, method = 'PATCH', change }] of Object.entries(changedByTwo)) {
    const named = (its: string) => its.replace('{transaction}', id).replace('{key}', api_key.id)
    for (const round of numbers(5)) {
      const { etag } = await ask(round % 3, 'GET', named(path))
      const writers = await Promise.all(
        [0, 1].map((writer) => ask(writer, method, named(path), change(2 * round + writer + 1), { 'If-Match': etag })),
      )
      const statuses = writers.map(({ status }) => status).sort()
      expect.soft([kind, round, statuses]).toEqual([kind, round, [200, 412]])
    }
  }
})
