import { expect, test } from 'vitest'
import type { CreateRelayerRequest, SendTransactionRequest } from '../../client/index.ts'
import { testChain } from '../support/chain.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'

const dryPath = '/api/v1/relayers/{relayer_id}/transactions/dry-run'
const sendPath = '/api/v1/relayers/{relayer_id}/transactions'
const to = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const ether = 10n ** 18n

async function start() {
  const chain = await testChain({ noMining: true })
  const { client } = await startTestService()
  const rpcUrls = [chain.url]
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: rpcUrls },
  })
  const add = async (special: Partial<CreateRelayerRequest> = {}) => {
    const { id, address } = await createRelayer(client, special)
    await chain.setBalance(address, ether)
    return id
  }
  const dryRun = async (relayerId: string, body: Partial<SendTransactionRequest>) =>
    (await client.post(dryPath, { path: { relayer_id: relayerId }, body: { to, value: '1', ...body } })).data
  const send = async (relayerId: string, body: Partial<SendTransactionRequest>) =>
    (await client.post(sendPath, { path: { relayer_id: relayerId }, body: { to, value: '1', ...body } })).data
  return { client, chain, add, dryRun, send }
}

test('shows the nonce, gas limit and prices that sending then assigns, and changes nothing', async () => {
  const { client, add, dryRun, send } = await start()
  const relayerId = await add()
  let reserved = 0n
  for (const [nonce, body] of [{ speed: 'fast' as const }, { gas_price: '3000000000', value: '7' }].entries()) {
    const first = await dryRun(relayerId, body)
    expect(await dryRun(relayerId, body)).toEqual(first)
    const { gas_limit, gas_price, max_fee_per_gas, max_priority_fee_per_gas, value, ...sent } = await send(
      relayerId,
      body,
    )
    expect(sent.nonce).toBe(nonce)
    const maxCost = BigInt(value) + BigInt(gas_limit ?? 0) * BigInt(gas_price ?? max_fee_per_gas ?? 0)
    const prices = { gas_price, max_fee_per_gas, max_priority_fee_per_gas }
    const cost = { ...prices, gas_limit, max_cost: `${maxCost}`, balance: `${ether}`, reserved_cost: `${reserved}` }
    const gas = { needed: 21_000, limit: null, creates_account: false }
    const its = { relayer_id: relayerId, call: null, nonce, ...cost, gas }
    expect(first).toEqual({ accepted: true, refusals: [], ...its, warnings: [] })
    reserved += maxCost
  }
  const path = { relayer_id: relayerId }
  const list = await client.get('/api/v1/relayers/{relayer_id}/transactions/', { path })
  expect(list.pagination.total_items).toBe(2)
})

test('lists every refusal, first the one that sending reports', async () => {
  const { add, dryRun } = await start()
  const policies = { whitelist_receivers: [], max_value: '5', max_value_per_day: '5', min_balance: `${2n * ether}` }
  const relayerId = await add({ paused: true, policies })
  const { accepted, refusals, nonce } = await dryRun(relayerId, { value: '6', valid_until: '2020-01-01T00:00:00Z' })
  const told = refusals.map(({ http_status, code, details }) => [http_status, code, details.map(({ path }) => path)])
  expect([accepted, nonce]).toEqual([false, 0])
  expect(told).toEqual([
    [403, 'relayer_paused', []],
    [400, 'invalid_request', ['/body/valid_until']],
    [403, 'policy_violation', ['policies/whitelist_receivers', 'policies/max_value']],
    [403, 'policy_violation', ['policies/min_balance']],
    [403, 'policy_violation', ['policies/max_value_per_day']],
  ])
})

test('reports an unreachable chain, a reverting call and an invalid body', async () => {
  const { add, dryRun, chain } = await start()
  const nothing = {
    nonce: null,
    gas_limit: null,
    gas_price: null,
    max_fee_per_gas: null,
    max_priority_fee_per_gas: null,
  }
  const dead = await add({ custom_rpc_urls: ['http://127.0.0.1:1'] })
  const unknown = { ...nothing, max_cost: null, balance: null, reserved_cost: null, warnings: [] }
  const unreachable = {
    http_status: 503,
    code: 'unavailable',
    message: 'The request cannot be carried out now',
    details: [{ path: 'network' }],
  }
  expect(await dryRun(dead, {})).toMatchObject({ accepted: false, refusals: [unreachable], ...unknown })

  const reverting = `0x${'c0'.repeat(20)}`
  await chain.rpc('anvil_setCode', [reverting, '0x60006000fd'])
  const relayerId = await add()
  const details = [{ path: '/body', message: expect.stringContaining('revert') }]
  const reverts = { http_status: 400, code: 'execution_reverted', details }
  expect(await dryRun(relayerId, { to: reverting })).toMatchObject({
    accepted: false,
    refusals: [reverts],
    ...unknown,
  })
  const poor = { http_status: 400, code: 'insufficient_funds', details: [{ path: '/body/value' }] }
  const tooMuch = { value: `${ether}`, gas_limit: 21_000 }
  expect(await dryRun(relayerId, tooMuch)).toMatchObject({ refusals: [poor], balance: `${ether}`, gas_limit: 21_000 })

  await expect(dryRun(relayerId, { to: null })).rejects.toMatchObject({ status: 400, details: [{ path: '/body/to' }] })
  await expect(dryRun('nobody', {})).rejects.toMatchObject({ message: 'Relayer with ID nobody not found' })
})
