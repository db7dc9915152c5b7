import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createRelayerClient } from '../../client/index.ts'
import { methods } from '../../generated/client-methods.ts'
import { startTestService } from '../support/service.ts'
import { testRig } from '../support/test-rig.ts'

const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'

test('sends, follows, lists and cancels by names', async () => {
  const { chain, client, addAccount } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  const { transactions } = client()
  const sent = await transactions.send(account.relayer_id, { to, value: 1n }, { wait: 'submitted' })
  const following = transactions.wait(account.relayer_id, sent.id)
  await account.finished(chain.mine)
  expect((await following).status).toBe('confirmed')
  const statuses: string[] = []
  for await (const { id, status } of transactions.listRelayerTransactions(account.relayer_id, {
    status: ['confirmed'],
  }))
    statuses.push(`${id} ${status}`)
  expect(statuses).toEqual([`${sent.id} confirmed`])
  // Attempts have no id.
  const attempts: (number | undefined)[] = []
  for await (const { number } of transactions.listAttempts(account.relayer_id, sent.id)) attempts.push(number)
  expect(attempts).toEqual([1])
  const two = await transactions.sendBatch(account.relayer_id, { transactions: [{ to }, { to }] })
  expect(two.map(({ nonce }) => nonce)).toEqual([1, 2])
  const { failed_to_queue_transaction_ids } = await transactions.cancelPending(account.relayer_id)
  expect(failed_to_queue_transaction_ids).toEqual([])
  expect((await transactions.getRelayerTransactionByNonce(account.relayer_id, '0')).id).toBe(sent.id)
})

test('signs, and reads and changes the configuration', async () => {
  const { client } = await startTestService()
  expect((await client.signing.signMessage('demo', { message: 'Hello' })).sig).toMatch(/^0x[0-9a-f]{130}$/)
  const { name } = await client.relayers.update('demo', { name: 'Renamed' })
  const names: string[] = []
  for await (const relayer of client.relayers.list()) names.push(relayer.name)
  expect([name, names]).toEqual(['Renamed', ['Renamed']])
  expect((await client.apiKeys.getOwn()).id).toBeTypeOf('string')
  expect((await client.service.getHealth()).status).toBe('ok')
  await expect(client.networks.get('evm:nowhere')).rejects.toMatchObject({ status: 404, code: 'not_found' })
})

test('has each method of each group in its README', () => {
  const readme = readFileSync(new URL('../../client/README.md', import.meta.url), 'utf8')
  for (const [group, named] of Object.entries(methods)) {
    const listed = new RegExp(`^- \`${group}\`: (.*?)\n(?:- |\n)`, 'ms').exec(readme)?.[1] ?? ''
    expect(
      listed.match(/(?<=`)\w+(?=`)/g)?.filter((name) => name !== 'wait'),
      group,
    ).toEqual(Object.keys(named))
  }
})

test('takes a baseUrl with and without /api/v1', async () => {
  const service = await startTestService()
  for (const end of ['', '/', '/api/v1', '/api/v1/']) {
    const client = createRelayerClient({ baseUrl: `${service.url}${end}`, token: service.api_key })
    expect((await client.service.getHealth()).status, end).toBe('ok')
  }
})

const failure = (status: number, code: string, headers = {}) =>
  Response.json({ success: false, data: null, code, message: code }, { status, headers })

/** Answers of a service in turn, then 201. */
function answering(...answers: (() => Response)[]) {
  const keys: (string | null)[] = []
  const fetch = async (request: Request) => {
    keys.push(request.headers.get('Idempotency-Key'))
    const answer = answers[keys.length - 1]
    return answer ? answer() : Response.json({ success: true, data: { id: 'one' } }, { status: 201 })
  }
  return { keys, client: createRelayerClient({ baseUrl: 'http://service.test', token: 't', fetch }) }
}

const lost = () => {
  throw new TypeError('fetch failed')
}

test.each<[string, () => Response]>([
  ['a lost connection', lost],
  ['408', () => failure(408, 'request_timeout')],
  ['429', () => failure(429, 'rate_limited', { 'Retry-After': '0' })],
  ['503', () => failure(503, 'outcome_unknown')],
  ['the 502 of a proxy', () => new Response('Bad Gateway', { status: 502 })],
])('repeats a transaction under its key after %s', async (_, answer) => {
  const { keys, client } = answering(answer)
  expect((await client.transactions.send('demo', { to })).id).toBe('one')
  expect(keys).toHaveLength(2)
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
  expect(new Set(keys).size).toBe(1)
})

test.each([400, 403, 409, 422, 500])('does not repeat a transaction after %i', async (status) => {
  const { keys, client } = answering(() => failure(status, 'no'))
  await expect(client.transactions.send('demo', { to }, { idempotencyKey: 'mine' })).rejects.toMatchObject({ status })
  expect(keys).toEqual(['mine'])
})

test('repeats nothing else after a lost connection', async () => {
  const { keys, client } = answering(lost)
  await expect(client.relayers.reconcileNonce('demo')).rejects.toThrow('fetch failed')
  expect(keys).toEqual([null])
})

test('refuses the mistakes that compile', async () => {
  const { client } = await startTestService()
  const refused = (body: Parameters<typeof client.transactions.send>[1]) =>
    client.transactions.send('demo', body).catch(({ name, message }: Error) => `${name}: ${message}`)
  expect(await refused({ to: 'treasury' })).toMatch(/^RelayerError: body\/to: /)
  expect(await refused({ value: 1n })).toMatch(/^RelayerError: body\/(?:data|to)/)
})

test('names the method that takes an id when a list is called with one', async () => {
  // As JavaScript calls them, without types.
  const { transactions, service } = createRelayerClient({
    baseUrl: 'http://127.0.0.1:9',
    token: 'none',
  }) as unknown as {
    transactions: { list(id: string): unknown }
    service: { getHealth(id: string): Promise<unknown> }
  }
  expect(() => transactions.list('demo')).toThrow(
    'The options of transactions.list must be an object; they are "demo"; transactions.listRelayerTransactions takes an id',
  )
  await expect(service.getHealth('demo')).rejects.toThrow('The options of service.getHealth must be an object')
})

test('names the id that is missing before anything is sent', async () => {
  // As JavaScript calls them, without types.
  const { transactions, relayers } = createRelayerClient({
    baseUrl: 'http://127.0.0.1:9',
    token: 'none',
  }) as unknown as {
    transactions: { send(body: object): Promise<unknown>; wait(id: string): Promise<unknown> }
    relayers: { get(): Promise<unknown> }
  }
  const needs = (place: string, name: string, type: string) =>
    `${place} needs ${name}, a text that is not empty; it is ${type}`
  await expect(transactions.send({ value: 1n })).rejects.toThrow(needs('transactions.send', 'relayer_id', 'object'))
  await expect(relayers.get()).rejects.toThrow(needs('relayers.get', 'relayer_id', 'undefined'))
  await expect(transactions.wait('01a2')).rejects.toThrow(needs('transactions.wait', 'transaction_id', 'undefined'))
})

test('names every operation that answers JSON, except JSON-RPC', () => {
  const { paths } = JSON.parse(readFileSync('generated/openapi.json', 'utf8'))
  const operations = Object.values<Record<string, { operationId?: string; tags?: string[] }>>(paths).flatMap((item) =>
    Object.values(item).flatMap(({ operationId, tags }) =>
      operationId && tags?.[0] !== 'JSON-RPC' ? [operationId] : [],
    ),
  )
  const named = Object.values(methods).flatMap((group) => Object.keys(group))
  expect(named).toHaveLength(operations.filter((id) => !/^stream\w*Events$/.test(id)).length)
  for (const group of Object.values(methods)) expect(new Set(Object.keys(group)).size).toBe(Object.keys(group).length)
})

test('lists every group in the README', () => {
  const listed = [...readFileSync('client/README.md', 'utf8').matchAll(/^\| `(\w+)` +\| [^|]+\|$/gm)]
  expect(listed.map(([, group]) => group).toSorted()).toEqual(Object.keys(methods).toSorted())
})
