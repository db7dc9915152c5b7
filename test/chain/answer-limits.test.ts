import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { AnswerCounter, limitsOf } from '../../server/chain/answer-limits.ts'
import { Endpoint } from '../../server/chain/endpoint.ts'
import { openPost } from '../../server/chain/post.ts'
import { CallQueue } from '../../server/chain/rpc.ts'
import { listen } from '../support/listen.ts'

const mebibyte = 1024 * 1024
const chunkBytes = 64 * 1024
const [balance, receipt] = ['eth_getBalance', 'eth_getTransactionReceipt']

/** A node that answers a call with the text `result(method)`. `written`: the bytes that it sent. */
async function startNode(result: (method: string) => string) {
  const node = { url: '', written: 0, asked: [] as string[] }
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await request.toArray()).join(''))
    const answers = [body].flat().map(({ id, method }) => {
      node.asked.push(method)
      return `{"jsonrpc":"2.0","id":${id},"result":${method === 'eth_chainId' ? '"0x1"' : result(method)}}`
    })
    const text = Buffer.from(Array.isArray(body) ? `[${answers}]` : `${answers[0]}`)
    const chunks = function* () {
      for (let at = 0; at < text.length; at += chunkBytes) {
        node.written += chunkBytes
        yield text.subarray(at, at + chunkBytes)
      }
    }
    Readable.from(chunks(), { highWaterMark: 1 })
      .on('error', () => undefined)
      .pipe(response)
  })
  node.url = await listen(server)
  return node
}

function network(nodes: { url: string }[]) {
  const reasons: string[] = []
  const endpoints = nodes.map(({ url }) => {
    const endpoint = new Endpoint({
      ...{ post: openPost(url, undefined), weight: 100, chain_id: 1, audience: 'service' },
      now: () => 0,
      scrub: (error) => error,
    })
    endpoint.onChange = (reason) => void reasons.push(`${reason}`)
    endpoint.onTooLarge = (reason) => void reasons.push(reason)
    return endpoint
  })
  return {
    rpc: new CallQueue(
      endpoints,
      () => 0,
      () => 0,
    ).call,
    endpoints,
    reasons,
  }
}

const crowded = (megabytes: number) => `[${'[],'.repeat((megabytes * mebibyte) / 3)}[]]`
const well = () => '"0x1"'

test('ends a node’s answer at the limit of its method, reports the node, and asks the next one', async () => {
  for (const answer of [`"${'x'.repeat(60 * mebibyte)}"`, crowded(60)]) {
    const [hostile, other] = [await startNode(() => answer), await startNode(well)]
    const { rpc, endpoints, reasons } = network([hostile, other])
    expect(await rpc(balance, [])).toBe('0x1')
    expect(other.asked).toEqual(['eth_chainId', balance])
    expect(hostile.written).toBeLessThan(16 * mebibyte)
    expect(reasons.at(-1)).toMatch(/^Its answer (is larger than 64 KiB|has more than 1000 values)$/)
    for (let again = 0; again < 5; again += 1) await rpc(balance, [])
    expect(endpoints[0]?.rest_until).toBeGreaterThan(0)
  }
})

test('asks another node for a receipt that is too large, and continues to use the first for other calls', async () => {
  const first = await startNode((method) => (method === receipt ? crowded(2) : '"0x2"'))
  const other = await startNode(well)
  const { rpc, endpoints, reasons } = network([first, other])
  expect(await rpc(receipt, [])).toBe('0x1')
  expect(await rpc(balance, [])).toBe('0x2')
  expect(endpoints[0]?.rest_until).toBe(0)
  expect(reasons).toContain('The answer to eth_getTransactionReceipt has more than 100000 values')
  await expect(network([first]).rpc(receipt, [])).rejects.toMatchObject({
    name: 'RpcUnavailable',
    message: "The node's answer has more than 100000 values",
  })
})

test('gets the other answers of a batch in which one is too large', async () => {
  const node = await startNode((method) => (method === receipt ? crowded(2) : '"0x2"'))
  const { rpc } = network([node])
  const answers = await Promise.allSettled([rpc(balance, [1]), rpc(receipt, []), rpc(balance, [2])])
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('parses an answer above 1 MiB in a thread of its own, without loss', async () => {
  const logs = Array.from({ length: 4_000 }, (_, index) => ({ index, data: `0x${'ab'.repeat(500)}`, text: 'ä"\\[' }))
  const node = await startNode(() => JSON.stringify({ logs }))
  const { rpc } = network([node])
  const { parse } = JSON
  const lengths: number[] = []
  JSON.parse = (text, ...rest) => {
    lengths.push(text.length)
    return parse(text, ...rest)
  }
  const answer = await rpc(receipt, []).finally(() => {
    JSON.parse = parse
  })
  expect(answer).toEqual({ logs })
  expect(Math.max(...lengths)).toBeLessThan(mebibyte)
})

test('reports an answer above 1 MiB that is not JSON as a fault of the node', async () => {
  const node = await startNode(() => `"${'x'.repeat(2 * mebibyte)}`)
  await expect(network([node]).rpc(receipt, [])).rejects.toThrow('without JSON')
})

const text = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))

test.each<[string, Buffer, string | undefined]>([
  ['values at the limit', text(Array(9).fill(0)), undefined],
  ['values above it', text(Array(11).fill(0)), 'has more than 10 values'],
  ['members of objects', text(Object.fromEntries(Array.from({ length: 11 }, (_, at) => [at, at]))), 'has more than'],
  ['empty arrays', text('[[],[],[],[],[],[],[]]'), 'has more than 10 values'],
  ['separators inside a text', text([',[{,[{,[{,[{\\",[{,[{']), undefined],
  ['separators behind an escaped quote', text('["\\\\",0,0,0,0,0,0,0,0,0,0,0]'), 'has more than 10 values'],
  ['a deep answer', text('['.repeat(101)), 'is nested more than 100 levels deep'],
  ['bytes above the limit', text('x'.repeat(1_025)), 'is larger than 1 KiB'],
])('counts %s, in whatever chunks it arrives', (_, bytes, fault) => {
  for (const size of [1, 3, 7, bytes.length]) {
    const counter = new AnswerCounter({ max_bytes: 1_024, max_values: fault?.includes('deep') ? 1_000 : 10 })
    const read = () => {
      for (let at = 0; at < bytes.length; at += size) counter.count(bytes.subarray(at, at + size))
    }
    if (fault === undefined) read()
    else expect(read).toThrow(fault)
  }
})

test('limits a batch to the sum of its calls, and at most to one large answer', () => {
  const call = (method: string, params: unknown[] = []) => ({ method, params })
  expect(limitsOf([call(balance), call('eth_chainId')], 'service').max_bytes).toBe(128 * 1024)
  expect(limitsOf([call('eth_getBlockByNumber', ['latest', false])], 'service').max_bytes).toBe(2 * mebibyte)
  expect(limitsOf([call('eth_getBlockByNumber', ['latest', true])], 'service').max_bytes).toBe(16 * mebibyte)
  expect(limitsOf([call(receipt), call(receipt)], 'service')).toEqual(limitsOf([call(receipt)], 'service'))
  expect(limitsOf([call('eth_getLogs')], 'callers')).toEqual({ max_bytes: 4 * mebibyte, max_values: 100_000 })
})
