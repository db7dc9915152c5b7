import type { Account, Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import type { Outcome } from './outcome.ts'

const a_round = 10
const drops_a_round = 4
const rounds_to_drop_all = 5

/**
 * Drops `times` transactions, mostly some at a time and sometimes all, from the pool of a chain that mines on demand, while others are
 * sent.
 */
export async function drops({ chain }: Rig, account: Account, times: number): Promise<Outcome> {
  let dropped = 0
  for (let round = 1; dropped < times; round += 1) {
    const sent = new Set((await account.send(a_round)).map(({ id }) => id))
    const own = async () => (await account.transactions()).filter(({ id }) => sent.has(id))
    await until('the node has the round', async () => (await own()).every(({ status }) => status === 'submitted'))

    if (round % rounds_to_drop_all === 0) {
      const { pending, queued } = await chain.rpc<{ pending: string; queued: string }>('txpool_status')
      dropped += Number(pending) + Number(queued)
      await chain.dropAll()
    } else {
      const hashes = (await own()).filter((_, index) => index % 2 === round % 2).map(({ hash }) => hash)
      for (const hash of hashes.slice(0, drops_a_round)) {
        if ((await chain.rpc('anvil_dropTransaction', [hash])) !== null) dropped += 1
      }
    }
    await chain.mine()
  }
  await account.finished(chain.mine)
  return { score: await account.score(), money: await account.money(), faults: {}, seen: { dropped } }
}
