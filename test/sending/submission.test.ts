import { concat, hexlify, toBeHex, toQuantity } from 'ethers'
import { expect, test } from 'vitest'
import type { CreateRelayerRequest, SendTransactionRequest, Transaction } from '../../client/index.ts'
import type { AnvilOptions } from '../support/anvil.ts'
import { testChain } from '../support/chain.ts'
import { startTestService } from '../support/service.ts'

const transactions = '/api/v1/relayers/{relayer_id}/transactions'
const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const reverting = `0x${'c0'.repeat(20)}`
const gwei = 1_000_000_000n
const ether = 10n ** 18n

interface Answer {
  data: Transaction
  message: string
  details?: { path: string; message: string }[]
}

async function start(options: AnvilOptions = {}) {
  const chain = await testChain(options)
  const { client, raw } = await startTestService()
  const rpcUrls = [chain.url]
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: rpcUrls },
  })

  /** With 10,000 ETH. */
  async function addRelayer(special: Partial<CreateRelayerRequest> = {}) {
    const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
    const rest = { name: 'Test', network: 'local', network_type: 'evm', paused: false } as const
    const { data } = await client.post('/api/v1/relayers', { body: { ...rest, signer_id: signer.id, ...special } })
    await chain.setBalance(data.address, 10_000n * ether)
    return data.id
  }

  /** `body`: a string is sent unchanged, so that integers keep their digits. */
  async function post(relayerId: string, body: string | object) {
    const text = typeof body === 'string' ? body : JSON.stringify({ to, value: '1', ...body })
    const response = await raw(transactions.replace('{relayer_id}', relayerId), { method: 'POST', body: text })
    const { message, data, details } = (await response.json()) as Answer
    const { path, message: why } = details?.[0] ?? { path: '', message: '' }
    return { status: response.status, message, path, why, data }
  }

  async function send(relayerId: string, body: Partial<SendTransactionRequest>) {
    const query = { wait: 'mined', wait_seconds: 20 } as const
    return (
      await client.post(transactions, { path: { relayer_id: relayerId }, query, body: { to, value: '1', ...body } })
    ).data
  }
  return { client, chain, addRelayer, post, send }
}

type Refusal = [title: string, body: object | string, path: string, why: RegExp, status?: number]
const prices = { max_fee_per_gas: '1', max_priority_fee_per_gas: '2' }
const creation = (value: string) => `{"data":"0x00","value":${value}}`
const refusals: Refusal[] = [
  ['an unknown member', { gasLimit: 21_000 }, '/body/gasLimit', /not a known property/],
  ['both ways of pricing', { gas_price: '1', max_fee_per_gas: '1' }, '/body/gas_price', /combined with/],
  ['a gas price beside a tip', { gas_price: 1, max_priority_fee_per_gas: 1 }, '/body/gas_price', /combined with/],
  ['a tip above the fee', prices, '/body/max_priority_fee_per_gas', /at most/],
  ['neither receiver nor data', { to: undefined }, '/body/to', /no data/],
  ['null for both', { to: null, data: null }, '/body/to', /no data/],
  ['no receiver and empty data', { to: null, data: '0x' }, '/body/to', /no data/],
  ['a wrong checksum', { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79c8' }, '/body/to', /EIP-55/],
  ['a short address', { to: '0x7099' }, '/body/to', /^must be /],
  ['odd data', { data: '0x123' }, '/body/data', /^must be /],
  ['data that is a number', `{"to":"${to}","value":1,"data":12345678901234567890}`, '/body/data', /exactly/],
  ['no gas', { gas_limit: 0 }, '/body/gas_limit', />= 1/],
  ['less gas than a transfer needs', { gas_limit: 20_999 }, '/body/gas_limit', /at least 21000/, 422],
  ['less gas than its data needs', { gas_limit: 21_000, data: '0xff' }, '/body/gas_limit', /least 21040/, 422],
  ['less gas than a creation needs', { to: null, gas_limit: 21_000, data: '0x00' }, '/body/gas_limit', /./, 422],
  ['an unknown speed', { speed: 'fastests' }, '/body/speed', /safe_low/],
  ['a negative value', { value: -1 }, '/body/value', /./],
  ['a long negative value', creation('-12345678901234567890'), '/body/value', /digits/],
  ['a fraction', { value: 1.5 }, '/body/value', /./],
  ['a value that lost its digits', creation('1e30'), '/body/value', /./],
  ['a value beyond 256 bits', { value: `${2n ** 256n}` }, '/body/value', /2\^256/],
  ['a value that leaves nothing for gas', { value: `${10_000n * ether}` }, '/body/value', /balance/],
  ['a value far beyond the balance', { value: `${2n ** 255n}`, gas_limit: 21_000 }, '/body/value', /balance/],
  [
    'a price beyond the balance',
    { max_fee_per_gas: `${10n ** 22n}` },
    '/body/max_fee_per_gas',
    /gas at up to 10000000000000 gwei/,
  ],
  ['gas beyond the balance', { gas_limit: 2 ** 50 }, '/body/value', /balance/],
  ['a call that reverts', { to: reverting, value: '0' }, '/body', /too late/],
  ['a past valid_until', { valid_until: '2020-01-01T00:00:00Z' }, '/body/valid_until', /passed/],
  ['a leap second', { valid_until: '2016-12-31T23:59:60Z' }, '/body/valid_until', /./],
  ['half an offset', { valid_until: '2050-01-01T00:00:00+01' }, '/body/valid_until', /./],
  ['a time without an offset', { valid_until: '2050-01-01T00:00:00' }, '/body/valid_until', /RFC 3339/],
  ['a day that is none', { valid_until: '2050-02-30T00:00:00Z' }, '/body/valid_until', /RFC 3339/],
]

test('rejects an impossible transaction with its status, the path and the reason, and assigns no nonce', async () => {
  const { chain, addRelayer, post, client } = await start()
  // Code that reverts with Error("too late").
  const words = [toBeHex(32, 32), toBeHex(8, 32), hexlify(Buffer.from('too late'.padEnd(32, '\0')))]
  const code = concat(['0x6064600c60003960646000fd08c379a0', ...words])
  await chain.rpc('anvil_setCode', [reverting, code])
  const relayerId = await addRelayer()
  const told = await Promise.all(
    refusals.map(async ([title, body]) => {
      const { status, path, why } = await post(relayerId, body)
      return { title, status, path, why }
    }),
  )
  const { data } = await client.get('/api/v1/relayers/{relayer_id}/nonce', { path: { relayer_id: relayerId } })
  expect(told).toEqual(
    refusals.map(([title, , path, why, status = 400]) => ({ title, status, path, why: expect.stringMatching(why) })),
  )
  expect(data.next_nonce).toBe(0)
})

test('sends at once with a relayer that was just funded, despite a cached balance', async () => {
  const { chain, addRelayer, post, client } = await start()
  const [relayerId, careful] = [await addRelayer(), await addRelayer({ policies: { min_balance: `${ether}` } })]
  for (const [id, path] of [
    [relayerId, '/body/value'],
    [careful, 'policies/min_balance'],
  ] as const) {
    const { data } = await client.get('/api/v1/relayers/{relayer_id}', { path: { relayer_id: id } })
    await chain.setBalance(data.address, 0n)
    expect(await post(id, { gas_limit: 21_000 })).toMatchObject({
      path,
      why: expect.stringMatching(/balance (?:of 0x[0-9a-fA-F]{40} )?is 0/),
    })
    await chain.setBalance(data.address, 2n * ether)
    expect(await post(id, { gas_limit: 21_000 })).toMatchObject({ status: 201 })
  }
})

test('refuses transactions by policies, a pause and the chain, and no others', async () => {
  const { chain, addRelayer, post, client } = await start()
  const rpcUrls = [chain.url]
  await client.post('/api/v1/networks', {
    body: { name: 'other', network_type: 'evm', chain_id: 1, rpc_urls: rpcUrls },
  })
  const listed = await addRelayer({ policies: { whitelist_receivers: [to] } })
  const capped = await addRelayer({ policies: { gas_price_cap: '1000000000' } })
  const poor = await addRelayer({ policies: { min_balance: `${10_000n * ether + 1n}` } })
  const rich = await addRelayer({ policies: { min_balance: `${10_000n * ether}` } })
  const exact = await addRelayer({ policies: { gas_limit_estimation: false } })
  const plain = await addRelayer({ policies: { eip1559_pricing: false } })
  const paused = await addRelayer({ paused: true })
  const dead = await addRelayer({ custom_rpc_urls: ['http://127.0.0.1:1'] })
  const astray = await addRelayer({ network: 'other' })

  const cases: [relayer_id: string, body: object, status: number, path: string, why: RegExp][] = [
    [listed, { to: `0x${'12'.repeat(20)}` }, 403, 'policies/whitelist_receivers', /not in whitelist_receivers/],
    [listed, { to: null, data: '0x00' }, 403, 'policies/whitelist_receivers', /cannot be created/],
    [listed, { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' }, 201, '', /^$/],
    [capped, { gas_price: 1_000_000_001 }, 403, 'policies/gas_price_cap', /above the cap/],
    [capped, { max_fee_per_gas: 1_000_000_001 }, 403, 'policies/gas_price_cap', /above the cap/],
    [capped, { gas_price: 1_000_000_000 }, 201, '', /^$/],
    [poor, {}, 403, 'policies/min_balance', /below the required minimum/],
    [rich, {}, 201, '', /^$/],
    [exact, {}, 400, '/body/gas_limit', /must be given/],
    [exact, { gas_limit: 21_000 }, 201, '', /^$/],
    [plain, { max_fee_per_gas: '1' }, 400, '/body/max_fee_per_gas', /eip1559_pricing/],
    [plain, { max_priority_fee_per_gas: '1' }, 400, '/body/max_priority_fee_per_gas', /eip1559_pricing/],
    [dead, {}, 503, 'network', /No node/],
    [dead, { gas_limit: 21_000 }, 503, 'network', /No node/],
    [
      astray,
      { gas_limit: 21_000 },
      503,
      'network',
      /^The rpc_urls of the network are on chain 31337, and the chain_id of the network other is \d+$/,
    ],
  ]
  const told = await Promise.all(
    cases.map(async ([relayerId, body]) => {
      const { status, path, why } = await post(relayerId, body)
      return [relayerId, body, status, path, why]
    }),
  )
  expect(told).toEqual(
    cases.map(([id, body, status, path, why]) => [id, body, status, path, expect.stringMatching(why)]),
  )
  expect((await post(capped, { speed: 'fastest' })).data).toMatchObject({ max_fee_per_gas: '1000000000' })
  expect(await post(paused, {})).toMatchObject({ status: 403, message: 'Relayer paused' })
  expect(await post('nobody', {})).toMatchObject({ status: 404, message: 'Relayer with ID nobody not found' })
})

test('sets the tips of the tiers to percentiles of recent tips, and covers a doubled base fee', async () => {
  const { chain, addRelayer, post } = await start({ noMining: true })
  // Three blocks with ten senders each: the tips of the first two are ten times and half the tips of the third.
  for (const unit of [20n, 1n, 2n]) {
    for (const [index, { address: from }] of chain.accounts.entries()) {
      const tip = BigInt(index + 1) * unit * gwei
      const fees = { maxFeePerGas: toQuantity(tip + 50n * gwei), maxPriorityFeePerGas: toQuantity(tip) }
      await chain.rpc('eth_sendTransaction', [{ from, to, ...fees }])
    }
    await chain.mine()
  }
  // Empty blocks have no tips to count.
  await chain.mine(4)
  const history = await chain.rpc<{ baseFeePerGas: string[] }>('eth_feeHistory', ['0x1', 'latest', []])
  const baseFee = BigInt(history.baseFeePerGas.at(-1) ?? 0)
  const relayerId = await addRelayer()
  const quoted = async (speed?: string) => {
    const { data } = await post(relayerId, { speed })
    const tip = BigInt(data.max_priority_fee_per_gas ?? 0)
    const { speed: tier, speed_percentile: percentile } = data
    return { tier, percentile, tip: Number(tip / gwei), room: BigInt(data.max_fee_per_gas ?? 0) - tip }
  }
  const room = 2n * baseFee
  expect(await quoted('safe_low')).toEqual({ tier: 'safe_low', percentile: 30, tip: 6, room })
  expect(await quoted('safeLow')).toEqual({ tier: 'safe_low', percentile: 30, tip: 6, room })
  expect(await quoted()).toEqual({ tier: 'average', percentile: 50, tip: 10, room })
  expect(await quoted('fast')).toEqual({ tier: 'fast', percentile: 85, tip: 18, room })
  expect(await quoted('fastest')).toEqual({ tier: 'fastest', percentile: 99, tip: 20, room })
})

test('mines transactions as accepted: amounts to the last digit, kinds of prices, contracts, data', async () => {
  const { chain, addRelayer, post, send } = await start()
  const high = { gas_price_cap: '10000000000000000' }
  const [free, capped] = [
    await addRelayer({ policies: high }),
    await addRelayer({ policies: { gas_price_cap: '1500000000' } }),
  ]
  const plain = await addRelayer({ policies: { eip1559_pricing: false } })
  const mined = (hash: string | null) => chain.rpc<Record<string, string>>('eth_getTransactionByHash', [hash])

  const amounts = '"value":1234567890123456789012,"max_fee_per_gas":9007199254740993,"max_priority_fee_per_gas":7'
  const { status, data } = await post(free, `{"to":"${to}","data":"ABcd","gas_limit":30000,${amounts}}`)
  const shown = { value: '1234567890123456789012', max_fee_per_gas: '9007199254740993', max_priority_fee_per_gas: '7' }
  expect([status, data]).toMatchObject([
    201,
    { ...shown, data: '0xabcd', gas_price: null, status: 'pending', hash: null, nonce: 0 },
  ])
  const priced = await send(free, { gas_price: '9007199254740995', value: '00012', data: '0xABcd' })
  expect(priced).toMatchObject({ gas_price: '9007199254740995', max_fee_per_gas: null, value: '12', data: '0xabcd' })
  const first = await post(free, {}).then(() =>
    chain.rpc<{ transactions: string[] }>('eth_getBlockByNumber', ['0x1', false]),
  )
  const { value, maxFeePerGas } = await mined(first.transactions[0] ?? null)
  expect([BigInt(value ?? 0), BigInt(maxFeePerGas ?? 0)]).toEqual([
    1_234_567_890_123_456_789_012n,
    9_007_199_254_740_993n,
  ])
  expect(await mined(priced.hash)).toMatchObject({
    type: '0x0',
    gasPrice: toQuantity(9_007_199_254_740_995n),
    input: '0xabcd',
  })

  expect(await send(free, { max_fee_per_gas: '3000000000' })).toMatchObject({ max_fee_per_gas: '3000000000' })
  expect(await send(free, { max_priority_fee_per_gas: '5' })).toMatchObject({ max_priority_fee_per_gas: '5' })
  expect(await send(capped, { speed: 'fastest' })).toMatchObject({ max_fee_per_gas: '1500000000', status: 'confirmed' })
  const legacy = await send(plain, { data: '0x' })
  expect(legacy).toMatchObject({ max_fee_per_gas: null, data: null, gas_limit: 21_000, status: 'confirmed' })
  expect(await mined(legacy.hash)).toMatchObject({ type: '0x0', gasPrice: toQuantity(legacy.gas_price ?? 0) })

  // Its code is the byte 0xAB.
  const created = await send(free, { to: null, value: '0', data: '60AB60005360016000F3' })
  expect(created).toMatchObject({ to: null, data: '0x60ab60005360016000f3', status: 'confirmed' })
  const receipt = await chain.rpc<Record<string, string>>('eth_getTransactionReceipt', [created.hash])
  expect(await chain.rpc('eth_getCode', [receipt.contractAddress, 'latest'])).toBe('0xab')
})
