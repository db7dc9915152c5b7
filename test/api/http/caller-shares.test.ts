import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createRelayerClient, type JsonRpcAnswer, type RelayerClient } from '../../../client/index.ts'
import { Shares } from '../../../server/api/http/shares.ts'
import { testChain, testFaultProxy } from '../../support/chain.ts'
import { listen } from '../../support/listen.ts'
import { createRelayer } from '../../support/resources.ts'
import { startTestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const base = '/api/v1/relayers/{relayer_id}'
const receiver = `0x${'5a'.repeat(20)}`
const mebibyte = 1024 * 1024

/** The token of an API key that may read these relayers only. */
async function readToken(client: RelayerClient, relayerIds: string[]): Promise<string> {
  const { data } = await client.post('/api/v1/api-keys', {
    body: { name: randomUUID(), scopes: ['read'], relayer_ids: relayerIds },
  })
  return data.token
}

test('does not delay the sender by slow RPC calls of a read key', async () => {
  const chain = await testChain({ blockTime_s: 1 })
  const proxy = await testFaultProxy(chain)
  const { client, url } = await startTestService()
  const network = { rpc_urls: [proxy.url], required_confirmations: 1, average_blocktime_ms: 1_000 }
  await client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body: network })
  const [account, other] = [await createRelayer(client), await createRelayer(client)]
  await chain.setBalance(account.address, 10n ** 20n)
  const reader = createRelayerClient({ baseUrl: url, token: await readToken(client, [other.id]), maxRetries: 0 })
  await proxy.setFault({ kind: 'hang', methods: ['eth_getLogs'] })

  const stop = new AbortController()
  const ask = async () => {
    while (!stop.signal.aborted) {
      const body = { jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [{ fromBlock: '0x0' }] }
      const input = { path: { relayer_id: other.id }, body, signal: stop.signal }
      await reader.post(`${base}/rpc`, input).catch(() => pause(20))
    }
  }
  const asking = Array.from({ length: 8 }, ask)
  await until('the node holds calls', () => (proxy.counts().eth_getLogs ?? 0) >= 4)

  const send = (value: number) =>
    client.post(`${base}/transactions`, {
      path: { relayer_id: account.id },
      query: { wait: 'confirmed', wait_seconds: 60 },
      body: { to: receiver, value: `${value}` },
    })
  const sent = await Promise.all(Array.from({ length: 16 }, (_, index) => send(index + 1)))
  expect(sent.map(({ data }) => data.status)).toEqual(Array.from({ length: 16 }, () => 'confirmed'))
  stop.abort()
  await Promise.all(asking)
})

/** A chain behind a proxy that holds some calls about an account until the test ends, and a key of that account's relayer. */
async function startHeld(methods: string[]) {
  const chain = await testChain({ blockTime_s: 1 })
  const proxy = await testFaultProxy(chain)
  const service = await startTestService()
  const { client, url } = service
  const network = { rpc_urls: [proxy.url], required_confirmations: 1, average_blocktime_ms: 1_000 }
  await client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body: network })
  const [slow, other] = [await createRelayer(client), await createRelayer(client)]
  for (const { address } of [slow, other]) await chain.setBalance(address, 10n ** 20n)
  const held = { calls: 0, release: () => {} }
  const end = new Promise<undefined>((resolve) => {
    held.release = () => resolve(undefined)
  })
  proxy.setLiar(async ({ method, params }) => {
    if (!methods.includes(method) || !JSON.stringify(params).includes(slow.address)) return undefined
    held.calls += 1
    return end
  })
  const rateLimit = { per_second: 1, burst: 10_000 }
  const key = {
    name: 'slow',
    scopes: ['read' as const, 'send' as const],
    relayer_ids: [slow.id],
    rate_limit: rateLimit,
  }
  const { token } = (await client.post('/api/v1/api-keys', { body: key })).data
  /** How many requests of the key have arrived; each second one is forgotten. */
  const arrived = async () => {
    const { headers } = await fetch(`${url}/api/v1/relayers/${slow.id}`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    return rateLimit.burst - Number(/r=(\d+)/.exec(headers.get('RateLimit') ?? '')?.[1])
  }
  return { client, held, slow, other, arrived, tenant: createRelayerClient({ baseUrl: url, token, maxRetries: 0 }) }
}

/** Counts the answers to requests. */
function counting() {
  const counted = { answers: 0, all: [] as Promise<unknown>[] }
  const count = () => {
    counted.answers += 1
  }
  return Object.assign(counted, { add: (answer: Promise<unknown>) => void counted.all.push(answer.then(count, count)) })
}

test('accepts the transactions of others while nodes work on the dry runs of one key', async () => {
  const { client, held, slow, other, tenant } = await startHeld(['eth_estimateGas'])
  const body = { to: receiver, value: '1' }
  const runs = counting()
  for (let index = 1; index <= 4; index += 1) {
    runs.add(tenant.post(`${base}/transactions/dry-run`, { path: { relayer_id: slow.id }, body }))
    await until('a node works on it', () => held.calls >= index)
  }
  for (let index = 0; index < 20; index += 1)
    runs.add(tenant.post(`${base}/transactions/dry-run`, { path: { relayer_id: slow.id }, body }))
  await client.post(`${base}/transactions`, { path: { relayer_id: other.id }, body })
  expect(runs.answers).toBe(0)
  held.release()
  await Promise.all(runs.all)
})

test('reads for others while nodes work on the reads of one key', async () => {
  const { client, held, slow, other, arrived, tenant } = await startHeld(['eth_getBalance'])
  const reads = counting()
  // More than the connections to a node (64).
  for (let index = 0; index < 200; index += 1)
    reads.add(tenant.get(`${base}/balance`, { path: { relayer_id: slow.id } }))
  await until('all have arrived', async () => (await arrived()) > 190)
  await until('a node works on some', () => held.calls > 0)
  await client.get(`${base}/balance`, { path: { relayer_id: other.id } })
  expect(reads.answers).toBe(0)
  held.release()
  await Promise.all(reads.all)
})

/** A node that answers every call with the result; its chain id is 31337. */
async function startNode(result: (method: string) => string): Promise<string> {
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await request.toArray()).join(''))
    const answers = [body].flat().map(({ id, method }) => {
      const text = method === 'eth_chainId' ? '"0x7a69"' : result(method)
      return `{"jsonrpc":"2.0","id":${id},"result":${text}}`
    })
    response.end(Array.isArray(body) ? `[${answers}]` : answers[0])
  })
  return listen(server)
}

test('refuses a node’s answer that is too large, and continues to use the node', async () => {
  const answers = { eth_getLogs: `"${'x'.repeat(4 * mebibyte)}"`, eth_call: `[${'[],'.repeat(100_000)}[]]` }
  const node = await startNode((method) => answers[method as 'eth_call'] ?? '"0x1"')
  const { client } = await startTestService()
  const { id } = await createRelayer(client, { custom_rpc_urls: [node] })
  const ask = (method: 'eth_getLogs' | 'eth_call' | 'eth_blockNumber') =>
    client.post(`${base}/rpc`, {
      path: { relayer_id: id },
      body: { jsonrpc: '2.0', id: 1, method },
    }) as Promise<JsonRpcAnswer>
  for (let again = 0; again < 4; again += 1) {
    expect((await ask('eth_getLogs')).error).toMatchObject({
      data: { code: 'bad_gateway' },
      message: "node: The node's answer is larger than 4 MiB; request less data, for example fewer blocks",
    })
    expect((await ask('eth_call')).error).toMatchObject({
      message: "node: The node's answer has more than 100000 values; request less data, for example fewer blocks",
    })
  }
  expect((await ask('eth_blockNumber')).result).toBe('0x1')
})

test('allows one key a quarter of the event streams, and serves others', async () => {
  const { url, client, raw } = await startTestService()
  const token = await readToken(client, ['demo'])
  const open = async (by: string, method = 'GET') => {
    const stop = new AbortController()
    const headers = { Authorization: `Bearer ${by}` }
    const answer = await fetch(`${url}/api/v1/relayers/demo/events`, { method, headers, signal: stop.signal })
    return { answer, close: () => stop.abort() }
  }
  const streams = await Promise.all(Array.from({ length: 250 }, () => open(token)))
  onTestFinished(() => streams.forEach(({ close }) => void close()))
  expect(streams.every(({ answer }) => answer.status === 200)).toBe(true)
  for (const method of ['GET', 'HEAD']) {
    const { answer } = await open(token, method)
    expect([method, answer.status, answer.headers.get('Retry-After')]).toEqual([method, 429, '1'])
  }
  const other = await raw('/api/v1/relayers/demo/events')
  expect(other.status).toBe(200)
  await other.body?.cancel()
  // A closed stream makes room, and HEAD takes no room.
  streams.pop()?.close()
  const again = async (method: string) => {
    const { answer, close } = await open(token, method)
    const { status } = answer
    close()
    return status
  }
  await until('there is room', async () => (await again('HEAD')) === 200)
  for (const method of ['HEAD', 'HEAD', 'GET']) await until(method, async () => (await again(method)) === 200)
})

test('limits the share of one key, leaves the rest to all, and reuses released shares', () => {
  const shares = new Shares({ name: 'things', limit: 10, each: 4 })
  const key = (id: string) => ({ id, roles: new Set<string>() })
  const code = (take: () => unknown) => {
    try {
      take()
      return 'held'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  const first = shares.hold(key('a'), 3)
  expect(code(() => first.add(2))).toBe('rate_limited')
  expect(code(() => first.add(1))).toBe('held')
  shares.hold(key('b'), 4)
  expect(code(() => shares.hold(key('c'), 3))).toBe('unavailable')
  first.release()
  first.release()
  const administrator = { id: 'environment', roles: new Set(['administer']) }
  expect(code(() => shares.hold(administrator, 6))).toBe('held')
  expect(code(() => shares.hold(administrator, 1))).toBe('unavailable')
})

/** The parts of keys that each take all they get, one key after another. */
const taken = (limit: number, each: number, keys: number) => {
  const shares = new Shares({ name: 'things', limit, each })
  return Array.from({ length: keys }, (_, index) => {
    const held = shares.hold({ id: `${index}`, roles: new Set<string>() }, 0)
    for (let own = 0; ; own += 1) {
      try {
        held.add(1)
      } catch {
        return own
      }
    }
  })
}

test('leaves a part for the next key, however many keys take all they get', () => {
  expect(taken(1_000, 250, 6)).toEqual([250, 250, 250, 125, 63, 31])
  expect(taken(32, 8, 6)).toEqual([8, 8, 8, 4, 2, 1])
})

test('gives the released shares of the largest holder to keys that hold less', () => {
  const shares = new Shares({ name: 'things', limit: 32, each: 8 })
  const key = (id: string) => ({ id, roles: new Set<string>() })
  const slow = ['a', 'b', 'c', 'd'].map((id) => ({ id, calls: [] as { release(): void }[] }))
  const ask = (one: (typeof slow)[number]) => {
    try {
      one.calls.push(shares.hold(key(one.id), 1))
    } catch {
      // It asks again later.
    }
  }
  for (let round = 0; round < 8; round += 1) slow.forEach(ask)
  // Each slow call is followed by another one at once. Meanwhile a fifth key asks.
  const fifth = { id: 'e', calls: [] as { release(): void }[] }
  for (let round = 0; round < 20; round += 1) {
    for (const one of slow) {
      one.calls.shift()?.release()
      ask(fifth)
      ask(one)
    }
  }
  const counts = [...slow, fifth].map(({ calls }) => calls.length)
  expect(Math.min(...counts)).toBeGreaterThanOrEqual(4)
  expect(Math.max(...counts)).toBeLessThanOrEqual(8)
})
