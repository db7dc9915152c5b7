import { expect, test } from 'vitest'
import type { SendTransactionRequest } from '../../../client/index.ts'
import { gasFork } from '../../support/gas-fork.ts'
import { testLiar } from '../../support/liar.ts'
import { testRig } from '../../support/test-rig.ts'
import { until } from '../../support/until.ts'

const receiver = `0x${'5a'.repeat(20)}`
const sendPath = '/api/v1/relayers/{relayer_id}/transactions'

/** A chain with blocks on request, behind nodes whose rules of gas the test changes. */
async function start({ nodes = 1, policies = {} } = {}) {
  const rig = await testRig({ chain: { noMining: true } })
  const forks = Array.from({ length: nodes }, () => ({ factor: 1 }))
  const liars = await Promise.all(
    forks.map(async (fork) => {
      const liar = await testLiar(rig.chain)
      liar.lie = gasFork(rig.chain, fork)
      return liar
    }),
  )
  const account = await rig.addAccount({ policies, rpc_urls: liars.map(({ url }) => url) })
  const path = { relayer_id: account.relayer_id }
  const client = rig.client()
  return {
    ...rig,
    forks: forks as [{ factor: number }, ...{ factor: number }[]],
    nodes: liars as [(typeof liars)[0], ...typeof liars],
    account,
    send: async (body: Partial<SendTransactionRequest>) =>
      (await client.post(sendPath, { path, body: { to: receiver, value: '1', ...body } })).data,
    dryRun: async (body: Partial<SendTransactionRequest>) =>
      (await client.post(`${sendPath}/dry-run`, { path, body: { to: receiver, value: '1', ...body } })).data,
    newest: async () => (await account.transactions())[0],
    /** Time passes for the service, and it looks at the chain. */
    async pass(ms: number) {
      rig.clock.passed_ms += ms
      await rig.chain.mine()
      const looks = () => liars.reduce((sum, { counts }) => sum + (counts.eth_getBlockByNumber ?? 0), 0)
      const before = looks()
      await until('the service has looked', () => looks() >= before + 2)
    },
  }
}

test('tries a given gas limit at the node before it assigns a nonce, and names the gas that is needed', async () => {
  const { forks, send, dryRun, account } = await start()
  const data = `0x${'ff'.repeat(2_000)}`
  const needed = 21_000 + 2_000 * 40
  forks[0].factor = 2
  await expect(send({ data, gas_limit: 110_000 })).rejects.toMatchObject({
    status: 422,
    code: 'gas_limit_too_low',
    details: [{ path: '/body/gas_limit', message: expect.stringContaining(`must be at least ${2 * needed}: `) }],
  })
  expect(await dryRun({ data, gas_limit: 110_000 })).toMatchObject({
    accepted: false,
    refusals: [{ http_status: 422, code: 'gas_limit_too_low' }],
    gas: { needed: 2 * needed, limit: 110_000, creates_account: true },
  })
  expect(await account.transactions()).toEqual([])
  expect((await send({ data, gas_limit: 2 * needed })).nonce).toBe(0)
})

test('knows no least gas of a transaction: a node that takes less decides', async () => {
  const { forks, dryRun } = await start()
  forks[0].factor = 0.5
  expect(await dryRun({ gas_limit: 15_000 })).toMatchObject({
    accepted: true,
    gas_limit: 15_000,
    gas: { needed: 10_500, limit: 15_000 },
  })
})

test('accepts a given gas limit for a call that reverts now, because an earlier transaction may change that', async () => {
  const { chain, send } = await start()
  const reverting = `0x${'ee'.repeat(20)}`
  await chain.rpc('anvil_setCode', [reverting, '0x60006000fd'])
  expect(await send({ to: reverting, value: '0', gas_limit: 50_000 })).toMatchObject({ nonce: 0, gas_limit: 50_000 })
})

test('raises an estimated gas limit that nodes refuse after the acceptance, and mines every transaction', async () => {
  const { forks, nodes, chain, account, send, pass } = await start()
  nodes[0].lie = (method) => (method === 'eth_sendRawTransaction' ? new Error('Service unavailable') : undefined)
  for (let count = 0; count < 3; count += 1) await send({ value: `${count + 1}` })
  forks[0].factor = 3
  nodes[0].lie = gasFork(chain, forks[0])
  await account.finished(() => pass(5_000))
  for (const row of await account.transactions()) {
    expect(row.status).toBe('confirmed')
    expect(row.gas_limit).toBeGreaterThanOrEqual(63_000)
  }
})

test('cancels a transaction whose given gas limit the nodes refuse after the acceptance, and it holds up nobody', async () => {
  const { forks, nodes, chain, account, send, pass } = await start({ policies: { max_gap_fills_per_hour: 0 } })
  nodes[0].lie = (method) => (method === 'eth_sendRawTransaction' ? new Error('Service unavailable') : undefined)
  await send({ value: '1', gas_limit: 30_000 })
  await send({ value: '2' })
  forks[0].factor = 3
  nodes[0].lie = gasFork(chain, forks[0])
  await account.finished(() => pass(5_000))
  const [later, first] = await account.transactions()
  expect(later).toMatchObject({ status: 'confirmed', value: '2' })
  expect(first).toMatchObject({
    status: 'failed',
    error: { code: 'gas_limit_too_low', message: expect.stringContaining('(30000) is too low') },
  })
  expect(first?.error?.message).toContain('63000')
})

test('cancels what the only node refuses for good for minutes, and it holds up nobody', async () => {
  const { nodes, account, send, pass, clock } = await start()
  const refused = 'oversized data: transaction size 10150, limit 10000'
  nodes[0].lie = (method, [raw]) =>
    method === 'eth_sendRawTransaction' && `${raw}`.length > 20_000 ? new Error(refused) : undefined
  const { id } = await send({ value: '1', data: `0x${'00'.repeat(10_000)}` })
  await send({ value: '2' })
  const row = async () => (await account.transactions()).find((one) => one.id === id)
  await until('it waits', async () => (await row())?.status_reason?.includes(refused) ?? false)
  expect(await row()).toMatchObject({ status: 'sent' })
  clock.passed_ms += 120_000
  await account.finished(() => pass(10_000))
  expect(await row()).toMatchObject({ status: 'failed', error: { message: expect.stringContaining(refused) } })
  expect((await account.transactions())[0]).toMatchObject({ status: 'confirmed', value: '2' })
})

test('cancels after a fork at a price above the multiple of a market that has fallen: nodes have nothing of the cancellation', async () => {
  const { forks, nodes, chain, account, send, pass, client } = await start()
  const price = (gwei: number) => chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(gwei * 1e9).toString(16)}`])
  await price(100)
  await chain.mine()
  const { id } = await send({ value: '1', gas_limit: 100_000 })
  await until('a node has it', async () => (await account.transactions())[0]?.status === 'submitted')
  const sends = () => nodes[0].counts.eth_sendRawTransaction ?? 0
  const before = sends()
  await client().delete(`${sendPath}/{transaction_id}`, {
    path: { relayer_id: account.relayer_id, transaction_id: id },
  })
  await until('a node has its cancellation', () => sends() > before)
  forks[0].factor = 2
  await chain.rpc('anvil_dropAllTransactions', [])
  await account.finished(async () => {
    await price(1)
    await pass(20_000)
  })
  expect((await account.transactions())[0]).toMatchObject({ id, status: 'canceled' })
})

test('estimates by most nodes when they run different rules', async () => {
  const { clock, forks, nodes, send } = await start({ nodes: 3 })
  for (const fork of forks.slice(1)) fork.factor = 3
  await compare()
  for (let count = 0; count < 8; count += 1) expect((await send({ value: `${count}` })).gas_limit).toBe(63_000)
  await expect(send({ gas_limit: 21_000 })).rejects.toMatchObject({ status: 422 })
  forks[0].factor = 3
  for (const fork of forks.slice(1)) fork.factor = 1
  await compare()
  for (let count = 0; count < 8; count += 1) expect((await send({ value: `1${count}` })).gas_limit).toBe(21_000)

  /** The first request after 15 seconds compares the nodes. */
  async function compare() {
    clock.passed_ms += 16_000
    const asked = () => nodes.map(({ counts }) => counts.eth_config ?? 0)
    const before = asked()
    await send({ value: '100' })
    await until('each node is asked', () => asked().every((count, index) => count > (before[index] ?? 0)))
  }
})
