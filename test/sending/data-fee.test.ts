import { expect, onTestFinished, test } from 'vitest'
import { RelayerError, type RelayerPoliciesInput } from '../../client/index.ts'
import { isOpStack } from '../../server/domain/network-defaults.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { compileSolidity } from '../support/solidity.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

const oracle = '0x420000000000000000000000000000000000000F'
const to = `0x${'5a'.repeat(20)}`
/** Of a transfer of coins: 150 bytes and 21,000 gas by the oracle of the test. */
const dataFee = 150n * 10n ** 12n + 21_000n * 10n ** 6n
const network = { path: { network_id: 'evm:local' } }

type Contract = 'GasPriceOracle' | 'OldGasPriceOracle'

async function putOracle(chain: Anvil, contract: Contract) {
  const [{ abi, bytecode }, from] = [compileSolidity('GasPriceOracle.sol', contract), chain.accounts[9]]
  expect(abi).toBeDefined()
  const call = { from: from?.address, data: bytecode }
  await chain.rpc('anvil_setCode', [oracle, await chain.rpc('eth_call', [call, 'latest'])])
}

/** A chain with the oracle, known as one of the OP stack by the network's feature. */
async function opChain(policies: RelayerPoliciesInput = {}, contract: Contract = 'GasPriceOracle') {
  const rig = await testRig({ chain: { noMining: true } })
  await putOracle(rig.chain, contract)
  const client = rig.client()
  await client.patch('/api/v1/networks/{network_id}', { ...network, body: { features: ['op_stack'] } })
  const account = await rig.addAccount({ policies })
  const path = { relayer_id: account.relayer_id }
  const dryRun = async (body: object) =>
    (await client.post('/api/v1/relayers/{relayer_id}/transactions/dry-run', { path, body })).data
  const send = (body: object) => client.post('/api/v1/relayers/{relayer_id}/transactions', { path, body })
  return { rig, client, path, account, dryRun, send }
}

const gas = { gas_limit: 21_000, max_fee_per_gas: '2000000000', max_priority_fee_per_gas: '1000000000' }
const gasFee = 21_000n * 2_000_000_000n
const refusal = (error: unknown) => (error instanceof RelayerError ? `${error.code} ${error.details[0]?.path}` : error)

test('counts the data fee of the OP stack in the cost, the balance, and what unfinished transactions reserve', async () => {
  const { rig, dryRun, send, account } = await opChain()
  const cost = 1n + gasFee + dataFee
  expect(await dryRun({ to, value: '1', ...gas })).toMatchObject({ max_cost: `${cost}`, accepted: true })
  const data = `0x${'ab'.repeat(100)}`
  const longer = await dryRun({ to, value: '1', ...gas, gas_limit: 100_000, data })
  expect(BigInt(longer.max_cost ?? 0)).toBe(1n + 100_000n * 2_000_000_000n + 250n * 10n ** 12n + 100_000n * 10n ** 6n)

  await rig.chain.setBalance(account.address, cost - 1n)
  await until('the balance is read again', async () => !(await dryRun({ to, value: '1', ...gas })).accepted)
  expect(await send({ to, value: '1', ...gas }).catch(refusal)).toContain('insufficient_funds')
  await rig.chain.setBalance(account.address, 2n * cost - 1n)
  expect(await send({ to, value: '1', ...gas })).toMatchObject({ data: { status: 'pending' } })
  expect(await send({ to, value: '1', ...gas }).catch(refusal)).toContain('insufficient_funds')
  expect(await dryRun({ to, value: '1', ...gas })).toMatchObject({ reserved_cost: `${cost}` })
})

test('counts the data fee in max_fee_per_transaction and max_fee_per_day', async () => {
  const { send, client, path } = await opChain()
  const set = (policies: RelayerPoliciesInput) =>
    client.patch('/api/v1/relayers/{relayer_id}', { path, body: { policies } })
  await set({ max_fee_per_transaction: `${gasFee + dataFee - 1n}` })
  expect(await send({ to, value: '1', ...gas }).catch(refusal)).toBe(
    'policy_violation policies/max_fee_per_transaction',
  )
  const cost = gasFee + dataFee
  await set({ max_fee_per_transaction: `${cost}`, max_fee_per_day: `${cost * 2n - 1n}` })
  expect(await send({ to, value: '1', ...gas })).toMatchObject({ data: { status: 'pending' } })
  expect(await send({ to, value: '1', ...gas }).catch(refusal)).toBe('policy_violation policies/max_fee_per_day')
})

test('counts what was paid for max_fee_per_day when the chain charged more for the data than it had told', async () => {
  const policies = { max_fee_per_day: `${(gasFee + dataFee) * 3n}` }
  const { rig, send } = await opChain(policies)
  rig.proxy.setLiar(async (call, honest) => {
    if (call.method !== 'eth_getTransactionReceipt') return undefined
    const { result } = await honest()
    return { result: result && { ...result, l1Fee: `0x${(dataFee * 4n + gasFee).toString(16)}` } }
  })
  const { data: sent } = await send({ to, value: '1', ...gas })
  expect(await send({ to, value: '2', ...gas })).toMatchObject({ data: { status: 'pending' } })
  await until('both are confirmed', async () => {
    await rig.chain.mine()
    const { data } = await rig.client().get('/api/v1/relayers/{relayer_id}/transactions/', {
      path: { relayer_id: sent.relayer_id },
      query: { status: ['confirmed'] },
    })
    return data.length === 2
  })
  expect(await send({ to, value: '3', ...gas }).catch(refusal)).toBe('policy_violation policies/max_fee_per_day')
})

test('counts the fee of the operator in what was paid, as the oracle tells it for the used gas', async () => {
  const { rig, send, account } = await opChain()
  rig.proxy.setLiar(async (call, honest) => {
    if (call.method !== 'eth_getTransactionReceipt') return undefined
    const { result } = await honest()
    const fees = { l1Fee: '0x10', operatorFeeScalar: '0xf4240', operatorFeeConstant: '0x0' }
    return { result: result && { ...result, ...fees } }
  })
  await send({ to, value: '1', ...gas })
  await account.finished(rig.chain.mine)
  const [{ receipt } = {}] = await account.transactions()
  const { gas_used, effective_gas_price, l1_fee, fee } = receipt ?? {}
  expect(l1_fee).toBe('16')
  const ofGas = BigInt(gas_used ?? 0) * BigInt(effective_gas_price ?? 0)
  expect(BigInt(fee ?? 0)).toBe(ofGas + 16n + BigInt(gas_used ?? 0) * 10n ** 6n)
})

test('answers 503 while the oracle does not tell the fee', async () => {
  const { rig, send } = await opChain()
  await rig.chain.rpc('anvil_setCode', [oracle, '0x'])
  expect(await send({ to, value: '1', ...gas }).catch(refusal)).toBe('unavailable network')
})

test('charges no data fee on a chain that is known by its id and has no oracle', async () => {
  const chainId = 7_777_777
  const chain = await startAnvil({ noMining: true, args: ['--chain-id', `${chainId}`] })
  onTestFinished(() => chain.stop())
  const client = (await testRig({ chain: { noMining: true } })).client()
  await client.post('/api/v1/networks', {
    body: { name: 'known', network_type: 'evm', chain_id: chainId, rpc_urls: [chain.url] },
  })
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const { data: relayer } = await client.post('/api/v1/relayers', {
    body: { name: 'r', network: 'known', network_type: 'evm', paused: false, signer_id: signer.id, policies: {} },
  })
  const path = { relayer_id: relayer.id }
  const dryRun = async () =>
    (
      await client.post('/api/v1/relayers/{relayer_id}/transactions/dry-run', {
        path,
        body: { to, value: '1', ...gas },
      })
    ).data
  await chain.setBalance(relayer.address, 1n + gasFee)
  expect(await dryRun()).toMatchObject({ max_cost: `${1n + gasFee}`, accepted: true })
  await putOracle(chain, 'GasPriceOracle')
  expect(await dryRun()).toMatchObject({ max_cost: `${1n + gasFee + dataFee}`, accepted: false })
})

test('takes no chain of another design for one of the OP stack', () => {
  const known = (chainId: number) => isOpStack({ chain_id: chainId, features: [] })
  // Of ZKsync: Abstract, Zero Network; of Arbitrum: Degen, Arbitrum One; Mantle, whose oracle tells the fee in another coin; Alyx.
  expect([2_741, 543_210, 666_666_666, 42_161, 5_000, 135].filter(known)).toEqual([])
  expect([10, 8_453, 57_073].filter(known)).toHaveLength(3)
})

test('counts the fee of the dearest data by an oracle from before Fjord', async () => {
  const { dryRun } = await opChain({}, 'OldGasPriceOracle')
  const data = '0x00'
  const fee = 151n * 16n * 10n ** 9n
  expect(await dryRun({ to, value: '1', ...gas, gas_limit: 30_000, data })).toMatchObject({
    max_cost: `${1n + 30_000n * 2_000_000_000n + fee}`,
  })
})

test('checks no balance on a chain without a native coin', async () => {
  const { rig, client, send, account } = await opChain()
  await client.patch('/api/v1/networks/{network_id}', { ...network, body: { features: ['no_native_coin'] } })
  await rig.chain.setBalance(account.address, 0n)
  expect(await send({ to, value: '1', ...gas })).toMatchObject({
    data: { status: 'pending', warnings: [{ code: 'balance_not_checked' }] },
  })
})
