import { Interface, toBeHex } from 'ethers'
import { expect, onTestFinished, test } from 'vitest'
import { createRelayerClient, type RelayerClient } from '../../client/index.ts'
import type { ApiKeyBudgetInput } from '../../generated/client.ts'
import type { SignTypedDataRequest } from '../../generated/openapi.ts'
import { readContract } from '../../server/api/http/contract.ts'
import { describeOperations } from '../../server/api/http/document.ts'
import { sendingMethods } from '../../server/api/json-rpc/sending.ts'
import { signingMethods } from '../../server/api/json-rpc/signing.ts'
import { testChain, testFaultProxy } from '../support/chain.ts'
import { startHeldSigner } from '../support/held-signer.ts'
import { asOnlyWriter } from '../support/only-writer.ts'
import { unsigned } from '../support/policies.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { authorizationOf, daiPermitOf, domainOf, permit2, permitOf, transferOf } from '../support/token-documents.ts'
import { until } from '../support/until.ts'

const sendPath = '/api/v1/relayers/{relayer_id}/transactions'
const onePath = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const signPath = '/api/v1/relayers/{relayer_id}/sign-transaction'
const fullPath = '/api/v1/relayers/{relayer_id}/sign-typed-data/full'
const keyPath = '/api/v1/api-keys/{api_key_id}'
const [token, other] = [`0x${'56'.repeat(20)}`, `0x${'78'.repeat(20)}`]
const [to, stranger] = [`0x${'12'.repeat(20)}`, `0x${'34'.repeat(20)}`]
const local = 31_337
const demo = { relayer_id: 'demo' }
const erc20 = new Interface([
  'function transfer(address, uint256)',
  'function transferFrom(address, address, uint256)',
  'function approve(address, uint256)',
  'function burn(uint256)',
])
const callOf = (name: string, ...values: unknown[]) => erc20.encodeFunctionData(name, values)
const dayOf = (amount: string, asset = token) => ({ asset, max_amount_per_day: amount })

const clientOf = ({ url }: TestService, key: string): RelayerClient =>
  createRelayerClient({ baseUrl: url, token: key, fetch: asOnlyWriter })

async function createKey({ client }: TestService, budget: ApiKeyBudgetInput, name = 'agent', more: object = {}) {
  const { data } = await client.post('/api/v1/api-keys', {
    body: { name, scopes: ['sign', 'send', 'read'], budget, ...more },
  })
  return { id: data.api_key.id, token: data.token }
}

async function withKey(service: TestService, budget: ApiKeyBudgetInput) {
  const key = await createKey(service, budget)
  return { ...key, client: clientOf(service, key.token) }
}

/** What refuses: `path: message` of each detail; empty: nothing. */
async function refusalOf(promise: Promise<unknown>): Promise<string[]> {
  try {
    await promise
    return []
  } catch (error) {
    const { status, details } = error as { status: number; details: { path: string; message: string }[] }
    if (status !== 403) throw error
    return details.map(({ path, message }) => `${path}: ${message}`)
  }
}

type Asked = Parameters<typeof unsigned>[0]
const signs = (client: RelayerClient, asked: Asked) =>
  refusalOf(client.post(signPath, { path: demo, body: { unsigned_transaction: unsigned(asked) } }))
const signsTyped = (client: RelayerClient, body: SignTypedDataRequest) =>
  refusalOf(client.post(fullPath, { path: demo, body }))
const selfOf = async (client: RelayerClient) => (await client.get('/api/v1/api-keys/self')).data.budget_usage

/** A chain, and services on one database whose relayer `demo` has funds. */
async function startOnChain(count: 1 | 2 = 1) {
  const chain = await testChain({ noMining: true })
  const proxy = await testFaultProxy(chain)
  const first = await startTestService()
  const services = [first, ...(count === 2 ? [await startTestService({ DATA_DIR: first.data_dir })] : [])]
  await first.client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: [proxy.url] },
  })
  const { data } = await first.client.get('/api/v1/relayers/{relayer_id}', { path: demo })
  await chain.setBalance(data.address, 10n ** 20n)
  return { proxy, services, service: first, address: data.address }
}

test('counts transfers, approvals and signatures of a key in one sum, and tells what is left', async () => {
  const clock = { now_ms: Date.parse('2030-01-01T00:00:00Z') }
  const service = await startTestService({}, { now: () => clock.now_ms })
  const key = await withKey(service, {
    assets: [{ ...dayOf('100'), max_amount_per_transaction: '60' }, dayOf('10', 'coin')],
    max_transactions_per_hour: 6,
    max_fee_per_day: '1500000000000000',
  })
  const own = domainOf(token, local)
  expect(await signs(key.client, { to: token, data: callOf('transfer', to, 61) })).toEqual([
    `api_key/budget/assets/0/max_amount_per_transaction: 61 of ${token} is above the limit of 60`,
  ])
  expect(await signs(key.client, { to: token, data: callOf('transfer', to, 40) })).toEqual([])
  expect(await signs(key.client, { to: token, data: callOf('approve', to, 30) })).toEqual([])
  expect(await signsTyped(key.client, permitOf(own, { value: '20' }))).toEqual([])
  await expect(
    key.client.post(fullPath, { path: demo, body: authorizationOf(own, { value: '11' }) }),
  ).rejects.toMatchObject({
    status: 403,
    details: [
      {
        path: 'api_key/budget/assets/0/max_amount_per_day',
        code: 'assets',
        message: `11 of the token ${token} is above the remaining 10 of the daily limit of 100`,
        resets_at: '2030-01-02T00:05:00.000Z',
      },
    ],
  })
  expect(await signs(key.client, { value: '10' })).toEqual([])
  expect(await signs(key.client, { value: '1' })).toEqual([
    'api_key/budget/assets/1/max_amount_per_day: 1 wei is above the remaining 0 wei of the daily limit of 10 wei',
  ])
  // 4 signatures of transactions and 1 of a permit were counted; only transactions have fees.
  expect(await selfOf(key.client)).toEqual({
    assets: [
      {
        asset: token,
        max_amount_per_transaction: '60',
        used: '90',
        remaining: '10',
        limit: '100',
        resets_at: '2030-01-02T00:05:00.000Z',
      },
      {
        asset: 'coin',
        max_amount_per_transaction: null,
        used: '10',
        remaining: '0',
        limit: '10',
        resets_at: '2030-01-02T00:05:00.000Z',
      },
    ],
    fees: {
      ...{ used: '900000000000000', remaining: '600000000000000', limit: '1500000000000000' },
      resets_at: '2030-01-02T00:05:00.000Z',
    },
    transactions: { used: 4, remaining: 2, limit: 6, resets_at: '2030-01-01T01:05:00.000Z' },
    receivers: null,
  })
  expect(
    await signs(key.client, { to: token, data: callOf('transfer', to, 1), max_fee_per_gas: 6_000_000_001n }),
  ).toEqual([
    'api_key/budget/max_fee_per_day: A fee of up to 600000000100000 wei is above the remaining 600000000000000 wei of the daily limit of 1500000000000000 wei',
  ])
  for (const value of ['1', '2']) expect(await signsTyped(key.client, permitOf(own, { value }))).toEqual([])
  expect(await signsTyped(key.client, permitOf(own, { value: '1' }))).toEqual([
    'api_key/budget/max_transactions_per_hour: One more transaction or signature is above the remaining 0 of the hourly limit of 6',
  ])
  clock.now_ms += 3_900_000
  expect(await signsTyped(key.client, permitOf(own, { value: '1' }))).toEqual([])
  // The relayer's other callers are not limited by it, and it has no policies of its own.
  expect(await signs(service.client, { to: token, data: callOf('transfer', to, 1_000) })).toEqual([])
  expect((await selfOf(service.client)) ?? null).toBeNull()
  // Who manages API keys reads the same of each of them.
  expect((await service.client.apiKeys.get(key.id)).budget_usage).toEqual(await selfOf(key.client))
  const { api_key: without } = await service.client.apiKeys.create({ name: 'without', scopes: ['read'] })
  expect((await service.client.apiKeys.get(without.id)).budget_usage).toBeNull()
})

test('refuses what is not listed, and what it cannot count', async () => {
  const service = await startTestService()
  const { client } = await withKey(service, { assets: [dayOf('100')], receivers: [to] })
  const uncounted = (what: string) => [`api_key/budget/assets: The budget of this API key cannot count ${what}`]
  const own = domainOf(token, local)
  const by = (contract: string, data: string, more: Asked = {}) => signs(client, { to: contract, data, ...more })

  expect(await signs(client, { value: '1' })).toEqual([
    'api_key/budget/assets: The coin is not in the assets of the budget',
  ])
  expect(await by(other, callOf('transfer', to, 1))).toEqual([
    `api_key/budget/assets: The token ${other} is not in the assets of the budget`,
  ])
  // The third value of an ERC-721 is an id, which may be 0.
  expect(await by(other, callOf('transferFrom', stranger, to, 0))).toHaveLength(1)
  expect(await by(token, callOf('transfer', stranger, 1))).toEqual([
    `api_key/budget/receivers: The receiver ${stranger} is not in the receivers of the budget`,
  ])
  expect(await by(token, callOf('approve', stranger, 1))).toHaveLength(1)
  expect(await by(token, callOf('transferFrom', to, stranger, 1))).toHaveLength(1)
  expect(await by(token, callOf('burn', 1))).toEqual(uncounted(`the function 0x42966c68 of ${token}`))
  expect(await by(token, `${callOf('transfer', to, 1)}00`)).toEqual(uncounted(`the function 0xa9059cbb of ${token}`))
  expect(await by(stranger, '0x1234')).toEqual(uncounted(`a call without a function selector of ${stranger}`))
  expect(await signs(client, { to: null, data: '0x6080' })).toEqual(uncounted('the creation of a contract'))
  expect(await by(token, callOf('transfer', to, 1))).toEqual([])

  expect(await signsTyped(client, permitOf(own, { spender: stranger }))).toHaveLength(1)
  expect(await signsTyped(client, authorizationOf(own, { to: stranger }))).toHaveLength(1)
  expect(await signsTyped(client, permitOf(domainOf(other, local), { spender: to }))).toHaveLength(1)
  expect(await signsTyped(client, daiPermitOf(own, { spender: to, allowed: true }))).toHaveLength(1)
  // A witness may be called `to`.
  const plain = transferOf(domainOf(permit2, local), { token, amount: 1, spender: stranger })
  const witnessed = {
    ...plain,
    types: {
      PermitWitnessTransferFrom: [...(plain.types.PermitTransferFrom ?? []), { name: 'to', type: 'address' }],
      TokenPermissions: plain.types.TokenPermissions ?? [],
    },
    primaryType: 'PermitWitnessTransferFrom',
    message: { ...plain.message, to },
  }
  expect(await signsTyped(client, witnessed)).toHaveLength(1)
  expect(await signsTyped(client, { domain: own, types: { A: [] }, primaryType: 'A', message: {} })).toEqual(
    uncounted('typed data of the type A()'),
  )
  expect(await signsTyped(client, permitOf(own, { spender: to }))).toEqual([])
  expect(await signsTyped(client, authorizationOf(own, { to }))).toEqual([])

  const message = (body: { message: string } | { message_hex: string }) =>
    refusalOf(client.post('/api/v1/relayers/{relayer_id}/sign', { path: demo, body }))
  expect(await message({ message: 'Sign in to shop.example' })).toEqual([])
  for (const body of [
    { message_hex: `0x${'ab'.repeat(32)}` },
    { message: 'a'.repeat(32) },
    { message: 'ab'.repeat(32) },
  ])
    expect(await message(body)).toEqual(uncounted('a message of 32 bytes'))
  expect(await message({ message: `0x${'ab'.repeat(32)}` })).toEqual(uncounted('a message of 32 bytes'))
})

test("calls what the relayer's allowed_functions lists, and signs what its allowed_domain_separators list", async () => {
  const service = await startTestService()
  const { client } = await withKey(service, { assets: [dayOf('100')], receivers: [stranger] })
  const vote: SignTypedDataRequest = {
    domain: domainOf(other, local),
    types: { Vote: [] },
    primaryType: 'Vote',
    message: {},
  }
  const { hashTypedData } = await import('../../server/domain/encoding/typed-data.ts')
  const separator = `0x${hashTypedData(vote).domain_separator.toString('hex')}`
  const policies = {
    allowed_functions: [
      { address: stranger, selectors: ['0x42966c68'] },
      { address: other, selectors: ['0x42966c68', '0xa9059cbb'] },
    ],
    allowed_domain_separators: [separator],
  }
  await service.client.patch('/api/v1/relayers/{relayer_id}', { path: demo, body: { policies } })
  expect(await signs(client, { to: stranger, data: callOf('burn', 1) })).toEqual([])
  expect(await signs(client, { to: other, data: callOf('burn', 1) })).toHaveLength(1)
  expect(await signs(client, { to: stranger, data: callOf('burn', 1), value: '1' })).toHaveLength(1)
  expect(await signs(client, { to: other, data: callOf('transfer', stranger, 1) })).toHaveLength(1)
  expect(await signsTyped(client, vote)).toEqual([])
  // A type that moves tokens is counted, and this one is not listed.
  expect(await signsTyped(client, permitOf(vote.domain, { spender: stranger }))).toHaveLength(1)
})

test('accepts each of two keys exactly its budget of 50 concurrent transfers and signatures, on two services', async () => {
  const { services, service, address } = await startOnChain(2)
  const coin = await createRelayer(service.client, { policies: {} })
  const budgets = { one: 15, two: 20 }
  const sums = await Promise.all(
    Object.entries(budgets).map(async ([name, limit]) => {
      const { token: key } = await createKey(service, { assets: [dayOf(`${limit}`)] }, name)
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, index) => {
          const client = clientOf(services[index % 2] as TestService, key)
          const nonce = toBeHex(index, 32)
          // Also over two relayers.
          const path = index % 3 === 0 ? { relayer_id: coin.id } : demo
          const document = authorizationOf(domainOf(token, local), { from: address, to, nonce })
          if (index % 4 === 0) return refusalOf(client.post(fullPath, { path, body: document }))
          if (index % 4 === 1) {
            const asked = unsigned({ to: token, data: callOf('transfer', to, 1) })
            return refusalOf(client.post(signPath, { path, body: { unsigned_transaction: asked } }))
          }
          const body = { to: token, value: '0', data: callOf('transfer', to, 1), gas_limit: 60_000 }
          return refusalOf(client.post(sendPath, { path: demo, body }))
        }),
      )
      expect(new Set(results.flat().map((refusal) => refusal.split(':')[0]))).toEqual(
        new Set(['api_key/budget/assets/0/max_amount_per_day']),
      )
      return results.filter((refusals) => refusals.length === 0).length
    }),
  )
  expect(sums).toEqual([15, 20])
})

test('counts a key exactly over relayers that different services sign for', async () => {
  const first = await startTestService()
  const services = [first, await startTestService({ DATA_DIR: first.data_dir })]
  const other = await createRelayer(first.client, {})
  const paths = [demo, { relayer_id: other.id }]
  for (const limit of [3, 20, 37]) {
    const { token: key } = await createKey(first, { assets: [dayOf(`${limit}`)] }, `limit ${limit}`)
    const clients = services.map((service) => clientOf(service, key))
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, index) => {
        const asked = unsigned({ to: token, data: callOf('transfer', to, 1) })
        const [client, path] = [clients[index % 2] as RelayerClient, paths[index % 2] as typeof demo]
        return refusalOf(client.post(signPath, { path, body: { unsigned_transaction: asked } }))
      }),
    )
    expect(results.filter((refusals) => refusals.length === 0)).toHaveLength(limit)
    expect((await selfOf(clients[0] as RelayerClient))?.assets[0]?.used).toBe(`${limit}`)
  }
})

test("counts beside the relayer's own limit, which is exact too", async () => {
  const { services, service } = await startOnChain(2)
  const policies = { max_value_per_day: '30' }
  await service.client.patch('/api/v1/relayers/{relayer_id}', { path: demo, body: { policies } })
  const results = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const { token: key } = await createKey(service, { assets: [dayOf('20', 'coin')] }, name)
      const all = await Promise.all(
        Array.from({ length: 40 }, (_, index) => {
          const client = clientOf(services[index % 2] as TestService, key)
          return refusalOf(client.post(sendPath, { path: demo, body: { to, value: '1', gas_limit: 21_000 } }))
        }),
      )
      const self = await selfOf(clientOf(service, key))
      return { accepted: all.filter((refusals) => refusals.length === 0).length, used: Number(self?.assets[0]?.used) }
    }),
  )
  const [one, two] = results as [(typeof results)[0], (typeof results)[0]]
  expect(one.accepted + two.accepted).toBe(30)
  for (const { accepted, used } of results) {
    expect(accepted).toBeLessThanOrEqual(20)
    expect(used).toBe(accepted)
  }
})

test('counts replacements, speed-ups and cancellations as the limits of a relayer do', async () => {
  const { service } = await startOnChain()
  const gwei = 10n ** 9n
  const one = 21_000n * 3n * gwei
  const key = await withKey(service, { assets: [dayOf('100', 'coin')], max_fee_per_day: `${4n * one}` })
  const body = (value: string, price = 3n) => ({
    ...{ to, value, data: null, gas_limit: 21_000 },
    max_fee_per_gas: `${price * gwei}`,
    max_priority_fee_per_gas: `${price * gwei - 1_000_000_000n}`,
  })
  const send = async (value: string, client = key.client) =>
    (await client.post(sendPath, { path: demo, query: { wait: 'submitted' }, body: body(value) })).data
  const usedOf = async () => {
    const budget = await selfOf(key.client)
    return [budget?.assets[0]?.used, `${BigInt(budget?.fees?.used ?? 0) / 21_000n / gwei}`]
  }
  const [first, second] = [await send('60'), await send('10')]
  expect(await usedOf()).toEqual(['70', '6'])
  const path = { ...demo, transaction_id: first.id }
  const replaced = (value: string, price: bigint) =>
    refusalOf(key.client.put(onePath, { path, body: body(value, price), header: { 'If-Match': '*' } }))
  expect(await replaced('91', 4n)).toEqual([
    'api_key/budget/assets/0/max_amount_per_day: 31 wei is above the remaining 30 wei of the daily limit of 100 wei',
  ])
  expect((await replaced('60', 10n))[0]).toContain('api_key/budget/max_fee_per_day: A fee of up to 147000000000000 wei')
  expect(await replaced('70', 6n)).toEqual([])
  expect(await usedOf()).toEqual(['80', '9'])

  // The transfer that takes the place of the second costs at least 10 % more, for which there is no room.
  await service.client.patch(keyPath, {
    path: { api_key_id: key.id },
    body: { budget: { assets: [dayOf('100', 'coin')], max_fee_per_day: `${3n * one}` } },
    header: { 'If-Match': '*' },
  })
  const secondPath = { ...demo, transaction_id: second.id }
  const read = async () => (await service.client.get(onePath, { path: secondPath })).data
  await key.client.delete(onePath, { path: secondPath })
  const reason = `the budget of its API key: max_fee_per_day (${3n * one} wei) leaves no room for its fee`
  await until('it says that it waits', async () => (await read()).status_reason?.includes(reason) === true)
  await service.client.patch(keyPath, {
    path: { api_key_id: key.id },
    body: { budget: { assets: [dayOf('100', 'coin')], max_fee_per_day: `${5n * one}` } },
    header: { 'If-Match': '*' },
  })
  await until('it is signed', async () => (await read()).hash !== second.hash)
  expect((await usedOf())[0]).toBe('80')

  // Another caller's transaction is not its own.
  const foreign = await send('5', service.client)
  const ofOther = { path: { ...demo, transaction_id: foreign.id } }
  const notOwn = ['api_key: this API key has a budget: it changes and cancels only its own transactions']
  expect(await refusalOf(key.client.delete(onePath, ofOther))).toEqual(notOwn)
  expect(
    await refusalOf(key.client.put(onePath, { ...ofOther, body: body('6', 4n), header: { 'If-Match': '*' } })),
  ).toEqual(notOwn)
  const speedUp = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}/speed-up'
  expect(await refusalOf(key.client.post(speedUp, { ...ofOther, body: {} }))).toEqual(notOwn)
})

test('counts a signature that a key service makes while its key gets a budget, and hands out none that is above it', async () => {
  const service = await startTestService()
  const held = await startHeldSigner()
  onTestFinished(held.stop)
  const { data: signer } = await service.client.post('/api/v1/signers', { body: held.request as never })
  const { id } = await createRelayer(service.client, { signer_id: signer.id })
  const { data } = await service.client.post('/api/v1/api-keys', { body: { name: 'agent', scopes: ['sign', 'read'] } })
  const client = clientOf(service, data.token)
  const set = (budget: ApiKeyBudgetInput) =>
    service.client.patch(keyPath, {
      path: { api_key_id: data.api_key.id },
      body: { budget },
      header: { 'If-Match': '*' },
    })
  let count = 0
  /** A signature that is under way while the budget changes. */
  const signDuring = async (value: string, budget: ApiKeyBudgetInput) => {
    held.hold()
    count += 1
    const body = authorizationOf(domainOf(token, local), { value, nonce: toBeHex(count, 32) })
    const signed = refusalOf(client.post(fullPath, { path: { relayer_id: id }, body }))
    await held.held(count)
    await set(budget)
    held.release()
    return signed
  }
  const used = async () => (await selfOf(client))?.assets.map((one) => one.used)
  expect(await signDuring('60', { assets: [dayOf('100')] })).toEqual([])
  expect(await used()).toEqual(['60'])
  // Another member, whose limit is used from now on.
  expect(await signDuring('10', { assets: [dayOf('100')], max_transactions_per_hour: 1 })).toEqual([])
  expect(await used()).toEqual(['70'])
  expect((await selfOf(client))?.transactions).toMatchObject({ used: 1 })
  await set({ assets: [dayOf('100')], max_transactions_per_hour: null })
  expect(await signDuring('1', { assets: [dayOf('100', other)] })).toEqual([
    `api_key/budget/assets: The token ${token} is not in the assets of the budget`,
  ])
})

test('lets transactions of a key, and their cancellations, go on that were accepted before it got a budget', async () => {
  const { service, proxy } = await startOnChain()
  const { data } = await service.client.post('/api/v1/api-keys', { body: { name: 'agent', scopes: ['send', 'read'] } })
  const client = clientOf(service, data.token)
  const body = { to, value: '60', gas_limit: 21_000 }
  await client.post(sendPath, { path: demo, body })
  await proxy.setFault({ kind: 'internal_error', methods: ['eth_getBlockByNumber'] })
  const sent = [
    (await client.post(sendPath, { path: demo, body })).data.id,
    (await client.post(sendPath, { path: demo, body })).data.id,
  ]
  await service.client.patch(keyPath, {
    path: { api_key_id: data.api_key.id },
    body: { budget: { assets: [], max_transactions_per_hour: 0 } },
    header: { 'If-Match': '*' },
  })
  await service.client.delete(onePath, { path: { ...demo, transaction_id: `${sent[0]}` } })
  await proxy.setFault(undefined)
  for (const transactionId of sent) {
    const path = { ...demo, transaction_id: transactionId }
    await until('a node has it', async () => (await client.get(onePath, { path })).data.status === 'submitted')
  }
  expect(await refusalOf(client.post(sendPath, { path: demo, body }))).not.toEqual([])
})

test('gives back what was never signed', async () => {
  const { service, proxy } = await startOnChain()
  const { client } = await withKey(service, { assets: [dayOf('100', 'coin')] })
  const send = (value: string) => client.post(sendPath, { path: demo, body: { to, value, gas_limit: 21_000 } })
  const used = async () => (await selfOf(client))?.assets[0]?.used
  // The first block is compared by one that is refused; after that the sender sees none, and signs nothing.
  expect(await refusalOf(send('101'))).toHaveLength(1)
  await proxy.setFault({ kind: 'http_500', methods: ['eth_getBlockByNumber'] })
  const { data } = await send('60')
  expect(await used()).toBe('60')
  await client.delete(onePath, { path: { ...demo, transaction_id: data.id } })
  expect(await used()).toBe('0')
})

test('is read, changed with If-Match, and keeps a key from managing keys', async () => {
  const service = await startTestService()
  const budget = { assets: [dayOf('100', token.toUpperCase().replace('0X', '0x'))], receivers: [to] }
  const { id, token: secret } = await createKey(service, budget, 'agent', {
    scopes: ['sign', 'send', 'read', 'notifications', 'manage'],
  })
  const client = clientOf(service, secret)
  const stored = {
    ...{ max_fee_per_day: null, max_transactions_per_hour: null, receivers: [to] },
    assets: [{ ...dayOf('100'), max_amount_per_transaction: null }],
  }
  const { data } = await service.client.get(keyPath, { path: { api_key_id: id } })
  expect(data.budget).toEqual(stored)
  expect(await refusalOf(client.get('/api/v1/api-keys'))).toHaveLength(1)
  const update = (body: object, ifMatch?: string) =>
    service.raw(`/api/v1/api-keys/${id}`, {
      method: 'PATCH',
      body: JSON.stringify(body),
      headers: {
        Authorization: `Bearer ${service.api_key}`,
        'Content-Type': 'application/json',
        ...(ifMatch && { 'If-Match': ifMatch }),
      },
    })
  expect((await update({ budget: null })).status).toBe(428)
  expect((await update({ budget: null }, '"an-old-one"')).status).toBe(412)
  const repeated = await update({ budget: { assets: [dayOf('1'), dayOf('2')] } }, `"${data.revision}"`)
  expect(await repeated.json()).toMatchObject({
    details: [{ path: '/body/budget/assets/1/asset', message: 'is listed twice; each asset may have one entry' }],
  })
  expect((await update({ budget: { assets: [], max_transactions_per_hour: 5 } }, `"${data.revision}"`)).status).toBe(
    200,
  )
  const { data: changed } = await service.client.get(keyPath, { path: { api_key_id: id } })
  expect(changed.budget).toEqual({ ...stored, assets: [], max_transactions_per_hour: 5 })
  expect(await signs(client, { to: token, data: callOf('transfer', to, 1) })).toHaveLength(1)
  expect((await update({ budget: { ...changed.budget, receivers: null } }, '*')).status).toBe(200)
  expect((await update({ budget: null }, '*')).status).toBe(200)
  expect(await signs(client, { to: token, data: callOf('transfer', to, 1) })).toEqual([])
})

/** By operation that needs another scope than read: whether a key with a budget may use it. A new operation belongs here. */
const counted = [
  ...['signMessage', 'signBatch', 'signTypedData', 'signTransaction'],
  ...['sendTransaction', 'sendTransactionBatch', 'dryRunTransaction', 'replaceTransaction', 'speedUpTransaction'],
  ...[
    'publishTransaction',
    'cancelTransaction',
    'sendPoolTransaction',
    'sendPoolTransactionBatch',
    'dryRunPoolTransaction',
  ],
  'movePoolTransaction',
]
const harmless: ReadonlySet<string> = new Set(['read', 'notifications'])

test('refuses every operation that moves something and that no budget counts', async () => {
  const service = await startTestService()
  const { token: secret } = await createKey(service, { assets: [] }, 'agent', {
    scopes: ['sign', 'send', 'read', 'notifications', 'manage'],
  })
  const operations = describeOperations(readContract()).filter(
    ({ guarded, roles }) => guarded && !roles.some((role) => harmless.has(role)),
  )
  expect(operations.flatMap(({ id, isCounted }) => (isCounted ? id : [])).sort()).toEqual([...counted].sort())
  const refused = operations.filter(({ isCounted, roles }) => !isCounted && !roles.includes('administer'))
  expect(refused.map(({ id }) => id)).toEqual(
    expect.arrayContaining(['signTypedDataHashes', 'signAuthorization', 'sweepRelayer', 'cancelPendingTransactions']),
  )
  for (const { id, method, path } of refused) {
    const response = await fetch(`${service.url}${path.replaceAll(/\{\w+\}/g, 'demo')}`, {
      method: method.toUpperCase(),
      headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
      ...(method !== 'get' && { body: '{}' }),
    })
    const { details } = (await response.json()) as { details?: { message: string }[] }
    const isOfSponsorship = id === 'callSponsoredJsonRpc'
    expect([id, response.status, details?.[0]?.message]).toEqual([
      ...[id, 403],
      isOfSponsorship ? expect.any(String) : `this API key has a budget, which cannot count the operation ${id}`,
    ])
  }
})

test('judges what JSON-RPC signs and sends, and the members of batches', async () => {
  const service = await startTestService()
  const { token: secret, client } = await withKey(service, { assets: [dayOf('10')] })
  const { data: relayer } = await service.client.get('/api/v1/relayers/{relayer_id}', { path: demo })
  const call = async (method: string, ...params: unknown[]) => {
    const response = await fetch(`${service.url}/api/v1/relayers/demo/rpc`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { error } = (await response.json()) as { error?: { code: number; message: string } }
    return error && `${error.code} ${error.message}`
  }
  const prices = { gas: '0xea60', maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1', nonce: '0x0' }
  const transfer = { to: token, data: callOf('transfer', to, 11), ...prices }
  const { address } = relayer
  // Every method that signs or sends is tried below.
  const methods = { ...signingMethods({} as never), ...sendingMethods({} as never) }
  expect(Object.keys(methods).sort()).toEqual(
    [
      ...['personal_sign', 'eth_signTypedData', 'eth_signTypedData_v4', 'eth_signTransaction'],
      ...['eth_sendTransaction', 'wallet_sendTransaction'],
    ].sort(),
  )
  expect(await call('eth_sign', address, `0x${'ab'.repeat(32)}`)).toContain('-32601')
  expect(await call('eth_sendRawTransaction', '0x00')).toContain('-32601')
  expect(await call('personal_sign', `0x${'ab'.repeat(32)}`, address)).toContain('4001 api_key/budget/assets')
  expect(await call('personal_sign', '0x48656c6c6f', address)).toBeUndefined()
  for (const method of ['eth_signTypedData', 'eth_signTypedData_v4']) {
    const document = permitOf(domainOf(token, local), { value: '11' })
    expect(await call(method, address, document)).toContain('4001 api_key/budget/assets/0/max_amount_per_day')
  }
  expect(await call('eth_signTransaction', transfer)).toContain('4001 api_key/budget/assets/0/max_amount_per_day')
  for (const method of ['eth_sendTransaction', 'wallet_sendTransaction'])
    expect(await call(method, { to, value: '0x1' })).toContain('4001 api_key/budget/assets')

  const digest = `0x${'ab'.repeat(32)}`
  const batch = (items: object[]) =>
    refusalOf(client.post('/api/v1/relayers/{relayer_id}/sign/batch', { path: demo, body: { items } as never }))
  expect(await batch([{ message: 'Hello' }, { domain_separator: digest, hash_struct_message: digest }])).toEqual([
    'api_key/budget/assets: The budget of this API key cannot count typed data from its hashes (/body/items/1)',
  ])
  expect(await batch([{ message: 'Hello' }, { message_hex: digest }])).toHaveLength(1)
  expect(await batch([{ message: 'Hello' }])).toEqual([])
})
