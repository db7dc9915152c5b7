import type { Account, Rig } from '../support/rig.ts'
import { until } from '../support/until.ts'
import type { Outcome } from './outcome.ts'

const day_ms = 86_400_000
/** Forward, back to the right time, back once more, and forward again. */
const moves_ms = [day_ms, -day_ms, -day_ms, day_ms]
const a_move = 5

/** Repeatedly moves the wall clock by a day while transactions are sent. */
export async function clockMoves({ chain, clock }: Rig, account: Account, times: number): Promise<Outcome> {
  for (let time = 0; time < times; time += 1) {
    await account.send(a_move)
    const moving = account.send(a_move)
    clock.ahead_ms += moves_ms[time % moves_ms.length] ?? 0
    await moving
    const latest = await account.latest()
    await until('the chain takes more', async () => (await account.latest()) > latest, chain.mine)
  }
  await account.finished(chain.mine)
  return { score: await account.score(), money: await account.money(), faults: {}, seen: { times } }
}
