import { expect, test } from 'vitest'
import type { RelayerClient } from '../../client/index.ts'
import { RelayerError } from '../../client/index.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const values = ['5', '-1', '1e999', 'true', '""', '"0x"', '"0xzz"', '"latest"', `"0x${'f'.repeat(200)}"`, '[]', '{}']
const blocks = [
  '{"number":5}',
  '{"number":"0xzz","hash":5,"parentHash":[]}',
  '{"number":{"toString":1},"baseFeePerGas":{}}',
  '{"transactions":5,"gasLimit":{"valueOf":1}}',
]
const errors = [
  '{"code":"x","message":5}',
  '{"code":1.5,"message":{"toString":1}}',
  '{"code":1e300,"message":null,"data":{"__proto__":{"a":1}}}',
  '{"message":["nonce too low"],"data":5}',
  '{"code":{"valueOf":1},"message":"constructor"}',
  '[]',
]
const answers = [
  ...['null', ...values, ...blocks].map((result) => `{"jsonrpc":"2.0","id":0,"result":${result}}`),
  ...errors.map((error) => `{"jsonrpc":"2.0","id":0,"error":${error}}`),
  `{"jsonrpc":"2.0","id":0,"result":${deep(50_000)}}`,
  `{"jsonrpc":"2.0","id":0,"error":${deep(50_000)}}`,
  ...['', 'null', '5', '"x"', '[]', '{}', '[null]', '[[]]', '{"__proto__":{"result":"0x1"}}'],
]

const base = '/api/v1/relayers/{relayer_id}'
const questions: Record<string, (client: RelayerClient, relayer_id: string) => Promise<unknown>> = {
  balance: (client, relayer_id) => client.get(`${base}/balance`, { path: { relayer_id } }),
  status: (client, relayer_id) => client.get(`${base}/status`, { path: { relayer_id } }),
  nonce: (client, relayer_id) => client.get(`${base}/nonce`, { path: { relayer_id } }),
  rpc: (client, relayer_id) =>
    client.post(`${base}/rpc`, { path: { relayer_id }, body: { method: 'eth_call', params: [{}, 'latest'] } }),
  'json-rpc': (client, relayer_id) =>
    client.post(`${base}/json-rpc`, {
      path: { relayer_id },
      body: { jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [{}] } as never,
    }),
  'dry run': (client, relayer_id) =>
    client.post(`${base}/transactions/dry-run`, {
      path: { relayer_id },
      body: { to: `0x${'5a'.repeat(20)}`, value: '1' },
    }),
  nodes: (client) => client.get('/api/v1/networks/{network_id}/nodes', { path: { network_id: 'evm:local' } }),
}

test('answers a malformed answer of a node with 503 or as it is, and never with 500', async () => {
  let clock_ms = 0
  let answer = ''
  const openPost = () => async (body: string) => {
    const chain = '"0x7a69"'
    const calls = JSON.parse(body)
    // The chain id is right, so that the answer is read.
    const one = (method: string, id: number) =>
      method === 'eth_chainId'
        ? `{"jsonrpc":"2.0","id":${id},"result":${chain}}`
        : answer.replace('"id":0', `"id":${id}`)
    const text = Array.isArray(calls)
      ? `[${calls.map(({ method, id }: { method: string; id: number }) => one(method, id) || 'null')}]`
      : one(calls.method, 0)
    return { status: 200, retry_after_s: undefined, json: async () => JSON.parse(text) }
  }
  const { client, logged } = await startTestService(
    { RATE_LIMIT_BURST: '100000' },
    { openPost, elapsed: () => clock_ms },
  )
  const { id } = await createRelayer(client, { custom_rpc_urls: ['http://127.0.0.1:1/key-key-key'] })
  const failed: unknown[] = []
  for (const text of answers) {
    answer = text
    clock_ms += 120_000
    for (const [name, ask] of Object.entries(questions)) {
      const status = await ask(client, id).then(
        () => 200,
        (error) => (error instanceof RelayerError ? error.status : `${error}`),
      )
      if (status !== 200 && status !== 503) failed.push([name, text.slice(0, 80), status])
    }
  }
  expect(failed).toEqual([])
  expect(logged.filter((line) => line.includes('request failed'))).toEqual([])
  expect(logged.join('')).not.toContain('[native code]')
})

test('names no property of JavaScript’s own objects in an error', async () => {
  const { client } = await startTestService()
  const { id, address } = await createRelayer(client)
  const document = (name: string) => ({
    types: { [name]: [{ name: 'a', type: 'none' }] },
    primaryType: name,
    domain: {},
    message: {},
  })
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf']) {
    const calls = [
      { method: name, params: [] },
      { method: 'eth_signTypedData_v4', params: [address, document(name)] },
      { method: 'eth_sendTransaction', params: [{ [name]: 1 }] },
      { method: 'eth_sendTransaction', params: [{ accessList: [{ [name]: [] }] }] },
      {
        method: 'eth_signTypedData_v4',
        params: [undefined, { [name]: 1, domain: { [name]: 1 }, types: { [name]: [] } }],
      },
    ]
    for (const call of calls) {
      const body = { jsonrpc: '2.0', id: 1, ...call } as never
      const answer = await client.post(`${base}/json-rpc`, { path: { relayer_id: id }, body })
      expect(JSON.stringify(answer)).not.toContain('[native code]')
    }
  }
})
