import type { ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { AbiCoder, Interface } from 'ethers'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import { nodeMethods } from '../../server/api/json-rpc/reading.ts'
import { apiKey } from '../bench/processes.ts'
import { startAnvil } from '../support/anvil.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { until } from '../support/until.ts'
import { blockOf, longest, maxBlockMs, withService } from './blocking.ts'
import type { Finding } from './finding.ts'
import { prepare } from './operations.ts'
import { nothingStored, sponsorship, table } from './table.ts'
import type { Wide } from './wide.ts'

/** Of the process, for any request of a limited key, refused or not. */
const maxCpuMs = 50
/** The lowest of several measurements counts: garbage of earlier requests is collected during one of them. */
const tries = 4
const goodMs = 15
const restMs = 2_000
/** A batch counts as so many requests for the rate of its key. */
const calls = 100

/** Before inputs were bounded and decoded in linear time. */
const before: Record<string, string> = {
  'sponsored call: a batch whose pointers share bytes': 'CPU 2832 ms',
  'relayer_sendTransaction: a batch whose pointers share bytes': 'CPU 3301 ms',
  'relayer_sendTransactionSync: a batch whose pointers share bytes': 'CPU 3487 ms',
  'sponsored call: an honest batch': 'CPU 111 ms',
  'relayer_sendTransaction: an honest batch': 'CPU 111 ms',
  'relayer_sendTransactionSync: an honest batch': 'CPU 108 ms',
  'sponsored call: an honest forward request': 'CPU 53 ms',
  'relayer_sendTransaction: an honest forward request': 'CPU 54 ms',
  'relayer_sendTransactionSync: an honest forward request': 'CPU 53 ms',
  'call: nested tuples of 994 bytes': 'CPU 74 ms',
  'call: one type of 450 KB': 'CPU 296 ms',
  'call: 9,000 arguments': 'CPU 226 ms',
  'call: an argument of 400 KB in 50 arrays': 'CPU 2399 ms',
  'eth_signTransaction: 9,000 storage keys': 'CPU 3680 ms',
  'eth_signTransaction: 500 KB of data': 'CPU 150 ms',
  'eth_getTransactionReceipt: four versions of 130 KB': 'CPU 172 ms',
  'eth_getTransactionByHash: four versions of 130 KB': 'CPU 90 ms',
  'a page of 120 stored calls': 'CPU 68 ms',
}

const to = `0x${'5a'.repeat(20)}`
const quarterMegabyte = `0x${'ab'.repeat(131_000)}`
const halfMegabyte = `0x${'ab'.repeat(500_000)}`
const word = (value: number) => value.toString(16).padStart(64, '0')
const nested = (depth: number) => `f(${'('.repeat(depth)}uint256${')'.repeat(depth)})`

/** A request with one of the limited keys. `divided`: it counts as so many requests. */
interface Request extends Wide {
  token: string
  divided?: number
}

/**
 * The CPU time of every operation and of every JSON-RPC method at its largest size, for keys that are limited to some relayers or to a
 * sponsorship. `only`: a pattern of their names.
 */
export async function largest(only: string): Promise<Finding[]> {
  const chain = await startAnvil({ noMining: true })
  try {
    return await withService(async (child, url) => {
      const client = createRelayerClient({ baseUrl: url, token: apiKey, fetch: asOnlyWriter })
      const apiKeys = await prepare(client)
      const { data: relayers } = await client.get('/api/v1/relayers', { query: { per_page: 100 } })
      for (const { address } of relayers) await chain.setBalance(address, 10n ** 24n)
      const token = await limitedToken(
        client,
        relayers.map(({ id }) => id),
      )
      const sponsored = (await client.sponsorships.create({ ...sponsorship, ...rules, id: 'limited' })).token
      const own = { ...(await versions(client)), token, sponsored }
      await storeCalls(client)
      await blockOf(child, url, { name: 'warm', method: 'GET', path: '/api/v1/relayers' }, token)
      const stored = { ...nothingStored, api_keys: apiKeys, unfinished: [own.transaction_id] }
      const findings: Finding[] = []
      const rest = await restOf(child)
      const wanted = [...requests(own), ...ofTable(stored, token)].filter(({ name }) => new RegExp(only).test(name))
      for (const request of wanted) findings.push(await measure(child, url, request, rest))
      return findings
    }, chain.url)
  } finally {
    await chain.stop()
  }
}

const selectors = ['0x12345678']
const rules = { targets: [{ address: to, selectors }], delegates: [`0x${'d1'.repeat(20)}`] }

async function limitedToken(client: RelayerClient, relayerIds: string[]): Promise<string> {
  const poolIds = (await client.get('/api/v1/pools', {})).data.map(({ id }) => id)
  const scopes = ['sign', 'send', 'read', 'notifications'] as const
  const body = { name: 'limited', scopes: [...scopes], relayer_ids: relayerIds, pool_ids: poolIds }
  return (await client.post('/api/v1/api-keys', { body })).data.token
}

/** A transaction of 130 KB that was signed four times. */
async function versions(client: RelayerClient): Promise<{ transaction_id: string; hash: string }> {
  const path = { relayer_id: 'demo' }
  const gwei = 10n ** 9n
  const body = { to, value: '1', data: `0x${'ab'.repeat(130_000)}`, gas_limit: 6_000_000 }
  const prices = (times: bigint) => ({
    max_fee_per_gas: `${times * 3n * gwei}`,
    max_priority_fee_per_gas: `${times * gwei}`,
  })
  const { id } = await client.transactions.send('demo', { ...body, ...prices(1n) })
  const one = { ...path, transaction_id: id }
  const read = async () =>
    (await client.get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', { path: one })).data
  await until('it is submitted', async () => (await read()).status === 'submitted')
  const { hash } = await read()
  for (const times of [2n, 3n, 4n]) {
    const before = (await read()).hash
    await client.put('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', {
      path: one,
      body: { ...body, ...prices(times) },
    })
    await until('it is signed again', async () => (await read()).hash !== before)
  }
  return { transaction_id: id, hash: hash as string }
}

/** 120 transactions, each with an ABI of its own. */
async function storeCalls(client: RelayerClient): Promise<void> {
  for (let index = 0; index < 120; index += 1) {
    const name = `f${index}`
    const types = Array(50).fill('int')
    const abi = [
      `function ${name}(${types})`,
      ...Array.from({ length: 20 }, (_, error) => `error E${error}${name}(${types.slice(0, 20)})`),
    ]
    const call = { function: name, abi, args: types.map((_, arg) => `${arg}`) }
    await client.transactions.send('pooled', { to, value: '0', gas_limit: 1_000_000, call })
  }
}

const post = (name: string, token: string, path: string, body: unknown): Request => ({
  ...{ name, token, method: 'POST', path: `/api/v1${path}`, type: 'application/json' },
  body: JSON.stringify(body),
})

function requests(own: { hash: string; transaction_id: string; token: string; sponsored: string }): Request[] {
  const { token, sponsored, hash } = own
  const rpc = (name: string, method: string, params: unknown) =>
    post(`${method}: ${name}`, token, '/relayers/demo/rpc', { jsonrpc: '2.0', id: 1, method, params })
  const relay = (name: string, method: string, params: unknown): Request => ({
    ...post(`${method}: ${name}`, sponsored, '', { jsonrpc: '2.0', id: 1, method, params }),
    path: '/api/v1/rpc',
  })
  const byCall = (name: string, call: object) => {
    const body = { to, value: '0', gas_limit: 1_000_000, call }
    return post(`call: ${name}`, token, '/relayers/demo/transactions/dry-run', body)
  }
  const sponsoredCall = (name: string, data: string, at = to) => [
    post(`sponsored call: ${name}`, sponsored, '/sponsorships/limited/calls', { to: at, data }),
    relay(name, 'relayer_sendTransaction', { chainId: '31337', to: at, data }),
    relay(name, 'relayer_sendTransactionSync', { chainId: '31337', to: at, data, timeout: 0 }),
  ]
  const prices = { nonce: '0x0', gas: '0x5b8d80', maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1' }
  const sign = (name: string, members: object) => rpc(name, 'eth_signTransaction', [{ to, ...prices, ...members }])
  const keys = (count: number) => Array.from({ length: count }, (_, index) => `0x${word(index)}`)
  const account = `0x${'77'.repeat(20)}`
  return [
    ...sponsoredCall('a batch whose pointers share bytes', sharedPointers(), account),
    ...sponsoredCall('an honest batch', honestBatch(), account),
    ...sponsoredCall('an honest forward request', honestForward(), sponsorship.forwarders[0] as string),
    ...sponsoredCall('a plain call', quarterMegabyte),
    relay('50 ids', 'relayer_getStatus', [Array(50).fill(`0x${'0'.repeat(64)}`)]),
    relay('100,000 ids', 'relayer_getStatus', [Array(9_000).fill(`0x${'0'.repeat(64)}`)]),
    relay('a long chain id', 'relayer_getFeeData', { chainId: '1'.repeat(900_000) }),
    relay('large', 'relayer_getCapabilities', [halfMegabyte]),
    byCall('nested tuples of 994 bytes', { function: nested(490) }),
    byCall('nested tuples of 8 KB', { function: 'f', abi: [{ type: 'function', name: 'f', inputs: deepInputs(60) }] }),
    byCall('one type of 450 KB', {
      function: 'f',
      abi: [{ type: 'function', name: 'f', inputs: [{ type: `int${'[]'.repeat(225_000)}` }] }],
    }),
    byCall('300 large entries', {
      function: 'f()',
      abi: Array.from({ length: 300 }, (_, index) => `function f(${index % 2 ? 'int,' : ''}${Array(250).fill('int')})`),
    }),
    byCall('the largest ABI that is parsed', {
      function: 'f0',
      abi: ['f', 'E'].flatMap((name) =>
        Array.from(
          { length: 4 },
          (_, index) =>
            `${name === 'f' ? 'function f0' : `error E${index}`}(${Array(28).fill(nested(8).slice(2, -1))})`,
        ),
      ),
    }),
    byCall('9,000 arguments', { function: 'f(bytes[])', args: [Array(9_000).fill('0x')] }),
    byCall('an argument of 130 KB', { function: 'f(bytes)', args: [quarterMegabyte] }),
    byCall('an argument of 400 KB in 50 arrays', {
      function: `f(bytes${'[]'.repeat(50)})`,
      args: [deep(`0x${'ab'.repeat(400_000)}`, 50)],
    }),
    sign('9,000 storage keys', { accessList: [{ address: to, storageKeys: keys(9_000) }] }),
    sign('200 storage keys and 130 KB of data', {
      data: quarterMegabyte,
      accessList: [{ address: to, storageKeys: keys(200) }],
    }),
    sign('500 KB of data', { data: halfMegabyte }),
    rpc('four versions of 130 KB', 'eth_getTransactionReceipt', [hash]),
    rpc('four versions of 130 KB', 'eth_getTransactionByHash', [hash]),
    rpc('130 KB of data', 'eth_sendTransaction', [{ to, data: quarterMegabyte, gas: '0x5b8d80' }]),
    rpc('9,000 storage keys', 'wallet_sendTransaction', [
      { to, accessList: [{ address: to, storageKeys: keys(9_000) }] },
    ]),
    rpc('1 MB', 'personal_sign', ['x'.repeat(1_000_000)]),
    rpc('1 MB', 'eth_signTypedData_v4', [to, 'x'.repeat(1_000_000)]),
    rpc('4,900 values', 'eth_signTypedData', [undefined, typedDocument()]),
    ...['eth_accounts', 'eth_requestAccounts', 'net_version', 'eth_sign', 'eth_sendRawTransaction'].map((method) =>
      rpc('1 MB', method, [halfMegabyte]),
    ),
    ...nodeMethods.map((method) => rpc('1 MB', method, [{ to, data: halfMegabyte }, 'latest'])),
    ...['a'.repeat(1_000_000)].map((text) => rpc('a long name', text.slice(0, 90), [text])),
    {
      name: 'a page of 120 stored calls',
      token,
      method: 'GET',
      path: '/api/v1/relayers/pooled/transactions/?per_page=1000',
    },
    {
      ...post(
        'a batch of 100 personal_sign',
        token,
        '/relayers/demo/rpc',
        Array.from({ length: calls }, (_, id) => ({
          jsonrpc: '2.0',
          id,
          method: 'personal_sign',
          params: [`0x${'ab'.repeat(400)}`],
        })),
      ),
      divided: calls,
    },
  ]
}

/** The requests of the table, which other keys may be refused. */
const ofTable = (stored: Parameters<(typeof table)[string]>[0], token: string): Request[] =>
  Object.entries(table).flatMap(([id, make]) =>
    make(stored, 0)
      .filter(({ stream }) => !stream)
      .map(({ succeeds: _, ...request }) => ({
        ...request,
        token,
        name: `${id}: ${request.name}`,
        ...dividedBy(request),
      })),
  )

/** The members of a batch. */
function dividedBy({ body }: Wide): Pick<Request, 'divided'> {
  const parsed = body === undefined || body.length > 2 ** 20 ? undefined : JSON.parse(body)
  const members = Array.isArray(parsed) ? parsed : (parsed?.items ?? parsed?.transactions)
  return Array.isArray(members) ? { divided: members.length } : {}
}

/** The CPU time of a service that is asked nothing, in ms for each ms. */
async function restOf(child: ChildProcess): Promise<number> {
  await longest(child)
  await pause(restMs)
  return (await longest(child)).total_cpu_ms / restMs
}

async function measure(child: ChildProcess, url: string, request: Request, rest: number): Promise<Finding> {
  const { token, divided = 1, name } = request
  let [cpuMs, turnMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  const statuses = new Set<number>()
  for (let attempt = 0; attempt < tries && cpuMs > goodMs; attempt += 1) {
    const { total_cpu_ms, own_ms, status, elapsed_ms } = await blockOf(child, url, request, token)
    cpuMs = Math.min(cpuMs, Math.max(0, total_cpu_ms - rest * elapsed_ms))
    turnMs = Math.min(turnMs, own_ms)
    statuses.add(status)
  }
  const each = divided === 1 ? '' : ` (${(cpuMs / divided).toFixed(2)} for each of ${divided})`
  return {
    what: name,
    ...(before[name] !== undefined && { before: before[name] }),
    found: `CPU ${cpuMs.toFixed(0)} ms${each}, longest turn ${turnMs.toFixed(0)} ms, status ${[...statuses]}`,
    wanted: `CPU under ${maxCpuMs} ms${divided === 1 ? '' : ' each'}, turns under ${maxBlockMs} ms`,
    holds: cpuMs / divided < maxCpuMs && turnMs < maxBlockMs,
    block_ms: turnMs,
  }
}

const account = new Interface(['function execute(bytes32 mode, bytes executionData)'])
const mode = `0x${'01'.padEnd(64, '0')}`

/** 4,000 calls in 130 KB: each pointer leads to the same bytes. */
function sharedPointers(): string {
  const call = `${word(0x12)}${word(0)}${word(96)}${word(0)}`
  const content = `0x${word(32)}${word(4_000)}${word(32 * 4_000).repeat(4_000)}${call}`
  return account.encodeFunctionData('execute', [mode, content])
}

function honestBatch(): string {
  const list = Array.from({ length: 50 }, () => [to, 0n, `${selectors[0]}${'ab'.repeat(2_300)}`])
  const content = AbiCoder.defaultAbiCoder().encode(['tuple(address, uint256, bytes)[]'], [list])
  return account.encodeFunctionData('execute', [mode, content])
}

function honestForward(): string {
  const forwarder = new Interface([
    'function execute((address from, address to, uint256 value, uint256 gas, uint48 deadline, bytes data, bytes signature) request)',
  ])
  const content = [to, to, 0n, 100_000n, 2 ** 40, `0x${'ab'.repeat(130_000)}`, `0x${'11'.repeat(65)}`]
  return forwarder.encodeFunctionData('execute', [content])
}

const deep = (value: unknown, depth: number): unknown => (depth === 0 ? value : [deep(value, depth - 1)])

const deepInputs = (depth: number): unknown[] =>
  depth < 3 ? [{ type: 'uint256', name: 'x' }] : [{ type: 'tuple', name: 'x', components: deepInputs(depth - 3) }]

const typedDocument = () => ({
  types: { Mail: [{ name: 'to', type: 'string[]' }] },
  primaryType: 'Mail',
  domain: { name: 'Hostile' },
  message: { to: Array(4_900).fill('x'.repeat(150)) },
})
