import type { Account, Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import type { Outcome } from './outcome.ts'

const dayMs = 86_400_000
/** Forward, back to the right time, back once more, and forward again. */
const movesMs = [dayMs, -dayMs, -dayMs, dayMs]
const aMove = 5

/** Repeatedly moves the wall clock by a day while transactions are sent. */
export async function clockMoves({ chain, clock }: Rig, account: Account, times: number): Promise<Outcome> {
  for (let time = 0; time < times; time += 1) {
    await account.send(aMove)
    const moving = account.send(aMove)
    clock.ahead_ms += movesMs[time % movesMs.length] ?? 0
    await moving
    const latest = await account.latest()
    await until('the chain takes more', async () => (await account.latest()) > latest, chain.mine)
  }
  await account.finished(chain.mine)
  return { score: await account.score(), money: await account.money(), faults: {}, seen: { times } }
}
