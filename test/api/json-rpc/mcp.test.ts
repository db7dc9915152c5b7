import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { verifyTypedData } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import type { ApiKeyBudgetInput, ScopeInput } from '../../../generated/client.ts'
import { testChain, testFaultProxy } from '../../support/chain.ts'
import { nodeEnvironment } from '../../support/node-environment.ts'
import { createRelayer } from '../../support/resources.ts'
import { startTestService, type TestService } from '../../support/service.ts'
import { compileSolidity } from '../../support/solidity.ts'

const token = `0x${'56'.repeat(20)}`
const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const demo = { relayer_id: 'demo' }
const root = join(import.meta.dirname, '..', '..', '..')

interface Answer {
  isError?: boolean
  content: { text: string }[]
  structuredContent: Record<string, never>
}

/** The SDK's own client, over streamable HTTP. */
async function connect({ url }: Pick<TestService, 'url'>, key: string) {
  const client = new Client({ name: 'test', version: '1' })
  const requestInit = { headers: { Authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/api/v1/mcp`), { requestInit }) as never)
  onTestFinished(() => client.close())
  return toolsOf(client)
}

const toolsOf = (client: Client) => ({
  client,
  call: async (name: string, args: object = {}) =>
    (await client.callTool({ name, arguments: args as Record<string, unknown> })) as unknown as Answer,
})

async function createKey(
  { client }: TestService,
  budget: ApiKeyBudgetInput,
  scopes: ScopeInput[] = ['sign', 'send', 'read'],
  relayerIds = ['demo'],
) {
  const { data } = await client.post('/api/v1/api-keys', {
    body: { name: `agent ${Math.random()}`, scopes, budget, relayer_ids: relayerIds },
  })
  return data.token
}

async function startOnChain() {
  const chain = await testChain()
  const proxy = await testFaultProxy(chain)
  const service = await startTestService()
  await service.client.networks.update('evm:local', { rpc_urls: [proxy.url] })
  const relayer = await service.client.relayers.get('demo')
  await chain.setBalance(relayer.address, 10n ** 20n)
  return { chain, service, relayer }
}

const coinOf = (amount: string): ApiKeyBudgetInput => ({
  assets: [
    { asset: 'coin', max_amount_per_day: amount },
    { asset: token, max_amount_per_day: '100' },
  ],
  receivers: [to],
})
const requirements = {
  scheme: 'exact',
  network: 'eip155:31337',
  asset: token,
  amount: '60',
  payTo: to,
  maxTimeoutSeconds: 60,
  extra: { name: 'Counted', version: '1' },
}

test("serves the SDK's client: an agent reads its budget, simulates, pays, and learns what refuses it", async () => {
  const { service, relayer } = await startOnChain()
  const { client, call } = await connect(service, await createKey(service, coinOf('100')))
  expect(client.getServerVersion()).toMatchObject({ name: 'evm-relayer-service' })
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    ...['get_budget', 'get_balance', 'read_contract', 'simulate', 'send_call', 'sign_payment', 'get_transaction'],
  ])
  expect((await call('get_balance', demo)).structuredContent).toMatchObject({ balance: `${10n ** 20n}` })
  const simulated = await call('simulate', { ...demo, to, value: '40' })
  expect(simulated.structuredContent).toMatchObject({ accepted: true })

  const sent = await call('send_call', { ...demo, to, value: '40', request_id: 'rent' })
  expect(sent.structuredContent).toMatchObject({ value: '40', to })
  const transactionId = sent.structuredContent.id
  const found = await call('get_transaction', { ...demo, transaction_id: transactionId })
  expect(found.structuredContent).toMatchObject({ id: transactionId })
  const again = await call('send_call', { ...demo, to, value: '40', request_id: 'rent' })
  expect(again.structuredContent.id).toBe(transactionId)

  const paid = await call('sign_payment', { ...demo, requirements, request_id: 'article' })
  const { payload, accepted, x402Version } = paid.structuredContent as never as {
    payload: { signature: string; authorization: Record<string, string> }
    accepted: object
    x402Version: number
  }
  expect({ x402Version, accepted }).toEqual({ x402Version: 2, accepted: requirements })
  const { domain, types } = {
    domain: { name: 'Counted', version: '1', chainId: 31_337, verifyingContract: token },
    types: {
      TransferWithAuthorization: ['address from', 'address to', 'uint256 value', 'uint256 validAfter']
        .concat('uint256 validBefore', 'bytes32 nonce')
        .map((member) => ({ type: member.split(' ')[0] as string, name: member.split(' ')[1] as string })),
    },
  }
  expect(verifyTypedData(domain, types, payload.authorization, payload.signature).toLowerCase()).toBe(relayer.address)
  const decoded = JSON.parse(Buffer.from(String(paid.structuredContent.payment_signature), 'base64').toString())
  expect(decoded).toEqual({ x402Version, accepted, payload })
  expect(await call('sign_payment', { ...demo, requirements, request_id: 'article' })).toEqual(paid)

  expect((await call('get_budget')).structuredContent).toMatchObject({
    scopes: ['sign', 'send', 'read'],
    budget_usage: {
      assets: [
        { used: '40', remaining: '60' },
        { used: '60', remaining: '40' },
      ],
    },
  })
  expect(await call('send_call', { ...demo, to, value: '61', request_id: 'more' })).toMatchObject({
    isError: true,
    content: [
      {
        text: expect.stringMatching(
          /^A policy refuses the request: api_key\/budget\/assets\/0\/max_amount_per_day: 61 wei is above the remaining 60 wei .* \(until 20/,
        ),
      },
    ],
    structuredContent: { code: 'policy_violation' },
  })
  const other = await call('send_call', { ...demo, to: token, value: '1', request_id: 'other' })
  expect(other.content[0]?.text).toContain(`api_key/budget/receivers: The receiver ${token} is not in the receivers`)
  const elsewhere = { ...requirements, network: 'eip155:1' }
  expect(
    (await call('sign_payment', { ...demo, requirements: elsewhere, request_id: 'x' })).content[0]?.text,
  ).toContain('must be eip155:31337')
  expect((await call('send_call', { ...demo, to, value: '1' })).content[0]?.text).toContain(
    '/arguments/request_id: is required',
  )
  expect((await call('drop_tables')).content[0]?.text).toMatch(
    /^there is no tool drop_tables; the tools are get_budget, .*send_call/,
  )
})

test('reads a contract, and tells what a call reverts with', async () => {
  const { service, relayer } = await startOnChain()
  const { abi, bytecode } = compileSolidity('CountedToken.sol', 'CountedToken')
  const { Interface } = await import('ethers')
  const data = `${bytecode}${new Interface(abi).encodeDeploy([relayer.address, 1_000]).slice(2)}`
  const deployed = await service.client.transactions.send('demo', { data }, { wait: 'mined' })
  const contract = deployed.receipt?.contract_address as string
  const { call } = await connect(service, await createKey(service, { assets: [] }))
  const read = (name: string, ...args: unknown[]) =>
    call('read_contract', { ...demo, to: contract, function: name, arguments: args })
  expect((await read('balanceOf(address) view returns (uint256)', relayer.address)).structuredContent).toEqual({
    results: ['1000'],
  })
  expect(await read('missing() view returns (uint256)')).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('execution reverted') }],
  })
  const none = { ...demo, to: token, function: 'symbol() view returns (string)' }
  expect((await call('read_contract', none)).content[0]?.text).toContain('has no such function')
  const long = { ...demo, to: contract, function: 'x'.repeat(900), value: '9'.repeat(78), request_id: 'long' }
  expect((await call('send_call', long)).content[0]?.text).toMatch(/uint256|must have the types/)
})

test('gives each tool the rights of its operation, and each its audit entry', async () => {
  const service = await startTestService()
  await createRelayer(service.client, { id: 'other' })
  const reader = await connect(service, await createKey(service, { assets: [] }, ['read'], ['demo']))
  const refused = async (name: string, args: object) => (await reader.call(name, args)).content[0]?.text
  expect(await refused('send_call', { ...demo, to, request_id: 'a' })).toContain('this API key lacks the scope "send"')
  expect(await refused('sign_payment', { ...demo, requirements, request_id: 'a' })).toContain('lacks the scope "sign"')
  expect(await refused('get_balance', { relayer_id: 'other' })).toBe('Relayer with ID other not found')

  const signer = await connect(service, await createKey(service, coinOf('100')))
  await signer.call('sign_payment', { ...demo, requirements, request_id: 'a' })
  await expect
    .poll(async () => {
      const { data } = await service.client.get('/api/v1/audit', { query: { relayer_id: 'demo' } })
      return data.filter(({ operation }) => operation === 'signTypedData').map(({ http_status }) => http_status)
    })
    .toEqual([200, 102])
})

test('speaks streamable HTTP without sessions', async () => {
  const service = await startTestService()
  const post = (body: string) => service.raw('/api/v1/mcp', { method: 'POST', body })
  const notification = await post('{"jsonrpc":"2.0","method":"notifications/initialized"}')
  expect([notification.status, await notification.text()]).toEqual([202, ''])
  expect(await (await post('{"jsonrpc":"2.0","id":"a","method":"no/such"}')).json()).toMatchObject({
    id: 'a',
    error: { code: -32601 },
  })
  expect(await (await post('[]')).json()).toMatchObject({ id: null, error: { code: -32600 } })
  for (const method of ['GET', 'DELETE']) expect((await service.raw('/api/v1/mcp', { method })).status).toBe(405)
  const stranger = await fetch(`${service.url}/api/v1/mcp`, { method: 'POST', body: '{}' })
  expect(stranger.status).toBe(401)
})

/** Calls a tool `count` times, cut off after more and more milliseconds, and then again. Resolves to the answers of the repetitions. */
async function repeatCutOff({ url }: TestService, key: string, count: number, paramsOf: (index: number) => object) {
  const request = (index: number, signal?: AbortSignal) =>
    fetch(`${url}/api/v1/mcp`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: index, method: 'tools/call', params: paramsOf(index) }),
      ...(signal && { signal }),
    })
  const indexes = Array.from({ length: count }, (_, index) => index)
  await Promise.all(
    indexes.map(async (index) => {
      const cut = new AbortController()
      const cutOff = request(index, cut.signal).catch(() => undefined)
      setTimeout(() => cut.abort(), index)
      await cutOff
    }),
  )
  return Promise.all(
    indexes.map(
      async (index) => ((await (await request(index)).json()) as { result: Answer }).result.structuredContent,
    ),
  )
}

test('sends each of 100 calls once that were cut off and repeated with their request_id', async () => {
  const { service } = await startOnChain()
  const count = 100
  const key = await createKey(service, coinOf(`${count}`))
  const results = await repeatCutOff(service, key, count, (index) => ({
    name: 'send_call',
    arguments: { ...demo, to, value: '1', request_id: `payment-${index}`, wait_seconds: 0 },
  }))
  expect(new Set(results.map(({ id }) => id)).size).toBe(count)
  const { pagination } = await service.client.get('/api/v1/relayers/{relayer_id}/transactions/', { path: demo })
  expect(pagination.total_items).toBe(count)
  const { call } = await connect(service, key)
  expect((await call('get_budget')).structuredContent).toMatchObject({
    budget_usage: { assets: [{ used: `${count}` }, {}] },
  })
})

test('signs and counts each of 100 payments once that were cut off and repeated with their request_id', async () => {
  const clock = { now_ms: Date.parse('2030-01-01T00:00:00Z') }
  const service = await startTestService({}, { now: () => clock.now_ms })
  const count = 100
  const key = await createKey(service, coinOf('100'))
  const paramsOf = (index: number) => {
    // Each is asked for at another time.
    clock.now_ms += 100
    const asked = { ...requirements, amount: '1', maxTimeoutSeconds: 3_600 }
    return { name: 'sign_payment', arguments: { ...demo, requirements: asked, request_id: `payment-${index}` } }
  }
  const first = await repeatCutOff(service, key, count, paramsOf)
  const again = await repeatCutOff(service, key, count, paramsOf)
  expect(again).toEqual(first)
  expect(new Set(first.map(({ payment_signature }) => payment_signature)).size).toBe(count)
  const { call } = await connect(service, key)
  const used = async () => (await call('get_budget')).structuredContent
  expect(await used()).toMatchObject({ budget_usage: { assets: [{}, { used: '100', remaining: '0' }] } })
  const other = { ...requirements, amount: '2', maxTimeoutSeconds: 3_600 }
  expect(await call('sign_payment', { ...demo, requirements: other, request_id: 'payment-0' })).toMatchObject({
    isError: true,
    structuredContent: { code: 'idempotency_mismatch' },
  })
  // What has expired can be paid no more: it is signed anew with its nonce, and counted again.
  clock.now_ms += 3_700_000
  expect((await call('sign_payment', paramsOf(0).arguments)).content[0]?.text).toContain('remaining 0')
})

test('is a command of the command line too, over stdio', async () => {
  const { service } = await startOnChain()
  const key = await createKey(service, coinOf('100'))
  const client = new Client({ name: 'test', version: '1' })
  onTestFinished(() => client.close())
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [join(root, 'client', 'cli', 'main.ts'), 'mcp'],
      env: { ...nodeEnvironment, RELAYER_URL: service.url, RELAYER_API_KEY: key } as Record<string, string>,
    }),
  )
  const { call } = toolsOf(client)
  expect((await client.listTools()).tools).toHaveLength(7)
  const sent = await call('send_call', { ...demo, to, value: '40', request_id: 'rent' })
  expect(sent.structuredContent).toMatchObject({ value: '40' })
  await service.close()
  await expect(call('get_budget')).rejects.toThrow(/the service|fetch failed|ECONNREFUSED/)
})

test('answers a message that the SDK cannot read, and no notification', async () => {
  const service = await startTestService()
  const post = async (message: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    const answer = await service.raw('/api/v1/mcp', { method: 'POST', body })
    const text = await answer.text()
    return [answer.status, text === '' ? undefined : JSON.parse(text)]
  }
  const invalid = {
    jsonrpc: '2.0',
    id: null,
    error: { code: -32_600, message: 'must be a request or a notification of MCP, and nothing else' },
  }
  for (const members of [{ id: 1.5 }, { id: 1, result: {} }, { id: 1, more: 1 }])
    expect(await post({ method: 'ping', ...members })).toEqual([200, invalid])
  expect(await post({ id: 1, method: 'ping' })).toEqual([200, { jsonrpc: '2.0', id: 1, result: {} }])
  expect(await post({ method: 'notifications/cancelled', params: { requestId: 1 } })).toEqual([202, undefined])
})
