import { expect, test } from 'vitest'
import { drops } from '../chaos/drops.ts'
import { wrongIn } from '../chaos/outcome.ts'
import { clean } from '../support/ledger.ts'
import { testRig } from '../support/test-rig.ts'
import { until } from '../support/until.ts'

test('broadcasts transactions again that the pool dropped under traffic', async () => {
  const rig = await testRig({ chain: { noMining: true } })
  expect(wrongIn(await drops(rig, await rig.addAccount(), 20))).toEqual([])
})

test('broadcasts the same bytes again to a node that was emptied while the service was stopped', async () => {
  const { chain, addAccount, restart } = await testRig({ chain: { noMining: true } })
  const account = await addAccount()
  await account.send(20)
  const inFlight = async () => (await account.transactions()).filter(({ status }) => status === 'submitted')
  await until('the node has all', async () => (await inFlight()).length === 20)
  const hashes = (await inFlight()).map(({ hash }) => hash)

  await restart(chain.dropAll)
  const pending = async () => Number((await chain.rpc<{ pending: string }>('txpool_status')).pending)
  await until('the node has all again', async () => (await pending()) === 20)
  await account.finished(chain.mine)
  expect((await account.transactions()).map(({ hash }) => hash)).toEqual(hashes)
  expect(await account.score()).toEqual(clean(20))
})
