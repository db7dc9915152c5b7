import { expect, test } from 'vitest'
import { testLiar } from '../../support/liar.ts'
import { testRig } from '../../support/test-rig.ts'

test.each([['no matched providers found'], ['Too many request, try again later'], ['upstream is not synced']])(
  'accepts and confirms ten of ten while one of two nodes answers every read with "%s"',
  async (message) => {
    const rig = await testRig({ chain: { noMining: true } })
    const nodes = [await testLiar(rig.chain), await testLiar(rig.chain)]
    const [ill, well] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
    ill.lie = (method) => (method === 'eth_chainId' ? undefined : new Error(message))
    const account = await rig.addAccount({ rpc_urls: nodes.map(({ url }) => url) })
    const refused: unknown[] = []
    for (let value = 1; value <= 10; value += 1) {
      await rig
        .client()
        .post('/api/v1/relayers/{relayer_id}/transactions', {
          path: { relayer_id: account.relayer_id },
          body: { to: account.address, value: `${value}` },
        })
        .catch((error) => refused.push(error.message))
    }
    expect(refused).toEqual([])
    expect(rig.logged().join('')).toContain(message)
    const total = ({ counts }: (typeof nodes)[0]) => Object.values(counts).reduce((sum, count) => sum + count, 0)
    const before = total(ill)
    const asked = total(well)
    // The first is tried again, after longer and longer rests.
    for (let again = 0; again < 20; again += 1)
      await rig.client().get('/api/v1/relayers/{relayer_id}/balance', { path: { relayer_id: account.relayer_id } })
    expect(total(ill) - before).toBeLessThan(total(well) - asked)
    ill.lie = undefined
    await account.finished(async () => {
      rig.clock.passed_ms += 5_000
      await rig.chain.mine()
    })
    expect((await account.transactions()).filter(({ status }) => status === 'confirmed')).toHaveLength(10)
  },
)
