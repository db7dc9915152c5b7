import type { Account, Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import type { Outcome } from './outcome.ts'

const aRound = 10
const dropsARound = 4
const roundsToDropAll = 5

/**
 * Drops `times` transactions, mostly some at a time and sometimes all, from the pool of a chain that mines on demand, while others are
 * sent.
 */
export async function drops({ chain }: Rig, account: Account, times: number): Promise<Outcome> {
  let dropped = 0
  for (let round = 1; dropped < times; round += 1) {
    const sent = new Set((await account.send(aRound)).map(({ id }) => id))
    const own = async () => (await account.transactions()).filter(({ id }) => sent.has(id))
    await until('the node has the round', async () => (await own()).every(({ status }) => status === 'submitted'))

    if (round % roundsToDropAll === 0) {
      const { pending, queued } = await chain.rpc<{ pending: string; queued: string }>('txpool_status')
      dropped += Number(pending) + Number(queued)
      await chain.dropAll()
    } else {
      const hashes = (await own()).filter((_, index) => index % 2 === round % 2).map(({ hash }) => hash)
      for (const hash of hashes.slice(0, dropsARound)) {
        if ((await chain.rpc('anvil_dropTransaction', [hash])) !== null) dropped += 1
      }
    }
    await chain.mine()
  }
  await account.finished(chain.mine)
  return { score: await account.score(), money: await account.money(), faults: {}, seen: { dropped } }
}
