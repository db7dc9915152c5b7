import { Wallet } from 'ethers'
import { expect, test } from 'vitest'
import { wrongIn } from '../chaos/outcome.ts'
import { confirmations, reorgs } from '../chaos/reorgs.ts'
import type { Anvil } from '../support/anvil.ts'
import { clean, minedBy, readLedger } from '../support/ledger.ts'
import { type Lie, testLiar } from '../support/liar.ts'
import type { Account } from '../support/rig.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

test('mines all transactions again after 10 reorganizations of depth 1 to 10, and takes nothing confirmed back', async () => {
  const rig = await testRig({ chain: { noMining: true }, confirmations })
  expect(wrongIn(await reorgs(rig, await rig.addAccount(), 10))).toEqual([])
})

test('sends confirmed transactions again after a reorganization deeper than the required confirmations, under traffic', async () => {
  const { chain, addAccount } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  await chain.mine(5)
  await account.send(20)
  await account.finished(chain.mine)

  const [next] = await account.send(1)
  await until('the next one is with the node', async () => (await account.transactions())[0]?.status === 'submitted')
  await chain.reorg(5)
  expect(await account.latest()).toBeLessThan(20)
  await until(
    'the next one is confirmed',
    async () => (await account.transactions())[0]?.status === 'confirmed',
    chain.mine,
  )
  expect((await minedBy(chain, account.address)).at(-1)?.nonce).toBe(next?.nonce)
  expect(await account.score()).toEqual(clean(21))
})

test('mines transactions again after a deeper reorganization at rest, with the next transaction', async () => {
  const { chain, addAccount } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  await chain.mine(5)
  await account.send(20)
  await account.finished(chain.mine)

  await chain.reorg(5)
  expect(await account.latest()).toBeLessThan(20)
  await account.send(1)
  await account.finished(chain.mine)
  expect(await account.score()).toEqual(clean(21))
})

const statusesOf = async (account: Account) => (await account.transactions()).map(({ status }) => status)

test.each(['while it runs', 'while it is stopped'])(
  'mines transactions again after a deeper reorganization at rest, %s, without a further transaction',
  async (when) => {
    const { chain, addAccount, restart } = await testRig({ chain: { noMining: true } })
    const account = await addAccount()
    await chain.mine(5)
    await account.send(3)
    await account.finished(chain.mine)

    if (when === 'while it runs') await chain.reorg(4)
    else await restart(() => chain.reorg(4))
    expect(await account.latest()).toBe(0)
    // A block whose base fee is far above the signed price.
    await chain.setBaseFee(100n * 10n ** 9n)
    await until('they are reopened', async () => !(await statusesOf(account)).includes('confirmed'))
    await account.finished(chain.mine)
    expect(await statusesOf(account)).toEqual(Array(3).fill('confirmed'))
    expect(await account.score()).toEqual(clean(3))
  },
)

test('sends a confirmed transaction under a new nonce when another one takes its place', async () => {
  const { chain, addAccount } = await testRig({ chain: { noMining: true } })
  const { key = '', address = '' } = chain.accounts[2] ?? {}
  const account = await addAccount({ key })
  await chain.mine(5)
  await account.send(1)
  await account.finished(chain.mine)

  // How many blocks were mined until it was confirmed depends on the load.
  const [confirmed] = await account.transactions()
  const head = Number(await chain.rpc('eth_blockNumber'))
  await chain.reorg(head - (confirmed?.receipt?.block_number ?? head) + 1)
  const fees = { type: 2, maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n, gasLimit: 21_000n }
  const rival = await new Wallet(key).signTransaction({ ...fees, chainId: chain.chain_id, nonce: 0, to: address })
  const hash = await chain.rpc<string>('eth_sendRawTransaction', [rival])
  await chain.mine(2)
  await until('it is mined at the next nonce', async () => (await account.latest()) === 2, chain.mine)
  await account.finished(chain.mine)
  expect(await account.transactions()).toMatchObject([{ nonce: 1, status: 'confirmed' }])
  expect(await account.score(new Set([hash]))).toEqual(clean(1))
})

test.each<[string, (chain: Anvil) => Lie]>([
  ['has no receipts', () => (method) => (method === 'eth_getTransactionReceipt' ? null : undefined)],
  [
    'has receipts and blocks from before',
    (chain) => async (method, params) => {
      if (method === 'eth_getTransactionReceipt') return null
      if (method !== 'eth_getBlockByNumber' || params[0] === 'latest') return undefined
      return Number(params[0]) >= Number(await chain.rpc('eth_blockNumber')) - 4 ? null : undefined
    },
  ],
])('takes nothing back because of a node that %s', async (_, lieAbout) => {
  const rig = await testRig({ chain: { noMining: true }, confirmations: 4 })
  const { chain, addAccount } = rig
  const node = await testLiar(chain)
  const account = await addAccount({ rpc_urls: [node.url] })
  await chain.mine(5)
  await account.send(3)
  await until('all are in the pool', async () => !(await statusesOf(account)).some((one) => one !== 'submitted'))
  await chain.mine()
  await until('all are mined', async () => !(await statusesOf(account)).some((one) => one !== 'mined'))
  node.lie = lieAbout(chain)
  // Fewer blocks than after which a node that has no receipt is believed.
  await chain.mine(4)
  const before = node.counts.eth_getTransactionReceipt ?? 0
  await until('they are asked for', () => (node.counts.eth_getTransactionReceipt ?? 0) >= before + 6)
  node.lie = undefined
  await account.finished(chain.mine)
  for (const told of (await readLedger(rig)).states.values()) {
    expect(told).toEqual(['pending', 'sent', 'submitted', 'mined', 'confirmed'])
  }
  expect(await account.score()).toEqual(clean(3))
})

test('sends mined transactions again after a reorganization while the service is stopped', async () => {
  const { chain, addAccount, restart } = await testRig({ chain: { noMining: true }, confirmations })
  const account = await addAccount()
  await chain.mine(5)
  await account.send(5)
  const statuses = async () => new Set((await account.transactions()).map(({ status }) => status))
  await until(
    'all are mined',
    async () => (await statuses()).symmetricDifference(new Set(['mined'])).size === 0,
    chain.mine,
  )

  await restart(() => chain.reorg(3))
  expect(await account.latest()).toBe(0)
  await until('none is in a block', async () => !(await statuses()).has('mined'))
  await account.finished(chain.mine)
  expect(await account.score()).toEqual(clean(5))
})
