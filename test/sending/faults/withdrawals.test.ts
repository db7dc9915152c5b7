import { parseTransaction } from 'viem'
import { expect, onTestFinished, test } from 'vitest'
import { startAnvil } from '../../support/anvil.ts'
import { testLiar } from '../../support/liar.ts'
import type { Account, Rig } from '../../support/rig.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const gwei = 10n ** 9n
const hex = (number: number | bigint) => `0x${number.toString(16)}`
const transaction = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const explain = ({ client }: Rig, transactionId: string) => client().transactions.getExplanation(transactionId)
const firstOf = async (account: Account) => (await account.transactions())[0]

/** A rollup: a transfer to the account itself takes `required` gas, and a node refuses less. */
async function rollup(policies = {}) {
  const rig = await testRig({ chain: { noMining: true } })
  const node = await testLiar(rig.chain)
  const account = await rig.addAccount({ policies, rpc_urls: [node.url] })
  /** `rises`: what is required from the moment on at which the node gets the first cancellation. */
  const state = { required: 50_000, rises: 0, fails: false, signed: [] as ReturnType<typeof parseTransaction>[] }
  node.lie = (method, [param]) => {
    const { from, to } = (param ?? {}) as { from?: string; to?: string }
    if (method === 'eth_estimateGas' && from === to && from === account.address) {
      return state.fails ? new Error('Service unavailable') : hex(state.required)
    }
    if (method !== 'eth_sendRawTransaction') return undefined
    const signed = parseTransaction(param as `0x${string}`)
    state.signed.push(signed)
    const isOwn = signed.to?.toLowerCase() === account.address
    if (isOwn) state.required = Math.max(state.required, state.rises)
    return isOwn && Number(signed.gas) < state.required ? new Error('intrinsic gas too low') : undefined
  }
  return { rig, node, account, state }
}

test('H9: signs no cancellation above the price that was confirmed, and says how to raise it', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  const [{ id = '' } = {}] = await account.send(1)
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  const { options } = await explain(rig, id)
  const price = BigInt(options.find(({ operation }) => operation === 'cancelTransaction')?.max_fee_per_gas as string)
  const path = { relayer_id: account.relayer_id, transaction_id: id }
  const cancel = (query: { max_fee_per_gas?: string }) => rig.client().delete(transaction, { path, query })
  await expect(cancel({ max_fee_per_gas: '7' })).rejects.toMatchObject({
    status: 409,
    details: [{ path: '/query/max_fee_per_gas', message: expect.stringContaining('Nothing was changed') }],
  })
  expect((await firstOf(account))?.is_canceling).toBeFalsy()
  // The market rises between the confirmation and the signature.
  await rig.chain.setBaseFee(price * 4n)
  await rig.chain.mine()
  await cancel({ max_fee_per_gas: `${price}` })
  await until(
    'it waits',
    async () => (await explain(rig, id)).wait_reason === 'fee_too_low',
    async () => {
      rig.clock.passed_ms += 60_000
      await rig.chain.mine()
    },
  )
  const { data: attempts } = await rig.client().get(`${transaction}/attempts`, { path })
  for (const attempt of attempts.filter(({ purpose }) => purpose === 'cancel'))
    expect(BigInt(attempt.max_fee_per_gas ?? 0)).toBeLessThanOrEqual(price)
  const { suggestions, options: again } = await explain(rig, id)
  expect(suggestions.map(({ operation }) => operation)).toEqual(['cancelTransaction'])
  // At which price it would be signed: who confirms that gives it as the ceiling.
  expect(again.map(({ operation, max_fee_per_gas: next }) => [operation, BigInt(next ?? 0) > price])).toEqual([
    ['cancelTransaction', true],
  ])
  await expect(cancel({ max_fee_per_gas: `${price}` })).rejects.toMatchObject({ status: 409 })
  await cancel({})
  await account.finished(rig.chain.mine)
  expect(await firstOf(account)).toMatchObject({ status: 'canceled' })
})

test('H2: estimates the gas of a cancellation again, with a margin, when the requirement has risen', async () => {
  const { rig, account, state } = await rollup()
  const [{ id = '' } = {}] = await account.send(1, { gas_limit: 100_000 })
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  // Before a node has it, more is required.
  state.rises = 56_000
  await account.cancel(id)
  await until('the cancellation is signed', () => state.signed.length > 1)
  expect(state.signed[1]?.gas).toBe(55_000n)
  await rig.chain.dropAll()
  const isEnough = () => Number(state.signed.at(-1)?.gas) >= 56_000
  await until('it is signed with enough gas', isEnough, async () => {
    rig.clock.passed_ms += 5_000
    await rig.chain.mine()
  })
  await account.finished(rig.chain.mine)
  expect(await firstOf(account)).toMatchObject({ status: 'canceled' })
})

test('H2: signs no cancellation by a failed estimate where the rules of the chain do not fix the gas', async () => {
  const rig = await testRig()
  const chain = await startAnvil({ noMining: true, args: ['--chain-id', '31338'] })
  onTestFinished(() => chain.stop())
  const node = await testLiar(chain)
  const client = rig.client()
  await client.post('/api/v1/networks', {
    body: { name: 'rollup', network_type: 'evm', chain_id: 31_338, rpc_urls: [node.url], required_confirmations: 1 },
  })
  const { data: signer } = await client.post('/api/v1/signers', { body: { type: 'generated' } })
  const { data: relayer } = await client.post('/api/v1/relayers', {
    body: { name: 'r', network: 'rollup', network_type: 'evm', paused: false, signer_id: signer.id, policies: {} },
  })
  await chain.setBalance(relayer.address, 10n ** 20n)
  let fails = true
  let signed = 0
  node.lie = (method) => {
    if (method === 'eth_sendRawTransaction') signed += 1
    return method === 'eth_estimateGas' && fails ? new Error('Service unavailable') : undefined
  }
  const relayerId = relayer.id
  const { data: sent } = await client.post('/api/v1/relayers/{relayer_id}/transactions', {
    path: { relayer_id: relayerId },
    body: { to: `0x${'5a'.repeat(20)}`, value: '1', gas_limit: 21_000 },
  })
  const path = { relayer_id: relayerId, transaction_id: sent.id }
  const get = async () => (await client.get(transaction, { path })).data
  await until('a node has it', async () => (await get()).status === 'submitted')
  await client.delete(transaction, { path })
  const why = 'the gas of the transfer that uses its nonce cannot be estimated'
  await until('it says what is missing', async () => (await get()).status_reason?.includes(why) ?? false)
  expect(signed).toBe(1)
  fails = false
  await until(
    'it is canceled',
    async () => (await get()).status === 'canceled',
    async () => {
      rig.clock.passed_ms += 16_000
      if (signed > 1) await chain.mine()
    },
  )
})

test('H3: a cancellation pays no more than max_fee_per_transaction, at the gas limit that is signed', async () => {
  const limit = 30_000n * 3n * gwei
  const { rig, account, state } = await rollup({ max_fee_per_transaction: limit.toString() })
  state.required = 200_000
  const [{ id = '' } = {}] = await account.send(1, { gas_limit: 30_000, speed: 'fast' })
  await until('a node has it', async () => (await firstOf(account))?.status === 'submitted')
  await account.cancel(id)
  await until('it says why it waits', async () => (await explain(rig, id)).wait_reason === 'fee_budget')
  for (const { gas = 0n, maxFeePerGas = 0n } of state.signed) expect(gas * maxFeePerGas).toBeLessThanOrEqual(limit)
  // The suggestion is accepted as it stands, and helps.
  const [advice] = (await explain(rig, id)).suggestions
  const signed = state.signed.length
  expect(advice).toMatchObject({ operation: 'updateRelayer' })
  await rig.client().patch('/api/v1/relayers/{relayer_id}', {
    path: { relayer_id: account.relayer_id },
    body: advice?.body as never,
  })
  await until(
    'the cancellation is signed',
    () => state.signed.length > signed,
    async () => {
      rig.clock.passed_ms += 5_000
    },
  )
  await account.finished(async () => {
    rig.clock.passed_ms += 5_000
    await rig.chain.mine()
  })
  expect(await firstOf(account)).toMatchObject({ status: 'canceled' })
})

test('warns of a call to an address where no contract is', async () => {
  const { rig, account } = await rollup()
  const codes = async (body: { data?: string; value: string }) => {
    const path = { relayer_id: account.relayer_id }
    const to = `0x${'5a'.repeat(20)}`
    const { data } = await rig
      .client()
      .post('/api/v1/relayers/{relayer_id}/transactions/dry-run', { path, body: { to, ...body } })
    return data.warnings.map(({ code }) => code)
  }
  expect(await codes({ value: '0', data: '0xa9059cbb' })).toContain('receiver_has_no_code')
  expect(await codes({ value: '1' })).not.toContain('receiver_has_no_code')
  rig.clock.passed_ms += 120_000
  await rig.chain.rpc('anvil_setCode', [`0x${'5a'.repeat(20)}`, '0x00'])
  expect(await codes({ value: '0', data: '0xa9059cbb' })).not.toContain('receiver_has_no_code')
})

test('warns of a relayer whose account has code', async () => {
  const { rig, account } = await rollup()
  await rig.chain.rpc('anvil_setCode', [account.address, '0x00'])
  const { data } = await rig.client().post('/api/v1/relayers/{relayer_id}/transactions', {
    path: { relayer_id: account.relayer_id },
    body: { to: `0x${'5a'.repeat(20)}`, value: '1', gas_limit: 21_000 },
  })
  expect(data.warnings?.map(({ code }) => code)).toContain('account_has_code')
})
