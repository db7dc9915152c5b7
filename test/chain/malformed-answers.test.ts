import { expect, test } from 'vitest'
import { type RelayerClient, RelayerError } from '../../client/index.ts'
import { AnswerCounter } from '../../server/chain/answer-limits.ts'
import type { Post } from '../../server/chain/post.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const hash = `0x${'ab'.repeat(32)}`
const address = `0x${'5a'.repeat(20)}`
const block = { number: '0x5', hash, parentHash: hash, timestamp: '0x65', gasLimit: '0x1c9c380', baseFeePerGas: '0x7' }

/** What a sound node answers. */
const sound: Record<string, unknown> = {
  eth_chainId: '0x7a69',
  eth_blockNumber: '0x5',
  eth_call: `0x${'0'.repeat(64)}`,
  eth_estimateGas: '0x5208',
  eth_feeHistory: { baseFeePerGas: ['0x7', '0x7'], gasUsedRatio: [0.5], reward: [['0x1', '0x1', '0x1', '0x1']] },
  eth_gasPrice: '0x7',
  eth_getBalance: '0xde0b6b3a7640000',
  eth_getBlockByNumber: block,
  eth_getCode: '0x',
  eth_getLogs: [],
  eth_getTransactionByHash: null,
  eth_getTransactionCount: '0x0',
  eth_getTransactionReceipt: null,
  eth_maxPriorityFeePerGas: '0x1',
  eth_sendRawTransaction: hash,
}

const values = [
  ...['null', '5', '-1', '0.5', '1e999', '1e300', '18446744073709551616', 'true', 'false', '""', '"0x"', '"0X1F"'],
  ...['"0xzz"', '"latest"', '"12"', '"-0x1"', '" 0x1"', '"1e3"', '"NaN"', `"0x${'f'.repeat(64)}"`],
  ...[`"0x${'f'.repeat(200)}"`, `"${'9'.repeat(90)}"`, `"0x${'0'.repeat(500)}1"`, '"\\u0000\\u001b[31m\\u202e"'],
  ...['[]', '[null]', '[[]]', '{}', '{"__proto__":{"result":"0x1"}}', '{"toString":1,"valueOf":1}', '{"hash":5}'],
  ...['{"number":5}', '{"number":"0xzz","hash":5,"parentHash":[]}', '{"transactions":5,"gasLimit":{"valueOf":1}}'],
  '{"number":{"toString":1},"baseFeePerGas":{}}',
  ...Object.keys(block).flatMap((name) =>
    ['null', '""', '{}', '"0x"'].map((value) =>
      JSON.stringify(block).replace(JSON.stringify(block[name as 'hash']), value),
    ),
  ),
  `{"transactionHash":"${hash}","blockNumber":"0x1","blockHash":"${hash}"}`,
  `{"transactionHash":"${hash}","blockNumber":"0x1","blockHash":5,"status":"0x1"}`,
  ...['{"baseFeePerGas":[],"reward":[]}', '{"baseFeePerGas":{"at":1}}', '{"baseFeePerGas":[null],"reward":[[{}]]}'],
]
const errors = [
  ...['{"code":"x","message":5}', '{"code":1.5,"message":{"toString":1}}', '[]', '{}', '"busy"', 'true', '7', '""'],
  ...['{"code":1e300,"message":null,"data":{"__proto__":{"a":1}}}', '{"message":["nonce too low"],"data":5}'],
  ...[
    '{"code":{"valueOf":1},"message":"constructor"}',
    '{"code":-32603,"message":null}',
    '{"code":"-32000","message":"x"}',
  ],
  '{"code":-32000,"message":"\\u001b[2J\\u202eno matched providers found"}',
]
/** Whole answers: `"id":0` becomes the call's. */
const envelopes = [
  ...errors.map((error) => `{"jsonrpc":"2.0","id":0,"error":${error}}`),
  ...errors.map((error) => `{"jsonrpc":"2.0","id":0,"result":"0x1","error":${error}}`),
  ...errors.map((error) => `{"jsonrpc":"2.0","id":null,"error":${error}}`),
  ...['', 'null', '5', '"x"', '[]', '{}', '[null]', '[[]]', '{"__proto__":{"result":"0x1"}}', 'Bad Gateway'],
  ...['<html><head><title>x</title></head><h1>502</h1>', '{"jsonrpc":"2.0","id":0', '{"jsonrpc":"2.0","id":"0"}'],
  ...['{"code":-32000,"message":"no"}', '{"message":"Forbidden"}', '{"jsonrpc":"2.0","id":{},"result":1}'],
  `{"jsonrpc":"2.0","id":0,"result":${deep(50_000)}}`,
  `{"jsonrpc":"2.0","id":0,"error":${deep(50_000)}}`,
]

/** Each method's malformed results where all else is sound, and each malformed envelope at one method or at all. */
interface Malformed {
  method: string | undefined
  text: string
}
const methods = Object.keys(sound)
const malformed: Malformed[] = [
  ...methods.flatMap((method) =>
    values.map((result) => ({ method, text: `{"jsonrpc":"2.0","id":0,"result":${result}}` })),
  ),
  ...envelopes.flatMap((text, index) => [
    { method: undefined, text },
    ...methods.filter((_, at) => at % 4 === index % 4).map((method) => ({ method, text })),
  ]),
]

const base = '/api/v1/relayers/{relayer_id}'
type Question = (client: RelayerClient, relayerId: string) => Promise<unknown>
const jsonRpc =
  (method: string, params: unknown[]): Question =>
  (client, relayerId) =>
    client.post(`${base}/rpc`, {
      path: { relayer_id: relayerId },
      body: { jsonrpc: '2.0', id: 1, method, params } as never,
    })
const body = { to: address, value: '1' }
const questions: Record<string, Question> = {
  balance: (client, relayerId) => client.get(`${base}/balance`, { path: { relayer_id: relayerId } }),
  status: (client, relayerId) => client.get(`${base}/status`, { path: { relayer_id: relayerId } }),
  nonce: (client, relayerId) => client.get(`${base}/nonce`, { path: { relayer_id: relayerId } }),
  heal: (client, relayerId) => client.post(`${base}/nonce/reconcile`, { path: { relayer_id: relayerId }, body: {} }),
  rpc: jsonRpc('eth_call', [{}, 'latest']),
  'dry run': (client, relayerId) =>
    client.post(`${base}/transactions/dry-run`, { path: { relayer_id: relayerId }, body }),
  send: (client, relayerId) => client.post(`${base}/transactions`, { path: { relayer_id: relayerId }, body }),
  sweep: (client, relayerId) =>
    client.post(`${base}/sweep`, { path: { relayer_id: relayerId }, body: { to: address } }),
  nodes: (client) => client.get('/api/v1/networks/{network_id}/nodes', { path: { network_id: 'evm:local' } }),
  problems: (client) => client.get('/api/v1/problems'),
  eth_getLogs: jsonRpc('eth_getLogs', [{}]),
  eth_getTransactionReceipt: jsonRpc('eth_getTransactionReceipt', [hash]),
  eth_getTransactionByHash: jsonRpc('eth_getTransactionByHash', [hash]),
  eth_getBalance: jsonRpc('eth_getBalance', [address, 'latest']),
  eth_sendTransaction: jsonRpc('eth_sendTransaction', [{ to: address, value: '0x1' }]),
}

/** What a caller may be told: its request, or the network, is at fault; never the service. */
const told = new Set([200, 201, 400, 409, 422, 429, 502, 503])

test(`answers ${malformed.length} malformed answers of a node with 503 or as they are, and never with 500`, async () => {
  let clockMs = 0
  let current: Malformed = { method: undefined, text: '' }
  const answerOf = ({ method, id }: { method: string; id: number }): string => {
    // The chain id is right unless it is the one that is malformed, so that the others are read.
    const isSound = current.method === undefined ? method === 'eth_chainId' : current.method !== method
    return isSound
      ? JSON.stringify({ jsonrpc: '2.0', id, result: sound[method] ?? null })
      : current.text.replace('"id":0', `"id":${id}`)
  }
  const openPost = (): Post => async (request, _timeout_ms, limits) => {
    const calls = JSON.parse(request)
    const text = Array.isArray(calls) ? `[${calls.map((one) => answerOf(one) || 'null')}]` : answerOf(calls)
    // As a connection does, before anything is parsed.
    new AnswerCounter(limits).count(Buffer.from(text))
    return {
      status: 200,
      retry_after_s: undefined,
      json: async () => JSON.parse(text),
      start: () => text.slice(0, 1_000),
    }
  }
  const { client, logged } = await startTestService(
    { RATE_LIMIT_BURST: '100000' },
    { openPost, elapsed: () => clockMs },
  )
  const { id } = await createRelayer(client, {
    custom_rpc_urls: ['http://127.0.0.1:1/key-key-key'],
    policies: { max_pending: 10_000 } as never,
  })
  const names = Object.keys(questions)
  // A short form asks one of the operations about each answer; with MALFORMED=all it is all of them.
  const isAsked = (index: number, at: number) =>
    process.env.MALFORMED === 'all' || (at + 7 * index) % names.length === 0
  const failed: unknown[] = []
  for (const [index, one] of malformed.entries()) {
    current = one
    clockMs += 120_000
    for (const [at, name] of names.entries()) {
      if (!isAsked(index, at)) continue
      const outcome = await (questions[name] as Question)(client, id).then(
        (answer) => ({ status: 200, answer: JSON.stringify(answer) }),
        (error) => ({
          status: error instanceof RelayerError ? error.status : `${error}`,
          answer: JSON.stringify(error),
        }),
      )
      const isInternal = !one.text.includes('-32603') && outcome.answer.includes('"code":-32603')
      // What a caller asked a node for is passed on as it is; the words of errors are freed of such characters.
      const isRaw =
        /native code/.test(outcome.answer) || /"(?:error|message)":[^}]*(?:\\u001b|\u202e)/.test(outcome.answer)
      if (!told.has(outcome.status as number) || isInternal || isRaw) failed.push([name, one, outcome])
    }
  }
  expect(failed).toEqual([])
  expect(logged.filter((line) => /request failed|TypeError|SyntaxError|RangeError/.test(line))).toEqual([])
  expect(logged.join('')).not.toContain('[native code]')
}, 1_200_000)

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
      const answer = await client.post(`${base}/rpc`, { path: { relayer_id: id }, body })
      expect(JSON.stringify(answer)).not.toContain('[native code]')
    }
  }
})
