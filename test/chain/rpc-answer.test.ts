import { describe, expect, test } from 'vitest'
import { Endpoint } from '../../server/chain/endpoint.ts'
import { urlScrubber } from '../../server/chain/open-endpoint.ts'
import { CallQueue, call, MalformedAnswer, type Rpc, RpcError, RpcUnavailable } from '../../server/chain/rpc.ts'
import { readRetryAfter } from '../../server/lib/http-client.ts'

const url = 'http://node.example/v3/0123456789abcdef'
type Reply = string | { status: number; text: string; retry_after_s?: number }

/** A network of nodes that answer each request with a text. `bodies`: of the requests, by node. */
function network(...nodes: ((calls: { id: number; method: string }[]) => Reply)[]) {
  const clock = { ms: 0 }
  const asked = nodes.map(() => 0)
  const endpoints = nodes.map((reply, index) => {
    const post = async (body: string) => {
      const calls = [JSON.parse(body)].flat()
      asked[index] = (asked[index] ?? 0) + 1
      const answer = reply(calls)
      const { status = 200, text = '', retry_after_s } = typeof answer === 'string' ? { text: answer } : answer
      return { status, retry_after_s, json: async () => JSON.parse(text), start: () => text.slice(0, 4_000) }
    }
    return new Endpoint({
      ...{ post, weight: 100, chain_id: 1, audience: 'service' },
      now: () => clock.ms,
      scrub: urlScrubber(url),
    })
  })
  const rpc = new CallQueue(
    endpoints,
    () => clock.ms,
    () => 0,
  ).call
  return { rpc, endpoints, asked, clock }
}

/** The chain id is answered right; the other calls as given. `"id":0` becomes the call's. */
const answering = (text: string) => (calls: { id: number; method: string }[]) => {
  const answers = calls.map(({ id, method }) =>
    method === 'eth_chainId' ? `{"jsonrpc":"2.0","id":${id},"result":"0x1"}` : text.replace('"id":0', `"id":${id}`),
  )
  return calls.length === 1 ? (answers[0] as string) : `[${answers}]`
}
const outcome = (asked: Promise<unknown>): Promise<unknown> => asked.catch((error) => error)
const failure = async (asked: Promise<unknown>) => (await asked) as Error
const receipt = (rpc: Rpc) => outcome(call(rpc, 'eth_getTransactionReceipt', [`0x${'ab'.repeat(32)}`]))
const balance = (rpc: Rpc) => outcome(call(rpc, 'eth_getBalance', [`0x${'5a'.repeat(20)}`, 'latest']))

describe('the envelope of an answer', () => {
  test('ids may come back as texts, in any order', async () => {
    const { rpc } = network((calls) => {
      const result = (id: number) => (calls[id]?.method === 'eth_chainId' ? '0x01' : id)
      return JSON.stringify(calls.map(({ id }) => ({ jsonrpc: '2.0', id: `${id}`, result: result(id) })).reverse())
    })
    expect(await Promise.all([balance(rpc), balance(rpc)])).toEqual([1n, 2n])
  })

  test.each([
    ['result left out', '{"jsonrpc":"2.0","id":0}'],
    ['no error beside it', '{"jsonrpc":"2.0","id":0,"result":null,"error":null}'],
    ['an empty error beside it', '{"id":0,"error":false}'],
  ])('%s is null', async (_, text) => expect(await receipt(network(answering(text)).rpc)).toBeNull())

  test.each([
    ['an empty error', '{"jsonrpc":"2.0","id":0,"result":"0x5","error":{"code":0,"message":""}}'],
    ['an error of null', '{"jsonrpc":"2.0","id":0,"result":"0x5","error":null}'],
  ])('a result beside %s is the result', async (_, text) =>
    expect(await balance(network(answering(text)).rpc)).toBe(5n),
  )

  test.each([
    ['beside a result', '{"jsonrpc":"2.0","id":0,"result":"0x5","error":{"code":-32000,"message":"it is busy"}}'],
    ['as a text', '{"jsonrpc":"2.0","id":0,"error":"it is busy"}'],
    ['without an envelope', '{"code":-32000,"message":"it is busy"}'],
  ])('an error %s is an error', async (_, text) => {
    const error = await failure(balance(network(answering(text)).rpc))
    expect(error).toBeInstanceOf(Error)
    expect(error.message).toContain('it is busy')
  })

  test('one error without an id is the answer to every call of a batch', async () => {
    const { rpc } = network(() => '[{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"daily limit"}}]')
    expect((await failure(balance(rpc))).message).toContain('daily limit')
  })

  test.each([
    ['a text', 'upstream connect error'],
    ['a page', '<html><head><title>no</title></head><body><h1>upstream connect error</h1></body></html>'],
    ['a message of a proxy', '{"message":"upstream connect error"}'],
  ])(
    'tells the words of %s that comes in place of JSON-RPC, without secrets and control characters',
    async (_, text) => {
      const { rpc } = network(() => ({
        status: 502,
        text: text.replace('error', `error at ${url}\\u001b[31m\u202e${'x'.repeat(5_000)}`),
      }))
      const error = await failure(balance(rpc))
      expect(error).toBeInstanceOf(RpcUnavailable)
      expect(error.message).toContain('upstream connect error')
      for (const text of ['0123456789abcdef', '\u001b', '\u202e', '<h1>']) expect(error.message).not.toContain(text)
      expect(error.message.length).toBeLessThan(400)
    },
  )
})

test.each([
  ['"latest"', 'result is "latest", and not a number'],
  ['-1', 'result is -1'],
  ['1e300', 'result is 1e+300'],
  ['9007199254740993', 'result is 9007199254740992'],
  ['"0xzz"', 'result is "0xzz"'],
  [`"0x1${'0'.repeat(64)}"`, 'result is "0x1000'],
  ['{"hex":"0x1"}', 'result is an object'],
])('a balance of %s cannot be read, and is told', async (result, words) => {
  const { rpc } = network(answering(`{"jsonrpc":"2.0","id":0,"result":${result}}`))
  const error = await failure(balance(rpc))
  expect(error).toBeInstanceOf(MalformedAnswer)
  expect(error.message).toContain(`the answer to eth_getBalance is malformed: ${words}`)
})

test.each([
  ['5', 5n],
  ['"5"', 5n],
  ['"0x5"', 5n],
  ['"0X05"', 5n],
  [`"0x${'0'.repeat(70)}5"`, 5n],
  ['"0x"', 0n],
  ['"0x0"', 0n],
  [`"0x${'f'.repeat(64)}"`, 2n ** 256n - 1n],
])('a balance of %s is %s', async (result, value) => {
  expect(await balance(network(answering(`{"jsonrpc":"2.0","id":0,"result":${result}}`)).rpc)).toBe(value)
})

describe('reads fail over', () => {
  const well = answering('{"jsonrpc":"2.0","id":0,"result":"0x5"}')
  const failing = (message: string, code = -32_000) =>
    answering(JSON.stringify({ jsonrpc: '2.0', id: 0, error: { code, message } }))

  test.each([
    ['no matched providers found'],
    ['Too many request, try again later'],
    ['header not found'],
    ['missing trie node'],
    ['internal error'],
    ['something that no table has'],
  ])('to the next node after "%s"', async (message) => {
    const { rpc, asked } = network(failing(message), well)
    expect(await balance(rpc)).toBe(5n)
    expect(asked).toEqual([1, 1])
  })

  test('to the next node after an answer that cannot be read', async () => {
    const { rpc } = network(answering('{"jsonrpc":"2.0","id":0,"result":"latest"}'), well)
    expect(await balance(rpc)).toBe(5n)
  })

  test.each([
    ['execution reverted: no'],
    ['insufficient funds for gas * price + value'],
    ['intrinsic gas too low'],
    ['gas required exceeds allowance (30000000)'],
  ])('not after "%s", which is about the call', async (message) => {
    const { rpc, asked } = network(failing(message), well)
    expect(await balance(rpc)).toBeInstanceOf(RpcError)
    expect(asked).toEqual([1, 0])
  })

  test.each([
    ['no matched providers found', 3],
    ['Too many request, try again later', 3],
    // The node is well; it does not have this block, or this method.
    ['missing trie node', 10],
    ['the method does not exist/is not available', 10],
  ])('a node that answers ten calls with "%s" is asked %i times', async (message, count) => {
    const { rpc, asked } = network(failing(message), well)
    for (let again = 0; again < 10; again += 1) expect(await balance(rpc)).toBe(5n)
    expect(asked).toEqual([count, 10])
  })

  test('a caller’s own call rests no node by an error that may be about the call', async () => {
    const { rpc, asked } = network(failing('invalid argument 0: hex string without 0x prefix', -32_602), well)
    for (let again = 0; again < 10; again += 1) expect(await rpc('eth_getBalance', ['latest'])).toBe('0x5')
    expect(asked).toEqual([10, 10])
  })

  test('a node that rests is asked when the others fail', async () => {
    let isDown = true
    const { rpc } = network(
      (calls) => (isDown ? { status: 503, text: '' } : well(calls)),
      failing('no matched providers'),
    )
    for (let again = 0; again < 4; again += 1) await balance(rpc)
    isDown = false
    expect(await balance(rpc)).toBe(5n)
  })
})

test.each<[string | undefined, number | undefined]>([
  [undefined, undefined],
  ['', undefined],
  ['120', 120],
  [' 7 ', 7],
  ['0', 0],
  ['-1', undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  ['99999999999', undefined],
  ['soon', undefined],
  ['Thu, 01 Jan 1970 00:02:00 GMT', 60],
  ['Thursday, 01-Jan-70 00:02:00 GMT', 60],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['1970-01-01T00:02:00Z', undefined],
])('Retry-After: %j asks for %j seconds', (header, seconds) => {
  expect(readRetryAfter(header, 60_000)).toBe(seconds)
})
