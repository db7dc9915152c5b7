import { Interface, Transaction } from 'ethers'
import { expect, test } from 'vitest'
import type { RelayerPoliciesInput, SendTransactionRequest } from '../../client/index.ts'
import { testRig } from '../support/test-rig.ts'

const relayerPath = '/api/v1/relayers/{relayer_id}'
const receiver = `0x${'5a'.repeat(20)}`
/** On Arc the coin USDC is also an ERC-20 token with 6 decimals here. */
const usdc = '0x3600000000000000000000000000000000000000'
const coinToken = { address: usdc, decimals: 6 }
const erc20 = new Interface(['function transfer(address, uint256)', 'function burn(uint256)'])
const coins = (amount: number) => ({ to: receiver, value: `${BigInt(amount) * 10n ** 18n}`, data: null })
const tokens = (amount: number) => ({
  to: usdc,
  value: '0',
  data: erc20.encodeFunctionData('transfer', [receiver, BigInt(amount) * 10n ** 6n]),
})
const six = (amount: number) => `${amount}000000`

/** A relayer on a chain whose coin is a token. The token's code returns true to every call. */
async function start(policies: RelayerPoliciesInput, balance = 1_000n) {
  const rig = await testRig({ chain: { noMining: true } })
  await rig.chain.rpc('anvil_setCode', [usdc, '0x600160005260206000f3'])
  const client = rig.client()
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { coin_token: coinToken },
  })
  const account = await rig.addAccount({ policies })
  await rig.chain.setBalance(account.address, balance * 10n ** 18n)
  const path = { relayer_id: account.relayer_id }
  return {
    ...rig,
    account,
    path,
    client,
    /** The status, and the first reason of a refusal. */
    send: (body: SendTransactionRequest) =>
      client.post(`${relayerPath}/transactions`, { path, body: { gas_limit: 60_000, ...body } }).then(
        () => [201],
        ({ status, details }) => [status, details?.[0]?.path],
      ),
  }
}

test('counts a value and a call of the token as one amount for token_limits', async () => {
  const tokenLimits = [{ asset: usdc, max_amount_per_transaction: six(5), max_amount_per_day: six(8) }]
  const { send } = await start({ token_limits: tokenLimits })
  const refused = [403, 'policies/token_limits']
  expect(await send(coins(90))).toEqual(refused)
  expect(await send(tokens(90))).toEqual(refused)
  // A part of the token's smallest unit counts as a whole one.
  expect(await send({ ...coins(5), value: `${5n * 10n ** 18n + 1n}` })).toEqual(refused)
  expect(await send(coins(5))).toEqual([201])
  expect(await send(tokens(4))).toEqual(refused)
  expect(await send(tokens(3))).toEqual([201])
  expect(await send({ ...coins(0), value: '1' })).toEqual(refused)
  expect(await send({ to: usdc, value: '0', data: erc20.encodeFunctionData('burn', [1]) })).toEqual(refused)
})

test('counts a call of the token for the limits of the value', async () => {
  const { send } = await start({ max_value: coins(5).value, max_value_per_day: coins(8).value })
  expect(await send(tokens(6))).toEqual([403, 'policies/max_value'])
  expect(await send(tokens(5))).toEqual([201])
  expect(await send(coins(4))).toEqual([403, 'policies/max_value_per_day'])
  expect(await send(coins(3))).toEqual([201])
  expect(await send(tokens(1))).toEqual([403, 'policies/max_value_per_day'])
  expect(await send({ to: usdc, value: '0', data: erc20.encodeFunctionData('burn', [1]) })).toEqual([
    403,
    'policies/max_value',
  ])
})

test('accepts exactly what both limits leave of 60 concurrent requests in both views', async () => {
  const { send } = await start({
    max_value_per_day: coins(25).value,
    token_limits: [{ asset: usdc, max_amount_per_day: six(20) }],
  })
  const made = await Promise.all(Array.from({ length: 60 }, (_, index) => send(index % 2 === 0 ? coins(1) : tokens(1))))
  expect(made.filter(([status]) => status === 201)).toHaveLength(20)
  expect(made.filter(([status]) => status === 403)).toHaveLength(40)
})

test('counts it for a pool, and for a signed transaction', async () => {
  const { client, path } = await start({ max_value: coins(5).value })
  const { relayer_id } = path
  await client.post('/api/v1/pools', {
    body: { id: 'payouts', network: 'local', relayer_ids: [relayer_id], policies: { max_value: coins(2).value } },
  })
  const sends = (body: SendTransactionRequest) =>
    client.post('/api/v1/pools/{pool_id}/transactions', { path: { pool_id: 'payouts' }, body })
  await expect(sends({ gas_limit: 60_000, ...tokens(3) })).rejects.toMatchObject({
    status: 403,
    details: [{ path: 'pool/policies/max_value' }],
  })
  await sends({ gas_limit: 60_000, ...tokens(2) })
  const signs = (amount: number) => {
    const { to, data } = tokens(amount)
    const fields = { chainId: 31_337, nonce: 7, gasLimit: 60_000, maxFeePerGas: 1, maxPriorityFeePerGas: 1, type: 2 }
    const unsignedTransaction = Transaction.from({ to, data, ...fields }).unsignedSerialized
    return client.post(`${relayerPath}/sign-transaction`, { path, body: { unsigned_transaction: unsignedTransaction } })
  }
  await expect(signs(6)).rejects.toMatchObject({ status: 403, details: [{ path: 'policies/max_value' }] })
  await signs(5)
})

test('reserves what a call of the token will take, so that the balance is spent once', async () => {
  const { send } = await start({}, 100n)
  expect(await send(tokens(60))).toEqual([201])
  expect(await send(coins(60))).toEqual([400, '/body/value'])
  expect(await send(tokens(60))).toEqual([400, '/body/value'])
  expect(await send(coins(30))).toEqual([201])
})

test('sweeps and funds the coin where its token is named', async () => {
  const { client, path, account, chain, addAccount } = await start({}, 100n)
  const treasury = await addAccount()
  const funding = {
    treasury_id: treasury.relayer_id,
    asset: usdc,
    min_balance: six(5),
    target_balance: six(9),
    max_amount_per_day: six(50),
  }
  const { data } = await client.put(`${relayerPath}/funding`, {
    path,
    body: { ...funding, max_fee_per_gas: '100000000000' },
  })
  expect(data.funding).toMatchObject({ asset: 'coin', min_balance: coins(5).value, target_balance: coins(9).value })
  // In wei it would be above any amount.
  const most = `${2n ** 256n - 1n}`
  const unlimited = { ...funding, max_amount_per_day: most, max_fee_per_gas: '100000000000' }
  const answer = await client.put(`${relayerPath}/funding`, { path, body: unlimited })
  expect(answer.data).toMatchObject({ funding: { max_amount_per_day: most }, usage: { limit: most } })
  const { data: swept } = await client.post(`${relayerPath}/sweep`, {
    path,
    body: { to: receiver, asset: usdc, keep_amount: six(7) },
  })
  expect(swept).toMatchObject({ to: receiver, data: null })
  await account.finished(chain.mine)
  expect(BigInt(await chain.rpc<string>('eth_getBalance', [account.address, 'latest']))).toBe(7n * 10n ** 18n)
})
