import { Interface } from 'ethers'
import { expect, test } from 'vitest'
import type {
  SendTransactionRequest,
  SendTransactionWithCallRequest,
  SendTransactionWithDataRequest,
} from '../../client/index.ts'
import { counterAbi, counterBytecode } from '../support/counter.ts'
import { rowsOf } from '../support/service-database.ts'
import { testRig } from '../support/test-rig.ts'

const path = '/api/v1/relayers/{relayer_id}/transactions'
const abi = counterAbi as unknown as SendTransactionWithCallRequest['call']['abi'] & object
const data = (name: string, args: unknown[] = []) => new Interface(counterAbi).encodeFunctionData(name, args)

async function start() {
  const rig = await testRig({ chain: { noMining: true } })
  const account = await rig.addAccount()
  await account.send(1, { to: null, data: counterBytecode })
  await account.finished(rig.chain.mine)
  const to = (await account.transactions())[0]?.receipt?.contract_address as string
  const send = async (body: Partial<SendTransactionWithCallRequest> | Partial<SendTransactionWithDataRequest>) => {
    const { data: answer, error } = await rig
      .client()
      .post(path, { path: { relayer_id: account.relayer_id }, body: { to, ...body } as SendTransactionRequest })
      .then(
        ({ data }) => ({ data, error: undefined }),
        (error) => ({ data: undefined, error }),
      )
    return { answer, details: error?.details }
  }
  return { ...rig, account, to, send }
}

test('sends a call by name, and shows it decoded in every answer', async () => {
  const { chain, account, to, send, client } = await start()
  const { answer } = await send({ call: { function: 'set(uint256)', args: ['7'] } })
  const call = { function: 'set(uint256)', args: ['7'] }
  expect([answer?.data, answer?.call]).toEqual([data('set', [7]), call])
  await account.finished(chain.mine)
  const [listed] = await account.transactions()
  const one = { relayer_id: account.relayer_id, transaction_id: answer?.id as string }
  const { data: read } = await client().get(`${path}/{transaction_id}`, { path: one })
  expect([listed?.call, read.call, read.status]).toEqual([call, call, 'confirmed'])
  expect(BigInt(await chain.rpc<string>('eth_call', [{ to, data: data('get') }, 'latest']))).toBe(7n)
})

test('stores the decoded call with the data, and decodes nothing when it is read', async () => {
  const { account, send, client, ...rig } = await start()
  const { answer } = await send({ call: { function: 'set(uint256)', args: ['7'] } })
  await rowsOf(rig, "UPDATE transactions SET fragments = '[]'")
  const one = { relayer_id: account.relayer_id, transaction_id: answer?.id as string }
  const [listed] = await account.transactions()
  const { data: read } = await client().get(`${path}/{transaction_id}`, { path: one })
  const { data: explained } = await client().get('/api/v1/transactions/{transaction_id}/explanation', { path: one })
  const call = { function: 'set(uint256)', args: ['7'] }
  expect([listed?.call, read.call, explained.call]).toEqual([call, call, call])
})

test('decodes a custom error of the ABI before sending, in a dry run and in the chain', async () => {
  const { chain, account, to, send, client } = await start()
  const fail = { call: { function: 'fail', abi } }
  expect((await send(fail)).details).toMatchObject([
    { path: '/body', message: 'would revert: execution reverted: Broke(why: 7)' },
  ])
  const unknown = await send({ call: { function: 'fail()' } })
  expect(unknown.details[0].message).toMatch(
    /^would revert: execution reverted: unknown custom error 0x[0-9a-f]{8} \(32 bytes of arguments\)$/,
  )
  const { data: dry } = await client().post(`${path}/dry-run`, {
    path: { relayer_id: account.relayer_id },
    body: { to, ...fail },
  })
  expect(dry.refusals.map(({ details }) => details[0]?.message)).toEqual([
    'would revert: execution reverted: Broke(why: 7)',
  ])
  await send({ ...fail, gas_limit: 100_000 })
  await account.finished(chain.mine)
  const [failed] = await account.transactions()
  expect([failed?.status, failed?.error?.message]).toEqual(['failed', 'Broke(why: 7)'])
})

test('replaces by a call, and refuses a call beside data or without a receiver', async () => {
  const { account, to, send, client } = await start()
  const { answer } = await send({ call: { function: 'set(uint256)', args: ['1'] } })
  const one = { relayer_id: account.relayer_id, transaction_id: answer?.id as string }
  const body = { to, call: { function: 'set', abi, args: ['2'] } }
  const { data: replaced } = await client().put(`${path}/{transaction_id}`, { path: one, body })
  expect([replaced.data, replaced.call?.args]).toEqual([data('set', [2]), ['2']])
  await expect(client().put(`${path}/{transaction_id}`, { path: one, body: { speed: 'fast' } })).rejects.toThrow(
    'body: must have the content',
  )
  expect((await send({ data: '0x', call: { function: 'f()' } } as never)).details).toMatchObject([
    { path: '/body/call', message: 'give at most one of data and call' },
  ])
  expect((await send({ to: null, call: { function: 'f()' } } as never)).details[0].path).toBe('/body/to')
  expect((await send({ call: { function: 'f(bool)', args: ['true'] } })).details[0].path).toBe('/body/call/args/0')
})
