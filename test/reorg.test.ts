import { expect, test } from 'vitest'
import { wrongIn } from './chaos/outcome.ts'
import { confirmations, reorgs } from './chaos/reorgs.ts'
import { clean, minedBy } from './support/ledger.ts'
import { testRig } from './support/test-rig.ts'
import { until } from './support/until.ts'

test('10 reorganizations of depth 1 to 10: all is mined again, and nothing confirmed is taken back', async () => {
  const rig = await testRig({ chain: { noMining: true }, confirmations })
  expect(wrongIn(await reorgs(rig, await rig.addAccount(), 10))).toEqual([])
})

test('deeper than the network asks for, under traffic: what was confirmed is sent again', async () => {
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

test('deeper than the network asks for, at rest: all is mined again with the next transaction', async () => {
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

test('while the service is stopped: what was mined is sent again', async () => {
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
