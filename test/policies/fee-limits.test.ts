import { Wallet } from 'ethers'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { CreateSignerRequest, RelayerPoliciesInput, SendTransactionRequest } from '../../client/index.ts'
import type * as fees from '../../server/domain/fees.ts'
import { checkFees } from '../../server/domain/policies/fee-policies.ts'
import { failing } from '../support/failure.ts'
import { startHeldSigner } from '../support/held-signer.ts'
import { refusalOf, unsigned } from '../support/policies.ts'
import { columnOf, rowsOf } from '../support/service-database.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const relayerPath = '/api/v1/relayers/{relayer_id}'
const sendPath = '/api/v1/relayers/{relayer_id}/transactions'
const onePath = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const to = `0x${'12'.repeat(20)}`
const gwei = 10n ** 9n

const flat = (tip: bigint) => ({ safe_low: tip, average: tip, fast: tip, fastest: tip })
const market = (baseFee: bigint, tip: bigint): fees.Market => ({ kind: 'eip1559', base_fee: baseFee, tips: flat(tip) })
const paying = (maxFeePerGas: bigint, maxPriorityFeePerGas: bigint): fees.Prices => ({
  kind: 'eip1559',
  max_fee_per_gas: maxFeePerGas,
  max_priority_fee_per_gas: maxPriorityFeePerGas,
})
const old = (gasPrice: bigint): fees.Prices => ({ kind: 'legacy', gas_price: gasPrice })

describe('prices that the market and the fee policies refuse', () => {
  // 5 times (2 x 20 gwei, and 2 gwei) are 210 gwei.
  const busy = market(20n * gwei, 2n * gwei)
  const tiny = market(7n, 0n)
  const cap = { gas_price_cap: '1000000000000000' }
  test.each<[string, fees.Prices, fees.Market, RelayerPoliciesInput, string[]]>([
    ['five times the market', paying(500n * gwei, 190n * gwei), busy, {}, []],
    ['more than five times', paying(500n * gwei, 190n * gwei + 1n), busy, {}, ['max_fee_multiplier']],
    ['a maximum of a thousand times with a small tip', paying(42_000n * gwei, 2n * gwei), busy, {}, []],
    ['a tip that is all of it', paying(333n * gwei, 333n * gwei), busy, {}, ['max_fee_multiplier']],
    ['a gas price of five times', old(210n * gwei), busy, {}, []],
    ['a gas price above', old(210n * gwei + 1n), busy, {}, ['max_fee_multiplier']],
    ['another multiple', old(42n * gwei + 1n), busy, { max_fee_multiplier: 1 }, ['max_fee_multiplier']],
    ['a cap in its place', old(100_000n * gwei), busy, cap, []],
    ['10 gwei where gas costs next to nothing', paying(20n * gwei, 10n * gwei - 7n), tiny, {}, []],
    ['more than 10 gwei there', paying(20n * gwei, 10n * gwei), tiny, {}, ['max_fee_multiplier']],
    [
      'a chain without a base fee',
      old(71n * gwei),
      { kind: 'legacy', gas_price: 10n * gwei },
      {},
      ['max_fee_multiplier'],
    ],
    ['its fastest tier, five times', old(70n * gwei), { kind: 'legacy', gas_price: 10n * gwei }, {}, []],
    ['a fee at its limit', old(10n * gwei), busy, { max_fee_per_transaction: '1000000000000000' }, []],
    [
      'a fee above it',
      old(10n * gwei),
      busy,
      { max_fee_per_transaction: '999999999999999' },
      ['max_fee_per_transaction'],
    ],
    [
      'both',
      old(999n * gwei),
      busy,
      { max_fee_per_transaction: '1' },
      ['max_fee_multiplier', 'max_fee_per_transaction'],
    ],
  ])('%s', (_, prices, its, policies, refused) => {
    const check = () => checkFees({ policies } as never, { gas_limit: 100_000, prices, data_fee: 0n, market: its })
    const details = refused.map((name) => expect.objectContaining({ path: `policies/${name}` }))
    if (refused.length === 0) expect(check).not.toThrow()
    else expect(failing(check)).toThrow(expect.objectContaining({ code: 'policy_violation', details }))
  })
})

async function start(policies: RelayerPoliciesInput, signer?: CreateSignerRequest) {
  const rig = await testRig({ chain: { noMining: true } })
  const { chain, client, addAccount } = rig
  const account = await addAccount({ policies, ...(signer && { signer }) })
  const path = { relayer_id: account.relayer_id }
  const post = async (body: Partial<SendTransactionRequest>) =>
    (await client().post(sendPath, { path, body: { to, value: '1', gas_limit: 21_000, ...body } })).data
  const dryRun = async (body: Partial<SendTransactionRequest>) => {
    const input = { path, body: { to, value: '1', gas_limit: 21_000, ...body } }
    const { data } = await client().post('/api/v1/relayers/{relayer_id}/transactions/dry-run', input)
    return data.refusals.flatMap(({ details }) => details.map((detail) => detail.path))
  }
  const replace = (transactionId: string, body: Partial<SendTransactionRequest>) =>
    client().put(onePath, {
      path: { ...path, transaction_id: transactionId },
      body: { to, value: '1', gas_limit: 21_000, ...body },
    })
  const sign = (maxFeePerGas: bigint) =>
    client().post('/api/v1/relayers/{relayer_id}/sign-transaction', {
      path,
      body: { unsigned_transaction: unsigned({ max_fee_per_gas: maxFeePerGas }) },
    })
  const cancel = (transactionId: string) =>
    client().delete(onePath, { path: { ...path, transaction_id: transactionId } })
  const patch = (change: RelayerPoliciesInput) => client().patch(relayerPath, { path, body: { policies: change } })
  const read = async (transactionId: string) =>
    (await client().get(onePath, { path: { ...path, transaction_id: transactionId } })).data
  return { ...rig, chain, account, post, dryRun, replace, sign, cancel, patch, read }
}

const priced = (price: bigint, tip = gwei) => ({ max_fee_per_gas: `${price}`, max_priority_fee_per_gas: `${tip}` })

test('does not pay the balance to the proposer after a mistake in a price, with only max_value and a whitelist', async () => {
  const { post, dryRun, replace } = await start({ max_value: '0', whitelist_receivers: [to] })
  // 30,000,000 units of gas at 333 gwei are 9.99 ETH.
  const all = { value: '0', gas_limit: 30_000_000, max_fee_per_gas: '333000000000' }
  const wrong = { ...all, max_priority_fee_per_gas: '333000000000' }
  expect(await refusalOf(post(wrong))).toEqual(['max_fee_multiplier'])
  expect(await dryRun(wrong)).toEqual(['policies/max_fee_multiplier'])
  const { id } = await post({ ...all, value: '0', max_priority_fee_per_gas: '1' })
  expect(await refusalOf(replace(id, wrong))).toEqual(['max_fee_multiplier'])
})

test('applies max_fee_per_transaction to sending, replacing, signing and dry runs', async () => {
  const { post, dryRun, replace, sign, patch } = await start({ max_fee_per_transaction: `${21_000n * 3n * gwei}` })
  expect(await refusalOf(post(priced(3n * gwei + 1n)))).toEqual(['max_fee_per_transaction'])
  expect(await dryRun(priced(3n * gwei + 1n))).toEqual(['policies/max_fee_per_transaction'])
  const { id } = await post(priced(3n * gwei))
  expect(await refusalOf(replace(id, { ...priced(4n * gwei), value: '2' }))).toEqual(['max_fee_per_transaction'])
  await patch({ max_fee_per_transaction: `${100_000n * 3n * gwei}` })
  expect(await refusalOf(sign(3n * gwei + 1n))).toEqual(['max_fee_per_transaction'])
  expect(await refusalOf(sign(3n * gwei))).toEqual([])
})

test('counts each nonce at its highest price for max_fee_per_day, when sending, replacing, signing and bumping', async () => {
  const one = 21_000n * 3n * gwei
  const { chain, post, dryRun, replace, sign, cancel, patch, read, account } = await start({
    max_fee_per_day: `${4n * one}`,
  })
  const sent = [await post(priced(3n * gwei)), await post(priced(3n * gwei)), await post(priced(3n * gwei))]
  const [first, second] = sent.map(({ id }) => id) as [string, string]
  expect(await refusalOf(post(priced(6n * gwei)))).toEqual(['max_fee_per_day'])
  expect(await dryRun(priced(6n * gwei))).toEqual(['policies/max_fee_per_day'])
  expect(await refusalOf(replace(first, priced(7n * gwei, 2n * gwei)))).toEqual(['max_fee_per_day'])
  await replace(first, priced(6n * gwei, 2n * gwei))
  expect(await refusalOf(sign(1n))).toEqual(['max_fee_per_day'])

  // The transfer that takes its place costs at least 10 % more than it, for which there is no room.
  await until('the nodes have it', async () => (await read(second)).status === 'submitted')
  await cancel(second)
  const reason = `Canceled by request; Waits: the policy max_fee_per_day (${4n * one} wei) leaves no room for its fee`
  await until('it says that it waits', async () => (await read(second)).status_reason === reason)
  const signed = (await read(second)).hash
  await patch({ max_fee_per_day: `${5n * one}` })
  await until('it is signed', async () => (await read(second)).hash !== signed)
  // 6, 3.3 and 3 gwei of 15 are counted, which leaves 2.7: the transfer counts the difference.
  expect(await refusalOf(sign((21_000n * 28n * gwei) / 1_000_000n))).toEqual(['max_fee_per_day'])
  expect(await refusalOf(sign((21_000n * 27n * gwei) / 1_000_000n))).toEqual([])
  await account.finished(chain.mine)
  expect(await read(second)).toMatchObject({ status: 'canceled', status_reason: 'Canceled by request' })
  expect(await read(first)).toMatchObject({ status: 'confirmed' })
})

test('subtracts the fee of an unsigned transaction that is canceled', async () => {
  const one = 21_000n * 3n * gwei
  const signer = await startHeldSigner()
  onTestFinished(signer.stop)
  const { post, cancel } = await start({ max_fee_per_day: `${one}` }, signer.request)
  signer.hold()
  const { id } = await post(priced(3n * gwei))
  expect(await refusalOf(post(priced(3n * gwei)))).toEqual(['max_fee_per_day'])
  expect((await cancel(id)).data.status).toBe('canceled')
  expect(await refusalOf(post(priced(3n * gwei)))).toEqual([])
})

test('counts the fees of both nonces of a transaction that is signed again at another nonce', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const { chain, addAccount } = rig
  const { key = '', address = '' } = chain.accounts[2] ?? {}
  const account = await addAccount({ key, policies: { max_fee_per_day: `${10n ** 18n}` } })
  await chain.mine(5)
  await account.send(1)
  await account.finished(chain.mine)

  await chain.reorg(3)
  const prices = { type: 2, maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n, gasLimit: 21_000n }
  const rival = await new Wallet(key).signTransaction({ ...prices, chainId: chain.chain_id, nonce: 0, to: address })
  await chain.rpc('eth_sendRawTransaction', [rival])
  await chain.mine(2)
  await until('it is mined at the next nonce', async () => (await account.latest()) === 2, chain.mine)
  await account.finished(chain.mine)

  const counted = await columnOf<string>(rig, "SELECT amount FROM spending WHERE asset = 'fee'")
  const signed = await rowsOf<{ nonce: number; price: string }>(
    rig,
    'SELECT nonce, max_fee_per_gas AS price FROM attempts',
  )
  const highest = new Map<number, bigint>()
  for (const { nonce, price } of signed) {
    if (BigInt(price) > (highest.get(nonce) ?? 0n)) highest.set(nonce, BigInt(price))
  }
  expect([...highest.keys()].sort()).toEqual([0, 1])
  expect(sum(counted.map(BigInt))).toBe(21_000n * sum([...highest.values()]))
})

const sum = (amounts: bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n)
