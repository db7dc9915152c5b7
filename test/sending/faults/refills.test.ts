import { expect, test } from 'vitest'
import type { ReplaceFundingRequest } from '../../../client/index.ts'
import type { AnvilOptions } from '../../support/anvil.ts'
import { rowsOf } from '../../support/service-database.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const ether = 10n ** 18n
const base = '/api/v1/relayers/{relayer_id}/funding'
const pool = { path: { pool_id: 'pool' } }
const poolFunding = '/api/v1/pools/{pool_id}/funding'

/** A treasury and a relayer that has one of the two ether that it needs, in a block of its own. */
async function start(chain: AnvilOptions = {}) {
  const rig = await testRig({ chain })
  const treasury = await rig.addAccount()
  const relayer = await rig.addAccount()
  await rig.chain.setBalance(relayer.address, ether)
  await rig.chain.mine(8)
  const path = { relayer_id: relayer.relayer_id }
  const settings: ReplaceFundingRequest = {
    treasury_id: treasury.relayer_id,
    min_balance: `${2n * ether}`,
    target_balance: `${5n * ether}`,
    max_amount_per_day: `${100n * ether}`,
    max_fee_per_gas: '100000000000',
  }
  const stateOf = async (relayerId: string) => (await rig.client().get(base, { path: { relayer_id: relayerId } })).data
  const look = () => rig.client().put(base, { path, body: settings })
  return {
    ...{ rig, treasury, relayer, settings, stateOf, look },
    /** Waits for the refill that is under way, and for the state after it. */
    reaches: (state: string, refills: number) =>
      until(`${state} after ${refills} refills`, async () => {
        const its = await stateOf(relayer.relayer_id)
        return its.status === state && its.refills.length === refills && its.refills.every(({ is_open }) => !is_open)
      }),
  }
}

test('a refill whose block is removed after its watch has ended is sent again, and no second one is', async () => {
  const { rig, treasury, relayer, stateOf, look, reaches } = await start()
  await look()
  await reaches('sufficient', 1)
  rig.clock.passed_ms += 11 * 60_000
  await until('nobody watches the treasury', async () => (await rowsOf(rig, 'SELECT * FROM watches')).length === 0)
  await rig.chain.mine(3)

  await rig.chain.reorg(6)
  expect(BigInt(await rig.chain.rpc<string>('eth_getBalance', [relayer.address, 'latest']))).toBe(ether)
  await until(
    'the relayer has its target',
    async () => BigInt((await stateOf(relayer.relayer_id)).balance ?? 0) >= 5n * ether,
    async () => {
      rig.clock.passed_ms += 1_000
      await look()
      await rig.chain.mine()
    },
  )
  await treasury.finished(rig.chain.mine)
  await reaches('sufficient', 1)
  expect(await treasury.transactions()).toMatchObject([{ status: 'confirmed' }])
  expect(BigInt((await stateOf(relayer.relayer_id)).balance ?? 0)).toBe(5n * ether)
})

test('refills again after a restart of a development chain, whose blocks begin anew', async () => {
  const { rig, treasury, relayer, look, reaches } = await start()
  await look()
  await reaches('sufficient', 1)
  await rig.chain.restart()
  await rig.chain.setBalance(treasury.address, 100n * ether)
  const path = { relayer_id: treasury.relayer_id }
  const nonce = async () => (await rig.client().get('/api/v1/relayers/{relayer_id}/nonce', { path })).data
  await until('the restart is noticed', async () => (await nonce()).status === 'chain_restarted')
  await rig.client().post('/api/v1/relayers/{relayer_id}/nonce/reconcile', { path, body: { chain_restarted: true } })
  await rig.chain.setBalance(relayer.address, ether)
  await look()
  await reaches('sufficient', 2)
  expect(BigInt(await rig.chain.rpc<string>('eth_getBalance', [relayer.address, 'latest']))).toBe(5n * ether)
})

test('a refill that a limit refuses, which another relayer used up meanwhile, is told as limit_reached', async () => {
  const { rig, treasury, relayer, settings, stateOf } = await start()
  const other = await rig.addAccount()
  const client = rig.client()
  const relayerIds = [relayer.relayer_id, other.relayer_id]
  await client.post('/api/v1/pools', { body: { id: 'pool', network: 'local', relayer_ids: relayerIds } })
  const holding = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  rig.proxy.setLiar(async ({ method, params }) => {
    if (method !== 'eth_estimateGas' || (params?.[0] as { to?: string } | undefined)?.to !== relayer.address)
      return undefined
    holding.resolve()
    await released.promise
    return undefined
  })
  const fund = () => client.put(poolFunding, { ...pool, body: { ...settings, max_amount_per_day: `${6n * ether}` } })
  await fund()
  await holding.promise
  await rig.chain.setBalance(other.address, ether)
  await fund()
  await until('the other one is refilled', async () => (await stateOf(other.relayer_id)).status === 'sufficient', fund)
  released.resolve()
  await until('it is told', async () => (await stateOf(relayer.relayer_id)).status === 'limit_reached')
  expect((await stateOf(relayer.relayer_id)).refills).toEqual([])
  expect(await treasury.transactions()).toHaveLength(1)
  const { data: problems } = await client.get('/api/v1/problems')
  expect(problems).toContainEqual(
    expect.objectContaining({ kind: 'funding', severity: 'warning', relayer_id: relayer.relayer_id }),
  )
})
