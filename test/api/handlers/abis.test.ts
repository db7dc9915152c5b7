import { Interface } from 'ethers'
import { expect, test } from 'vitest'
import type { SendTransactionRequest } from '../../../client/index.ts'
import { counterAbi, counterBytecode } from '../../support/counter.ts'
import { testRig } from '../../support/test-rig.ts'

const path = '/api/v1/relayers/{relayer_id}/transactions'
const encoder = new Interface(counterAbi)

async function start() {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  await account.send(1, { to: null, data: counterBytecode })
  await account.finished(rig.chain.mine)
  const to = (await account.transactions())[0]?.receipt?.contract_address as string
  const client = rig.client()
  const its = { relayer_id: account.relayer_id }
  return {
    ...rig,
    account,
    to,
    client,
    register: (body: object = {}) =>
      client.post('/api/v1/abis', {
        body: { id: 'counter', network: 'local', address: to, name: 'Counter', abi: [...counterAbi], ...body },
      }),
    send: async (body: SendTransactionRequest) => (await client.post(path, { path: its, body: { to, ...body } })).data,
    detailsOf: (body: SendTransactionRequest) =>
      client.post(path, { path: its, body: { to, ...body } }).then(
        () => 'accepted',
        (error) => error.details[0].message,
      ),
    dryRun: async (body: SendTransactionRequest) =>
      (await client.post(`${path}/dry-run`, { path: its, body: { to, ...body } })).data,
    explain: async (transactionId: string) =>
      (
        await client.get('/api/v1/transactions/{transaction_id}/explanation', {
          path: { transaction_id: transactionId },
        })
      ).data,
  }
}

test('a registered ABI decodes calls and errors of data that is sent without one', async () => {
  const { account, chain, register, send, detailsOf, dryRun, explain, client } = await start()
  const data = encoder.encodeFunctionData('set', [7])
  const fail = { data: encoder.encodeFunctionData('fail') }
  expect((await send({ data })).call).toBeNull()
  expect(await detailsOf(fail)).toContain('unknown custom error')

  await register()
  const call = { function: 'set(uint256)', args: ['7'] }
  const accepted = await send({ data })
  expect([accepted.call, (await dryRun({ data })).call, (await explain(accepted.id)).call]).toEqual([call, call, call])
  const { data: answer } = await client.post(`${path}/batch`, {
    path: { relayer_id: account.relayer_id },
    body: { transactions: [{ to: accepted.to, data }] },
  })
  expect(answer[0]?.call).toEqual(call)
  expect(await detailsOf(fail)).toBe('would revert: execution reverted: Broke(why: 7)')
  await send({ ...fail, gas_limit: 100_000 })
  await account.finished(chain.mine)
  const [failed] = await account.transactions()
  expect([failed?.status, failed?.error?.message, failed?.call?.function]).toEqual([
    'failed',
    'Broke(why: 7)',
    'fail()',
  ])
})

test('a replacement by the same data stays decoded', async () => {
  const { send, client, account, to: contract } = await start()
  const { id, to, data } = await send({ to: contract, call: { function: 'set(uint256)', args: ['1'] } })
  const replaced = await client.put(`${path}/{transaction_id}`, {
    path: { relayer_id: account.relayer_id, transaction_id: id },
    body: { to, data, max_fee_per_gas: '30000000000', max_priority_fee_per_gas: '2000000000' },
  })
  expect(replaced.data.call).toEqual({ function: 'set(uint256)', args: ['1'] })
})

test('ABIs are listed, shown as human-readable entries, refused twice, and deleted', async () => {
  const { register, client, to } = await start()
  const entries = [
    'constructor(address owner)',
    'receive() external payable',
    {
      type: 'function',
      name: 'set',
      stateMutability: 'nonpayable',
      inputs: [{ name: 'value', type: 'uint256' }],
      outputs: [],
    },
    'error Broke(uint256 why)',
    'event Set(uint256 indexed value)',
  ]
  const { data: made } = await register({ abi: entries })
  const listed = { id: 'counter', network: 'local', address: to, name: 'Counter', created_at: expect.any(String) }
  expect(made).toEqual({
    ...listed,
    abi: ['function set(uint256 value)', 'error Broke(uint256 why)', 'event Set(uint256 indexed value)'],
  })
  const its = { path: { abi_id: 'counter' } }
  expect([(await client.get('/api/v1/abis', {})).data, (await client.get('/api/v1/abis/{abi_id}', its)).data]).toEqual([
    [listed],
    made,
  ])
  const refusal = (body: object) =>
    register(body).then(
      () => 'accepted',
      ({ status, details }) => [status, details[0].path, details[0].message],
    )
  expect(await refusal({})).toEqual([409, '/body/id', 'an ABI with this id already exists'])
  expect(await refusal({ id: 'other' })).toEqual([
    409,
    '/body/address',
    'this contract has an ABI already; delete that first',
  ])
  expect(await refusal({ id: 'other', network: 'nowhere' })).toEqual([400, '/body/network', 'no network has this name'])
  const other = { id: 'other', address: `0x${'11'.repeat(20)}` }
  expect(await refusal({ ...other, abi: ['function f(uint8['] })).toEqual([
    400,
    '/body/abi/0',
    'must be a function, an error or an event by the contract ABI specification',
  ])
  expect(await refusal({ ...other, abi: ['function f(uint8[99999][99999] a)'] })).toEqual([
    400,
    '/body/abi/0',
    'has arrays of more than 4096 members of fixed number',
  ])
  await client.delete('/api/v1/abis/{abi_id}', its)
  await expect(client.get('/api/v1/abis/{abi_id}', its)).rejects.toMatchObject({ status: 404 })
  expect(await refusal({})).toBe('accepted')
})

test('the ABIs of a network are deleted with it', async () => {
  const { register, client, chain } = await start()
  await client.post('/api/v1/networks', {
    body: { name: 'spare', network_type: 'evm', chain_id: chain.chain_id, rpc_urls: [chain.url] },
  })
  await register({ network: 'spare' })
  await register({ id: 'kept' })
  await client.delete('/api/v1/networks/{network_id}', { path: { network_id: 'evm:spare' } })
  expect((await client.get('/api/v1/abis', {})).data.map(({ id }) => id)).toEqual(['kept'])
})
