import { createServer, type ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { RpcCall } from '../../../server/chain/answer-limits.ts'
import { Endpoint } from '../../../server/chain/endpoint.ts'
import { openPost } from '../../../server/chain/post.ts'
import { CallQueue, RpcUnavailable } from '../../../server/chain/rpc.ts'
import { listen } from '../../support/listen.ts'

type Call = RpcCall & { id: number }
/** What is returned is sent; undefined: the behaviour has seen to the answer, or there never will be one. */
type Behaviour = (calls: Call[], response: ServerResponse, isBatch: boolean) => unknown

const answerOf = ({ id, method, params }: Call) => ({
  jsonrpc: '2.0',
  id,
  result: method === 'eth_chainId' ? '0x1' : `${method} ${params.join()}`,
})
const well: Behaviour = (calls, _, isBatch) => (isBatch ? calls.map(answerOf) : answerOf(calls[0] as Call))
const withStatus =
  (status: number, headers: Record<string, string> = {}, text = ''): Behaviour =>
  (_, response) =>
    void response.writeHead(status, headers).end(text)
const refusing =
  (error: object): Behaviour =>
  (calls, _, isBatch) => {
    const answers = calls.map((call) => (call.method === 'eth_chainId' ? answerOf(call) : { id: call.id, error }))
    return isBatch ? answers : answers[0]
  }

/** A node of the test's own. `asked`: the methods, a list for each HTTP request. */
async function startNode(behaviour: Behaviour = well) {
  const node = { url: '', asked: [] as string[][], behaviour }
  const server = createServer(async (request, response) => {
    const body = JSON.parse((await request.toArray()).join(''))
    const calls: Call[] = [body].flat()
    node.asked.push(calls.map(({ method }) => method))
    const answer = node.behaviour(calls, response, Array.isArray(body))
    if (answer !== undefined) response.end(JSON.stringify(answer))
  })
  node.url = await listen(server)
  return node
}

/** The nodes as one network (chain 1), under a clock that stands until it is set; the first that is well is drawn. */
function network(nodes: { url: string }[], weights = nodes.map(() => 100)) {
  const clock = { ms: 0 }
  const now = () => clock.ms
  const endpoints = nodes.map(
    ({ url }, at) =>
      new Endpoint({
        post: openPost(url, undefined),
        weight: weights[at] ?? 0,
        chain_id: 1,
        audience: 'service',
        now,
        scrub: (error) => error,
      }),
  )
  return { rpc: new CallQueue(endpoints, now, () => 0).call, clock }
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    (answer) => expect.fail(`It was answered: ${answer}`),
    (error) => error,
  )
const dead = { url: 'http://127.0.0.1:1' }

describe('batches', () => {
  test('sends a single call unbatched, and asks for the chain id with the first', async () => {
    const node = await startNode()
    const { rpc } = network([node])
    expect([await rpc('a', [1]), await rpc('b', [2])]).toEqual(['a 1', 'b 2'])
    expect(node.asked).toEqual([['eth_chainId', 'a'], ['b']])
  })

  test('sends a burst in batches of 100, four at once, rejects calls beyond 20,000 that wait, and loses none', async () => {
    const node = await startNode()
    const { rpc } = network([node])
    const held: (() => void)[] = []
    let most = 0
    node.behaviour = (...exchange) => {
      held.push(() => exchange[1].end(JSON.stringify(well(...exchange))))
      most = Math.max(most, held.length)
      if (held.length === 4) for (const release of held.splice(0)) setImmediate(release)
    }
    const asked = Array.from({ length: 20_400 }, (_, index) => rpc('a', [index]))
    const refused = rpc('a', ['too many'])
    expect(await failure(refused)).toMatchObject({ message: expect.stringContaining('Too many calls') })
    expect(await Promise.all(asked)).toEqual(asked.map((_, index) => `a ${index}`))
    // The first four asked for the chain id too.
    expect(node.asked.map(({ length }) => length)).toEqual([...Array(4).fill(101), ...Array(200).fill(100)])
    expect(most).toBe(4)
  })

  test('returns each result of a batch despite a failure beside it', async () => {
    const node = await startNode()
    const { rpc } = network([node])
    await rpc('first', [])
    let release = () => {}
    node.behaviour = (...exchange) => {
      const [calls, response] = exchange
      if (calls[0]?.method === 'b') return void response.socket?.resetAndDestroy()
      release = () => response.end(JSON.stringify(well(...exchange)))
    }
    const slow = rpc('a', [])
    await expect.poll(() => node.asked.length).toBe(2)
    await failure(rpc('b', []))
    release()
    expect(await slow).toBe('a ')
  })

  test('matches answers by id, and asks the next node only for missing ones', async () => {
    const forgetful = await startNode((calls) =>
      calls
        .filter(({ method }) => method !== 'b')
        .map(answerOf)
        .reverse(),
    )
    const whole = await startNode()
    const { rpc } = network([forgetful, whole])
    expect(await Promise.all([rpc('a', []), rpc('b', []), rpc('c', [])])).toEqual(['a ', 'b ', 'c '])
    expect(whole.asked).toEqual([['eth_chainId', 'b']])
  })

  test('sends single calls to a node that refuses batches, and tries a batch again after a minute', async () => {
    const error = { code: -32_600, message: 'batch requests are not supported' }
    const node = await startNode((...exchange) => (exchange[2] ? { id: null, error } : well(...exchange)))
    const { rpc, clock } = network([node])
    expect(await Promise.all([rpc('a', []), rpc('b', [])])).toEqual(['a ', 'b '])
    clock.ms += 59_999
    expect(await Promise.all([rpc('c', []), rpc('d', [])])).toEqual(['c ', 'd '])
    expect(node.asked).toEqual([['eth_chainId', 'a', 'b'], ['eth_chainId'], ['a'], ['b'], ['c'], ['d']])
    // It may have refused one batch only.
    node.behaviour = well
    clock.ms += 1
    expect(await Promise.all([rpc('e', []), rpc('f', [])])).toEqual(['e ', 'f '])
    expect(node.asked.at(-1)).toEqual(['e', 'f'])
  })

  test('keeps batches for a node that was rate limited once', async () => {
    const error = { code: -32_005, message: 'rate limit exceeded' }
    const node = await startNode((_, response) => void response.end(JSON.stringify({ id: null, error })))
    const { rpc } = network([node])
    await failure(Promise.all([rpc('a', []), rpc('b', [])]))
    node.behaviour = well
    await Promise.all([rpc('c', []), rpc('d', [])])
    expect(node.asked.at(-1)).toEqual(expect.arrayContaining(['c', 'd']))
  })
})

describe('failover', () => {
  test.each<[string, Behaviour]>([
    ['a reset connection', (_, response) => void response.socket?.resetAndDestroy()],
    ['half an answer', (_, response) => void response.writeHead(200).write('{', () => response.destroy())],
    ['an empty answer', withStatus(200)],
    ['a page', withStatus(502, { 'Content-Type': 'text/html' }, '<html>')],
    ['JSON that is no JSON-RPC', withStatus(500, {}, '{"message":"no"}')],
    ['a redirect, which is not followed', withStatus(307, { Location: dead.url })],
  ])('uses the next node after %s', async (_, behaviour) => {
    const [first, second] = [await startNode(behaviour), await startNode()]
    expect(await network([first, second]).rpc('a', [])).toBe('a ')
    expect([first.asked.length, second.asked.length]).toEqual([1, 1])
  })

  test('skips a node after three failures, longer each time, and asks for its chain before using it again', async () => {
    const first = await startNode()
    const { rpc, clock } = network([first, await startNode()])
    await rpc('a', [])
    first.behaviour = withStatus(500)
    /** How many of ten calls reach the first node at a time. */
    const networkClient = async (ms: number) => {
      clock.ms = ms
      const before = first.asked.length
      for (let time = 0; time < 10; time += 1) expect(await rpc('a', [])).toBe('a ')
      return first.asked.length - before
    }
    expect([
      await networkClient(0),
      await networkClient(999),
      await networkClient(1_000),
      await networkClient(2_999),
    ]).toEqual([3, 0, 1, 0])
    first.behaviour = well
    expect(await networkClient(3_000)).toBe(10)
    expect(first.asked.at(-10)).toEqual(['eth_chainId', 'a'])
  })

  test.each([500, 429])('asks a single node again despite its backoff, also after it answered %i', async (status) => {
    const node = await startNode(withStatus(status))
    const { rpc, clock } = network([node])
    await failure(rpc('a', []))
    clock.ms = 1_000
    node.behaviour = withStatus(500)
    for (let time = 0; time < 4; time += 1) expect(await failure(rpc('a', []))).toBeInstanceOf(RpcUnavailable)
    node.behaviour = well
    expect(await rpc('a', [])).toBe('a ')
  })

  test('uses a node of weight 0 only when no other answers', async () => {
    const [spare, node] = [await startNode(), await startNode()]
    const { rpc, clock } = network([spare, node], [0, 1])
    const asked = () => [spare.asked.length, node.asked.length]
    await rpc('a', [])
    expect(asked()).toEqual([0, 1])
    node.behaviour = withStatus(500)
    for (let time = 0; time < 5; time += 1) expect(await rpc('b', [])).toBe('b ')
    expect(asked()).toEqual([5, 4])
    node.behaviour = well
    clock.ms = 1_000
    await rpc('c', [])
    expect(asked()).toEqual([5, 5])
  })

  test('calls no node before its Retry-After, even when there is no other', async () => {
    const [first, second] = [await startNode(withStatus(429, { 'Retry-After': '7' })), await startNode()]
    const { rpc, clock } = network([first, second])
    for (const ms of [0, 0, 6_999]) {
      clock.ms = ms
      expect(await rpc('a', [])).toBe('a ')
    }
    expect([first.asked.length, second.asked.length]).toEqual([1, 3])
    second.behaviour = withStatus(500)
    expect(await failure(rpc('b', []))).toBeInstanceOf(RpcUnavailable)
    expect(first.asked).toHaveLength(1)
    first.behaviour = well
    clock.ms = 7_000
    expect(await rpc('c', [])).toBe('c ')
  })

  test('leaves a node that does not answer, or does not end its answer, after five seconds', async () => {
    const halves: Behaviour[] = [() => undefined, (_, response) => void response.writeHead(200).write('{')]
    const nodes = halves.map(async (behaviour) => [await startNode(behaviour), await startNode()])
    const answers = nodes.map(async (both) => network(await both).rpc('a', []))
    expect(await Promise.all(answers)).toEqual(['a ', 'a '])
  })
})

describe('reported reasons', () => {
  test('uses no answer of a node on a wrong chain, and reports its chain id', async () => {
    const wrong = await startNode((calls) => calls.map(({ id }) => ({ id, result: '0x7a69' })))
    expect(await network([wrong, await startNode()]).rpc('a', [])).toBe('a ')
    const error = await failure(network([wrong, wrong]).rpc('a', []))
    expect(error).toMatchObject({ name: 'RpcUnavailable', wrong_chain: 31_337n })
    expect(error.message).toContain('on chain 31337 and not on 1')
    // One that does not answer may be on the right one.
    expect(await failure(network([wrong, dead]).rpc('a', []))).toMatchObject({ wrong_chain: undefined })
  })

  test("returns a node's error with its kind and text, and asks no other node", async () => {
    const error = { code: -32_000, message: 'nonce too low', data: '0x01' }
    const [first, second] = [await startNode(refusing(error)), await startNode()]
    const told = await failure(network([first, second]).rpc('a', []))
    expect(told).toMatchObject({ name: 'RpcError', kind: 'nonce_too_low', message: 'nonce too low', error })
    expect(second.asked).toHaveLength(0)
  })

  test.each([
    ['rate_limited', { code: -32_005, message: 'limit exceeded' }],
    ['unavailable', { code: -32_603, message: 'internal error' }],
    ['method_not_found', { code: -32_601, message: 'the method does not exist' }],
  ])('asks another node after %s, and reports it when no node succeeds', async (kind, error) => {
    const [first, second] = [await startNode(refusing(error)), await startNode()]
    const { rpc } = network([first, second])
    expect(await rpc('a', [])).toBe('a ')
    second.behaviour = refusing(error)
    expect(await failure(rpc('b', []))).toMatchObject({ name: 'RpcError', kind, error })
  })
})

describe('transactions', () => {
  const send = 'eth_sendRawTransaction'
  const refusal = (message: string) => refusing({ code: -32_000, message })
  const [hopeless, unfunded] = [refusal('invalid sender'), refusal('insufficient funds')]

  test('accepts a transaction that one node rejects and another accepts', async () => {
    const [first, second] = [await startNode(hopeless), await startNode()]
    expect(await network([first, second]).rpc(send, ['0x01'])).toBe(`${send} 0x01`)
    expect([first.asked.length, second.asked.length]).toEqual([1, 1])
  })

  test.each<[string, Behaviour[], string]>([
    ['all say hopeless', [hopeless, hopeless], 'rejected'],
    ['one says hopeless, one has hope', [hopeless, unfunded], 'insufficient_funds'],
    ['in the other order', [unfunded, hopeless], 'insufficient_funds'],
    ['one is at its limit', [hopeless, refusal('rate limit exceeded')], 'rate_limited'],
    ['a price can be raised', [unfunded, refusal('replacement transaction underpriced')], 'replacement_underpriced'],
    ['one has it', [hopeless, refusal('already known')], 'already_known'],
  ])('%s', async (_, behaviours, kind) => {
    const nodes = await Promise.all(behaviours.map(startNode))
    expect(await failure(network(nodes).rpc(send, ['0x01']))).toMatchObject({ name: 'RpcError', kind })
  })

  test('treats a transaction as undecided while a healthy node does not answer, and ignores a node in backoff', async () => {
    const silent = await startNode(withStatus(500))
    const { rpc } = network([silent, await startNode(hopeless)])
    for (let time = 0; time < 3; time += 1) {
      expect(await failure(rpc(send, ['0x01']))).toBeInstanceOf(RpcUnavailable)
    }
    expect(await failure(rpc(send, ['0x01']))).toMatchObject({ kind: 'rejected' })
    expect(silent.asked).toHaveLength(3)
  })

  test('broadcasts to all nodes, and returns the first acceptance', async () => {
    const nodes = [await startNode(hopeless), await startNode(), await startNode()]
    expect(await network(nodes).rpc(send, ['0x01'], { everywhere: true })).toBe(`${send} 0x01`)
    await expect.poll(() => nodes.map(({ asked }) => asked.length)).toEqual([1, 1, 1])
  })
})

describe('sizes', () => {
  const kilobytes = (count: number) => `0x${'00'.repeat(count * 512)}`
  /** As a node behind a proxy that takes so many bytes. */
  const upTo =
    (maxBytes: number, refuse: Behaviour): Behaviour =>
    (calls, response, isBatch) =>
      JSON.stringify(calls).length > maxBytes ? refuse(calls, response, isBatch) : well(calls, response, isBatch)

  test('limits a batch to 500 kB, and sends a larger single call by itself', async () => {
    const node = await startNode()
    const { rpc } = network([node])
    await rpc('first', [])
    await Promise.all([200, 200, 200, 600, 1].map((size) => rpc('a', [kilobytes(size)])))
    expect(node.asked.slice(1).map(({ length }) => length)).toEqual([2, 1, 1, 1])
  })

  const whole = { code: -32_600, message: 'batch too large' }
  test.each<[string, Behaviour]>([
    ['413', withStatus(413, { 'Content-Type': 'text/html' }, '<html>')],
    ['an error for all', (_, response) => void response.end(JSON.stringify({ id: null, error: whole }))],
  ])(
    'halves a batch that is too large for a node (%s), in order, and sends no unchanged batch again',
    async (_, refuse) => {
      const node = await startNode(upTo(25_000, refuse))
      const { rpc } = network([node])
      await rpc('first', [])
      const sent: string[] = []
      const behaviour = node.behaviour
      node.behaviour = (calls, response, isBatch) => {
        const answer = behaviour(calls, response, isBatch)
        if (Array.isArray(answer)) sent.push(...calls.map(({ params }) => `${params[1]}`))
        return answer
      }
      const ask = () => Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((at) => rpc('a', [kilobytes(8), at])))
      expect(await ask()).toHaveLength(8)
      expect(sent).toEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
      expect(node.asked.slice(1).map(({ length }) => length)).toEqual([8, 4, 2, 2, 2, 2])
      await ask()
      expect(node.asked.slice(7).map(({ length }) => length)).toEqual([2, 2, 2, 2])
    },
  )

  test('rejects a call that is too large for a node, and keeps the node in use', async () => {
    const node = await startNode(upTo(4_000, withStatus(413)))
    const { rpc } = network([node])
    const error = await failure(rpc('eth_sendRawTransaction', [kilobytes(8)]))
    expect(error).toMatchObject({ kind: 'rejected', message: 'Request too large' })
    expect(await rpc('a', [])).toBe('a ')
  })
})
