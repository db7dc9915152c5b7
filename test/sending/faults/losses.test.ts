import { JsonRpcProvider, Wallet } from 'ethers'
import { parseTransaction } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import type { SendTransactionRequest } from '../../../client/index.ts'
import { jsonRpcOf } from '../../support/json-rpc.ts'
import { type Liar, type Lie, testLiar } from '../../support/liar.ts'
import type { Account, Rig } from '../../support/rig.ts'
import { backUp, restore } from '../../support/service-database.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

// Each test asserts money, signed bytes or final states only, and no words of a response.

const gwei = 10n ** 9n
const receiver = `0x${'61'.repeat(20)}`
const other = `0x${'62'.repeat(20)}`
const relayerPath = '/api/v1/relayers/{relayer_id}'
const hex = (number: number | bigint) => `0x${number.toString(16)}`
const firstOf = async (account: Account) => (await account.transactions())[0]
const received = async ({ chain }: Rig, address = receiver) =>
  BigInt(await chain.rpc<string>('eth_getBalance', [address, 'latest']))
const statusOf = async ({ client }: Rig, { relayer_id }: Account) =>
  (await client().get('/api/v1/relayers/{relayer_id}/status', { path: { relayer_id } })).data

/** One try. Resolves to the HTTP status. */
async function post(rig: Rig, { relayer_id }: Account, body: Partial<SendTransactionRequest>): Promise<number> {
  const input = { path: { relayer_id }, body: { to: receiver, gas_limit: 21_000, ...body } as SendTransactionRequest }
  return rig
    .client()
    .post('/api/v1/relayers/{relayer_id}/transactions', input)
    .then(
      () => 201,
      ({ status }) => status as number,
    )
}

/** A node that records what it is sent. */
async function watched(rig: Rig) {
  const node = await testLiar(rig.chain)
  const signed: ReturnType<typeof parseTransaction>[] = []
  const watch: Lie = (method, [raw]) => {
    if (method === 'eth_sendRawTransaction') signed.push(parseTransaction(raw as `0x${string}`))
    return undefined
  }
  node.lie = watch
  return { node, signed, watch }
}

/** Makes blocks a minute apart; the service looks at each. */
async function passBlocks(rig: Rig, node: Liar, blocks: number): Promise<void> {
  const looks = () => node.counts.eth_getBlockByNumber ?? 0
  for (let block = 0; block < blocks; block += 1) {
    const before = looks()
    rig.clock.passed_ms += 60_000
    await rig.chain.mine()
    await until('the service has looked', () => looks() >= before + 2)
  }
}

/** The account's key in another program. */
async function sendElsewhere({ chain }: Rig, key: string, nonce: number, to: string, value: bigint, price: bigint) {
  const provider = new JsonRpcProvider(chain.url, chain.chain_id, { staticNetwork: true })
  onTestFinished(() => provider.destroy())
  const fees = { maxFeePerGas: price, maxPriorityFeePerGas: price / 10n }
  return new Wallet(key, provider).sendTransaction({ to, value, nonce, gasLimit: 21_000, ...fees })
}

test('J1: a restarted chain that was healed takes transactions again', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  for (let sent = 0; sent < 3; sent += 1) {
    // The account's count on chain is reused for a second.
    rig.clock.passed_ms += 2_000
    expect(await post(rig, account, { value: '1' })).toBe(201)
    await account.finished(rig.chain.mine)
  }
  await rig.chain.restart()
  await rig.chain.setBalance(account.address, 10n ** 24n)
  rig.clock.passed_ms += 2_000
  expect(await post(rig, account, { value: '1' })).toBe(503)
  const healed = { path: { relayer_id: account.relayer_id }, body: { chain_restarted: true } }
  await rig.client().post('/api/v1/relayers/{relayer_id}/nonce/reconcile', healed)
  const answers: [number, boolean][] = []
  for (let tries = 0; tries < 5; tries += 1) {
    rig.clock.passed_ms += 2_000
    answers.push([await post(rig, account, { value: '1' }), (await statusOf(rig, account)).system_disabled])
  }
  expect(answers).toEqual(Array(5).fill([201, false]))
  await account.finished(rig.chain.mine)
  expect(await received(rig)).toBe(5n)
})

test('J1: a relayer takes transactions again after its node lagged and refused the first block', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const node = await testLiar(rig.chain)
  const account = await rig.addAccount({ rpc_urls: [node.url] })
  await account.send(4)
  await account.finished(rig.chain.mine)
  await rig.restart()
  node.lie = async (method, [asked, block], truth) => {
    if (method === 'eth_getTransactionCount' && block === 'latest') return hex(Number(await truth()) - 3)
    return method === 'eth_getBlockByNumber' && asked === '0x0' ? new Error('pruned history unavailable') : undefined
  }
  await post(rig, account, { value: '1' })
  node.lie = undefined
  const answers: [number, boolean][] = []
  for (let tries = 0; tries < 5; tries += 1) {
    rig.clock.passed_ms += 2_000
    answers.push([await post(rig, account, { value: '1' }), (await statusOf(rig, account)).system_disabled])
  }
  expect(answers).toEqual(Array(5).fill([201, false]))
  await account.finished(rig.chain.mine)
})

test('J3: no attempt is signed above the price that the caller gave', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const { node, signed } = await watched(rig)
  const account = await rig.addAccount({ rpc_urls: [node.url] })
  await rig.chain.setBaseFee(100n * gwei)
  await rig.chain.mine()
  expect(await post(rig, account, { value: '1', gas_price: `${20n * gwei}` })).toBe(201)
  await passBlocks(rig, node, 1)
  await rig.chain.setBaseFee(100n * gwei)
  await passBlocks(rig, node, 4)
  const dynamic = { max_fee_per_gas: `${20n * gwei}`, max_priority_fee_per_gas: `${1n * gwei}` }
  expect(await post(rig, account, { value: '2', ...dynamic })).toBe(201)
  await rig.chain.setBaseFee(100n * gwei)
  await passBlocks(rig, node, 4)
  for (const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } of signed) {
    expect(gasPrice ?? maxFeePerGas).toBeLessThanOrEqual(20n * gwei)
    if (maxPriorityFeePerGas !== undefined) expect(maxPriorityFeePerGas).toBeLessThanOrEqual(1n * gwei)
  }
  // The base fee falls by an eighth a block.
  await account.finished(() => rig.chain.mine(5))
  expect(await received(rig)).toBe(3n)
})

test('M4: type 0x1 of JSON-RPC without an access list is signed as type 1', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const { node, signed } = await watched(rig)
  const account = await rig.addAccount({ rpc_urls: [node.url] })
  const rpc = jsonRpcOf(rig.url(), rig.api_key, account.relayer_id)
  const call = { to: receiver, value: '0x1', gas: '0x7530', type: '0x1' }
  await rpc.result('eth_sendTransaction', [call])
  await rpc.result('eth_sendTransaction', [{ ...call, gasPrice: hex(5n * gwei) }])
  await account.finished(rig.chain.mine)
  expect(signed.map(({ type }) => type)).toEqual(signed.map(() => 'eip2930'))
})

test('H1: a transaction without prices replaces nothing that another sender has in the pool', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const key = rig.chain.accounts[1]?.key as string
  const account = await rig.addAccount({ key })
  await sendElsewhere(rig, key, 0, other, 5n, 2n * gwei)
  expect(await post(rig, account, { value: '7' })).toBe(201)
  const isSettled = async () => {
    const { status, status_reason } = (await firstOf(account)) ?? {}
    return status === 'submitted' || status_reason !== null
  }
  await until('it waits, or a node has it', isSettled)
  await account.finished(rig.chain.mine)
  expect([await received(rig, other), await received(rig)]).toEqual([5n, 7n])
})

test('M1: an older copy of the database evicts no payment that the newer copy has accepted', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  await post(rig, account, { value: '1' })
  await account.finished(rig.chain.mine)
  await rig.restart(() => backUp(rig))
  const low = { max_fee_per_gas: `${2n * gwei}`, max_priority_fee_per_gas: `${gwei / 10n}` }
  expect(await post(rig, account, { value: '21', to: other, ...low })).toBe(201)
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  await rig.restart(() => restore(rig))
  expect(await post(rig, account, { value: '23' })).toBe(201)
  const isSettled = async () => {
    const { status, status_reason } = (await firstOf(account)) ?? {}
    return status === 'submitted' || status_reason !== null
  }
  await until('it waits, or a node has it', isSettled)
  await account.finished(rig.chain.mine)
  expect([await received(rig, other), await received(rig)]).toEqual([21n, 24n])
})

test('H4: one endpoint that lies confirms nothing while two others are silent, and delays nothing afterwards', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const nodes = [await testLiar(rig.chain), await testLiar(rig.chain), await testLiar(rig.chain)] as const
  const [liar, ...others] = nodes
  const account = await rig.addAccount({ rpc_urls: nodes.map(({ url }) => url) })
  await post(rig, account, { value: '1' })
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  const { id } = (await firstOf(account)) ?? {}
  await rig.chain.dropAll()
  for (const node of others) node.lie = () => new Error('Service unavailable')
  liar.lie = async (method, params) => {
    if (method === 'eth_getTransactionCount' && `${params[0]}`.toLowerCase() === account.address) return '0x1'
    if (method !== 'eth_getTransactionReceipt') return undefined
    const { hash, number } = await rig.chain.rpc<{ hash: string; number: string }>('eth_getBlockByNumber', [
      'latest',
      false,
    ])
    return { transactionHash: params[0], blockNumber: number, blockHash: hash, status: '0x1' }
  }
  for (let block = 0; block < 6; block += 1) {
    await passBlocks(rig, liar, 1)
    expect((await firstOf(account))?.status).not.toBe('confirmed')
  }
  for (const node of nodes) node.lie = undefined
  expect(await post(rig, account, { value: '2' })).toBe(201)
  await account.finished(async () => {
    rig.clock.passed_ms += 5_000
    await rig.chain.mine()
  })
  expect(await received(rig)).toBe(3n)
  expect((await account.transactions()).find((row) => row.id === id)).toMatchObject({ status: 'confirmed', nonce: 0 })
})

test('H4: a transaction that one endpoint has put into a block of the chain is sent again when most deny it', async () => {
  const rig = await testRig({ chain: { noMining: true }, confirmations: 3 })
  const nodes = [await testLiar(rig.chain), await testLiar(rig.chain), await testLiar(rig.chain)] as const
  const [liar, ...others] = nodes
  const account = await rig.addAccount({ rpc_urls: nodes.map(({ url }) => url) })
  await post(rig, account, { value: '1' })
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  await rig.chain.dropAll()
  for (const node of others) node.lie = () => new Error('Service unavailable')
  const head = await rig.chain.rpc<{ hash: string; number: string }>('eth_getBlockByNumber', ['latest', false])
  liar.lie = (method, params) => {
    if (method === 'eth_getTransactionCount' && `${params[0]}`.toLowerCase() === account.address) return '0x1'
    if (method !== 'eth_getTransactionReceipt') return undefined
    return { transactionHash: params[0], blockNumber: head.number, blockHash: head.hash, status: '0x1' }
  }
  const looks = () => liar.counts.eth_getBlockByNumber ?? 0
  let lastLooks = -1
  await until(
    'the lie is believed',
    async () => (await firstOf(account))?.status === 'mined',
    () => {
      // On a busy machine, time may not run ahead of the service.
      if (looks() === lastLooks) return
      lastLooks = looks()
      rig.clock.passed_ms += 1_000
    },
  )
  for (const node of nodes) node.lie = undefined
  const isEnded = async () => (await firstOf(account))?.status === 'confirmed'
  await account.finished(async () => {
    const before = looks()
    rig.clock.passed_ms += 5_000
    await rig.chain.mine()
    await until('the service has looked', async () => looks() >= before + 2 || (await isEnded()))
  })
  expect(await received(rig)).toBe(1n)
  expect(await firstOf(account)).toMatchObject({ status: 'confirmed', nonce: 0 })
})

/** A chain with this id where a transfer to the account itself takes `required` gas, and a node refuses less. */
async function rollup(rig: Rig) {
  const { node, signed, watch } = await watched(rig)
  const state = { required: 50_000, fails: false }
  const lie: Lie = (method, params, truth) => {
    watch(method, params, truth)
    const { from, to } = (params[0] ?? {}) as { from?: string; to?: string }
    if (method === 'eth_estimateGas' && from !== undefined && from === to) {
      return state.fails ? new Error('Service unavailable') : hex(state.required)
    }
    if (method !== 'eth_sendRawTransaction') return undefined
    const its = signed.at(-1)
    const isOwn = its?.data === undefined && its?.value === undefined
    return isOwn && Number(its?.gas) < state.required ? new Error('intrinsic gas too low') : undefined
  }
  node.lie = lie
  return { node, signed, state }
}

test('H2: a cancellation whose required gas rises while no node has it ends', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const { node, state, signed } = await rollup(rig)
  const account = await rig.addAccount({ rpc_urls: [node.url] })
  await post(rig, account, { value: '1', gas_limit: 100_000 })
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  const { id = '' } = (await firstOf(account)) ?? {}
  // After the estimate more is required than any margin allows for.
  const before = node.lie as Lie
  node.lie = (method, params, truth) => {
    if (method === 'eth_sendRawTransaction') state.required = Math.max(state.required, 75_000)
    return before(method, params, truth)
  }
  await account.cancel(id)
  await until('the cancellation is signed', () => signed.length > 1)
  await rig.chain.dropAll()
  const isEnded = await account.finishedWithin(30_000, async () => {
    rig.clock.passed_ms += 5_000
    await rig.chain.mine()
  })
  expect([isEnded, (await firstOf(account))?.status]).toEqual([true, 'canceled'])
})

test('H2: no cancellation is signed with a guessed gas limit when the estimate fails on a chain with unknown rules', async () => {
  const rig = await testRig({ chain: { noMining: true, args: ['--chain-id', '424242'] } })
  const { node, signed, state } = await rollup(rig)
  const { client } = rig
  const network = { name: 'rollup', network_type: 'evm', chain_id: 424_242, average_blocktime_ms: 500 } as const
  await client().post('/api/v1/networks', { body: { ...network, rpc_urls: [node.url], required_confirmations: 1 } })
  const { data: signer } = await client().post('/api/v1/signers', { body: { type: 'generated' } })
  const { data: relayer } = await client().post('/api/v1/relayers', {
    body: { name: 'rollup', network: 'rollup', network_type: 'evm', paused: false, signer_id: signer.id },
  })
  const path = { relayer_id: relayer.id }
  await rig.chain.setBalance(relayer.address, 10n ** 24n)
  const { data: sent } = await client().post('/api/v1/relayers/{relayer_id}/transactions', {
    path,
    body: { to: receiver, value: '1', gas_limit: 100_000 },
  })
  const one = { path: { ...path, transaction_id: sent.id } }
  const row = async () => (await client().get('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', one)).data
  await until('a node has it', async () => (await row()).status === 'submitted')
  const pass = () => {
    rig.clock.passed_ms += 5_000
  }
  state.fails = true
  await client().delete('/api/v1/relayers/{relayer_id}/transactions/{transaction_id}', one)
  // No block has been made: the transaction itself is not mined.
  const failures = () => node.counts.eth_estimateGas ?? 0
  const before = failures()
  await until('it has estimated twice, or signed', () => signed.length > 1 || failures() >= before + 2, pass)
  const cancellations = () => signed.filter(({ data, value }) => data === undefined && value === undefined)
  for (const { gas } of cancellations()) expect(Number(gas)).toBeGreaterThanOrEqual(state.required)
  state.fails = false
  await rig.chain.dropAll()
  await until('the cancellation is signed', () => cancellations().length > 0, pass)
  await until('it has ended', async () => (await row()).status === 'canceled', rig.chain.mine)
  for (const { gas } of cancellations()) expect(Number(gas)).toBeGreaterThanOrEqual(state.required)
})

test('H3: no attempt of a cancellation costs more than max_fee_per_transaction at its signed gas limit', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const { node, signed, state } = await rollup(rig)
  state.required = 231_000
  const limit = 21_000n * 6n * gwei
  const policies = { max_fee_per_transaction: limit.toString() }
  const account = await rig.addAccount({ policies, rpc_urls: [node.url] })
  await post(rig, account, { value: '1' })
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  await account.cancel((await firstOf(account))?.id ?? '')
  const path = { relayer_id: account.relayer_id }
  const isWaiting = async () =>
    (await rig.client().get('/api/v1/relayers/{relayer_id}/nonce', { path })).data.blocking_transaction?.wait_reason ===
    'fee_budget'
  await until('the cancellation waits, or is signed', async () => signed.length > 1 || (await isWaiting()))
  const fees = signed.map(({ gas = 0n, gasPrice, maxFeePerGas = 0n }) => gas * (gasPrice ?? maxFeePerGas))
  for (const fee of fees) expect(fee).toBeLessThanOrEqual(limit)
  await rig.client().patch(relayerPath, { path: { relayer_id: account.relayer_id }, body: { policies: {} } })
  await account.finished(async () => {
    rig.clock.passed_ms += 5_000
    await rig.chain.mine()
  })
})
