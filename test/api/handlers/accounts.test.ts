import { concat, hexlify, Transaction, type TransactionLike, toBeHex, toQuantity, Wallet } from 'ethers'
import { expect, test } from 'vitest'
import {
  type JsonRpcAnswer,
  RelayerError,
  type RelayerPoliciesInput,
  type SendTransactionRequest,
} from '../../../client/index.ts'
import type { AnvilOptions } from '../../support/anvil.ts'
import { testChain, testFaultProxy } from '../../support/chain.ts'
import { startTestService } from '../../support/service.ts'

const wallet = new Wallet(`0x${'1b'.repeat(32)}`)
const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const ether = 10n ** 18n
const base = '/api/v1/relayers/{relayer_id}'
const transactions = `${base}/transactions` as const
const path = { relayer_id: 'it' }

/** The relayer `it`, with the wallet's key and 100 ETH, on a chain behind a proxy. */
async function start(options: AnvilOptions = {}, policies: RelayerPoliciesInput = {}) {
  const chain = await testChain(options)
  const proxy = await testFaultProxy(chain)
  const clock = { ahead_ms: 0 }
  const { client, raw } = await startTestService({}, { now: () => Date.now() + clock.ahead_ms })
  const rpcUrls = [proxy.url]
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: rpcUrls },
  })
  const config = { key: wallet.privateKey }
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'plain', config } })
  const it = { id: 'it', name: 'It', network: 'local', network_type: 'evm', paused: false } as const
  const { data: relayer } = await client.post('/api/v1/relayers', { body: { ...it, signer_id: signer.id, policies } })
  await chain.setBalance(relayer.address, 100n * ether)

  return {
    client,
    raw,
    chain,
    proxy,
    clock,
    address: relayer.address,
    cut: () => proxy.setFault({ kind: 'connection_refused' }),
    balance: async () => (await client.get(`${base}/balance`, { path })).data,
    status: async () => (await client.get(`${base}/status`, { path })).data,
    nonce: async () => (await client.get(`${base}/nonce`, { path })).data,
    heal: async (body = {}) => (await client.post(`${base}/nonce/reconcile`, { path, body })).data,
    byNonce: async (nonce: string) =>
      (await client.get(`${transactions}/by-nonce/{nonce}`, { path: { ...path, nonce } })).data,
    async rpc(method: string, params: unknown[] = []) {
      const body = { jsonrpc: '2.0', id: 'mine', method, params }
      return (await client.post(`${base}/rpc`, { path, body })) as JsonRpcAnswer
    },
    async send(special: Partial<SendTransactionRequest> = {}, wait: Wait = 'none', waitSeconds = 20) {
      const body = { to, value: '1', ...special }
      return (await client.post(transactions, { path, query: { wait, wait_seconds: waitSeconds }, body })).data
    },
  }
}

type Wait = 'none' | 'submitted' | 'mined' | 'confirmed'

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('It was not refused'),
    (error) => (error instanceof RelayerError ? { status: error.status, ...error.details[0] } : Promise.reject(error)),
  )

test('shows balance, status and nonce from the chain and the queue, and reports when no node answers', async () => {
  const { chain, cut, balance, status, nonce, heal, send, byNonce, address } = await start({ noMining: true })
  const has = `${100n * ether}`
  expect(await balance()).toEqual({ balance: has, unit: 'wei' })
  const well = { paused: false, system_disabled: false, disabled_reason: null }
  const last = 'last_confirmed_transaction_timestamp'
  const idle = { network_type: 'evm', nonce: 0, pending_transactions_count: 0, [last]: null, is_funded: false }
  expect(await status()).toEqual({ ...idle, ...well, balance: has })
  const inStep = { gaps: [], status: 'in_step' }
  expect(await nonce()).toMatchObject({ ...inStep, next_nonce: 0, chain_latest_nonce: 0, chain_pending_nonce: 0 })

  await send({ value: `${ether}` }, 'submitted')
  expect(await nonce()).toMatchObject({ ...inStep, next_nonce: 1, chain_latest_nonce: 0, chain_pending_nonce: 1 })
  expect(await status()).toMatchObject({ nonce: 1, pending_transactions_count: 1, [last]: null })
  await chain.mine()
  await expect.poll(status).toMatchObject({ nonce: 1, pending_transactions_count: 0 })
  const { balance: left } = await balance()
  expect(BigInt(left)).toBeLessThan(99n * ether)
  expect(await status()).toMatchObject({ [last]: (await byNonce('0')).confirmed_at, balance: left })

  await chain.setNonce(address, 7)
  expect(await nonce()).toMatchObject({ next_nonce: 1, chain_latest_nonce: 7, status: 'chain_ahead' })
  expect(await refusal(heal())).toMatchObject({ status: 409, path: 'next_nonce' })
  expect(await heal({ next_nonce: 7 })).toMatchObject({ ...inStep, next_nonce: 7, chain_latest_nonce: 7 })
  expect((await send()).nonce).toBe(7)

  await cut()
  expect(await refusal(balance())).toMatchObject({ status: 503, path: 'network' })
  expect(await refusal(heal())).toMatchObject({ status: 503, path: 'network' })
  expect(await status()).toMatchObject({ nonce: 8, balance: null })
  expect(await nonce()).toMatchObject({
    next_nonce: 8,
    chain_latest_nonce: null,
    chain_pending_nonce: null,
    status: 'unreachable',
  })
})

test('forwards read-only RPC calls with their id, and the errors of the node', async () => {
  const { rpc, address, cut } = await start()
  const answer = { jsonrpc: '2.0', id: 'mine' }
  expect(await rpc('eth_chainId')).toEqual({ ...answer, result: '0x7a69' })
  expect(await rpc('eth_getBalance', [address, 'latest'])).toEqual({ ...answer, result: toQuantity(100n * ether) })
  expect(await rpc('eth_getTransactionByHash', [toBeHex(0, 32)])).toEqual({ ...answer, result: null })
  const error = { code: -32_602, message: expect.any(String), data: expect.anything() }
  expect(await rpc('eth_getBalance', ['no address', 'latest'])).toEqual({ ...answer, error })
  const forbidden = ['eth_sendRawTransaction', 'eth_sendTransaction', 'eth_sign', 'anvil_setBalance', 'ETH_CHAINID']
  for (const method of forbidden) {
    expect([method, (await rpc(method, [{}])).error?.code]).not.toEqual([method, undefined])
  }
  await cut()
  expect((await rpc('eth_blockNumber')).error).toMatchObject({ code: 4_900 })
})

test('signs a transaction as ethers does, sends nothing, and applies the policies', async () => {
  const { client, cut, nonce } = await start({}, { whitelist_receivers: [to], gas_price_cap: '100' })
  const sign = async (unsignedTransaction: string) =>
    (await client.post(`${base}/sign-transaction`, { path, body: { unsigned_transaction: unsignedTransaction } })).data
  const unsigned = (kind: TransactionLike) => Transaction.from(kind).unsignedSerialized
  const refuses = async (bytes: string, status: number, place = '/body/unsigned_transaction') =>
    expect([bytes, await refusal(sign(bytes))]).toMatchObject([bytes, { status, path: place }])
  const common = { chainId: 31_337, nonce: 3, to, value: 10n ** 30n, gasLimit: 21_000, data: '0xabcd' }
  const accessList = [{ address: to, storageKeys: [toBeHex(1, 32)] }]
  const modern = { ...common, type: 2, maxFeePerGas: 100n, maxPriorityFeePerGas: 1n, accessList }
  // No chain is needed.
  await cut()
  for (const kind of [
    { ...common, type: 0, gasPrice: 100n },
    { ...common, type: 1, gasPrice: 100n, accessList },
    modern,
  ]) {
    const bytes = await wallet.signTransaction(kind)
    const { hash, signature } = Transaction.from(bytes)
    const { r, s, serialized: sig, yParity = 0 } = signature ?? {}
    const shown = { r, s, sig, v: kind.type === 0 ? 31_337 * 2 + 35 + yParity : yParity }
    expect(await sign(unsigned(kind))).toEqual({ signed_transaction: bytes, hash, signature: shown })
    await refuses(bytes, 400)
    await refuses(unsigned({ ...kind, chainId: 1 }), 400)
    await refuses(unsigned({ ...kind, to: null }), 403, 'policies/whitelist_receivers')
    await refuses(unsigned({ ...kind, to: wallet.address }), 403, 'policies/whitelist_receivers')
    const price = kind.type === 2 ? { maxFeePerGas: 101n } : { gasPrice: 101n }
    await refuses(unsigned({ ...kind, ...price }), 403, 'policies/gas_price_cap')
  }
  await refuses(unsigned({ ...common, chainId: 0, type: 0, gasPrice: 1n }), 400)
  await refuses(
    unsigned({ ...modern, type: 3, maxFeePerBlobGas: 1n, blobVersionedHashes: [`0x01${'0'.repeat(62)}`] }),
    400,
  )
  for (const bytes of ['0x', '0x00', '0x02', '0xc0', '0x04c0', `${unsigned(modern)}00`]) {
    expect([bytes, await refusal(sign(bytes))]).toMatchObject([bytes, { status: 400 }])
  }
  expect((await nonce()).next_nonce).toBe(0)
})

test('lists transactions by state and time, and finds one by its nonce', async () => {
  const { client, send, chain, clock, byNonce } = await start({ noMining: true })
  const sent = [await send({}, 'submitted')]
  await chain.mine()
  await expect.poll(() => byNonce('0')).toMatchObject({ id: sent[0]?.id, status: 'confirmed' })
  for (const _ of [2, 3]) {
    clock.ahead_ms += 1_000
    sent.push(await send({}, 'submitted'))
  }
  const [first, second, third] = sent.map(({ created_at }) => created_at)
  /** The nonces of what it lists. */
  const list = async (query: object) => {
    const { data, pagination } = await client.get(`${transactions}/`, { path, query })
    expect(pagination.total_items).toBe(data.length)
    return data.map((transaction) => transaction.nonce)
  }
  expect(await list({})).toEqual([2, 1, 0])
  expect(await list({ status: ['confirmed'] })).toEqual([0])
  expect(await list({ status: ['submitted', 'confirmed'] })).toEqual([2, 1, 0])
  expect(await list({ status: ['failed', 'canceled', 'expired', 'pending'] })).toEqual([])
  expect(await list({ created_after: first })).toEqual([2, 1])
  expect(await list({ created_before: second })).toEqual([0])
  expect(await list({ created_after: first, created_before: third, status: ['submitted'] })).toEqual([1])
  expect(await list({ created_after: second?.replace('Z', '+01:00') })).toEqual([2, 1, 0])
  for (const query of [{ status: ['lost'] }, { created_after: 'now' }, { created_before: '2016-12-31T23:59:60Z' }]) {
    expect([query, await refusal(list(query))]).toMatchObject([query, { status: 400 }])
  }
  expect(await byNonce('2')).toMatchObject({ nonce: 2, status: 'submitted' })
  expect(await refusal(byNonce('3'))).toMatchObject({ status: 404 })
  expect(await refusal(byNonce('-1'))).toMatchObject({ status: 400 })
})

test('answers `wait` when the state is reached or has passed, or after the time limit', async () => {
  const { client, send, chain } = await start({ noMining: true })
  const body = { required_confirmations: 2 }
  await client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body })
  const header = { 'Idempotency-Key': 'one' }
  const wait = async (state: Wait, waitSeconds = 20) => {
    const query = { wait: state, wait_seconds: waitSeconds }
    return (await client.post(transactions, { path, header, query, body: { to, value: '1' } })).data.status
  }
  expect(await wait('submitted')).toBe('submitted')
  expect(await wait('mined', 0)).toBe('submitted')
  expect(await wait('confirmed', 1)).toBe('submitted')
  const [mined, confirmed] = [wait('mined'), wait('confirmed')]
  await chain.mine()
  expect(await mined).toBe('mined')
  expect(await wait('submitted')).toBe('mined')
  await chain.mine()
  expect(await confirmed).toBe('confirmed')
  expect(await refusal(send({}, 'confirmed', 61))).toMatchObject({ status: 400, path: '/query/wait_seconds' })
})

/** Code that reverts with Error(text). */
const revertingWith = (text: string) =>
  concat([
    '0x6064600c60003960646000fd08c379a0',
    ...[toBeHex(32, 32), toBeHex(text.length, 32), hexlify(Buffer.from(text.padEnd(32, '\0')))],
  ])

test('fails a transaction that reverts in its block, with the contract’s reason', async () => {
  const { send, rpc } = await start()
  const data = concat(['0x6070600c60003960706000f3', revertingWith('sold out!')])
  const deployed = await send({ to: null, value: '0', data }, 'confirmed')
  const { result } = await rpc('eth_getTransactionReceipt', [deployed.hash])
  const contract = (result as { contractAddress: string }).contractAddress
  const failed = await send({ to: contract, value: '0', gas_limit: 100_000 }, 'confirmed')
  expect(failed).toMatchObject({ status: 'failed', status_reason: 'Reverted: sold out!', nonce: 1, confirmed_at: null })
  expect((await send({}, 'confirmed')).status).toBe('confirmed')
})

test('keeps the revert reason of the mined version when the node has pruned the block', async () => {
  const { client, chain, proxy, send, byNonce } = await start({ noMining: true })
  const body = { required_confirmations: 2 }
  await client.patch('/api/v1/networks/{network_id}', { path: { network_id: 'evm:local' }, body })
  const contracts = [`0x${'c1'.repeat(20)}`, `0x${'c2'.repeat(20)}`] as const
  for (const [index, place] of contracts.entries()) {
    await chain.rpc('anvil_setCode', [place, revertingWith(index === 0 ? 'original' : 'replacement')])
  }
  const call = { value: '0', gas_limit: 100_000 }
  const { id, hash } = await send({ ...call, to: contracts[0] }, 'submitted')
  await proxy.setFault({ kind: 'http_500', methods: ['eth_sendRawTransaction'] })
  const replacement = { path: { ...path, transaction_id: id }, body: { ...call, to: contracts[1] } }
  await client.put(`${transactions}/{transaction_id}`, replacement)
  await expect.poll(async () => (await byNonce('0')).hash).not.toBe(hash)
  await chain.mine()
  const statusReason = 'Reverted: original'
  await expect.poll(() => byNonce('0')).toMatchObject({ status: 'mined', hash, status_reason: statusReason })
  await proxy.setFault({ kind: 'internal_error', methods: ['eth_call'] })
  await chain.mine()
  await expect.poll(() => byNonce('0')).toMatchObject({ status: 'failed', hash, status_reason: statusReason })
})
