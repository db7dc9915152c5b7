import { readLedger, takenBack } from '../support/ledger.ts'
import type { Account, Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import type { Outcome } from './outcome.ts'

export const confirmations = 12
const maxDepth = 10
const aRound = 3

/**
 * Reorganizations of depth 1 to 10, one after the other, while transactions are sent, on a chain that mines on demand, in a network that
 * requires 12 confirmations.
 */
export async function reorgs(rig: Rig, account: Account, times: number): Promise<Outcome> {
  const { chain } = rig
  await chain.mine(maxDepth)
  for (let round = 0; round < times; round += 1) {
    await account.send(aRound)
    await chain.mine()
    await until(
      'the round is in a block',
      async () => (await account.transactions())[0]?.status === 'mined',
      chain.mine,
    )
    await chain.reorg((round % maxDepth) + 1)
  }
  await account.finished(chain.mine)

  const ledger = await readLedger(rig)
  const told = [...ledger.states.values()].map((states) => states.join(' '))
  return {
    score: await account.score(),
    money: await account.money(),
    faults: { taken_back: takenBack(ledger) },
    seen: { returned: told.filter((states) => states.includes('mined submitted mined')).length },
  }
}
