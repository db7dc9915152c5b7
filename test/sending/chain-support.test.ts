import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { keccak256, Wallet } from 'ethers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Anvil, ChainError, NoChainError, startAnvil } from '../support/anvil.ts'
import { testChain, testFaultProxy } from '../support/chain.ts'
import { type FaultKind, type FaultProxy, faultKinds } from '../support/fault-proxy.ts'
import { startTestService } from '../support/service.ts'

const gwei = 10n ** 9n
/** The longest wait, for a machine that is busy with other tests. */
const patienceMs = 60_000
const nowhere = `0x${'11'.repeat(20)}`

/** A signed transfer of 1 wei by the chain's account 0. */
function transfer(chain: Anvil, nonce: number): Promise<string> {
  const fees = { type: 2, maxFeePerGas: 10n * gwei, maxPriorityFeePerGas: gwei, gasLimit: 21_000n }
  return new Wallet(key(chain)).signTransaction({ ...fees, chainId: chain.chain_id, nonce, to: nowhere, value: 1n })
}

const key = (chain: Anvil) => chain.accounts[0]?.key ?? ''
const address = (chain: Anvil) => chain.accounts[0]?.address ?? ''
const sendRaw = (chain: Anvil, raw: string) => chain.rpc<string>('eth_sendRawTransaction', [raw])
const nonceOf = async (chain: Anvil) => Number(await chain.rpc('eth_getTransactionCount', [address(chain), 'latest']))
const heightOf = async (chain: Anvil) => Number(await chain.rpc('eth_blockNumber'))
const genesisOf = async (chain: Anvil) =>
  (await chain.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])).hash
/** The receipt; anvil answers the hash a moment before it makes the block. */
const mined = (chain: Anvil, hash: string) =>
  vi.waitFor(async () => {
    const receipt = await chain.rpc('eth_getTransactionReceipt', [hash])
    expect(receipt).not.toBeNull()
    return receipt
  }, patienceMs)
const poolOf = async (chain: Anvil) => Number((await chain.rpc<{ pending: string }>('txpool_status')).pending)

test('funds the development accounts, and mines a transaction automatically', async () => {
  const chain = await testChain({ accounts: 3, balance_eth: 7 })
  expect(chain.accounts).toHaveLength(3)
  expect(chain.accounts[0]?.address).toBe('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
  expect(await chain.rpc('eth_accounts')).toEqual(chain.accounts.map((account) => account.address.toLowerCase()))
  expect(BigInt(await chain.rpc('eth_getBalance', [address(chain), 'latest']))).toBe(7n * 10n ** 18n)
  const hash = await sendRaw(chain, await transfer(chain, 0))
  const receipt = await mined(chain, hash)
  expect(receipt).toMatchObject({ status: '0x1', blockNumber: '0x1' })
})

test('applies mine, setBalance, setNonce and setBaseFee', async () => {
  const chain = await testChain({ noMining: true })
  await sendRaw(chain, await transfer(chain, 0))
  expect(await heightOf(chain)).toBe(0)
  await chain.mine()
  await chain.mine(2)
  expect([await heightOf(chain), await nonceOf(chain)]).toEqual([3, 1])
  await chain.setBalance(nowhere, 5n)
  expect(await chain.rpc('eth_getBalance', [nowhere, 'latest'])).toBe('0x5')
  await chain.setNonce(address(chain), 9)
  expect(await nonceOf(chain)).toBe(9)
  await chain.setBaseFee(123n * gwei)
  await chain.mine()
  const block = await chain.rpc('eth_getBlockByNumber', ['latest', false])
  expect(block).toMatchObject({ baseFeePerGas: `0x${(123n * gwei).toString(16)}` })
})

test('mines blocks at an interval when requested', async () => {
  const chain = await testChain({ blockTime_s: 0.1 })
  const hash = await sendRaw(chain, await transfer(chain, 0))
  expect(await mined(chain, hash)).toMatchObject({ status: '0x1' })
})

test('removes blocks and their transactions in a reorganization', async () => {
  const chain = await testChain({ noMining: true })
  const raw = await transfer(chain, 0)
  const hash = await sendRaw(chain, raw)
  await chain.mine(3)
  expect(await nonceOf(chain)).toBe(1)
  await chain.reorg(3)
  expect(await chain.rpc('eth_getTransactionReceipt', [hash])).toBeNull()
  expect([await heightOf(chain), await nonceOf(chain), await poolOf(chain)]).toEqual([3, 0, 0])
  expect(await sendRaw(chain, raw)).toBe(hash)
  await chain.mine()
  expect(await nonceOf(chain)).toBe(1)
})

test('removes dropped transactions from the pool', async () => {
  const chain = await testChain({ noMining: true })
  const hashes: string[] = []
  for (const nonce of [0, 1, 2]) hashes.push(await sendRaw(chain, await transfer(chain, nonce)))
  expect(await poolOf(chain)).toBe(3)
  await chain.dropTransaction(hashes[2] ?? '')
  expect(await poolOf(chain)).toBe(2)
  await chain.dropAll()
  expect(await poolOf(chain)).toBe(0)
})

test('throws an error of the chain with its code and text', async () => {
  const chain = await testChain({ noMining: true })
  const raw = await transfer(chain, 0)
  await sendRaw(chain, raw)
  const refusal = await sendRaw(chain, raw).catch((error) => error)
  expect(refusal).toBeInstanceOf(ChainError)
  expect(refusal).toMatchObject({ code: -32_003, message: 'transaction already imported' })
})

test('restarts as a new chain at the same address, and stops', async () => {
  const chain = await testChain()
  const genesis = await genesisOf(chain)
  await sendRaw(chain, await transfer(chain, 0))
  await chain.restart()
  expect(await genesisOf(chain)).not.toBe(genesis)
  expect([await heightOf(chain), await nonceOf(chain)]).toEqual([0, 0])
  await chain.stop()
  await chain.stop('SIGTERM')
  await expect(chain.rpc('eth_chainId')).rejects.toThrow()
})

test('reports a taken port and a wrong option in one line', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as { port: number }
  const onTaken = await startAnvil({ port }).catch((error) => error)
  expect(onTaken).toBeInstanceOf(NoChainError)
  expect(onTaken.message).toMatch(/^anvil does not start: .*in use/)
  await expect(startAnvil({ args: ['--nonsense'] })).rejects.toThrow('--nonsense')
})

test('ends the chain with its parent, even when the parent is killed', async () => {
  const module = join(import.meta.dirname, '..', 'support', 'anvil.ts')
  const script = `const { startAnvil } = await import(${JSON.stringify(module)})
    console.log((await startAnvil()).url)
    setInterval(() => {}, 1_000)`
  const parent = child(['--input-type=module', '--eval', script])
  const url = await parent.line(/^http/)
  expect(await isUp(url)).toBe(true)
  parent.process.kill('SIGKILL')
  await vi.waitFor(async () => expect(await isUp(url)).toBe(false), patienceMs)
})

test('lets a parent end that did not stop its chain, and ends the chain too', async () => {
  const module = join(import.meta.dirname, '..', 'support', 'anvil.ts')
  const script = `const { startAnvil } = await import(${JSON.stringify(module)}); console.log((await startAnvil()).url)`
  const parent = child(['--input-type=module', '--eval', script])
  const url = await parent.line(/^http/)
  await parent.gone
  await vi.waitFor(async () => expect(await isUp(url)).toBe(false), patienceMs)
})

interface Heard {
  status: number
  headers: Headers
  text: string
}

interface Suffering {
  chain: Anvil
  proxy: FaultProxy
  /** One call, through the proxy. */
  call(method: string, ...params: unknown[]): Promise<Heard>
  /** Many. */
  batch(...methods: string[]): Promise<Heard>
  /** The code of the error that fetch throws. */
  failure(promise: Promise<unknown>): Promise<string>
}

async function post(url: string, body: unknown, waitMs = patienceMs): Promise<Heard> {
  const init = { method: 'POST', body: JSON.stringify(body), signal: AbortSignal.timeout(waitMs) }
  const response = await fetch(url, { ...init, headers: { 'Content-Type': 'application/json' } })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const failure = async (promise: Promise<unknown>): Promise<string> => {
  const error = await promise.then(
    () => ({ code: 'none' }),
    (thrown) => thrown.cause ?? thrown,
  )
  return error.code === 23 ? 'timeout' : error.code
}

const one = { jsonrpc: '2.0', id: 1 }
const resetCodes = /^(ECONNRESET|UND_ERR_SOCKET)$/

/** The response to the caller for each fault, and the calls to the node. */
const symptoms: Record<FaultKind, (at: Suffering) => Promise<void>> = {
  async connection_refused({ proxy, call, failure }) {
    expect(await failure(call('eth_chainId'))).toBe('ECONNREFUSED')
    await proxy.setFault({ kind: 'connection_refused', times: 1, duration_ms: 50 })
    expect(await failure(call('eth_chainId'))).toMatch(resetCodes)
    expect(await failure(call('eth_chainId'))).toBe('ECONNREFUSED')
    await vi.waitFor(async () => expect((await call('eth_chainId')).status).toBe(200), patienceMs)
  },
  async connection_reset({ chain, call, failure }) {
    expect(await failure(call('eth_sendRawTransaction', await transfer(chain, 0)))).toMatch(resetCodes)
    expect(await poolOf(chain)).toBe(0)
  },
  async reset_after_forwarding({ chain, call, failure }) {
    expect(await failure(call('eth_sendRawTransaction', await transfer(chain, 0)))).toMatch(resetCodes)
    expect(await poolOf(chain)).toBe(1)
  },
  async rejected({ chain, call }) {
    const { text } = await call('eth_sendRawTransaction', await transfer(chain, 0))
    expect(text).toContain('invalid sender')
    expect(await poolOf(chain)).toBe(0)
  },
  async hang({ chain, proxy, failure }) {
    const params = [await transfer(chain, 0)]
    const asked = post(proxy.url, { ...one, method: 'eth_sendRawTransaction', params }, 300)
    expect(await failure(asked)).toBe('timeout')
    expect(await poolOf(chain)).toBe(0)
  },
  async slow({ proxy, call }) {
    await proxy.setFault({ kind: 'slow', duration_ms: 150 })
    const start = performance.now()
    expect(await call('eth_chainId')).toMatchObject({ status: 200, text: expect.stringContaining('0x7a69') })
    expect(performance.now() - start).toBeGreaterThan(140)
  },
  async http_429({ call }) {
    const { status, headers } = await call('eth_chainId')
    expect([status, headers.get('Retry-After')]).toEqual([429, '1'])
  },
  async http_500({ call }) {
    expect((await call('eth_chainId')).status).toBe(500)
  },
  async http_502_html({ call }) {
    expect(await call('eth_chainId')).toMatchObject({ status: 502, text: expect.stringMatching(/^<html>/) })
  },
  async truncated_json({ call }) {
    const { status, text } = await call('eth_chainId')
    expect([status, text]).toEqual([200, expect.stringMatching(/^\{/)])
    expect(() => JSON.parse(text)).toThrow()
  },
  async empty_body({ chain, call }) {
    const heard = await call('eth_sendRawTransaction', await transfer(chain, 0))
    expect(heard).toMatchObject({ status: 200, text: '' })
    expect(await poolOf(chain)).toBe(1)
  },
  async forwarded_twice({ chain, call }) {
    const { text } = await call('eth_sendRawTransaction', await transfer(chain, 0))
    expect(JSON.parse(text)).toMatchObject({ error: { message: 'transaction already imported' } })
    expect(await poolOf(chain)).toBe(1)
  },
  async out_of_order_batch({ call, batch }) {
    const { text } = await batch('eth_chainId', 'eth_blockNumber')
    expect(JSON.parse(text)).toEqual([
      { jsonrpc: '2.0', id: 1, result: '0x0' },
      { jsonrpc: '2.0', id: 0, result: '0x7a69' },
    ])
    expect((await call('eth_chainId')).text).toContain('0x7a69')
  },
  async batch_refused({ call, batch }) {
    expect(JSON.parse((await batch('eth_chainId', 'eth_blockNumber')).text)).toMatchObject({ error: { code: -32_600 } })
    expect((await call('eth_chainId')).text).toContain('0x7a69')
  },
  async limit_exceeded({ call }) {
    expect(JSON.parse((await call('eth_chainId')).text)).toMatchObject({ ...one, error: { code: -32_005 } })
  },
  async internal_error({ call }) {
    expect(JSON.parse((await call('eth_chainId')).text)).toMatchObject({ ...one, error: { code: -32_603 } })
  },
  async null_result({ call }) {
    expect(JSON.parse((await call('eth_chainId')).text)).toEqual({ ...one, result: null })
  },
  async stale({ chain, proxy, call }) {
    const hash = await sendRaw(chain, await transfer(chain, 0))
    await chain.mine(3)
    const count = async (block: string) =>
      JSON.parse((await call('eth_getTransactionCount', address(chain), block)).text)
    await proxy.setFault({ kind: 'stale', blocks: 2 })
    expect(JSON.parse((await call('eth_blockNumber')).text)).toEqual({ ...one, result: '0x1' })
    expect(await count('latest')).toEqual({ ...one, result: '0x1' })
    expect(JSON.parse((await call('eth_getTransactionReceipt', hash)).text)).toMatchObject({
      result: { status: '0x1' },
    })
    await proxy.setFault({ kind: 'stale', blocks: 3 })
    expect(await count('pending')).toEqual({ ...one, result: '0x0' })
    expect(JSON.parse((await call('eth_getTransactionReceipt', hash)).text)).toEqual({ ...one, result: null })
    expect((await call('eth_chainId')).text).toContain('0x7a69')
  },
  async wrong_chain_id({ call }) {
    expect(JSON.parse((await call('eth_chainId')).text)).toEqual({ ...one, result: '0x1' })
    expect(JSON.parse((await call('net_version')).text)).toEqual({ ...one, result: '1' })
  },
  async already_known({ chain, call }) {
    const { text } = await call('eth_sendRawTransaction', await transfer(chain, 0))
    expect(JSON.parse(text)).toMatchObject({ error: { message: 'already known' } })
    expect(await poolOf(chain)).toBe(1)
  },
  async accepted_and_forgotten({ chain, call }) {
    const raw = await transfer(chain, 0)
    expect(JSON.parse((await call('eth_sendRawTransaction', raw)).text)).toEqual({ ...one, result: keccak256(raw) })
    expect(await poolOf(chain)).toBe(0)
  },
}

async function suffering(): Promise<Suffering> {
  const chain = await testChain({ noMining: true })
  const proxy = await testFaultProxy(chain)
  return {
    chain,
    proxy,
    call: (method, ...params) => post(proxy.url, { ...one, method, params }),
    batch: (...methods) =>
      post(
        proxy.url,
        methods.map((method, id) => ({ jsonrpc: '2.0', id, method, params: [] })),
      ),
    failure,
  }
}

test.each(faultKinds)('injects the fault %s, counts it, and removes it', async (kind) => {
  const at = await suffering()
  await at.proxy.setFault({ kind })
  await symptoms[kind](at)
  // A refused connection is one that the proxy does not see.
  expect(at.proxy.counts()[kind]).toBeGreaterThan(0)
  await at.proxy.setFault(undefined)
  expect((await at.call('eth_chainId')).text).toContain('0x7a69')
})

test('injects a fault into the given methods, as often and with the probability given', async () => {
  const { proxy, call, batch } = await suffering()
  await proxy.setFault({ kind: 'null_result', methods: ['eth_blockNumber'] })
  const heard = JSON.parse((await batch('eth_chainId', 'eth_blockNumber', 'eth_chainId')).text)
  expect(heard.map(({ result }: { result: unknown }) => result)).toEqual(['0x7a69', null, '0x7a69'])
  expect(proxy.counts()).toEqual({ requests: 1, eth_chainId: 2, eth_blockNumber: 1, null_result: 1 })

  await proxy.setFault({ kind: 'http_500', times: 1 })
  expect([(await call('eth_chainId')).status, (await call('eth_chainId')).status]).toEqual([500, 200])

  const drawn = async () => {
    await proxy.setFault({ kind: 'http_500', probability: 0.5, seed: 7 })
    const statuses: number[] = []
    for (let round = 0; round < 40; round += 1) statuses.push((await call('eth_chainId')).status)
    return statuses
  }
  const statuses = await drawn()
  expect(statuses.filter((status) => status === 500).length).toBeGreaterThan(8)
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(8)
  expect(await drawn()).toEqual(statuses)
})

test('npm run chain: funds the relayers of its chain id, also later ones, and stops the chain with itself', async () => {
  const environment = { CHAIN_PORT: '0', API_KEY: '', DATA_DIR: '/nowhere', BASE_URL: 'http://127.0.0.1:1' }
  const alone = child([developmentChain], environment)
  expect(await alone.line(/not up yet/)).toMatch(/http:\/\/127\.0\.0\.1:1 .*PORT or RELAYER_URL/)
  alone.process.kill('SIGINT')
  expect(await alone.gone).toBe(0)

  const service = await startTestService()
  const { client, url, data_dir } = service
  const run = child([developmentChain], { ...environment, DATA_DIR: data_dir, BASE_URL: url })
  const place = (await run.line(/^The development chain is at/)).match(/http:\/\/[\d.:]+\d/)?.[0] ?? ''
  await run.line(/^Funded the relayer demo /)
  // The network of the first start expects the port 8545.
  expect(
    await run.line(/^The network local of the service calls http:\/\/127\.0\.0\.1:8545 and not this chain/),
  ).toContain(`relayer -- --url ${url} networks change evm:local --set rpc_urls=${place}`)
  const demo = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: 'demo' } })
  const balance = await post(place, { ...one, method: 'eth_getBalance', params: [demo.data.address, 'latest'] })
  expect(BigInt(JSON.parse(balance.text).result)).toBe(100n * 10n ** 18n)

  const signer = await client.post('/api/v1/signers', { body: { id: 'later', type: 'generated' } })
  const { id: signerId } = signer.data
  const body = {
    id: 'later',
    name: 'Later',
    network: 'local',
    network_type: 'evm',
    paused: false,
    signer_id: signerId,
  } as const
  await client.post('/api/v1/relayers', { body })
  await run.line(/^Funded the relayer later /)

  run.process.kill('SIGTERM')
  expect(await run.gone).toBe(0)
  expect(await isUp(place)).toBe(false)
})

test('npm run chain: resets the relayers of an earlier chain, and makes blocks as its options say', async () => {
  const { client, url, api_key } = await startTestService()
  const start = async (...options: string[]) => {
    const run = child([developmentChain, ...options], { RELAYER_URL: url, RELAYER_API_KEY: api_key })
    const line = await run.line(/^The development chain is at/)
    await run.line(/^Funded the relayer demo /)
    return { run, line, port: /:(\d+)/.exec(line)?.[1] as string }
  }
  const first = await start('--port', '0', '--block-time', '0.2')
  expect(first.line).toContain('a block every 0.2 s')
  await client.networks.update('evm:local', { rpc_urls: [{ url: `http://127.0.0.1:${first.port}` }] })
  const body = { to: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', value: 1n }
  const { id } = await client.transactions.send('demo', body)
  expect((await client.transactions.wait('demo', id)).nonce).toBe(0)
  first.run.process.kill('SIGTERM')
  await first.run.gone

  const second = await start('--port', first.port, '--base-fee', '5000000000')
  expect(await second.run.line(/^Reset the relayer demo: /)).toContain('it starts at nonce 0')
  const again = await client.transactions.send('demo', body, { wait: 'mined' })
  expect([again.nonce, again.status]).toEqual([0, expect.stringMatching(/mined|confirmed/)])
  expect(BigInt(again.receipt?.effective_gas_price ?? 0)).toBeGreaterThan(10n ** 9n)
})

test('npm run chain: reports a taken port in one line', async () => {
  const taken = await testChain()
  const run = child([developmentChain], { CHAIN_PORT: `${taken.port}` })
  expect(await run.gone).toBe(1)
  expect(run.complaints().trimEnd()).toMatch(/^Port \d+ is taken .*CHAIN_PORT.*$/)
})

const developmentChain = join(import.meta.dirname, '..', 'development-chain.ts')

interface Child {
  process: ChildProcess
  /** The next line on stdout that matches. */
  line(pattern: RegExp): Promise<string>
  complaints(): string
  /** Its exit code. */
  gone: Promise<number | null>
}

function child(args: string[], environment: Record<string, string> = {}): Child {
  const started = spawn(process.execPath, args, { env: { ...process.env, ...environment } })
  onTestFinished(() => void started.kill('SIGKILL'))
  const lines = createInterface(started.stdout)[Symbol.asyncIterator]()
  let complaints = ''
  started.stderr.on('data', (text) => {
    complaints += text
  })
  return {
    process: started,
    async line(pattern) {
      for (;;) {
        const { value, done } = await lines.next()
        if (done) throw new Error(`It ended without ${pattern}: ${complaints}`)
        if (pattern.test(value)) return value
      }
    },
    complaints: () => complaints,
    gone: once(started, 'close').then(([code]) => code),
  }
}

const isUp = (url: string) =>
  post(url, { ...one, method: 'eth_chainId', params: [] }).then(
    () => true,
    () => false,
  )
