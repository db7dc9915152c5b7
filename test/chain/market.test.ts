import { describe, expect, test } from 'vitest'
import { withMargin } from '../../server/chain/gas.ts'
import { medianMarket, readMarket } from '../../server/chain/market.ts'
import { MalformedAnswer, type Rpc, RpcError, RpcUnavailable } from '../../server/chain/rpc.ts'
import type { Market } from '../../server/domain/fees.ts'
import { priceLiar } from '../chaos/liars.ts'
import { testFaultProxy } from '../support/chain.ts'
import { testRig } from '../support/test-rig.ts'

const unknown = new RpcError({ code: -32_601, message: 'the method does not exist' })
const hash = `0x${'ab'.repeat(32)}`
const sound = {
  eth_feeHistory: {
    baseFeePerGas: ['0x9', '0xa'],
    gasUsedRatio: [0.5, 0, 0.5, 0.5],
    reward: [
      ['0x1', '0x2', '0x3', '0x4'],
      ['0x63', '0x63', '0x63', '0x63'],
      ['0x2', '0x3', '0x4', '0x5'],
      ['0x3', '0x4', '0x5', '0x6'],
    ],
  },
  eth_getBlockByNumber: { number: '0x5', hash, parentHash: hash, baseFeePerGas: '0x14' },
  eth_maxPriorityFeePerGas: '0x7',
  eth_gasPrice: '0x1e',
}
const flat = (tip: bigint) => ({ safe_low: tip, average: tip, fast: tip, fastest: tip })
const modern = (baseFee: bigint, tip: bigint) => ({ kind: 'eip1559', base_fee: baseFee, tips: flat(tip) })
const legacy = { kind: 'legacy', gas_price: 30n }

/** A node with given responses; a response that is an error is thrown. */
const node =
  (answers: Record<string, unknown>): Rpc =>
  async (method, params, options) => {
    const answer = { ...sound, ...answers }[method]
    if (answer instanceof Error) throw answer
    try {
      return options?.decode?.(answer ?? null, params)
    } catch (error) {
      throw new MalformedAnswer(`${error}`)
    }
  }

describe("the market by one node's answer", () => {
  const history = (change: object) => ({ eth_feeHistory: { ...sound.eth_feeHistory, ...change } })
  const noBlock = { eth_getBlockByNumber: null }
  const tips = { safe_low: 2n, average: 3n, fast: 4n, fastest: 5n }
  test.each<[string, Record<string, unknown>, unknown]>([
    ['soundly: the median of blocks that are not empty', {}, { kind: 'eip1559', base_fee: 10n, tips }],
    ['a history of null', { eth_feeHistory: null }, modern(20n, 7n)],
    ['a history that is a text', { eth_feeHistory: 'busy' }, modern(20n, 7n)],
    ['a history of nothing', { eth_feeHistory: {} }, modern(20n, 7n)],
    ['no history method', { eth_feeHistory: unknown }, modern(20n, 7n)],
    ['a base fee of null', history({ baseFeePerGas: [null] }), modern(20n, 7n)],
    ['a base fee that is a number', history({ baseFeePerGas: [10] }), { ...modern(10n, 0n), tips }],
    ['a padded base fee', history({ baseFeePerGas: ['0x000A'] }), { ...modern(10n, 0n), tips }],
    ['no base fees', history({ baseFeePerGas: [] }), modern(20n, 7n)],
    ['a base fee of 2^200', history({ baseFeePerGas: [`0x1${'0'.repeat(50)}`] }), modern(20n, 7n)],
    ['no ratios', history({ gasUsedRatio: undefined }), modern(10n, 7n)],
    ['ratios of null', history({ gasUsedRatio: null }), modern(10n, 7n)],
    ['rewards of null', history({ reward: null }), modern(10n, 7n)],
    ['rewards that are rows of null', history({ reward: [null, null, null, null] }), modern(10n, 7n)],
    ['rewards with columns missing', history({ reward: [['0x1'], [], ['0x1'], []] }), modern(10n, 7n)],
    ['rewards that are no prices', history({ reward: [['x', 1, null, {}]] }), modern(10n, 7n)],
    ['no rewards and no tip', { ...history({ reward: [] }), eth_maxPriorityFeePerGas: null }, modern(10n, 10n ** 9n)],
    ['an old chain', { ...history({ baseFeePerGas: ['0x0'] }), ...noBlock }, legacy],
    ['an older chain', { eth_feeHistory: unknown, eth_getBlockByNumber: {} }, legacy],
    ['neither history nor block', { eth_feeHistory: null, ...noBlock }, legacy],
  ])('%s', async (_, answers, market) => {
    expect(await readMarket(node(answers))).toEqual(market)
  })

  test('treats an answer without a price as no answer', async () => {
    const answers = { eth_feeHistory: null, ...noBlock, eth_gasPrice: null }
    await expect(readMarket(node(answers))).rejects.toThrow(RpcUnavailable)
  })
})

describe("the market by several nodes' answers", () => {
  const at = (baseFee: bigint, tip: bigint) => modern(baseFee, tip) as Market
  const old = (gasPrice: bigint): Market => ({ kind: 'legacy', gas_price: gasPrice })
  test.each<[string, Market[], Market | undefined]>([
    ['nobody', [], undefined],
    ['one', [at(9n, 2n)], at(9n, 2n)],
    ['of two the lower one, price by price', [at(9n, 2n), at(900n, 1n)], at(9n, 1n)],
    ['of three the one between', [at(1n, 900n), at(10n, 2n), at(9_000n, 1n)], at(10n, 2n)],
    ['one that has another kind', [old(9_000n), at(10n, 2n), at(11n, 3n)], at(10n, 2n)],
    ['of one of each kind the one with a base fee', [old(9_000n), at(10n, 2n)], at(10n, 2n)],
    ['a chain without a base fee', [old(30n), at(9_000n, 1n), old(31n)], old(30n)],
  ])('%s', (_, markets, market) => {
    expect(medianMarket(markets)).toEqual(market)
  })
})

test('pays the price of the other nodes when one of three asks a hundred times as much', async () => {
  const { chain, proxies, addAccount } = await threeNodes()
  const honest = await addAccount({ rpc_urls: [chain.url] })
  const lied = await addAccount({ rpc_urls: proxies.map(({ url }) => url) })
  for (const proxy of proxies) {
    const times = proxy === proxies[0] ? 100n : 1n
    proxy.setLiar(priceLiar(times))
  }
  const [[fair], [asked]] = await Promise.all([honest.send(1), lied.send(1)])
  expect(asked?.max_fee_per_gas).toBe(fair?.max_fee_per_gas)
  expect(asked?.max_priority_fee_per_gas).toBe(fair?.max_priority_fee_per_gas)
})

async function threeNodes() {
  const rig = await testRig({ chain: { noMining: true } })
  const proxies = [rig.proxy, await testFaultProxy(rig.chain), await testFaultProxy(rig.chain)]
  return { ...rig, proxies }
}

test.each<[estimate: number, block_gas: number | undefined, gas_limit: number]>([
  // What a call costs that runs no code, by the nodes.
  [12_000, undefined, 12_000],
  [21_000, undefined, 23_100],
  [50_001, 30_000_000, 55_002],
  // The margin stops at the block's limit.
  [28_000_000, 30_000_000, 30_000_000],
  [30_000_000, 30_000_000, 30_000_000],
  // An estimate that is above a limit already is left to the node to reject.
  [31_000_000, 30_000_000, 34_100_000],
])('turns an estimate of %d with a block of %s into a gas limit of %d', (estimate, blockGas, gasLimit) => {
  expect(withMargin(estimate, { bare: 12_000, block_gas: blockGas })).toBe(gasLimit)
})

test('accepts and confirms with a node without a fee history, and rejects data that no node accepts', async () => {
  const { chain, proxy, client, addAccount } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  await proxy.setFault({ kind: 'null_result', methods: ['eth_feeHistory'] })
  const [first] = await account.send(1, { data: '0x00' })
  expect(first).toMatchObject({ gas_price: null, max_fee_per_gas: expect.stringMatching(/^\d+$/) })
  await account.finished(chain.mine)
  expect((await account.score()).unfinished).toBe(0)
  expect(proxy.counts().null_result).toBeGreaterThan(0)

  const path = { relayer_id: account.relayer_id }
  const data = `0x${'00'.repeat(130_849)}`
  const message = expect.stringContaining('261698')
  const tooLong = { path: '/body/data', message, code: 'invalid_length' }
  const sendPath = '/api/v1/relayers/{relayer_id}/transactions'
  await expect(
    client().post(sendPath, { path, body: { to: account.address, value: '0', data } }),
  ).rejects.toMatchObject({ status: 400, details: expect.arrayContaining([tooLong]) })
})

test('polls for receipts on a chain without a base fee whose node returns no gas price', async () => {
  const { chain, proxy, addAccount, restart } = await testRig({
    chain: { noMining: true, args: ['--hardfork', 'berlin'] },
  })
  const account = await addAccount()
  const [sent] = await account.send(1)
  expect(sent?.gas_price).not.toBeNull()
  // A service that has just started remembers no price.
  await restart(() => proxy.setFault({ kind: 'null_result', methods: ['eth_gasPrice'] }))
  await account.finished(chain.mine)
  expect((await account.score()).unfinished).toBe(0)
  expect(proxy.counts().null_result).toBeGreaterThan(0)
})
