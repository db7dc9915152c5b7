import { parseTransaction } from 'viem'
import { expect, test } from 'vitest'
import { testLiar } from '../../support/liar.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const gwei = 10n ** 9n
const least = 3n * gwei
const networkPath = { network_id: 'evm:local' }

/** A node that suggests a tip of 1 gwei and takes none below 3, as those of BSC do. */
async function start(refusal: string, policies = {}, network = {}) {
  const rig = await testRig({ chain: { noMining: true } })
  const node = await testLiar(rig.chain)
  const signed: bigint[] = []
  node.lie = (method, [raw]) => {
    if (method !== 'eth_sendRawTransaction') return undefined
    const { maxPriorityFeePerGas, gasPrice } = parseTransaction(raw as `0x${string}`)
    const tip = maxPriorityFeePerGas ?? gasPrice ?? 0n
    signed.push(tip)
    return tip < least ? new Error(refusal) : undefined
  }
  await rig.client().patch('/api/v1/networks/{network_id}', { path: networkPath, body: network })
  const account = await rig.addAccount({ policies, rpc_urls: [node.url] })
  const mine = async () => {
    rig.clock.passed_ms += 5_000
    await rig.chain.mine()
  }
  return { ...rig, account, signed, mine, row: async () => (await account.transactions())[0] }
}

test.each([
  ['in steps', 'transaction underpriced', {}],
  ['in steps, of a legacy price', 'transaction underpriced', { eip1559_pricing: false, max_fee_multiplier: 10 }],
])('raises the price of a transaction that the nodes call underpriced, %s', async (_, refusal, policies) => {
  const { account, signed, mine, row } = await start(refusal, policies)
  await account.send(1)
  await account.finished(mine)
  expect(await row()).toMatchObject({ status: 'confirmed' })
  expect(signed.at(-1)).toBeGreaterThanOrEqual(least)
  expect(signed.at(-1)).toBeLessThan((least * 5n) / 4n + gwei)
})

test('raises the price at once to the figure that the refusal names', async () => {
  const text = 'transaction underpriced: gas tip cap 1000000000, minimum needed 3000000000'
  const { account, signed, mine, row } = await start(text)
  await account.send(1)
  await account.finished(mine)
  expect(await row()).toMatchObject({ status: 'confirmed', max_priority_fee_per_gas: `${least}` })
  expect(new Set(signed).size).toBe(2)
})

test.each([
  ['gas_price_cap', { gas_price_cap: `${2n * gwei}` }, 'price_cap'],
  ['max_fee_multiplier', { max_fee_multiplier: 1 }, 'fee_multiplier'],
])('raises it within the policy %s, and says what it waits for', async (_, policies, reason) => {
  const { account, client, mine, row } = await start('transaction underpriced', policies)
  const [{ id = '' } = {}] = await account.send(1)
  const path = { relayer_id: account.relayer_id, transaction_id: id }
  const explain = async () => (await client().get('/api/v1/transactions/{transaction_id}/explanation', { path })).data
  await until('it says why', async () => (await explain()).wait_reason === reason, mine)
  const { suggestions, figures } = await explain()
  const [advice] = suggestions
  const cap = (advice?.body as { policies?: { gas_price_cap?: string } } | null)?.policies?.gas_price_cap
  if (cap !== undefined) expect(BigInt(cap)).toBeGreaterThan(BigInt(figures.max_fee_per_gas ?? 0))
  expect((await row())?.status).toBe('sent')
})

test('starts at the least priority fee of the network, and keeps it', async () => {
  const network = { min_priority_fee_per_gas: least, min_gas_price: '4000000000' }
  const { account, client, signed, mine, row } = await start('transaction underpriced', {}, network)
  const { data } = await client().get('/api/v1/networks/{network_id}', { path: networkPath })
  expect(data).toMatchObject({ min_priority_fee_per_gas: `${least}`, min_gas_price: '4000000000' })
  await account.send(1)
  await account.finished(mine)
  expect(await row()).toMatchObject({ status: 'confirmed' })
  expect(signed.every((tip) => tip >= least)).toBe(true)
  await client().patch('/api/v1/networks/{network_id}', { path: networkPath, body: { min_gas_price: null } })
  expect((await client().get('/api/v1/networks/{network_id}', { path: networkPath })).data).toMatchObject({
    min_gas_price: null,
    min_priority_fee_per_gas: `${least}`,
  })
})
