import { getAddress } from 'ethers'
import { expect, test } from 'vitest'
import { RelayerError, type RelayerPoliciesInput, type SendTransactionRequest } from '../../client/index.ts'
import { columnOf } from '../support/service-database.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const sendPath = '/api/v1/relayers/{relayer_id}/transactions'
const onePath = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const to = `0x${'12'.repeat(20)}`
const gwei = 10n ** 9n
const ether = 10n ** 18n
const fee = 21_000n * 3n * gwei
const priced = { gas_limit: 21_000, max_fee_per_gas: `${3n * gwei}`, max_priority_fee_per_gas: `${gwei}` }

async function start(balance: bigint, policies: RelayerPoliciesInput = {}) {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount({ policies })
  await rig.chain.setBalance(account.address, balance)
  const path = { relayer_id: account.relayer_id }
  const post = async (value: bigint, body: Partial<SendTransactionRequest> = {}, key?: string) => {
    const header = key === undefined ? {} : { header: { 'Idempotency-Key': key } }
    return (await rig.client().post(sendPath, { path, ...header, body: { to, ...priced, ...body, value: `${value}` } }))
      .data
  }
  /** Why it is refused; undefined when it is accepted. */
  const refusal = (value: bigint) =>
    post(value).then(
      () => undefined,
      (error) => (error instanceof RelayerError ? error.details[0]?.message : Promise.reject(error)),
    )
  const dryRun = async (body: Partial<SendTransactionRequest> = {}) => {
    const input = { path, body: { to, ...priced, value: '1', ...body } }
    return (await rig.client().post('/api/v1/relayers/{relayer_id}/transactions/dry-run', input)).data
  }
  const replace = (transactionId: string, value: bigint) =>
    rig
      .client()
      .put(onePath, { path: { ...path, transaction_id: transactionId }, body: { to, ...priced, value: `${value}` } })
  const cancel = (transactionId: string) =>
    rig.client().delete(onePath, { path: { ...path, transaction_id: transactionId } })
  return { ...rig, account, path, post, refusal, dryRun, replace, cancel }
}

test('rejects a transaction that the balance minus the funds reserved by unfinished ones does not cover', async () => {
  const { chain, account, post, refusal, dryRun, data_dir } = await start(10n * ether)
  // Beyond 64 bits, and to the last digit.
  await post(6n * ether)
  expect((await dryRun()).reserved_cost).toBe(`${6n * ether + fee}`)
  const room = 4n * ether - 2n * fee
  expect(await refusal(room + 1n)).toBe(
    `costs up to ${room + 1n + fee} wei, of which ${fee} wei are for 21000 gas at up to 3 gwei, and the balance of ${getAddress(account.address)} is ${10n * ether} wei; ` +
      `accepted transactions that are not mined yet cost up to ${6n * ether + fee} wei of it`,
  )
  expect((await dryRun({ value: `${room + 1n}` })).accepted).toBe(false)
  expect(await refusal(room)).toBeUndefined()
  expect(await refusal(0n)).toMatch(/balance/)
  await account.finished(chain.mine)
  expect((await dryRun()).reserved_cost).toBe('0')
  // The balance of a second ago, which both transactions have spent since, is not believed.
  expect(await refusal(ether)).toMatch(/and the balance of 0x[0-9a-fA-F]{40} is \d{14} wei$/)

  const ofAccount = `SELECT reserved FROM accounts WHERE address = '${account.address}'`
  expect(await columnOf({ data_dir }, ofAccount)).toEqual(['0'])
  expect(await columnOf({ data_dir }, 'SELECT count(*) FROM transactions WHERE reserved IS NOT NULL')).toEqual([0])
})

test('accepts as many of 20 simultaneous requests as the balance covers', async () => {
  const { refusal } = await start(7n * (ether + fee))
  const refusals = await Promise.all(Array.from({ length: 20 }, () => refusal(ether)))
  expect(refusals.filter((message) => message === undefined)).toHaveLength(7)
})

test('reserves funds for a replacement instead of the replaced transaction, and releases those of a canceled one', async () => {
  const { proxy, post, replace, cancel, dryRun } = await start(10n * ether)
  // Without the count of the pool, no transaction is signed.
  proxy.setLiar(({ method, params }) =>
    method === 'eth_getTransactionCount' && params?.[1] === 'pending' ? { result: null } : undefined,
  )
  const { id } = await post(6n * ether)
  await replace(id, 9n * ether)
  expect((await dryRun()).reserved_cost).toBe(`${9n * ether + fee}`)
  await expect(replace(id, 10n * ether)).rejects.toMatchObject({ status: 400, details: [{ path: '/body/value' }] })
  await cancel(id)
  expect((await dryRun()).reserved_cost).toBe('0')
})

test('does not count the cost of a mined transaction twice before its receipt is seen', async () => {
  const { chain, proxy, account, post, refusal } = await start(10n * ether)
  const { id } = await post(6n * ether)
  await until(
    'the node has it',
    async () => (await account.transactions()).find((one) => one.id === id)?.status === 'submitted',
  )
  await proxy.setFault({ kind: 'null_result', methods: ['eth_getTransactionReceipt'] })
  await chain.mine()
  // The balance is below 4 ETH now. The 6 ETH stay reserved until the service reads the new nonce and balance.
  await until('the balance of a second ago is forgotten', async () => (await refusal(2n * ether)) === undefined)
  expect((await account.transactions()).find((one) => one.id === id)?.status).toBe('submitted')
})

test('warns of likely causes of delay, in a dry run, when sending, and in a repeated response', async () => {
  const policies = { gas_price_cap: `${gwei / 2n}`, min_balance: `${9n * ether}` }
  const { chain, client, post, dryRun, path } = await start(10n * ether, policies)
  await chain.setBaseFee(2n * gwei)
  await chain.mine()
  await chain.setBaseFee(2n * gwei)
  const unpriced = { max_fee_per_gas: null, max_priority_fee_per_gas: null }
  const codes = ['price_below_base_fee', 'cap_below_base_fee', 'price_limited_by_cap', 'low_balance_after']
  expect((await dryRun({ ...unpriced, value: `${ether}` })).warnings.map(({ code }) => code)).toEqual(codes)
  const sent = await post(ether, unpriced, 'one')
  expect(sent.warnings?.map(({ code }) => code)).toEqual(codes)
  expect(await post(ether, unpriced, 'one')).toEqual(sent)
  const { data } = await client().get(onePath, { path: { ...path, transaction_id: sent.id } })
  expect(data).not.toHaveProperty('warnings')
})

test('warns of a long queue', async () => {
  const { account, dryRun } = await start(10_000n * ether)
  await account.send(99)
  expect((await dryRun()).warnings).toEqual([])
  await account.send(1)
  expect((await dryRun()).warnings).toMatchObject([{ code: 'long_queue', message: expect.stringContaining('100') }])
})

test('warns of an accepted transaction that comes first and waits', async () => {
  const { chain, account, post, dryRun } = await start(10n * ether)
  await chain.setBaseFee(2n * gwei)
  await chain.mine()
  await post(1n, { max_fee_per_gas: '1', max_priority_fee_per_gas: '1' })
  await until('it waits', async () => (await account.transactions())[0]?.wait_reason === 'fee_too_low')
  const high = { max_fee_per_gas: `${5n * gwei}`, max_priority_fee_per_gas: '1' }
  const about = { code: 'earlier_waits', wait_reason: 'earlier_nonce' }
  expect((await dryRun(high)).warnings).toEqual([{ ...about, message: expect.stringContaining('with nonce 0') }])
  expect((await post(1n, high)).warnings).toMatchObject([about])
})
