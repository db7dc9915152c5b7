import { Interface } from 'ethers'
import { expect, test } from 'vitest'
import type { RelayerClient, RelayerPoliciesInput } from '../../client/index.ts'
import { testChain, testFaultProxy } from '../support/chain.ts'
import { type Asked, refusalOf, unsigned } from '../support/policies.ts'
import { createRelayer } from '../support/resources.ts'
import { startTestService } from '../support/service.ts'

const relayerPath = '/api/v1/relayers/{relayer_id}'
const sendPath = '/api/v1/relayers/{relayer_id}/transactions'
const onePath = '/api/v1/relayers/{relayer_id}/transactions/{transaction_id}'
const [to, token] = [`0x${'12'.repeat(20)}`, `0x${'56'.repeat(20)}`]
const erc20 = new Interface(['function transfer(address, uint256)', 'function approve(address, uint256)'])
const [dayMs, stepMs] = [86_400_000, 300_000]
const demo = { relayer_id: 'demo' }

const patch = (client: RelayerClient, policies: RelayerPoliciesInput, path = demo) =>
  client.patch(relayerPath, { path, body: { policies } })

/** Signs without sending, which counts against limits and needs no chain. Returns whether it was signed. */
const signs = async (client: RelayerClient, asked: Asked, path = demo) => {
  const body = { unsigned_transaction: unsigned(asked) }
  return (await refusalOf(client.post('/api/v1/relayers/{relayer_id}/sign-transaction', { path, body }))).length === 0
}
const value = (amount: bigint | number) => ({ value: `${amount}` })

async function startOnChain(clients: 1 | 2 = 1) {
  const chain = await testChain({ noMining: true })
  const proxy = await testFaultProxy(chain)
  const service = await startTestService()
  const others = clients === 2 ? [await startTestService({ DATA_DIR: service.data_dir })] : []
  const { client } = service
  const rpcUrls = [proxy.url]
  await client.patch('/api/v1/networks/{network_id}', {
    path: { network_id: 'evm:local' },
    body: { rpc_urls: rpcUrls },
  })
  const { data } = await client.get(relayerPath, { path: demo })
  await chain.setBalance(data.address, 10n ** 20n)
  return { chain, proxy, service, services: [service, ...others], client }
}

const sends = (client: RelayerClient, amount: number) => {
  const body = { to, value: `${amount}`, gas_limit: 21_000 }
  return client.post(sendPath, { path: demo, body })
}

test('accepts 37 of 100 concurrent requests under a limit for 37, on two services together, and none after a restart', async () => {
  const { services, service, client } = await startOnChain(2)
  await patch(client, { max_value_per_day: '379' })
  const refusals = await Promise.all(
    Array.from({ length: 100 }, (_, index) => {
      const { client } = services[index % services.length] as typeof service
      return refusalOf(sends(client, 10))
    }),
  )
  const accepted = refusals.filter((policies) => policies.length === 0)
  expect(accepted).toHaveLength(37)
  expect(refusals.flat()).toEqual(Array(63).fill('max_value_per_day'))
  const list = await client.get('/api/v1/relayers/{relayer_id}/transactions/', { path: demo })
  expect(list.pagination.total_items).toBe(37)

  for (const { close } of services) await close()
  const again = await startTestService({ DATA_DIR: service.data_dir })
  await expect(sends(again.client, 10)).rejects.toMatchObject({
    status: 403,
    details: [
      {
        path: 'policies/max_value_per_day',
        message: '10 wei is above the remaining 9 wei of the daily limit of 379 wei',
      },
    ],
  })
  expect(await refusalOf(sends(again.client, 9))).toEqual([])
})

test('accepts 37 of 100 concurrent signatures under the same limit, on two services', async () => {
  const first = await startTestService()
  const second = await startTestService({ DATA_DIR: first.data_dir })
  await patch(first.client, { max_value_per_day: '37' })
  const signed = await Promise.all(
    Array.from({ length: 100 }, (_, index) => signs((index % 2 ? first : second).client, value(1))),
  )
  expect(signed.filter(Boolean)).toHaveLength(37)
})

test('counts the last 24 hours: spending leaves the sum one by one, and a clock that goes back frees nothing', async () => {
  const clock = { now_ms: Date.parse('2030-01-01T00:00:00Z') }
  const { client } = await startTestService({}, { now: () => clock.now_ms })
  await patch(client, { max_value_per_day: '100' })
  expect([await signs(client, value(60)), await signs(client, value(41))]).toEqual([true, false])
  clock.now_ms += dayMs / 2
  expect([await signs(client, value(40)), await signs(client, value(1))]).toEqual([true, false])
  clock.now_ms += dayMs / 2 - 1
  expect(await signs(client, value(1))).toBe(false)
  // The oldest step counts as long as any of it does.
  clock.now_ms += stepMs
  expect(await signs(client, value(1))).toBe(false)
  clock.now_ms += 1
  expect([await signs(client, value(61)), await signs(client, value(60))]).toEqual([false, true])
  clock.now_ms -= dayMs / 4
  expect(await signs(client, value(1))).toBe(false)
})

test('counts daily limits separately for each token, each relayer and wei', async () => {
  const { client } = await startTestService()
  const other = `0x${'78'.repeat(20)}`
  const tokenLimits = [
    { asset: token, max_amount_per_transaction: '60', max_amount_per_day: '100' },
    { asset: other, max_amount_per_day: '50' },
  ]
  await patch(client, { max_value_per_day: '10', token_limits: tokenLimits })
  const { id: relayerId } = await createRelayer(client, {
    policies: { max_value_per_day: '10', token_limits: tokenLimits },
  })
  const call = (name: string, amount: number, of = token): Asked => ({
    to: of,
    data: erc20.encodeFunctionData(name, [to, amount]),
  })
  expect(await signs(client, call('transfer', 60))).toBe(true)
  expect(await signs(client, call('approve', 41))).toBe(false)
  expect(await signs(client, call('approve', 40))).toBe(true)
  expect(await signs(client, call('transfer', 1))).toBe(false)
  expect(await signs(client, call('transfer', 0))).toBe(true)
  expect(await signs(client, call('transfer', 50, other))).toBe(true)
  expect(await signs(client, value(10))).toBe(true)
  expect(await signs(client, { ...call('transfer', 0), ...value(1) })).toBe(false)
  expect(await signs(client, { ...call('transfer', 60), ...value(10) }, { relayer_id: relayerId })).toBe(true)
})

test('counts amounts of 256 bits exactly, and does not count refused ones', async () => {
  const { client } = await startTestService()
  const limit = 2n ** 256n - 1n
  await patch(client, { max_value_per_day: limit.toString() })
  expect(await signs(client, value(limit - 1n))).toBe(true)
  expect(await signs(client, value(2))).toBe(false)
  expect([await signs(client, value(1)), await signs(client, value(1))]).toEqual([true, false])
})

test("keeps an account's spending after its relayer is deleted", async () => {
  const { client } = await startTestService()
  const { id: relayerId, signer_id } = await createRelayer(client, { policies: { max_value_per_day: '10' } })
  expect(await signs(client, value(10), { relayer_id: relayerId })).toBe(true)
  await client.delete(relayerPath, { path: { relayer_id: relayerId } })
  const again = await createRelayer(client, { signer_id, policies: { max_value_per_day: '10' } })
  expect(await signs(client, value(1), { relayer_id: again.id })).toBe(false)
})

test('applies a policy and its removal from the response on, in every process', async () => {
  const first = await startTestService()
  const second = await startTestService({ DATA_DIR: first.data_dir })
  for (const [policies, expected] of [
    [{ max_value: '1' }, false],
    [{ max_value: '2' }, true],
    [{ allow_sign_transaction: false }, false],
  ] as const) {
    await patch(first.client, policies)
    expect.soft(await signs(second.client, value(2))).toBe(expected)
  }
})

test('counts the increase of a replacement, and subtracts an unsigned transaction that is canceled', async () => {
  const { client, proxy } = await startOnChain()
  await patch(client, { max_value_per_day: '100' })
  // The first block is compared by one that is refused; after that the sender sees none, and signs nothing.
  expect(await refusalOf(sends(client, 101))).toEqual(['max_value_per_day'])
  await proxy.setFault({ kind: 'internal_error', methods: ['eth_getBlockByNumber'] })
  const { data: sent } = await sends(client, 60)
  const path = { ...demo, transaction_id: sent.id }
  const replace = (amount: number) =>
    refusalOf(client.put(onePath, { path, body: { to, value: `${amount}`, gas_limit: 21_000 } }))
  const room = async (amount: number) => {
    const body = { to, value: `${amount}`, gas_limit: 21_000 }
    const { data } = await client.post('/api/v1/relayers/{relayer_id}/transactions/dry-run', { path: demo, body })
    return data.accepted
  }
  expect(await replace(101)).toEqual(['max_value_per_day'])
  expect([await room(40), await room(41)]).toEqual([true, false])
  expect(await replace(80)).toEqual([])
  expect([await room(20), await room(21)]).toEqual([true, false])
  expect(await replace(10)).toEqual([])
  expect([await room(20), await room(21)]).toEqual([true, false])
  expect(await replace(80)).toEqual([])
  expect([await room(20), await room(21)]).toEqual([true, false])
  expect((await client.delete(onePath, { path })).data.status).toBe('canceled')
  expect([await room(100), await room(101)]).toEqual([true, false])
})

test('does not subtract a signed transaction that is canceled', async () => {
  const { client } = await startOnChain()
  await patch(client, { max_value_per_day: '100' })
  const query = { wait: 'submitted' } as const
  const { data: sent } = await client.post(sendPath, {
    path: demo,
    query,
    body: { to, value: '60', gas_limit: 21_000 },
  })
  await client.delete(onePath, { path: { ...demo, transaction_id: sent.id } })
  expect([await signs(client, value(41)), await signs(client, value(40))]).toEqual([false, true])
})

test('counts a request that is repeated under its idempotency key once', async () => {
  const { client } = await startOnChain()
  await patch(client, { max_value_per_day: '10' })
  const body = { to, value: '10', gas_limit: 21_000 }
  const input = { path: demo, header: { 'Idempotency-Key': 'one' }, body }
  const { data: first } = await client.post(sendPath, input)
  expect((await client.post(sendPath, input)).data).toEqual(first)
  expect(await signs(client, value(1))).toBe(false)
})
