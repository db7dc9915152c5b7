import { setTimeout as pause } from 'node:timers/promises'
import type { Figures } from '../measure.ts'
import { answeredIn, broadcastIn, percentilesOf } from './figures.ts'
import { allConfirmed, type Post, postAll } from './load.ts'
import { setStage } from './stage.ts'
import { until } from './until.ts'

/** One transaction at a time; `idle`: each when none has been under way for a while, so that nothing is known of the chain. */
export async function atRest(count: number, idle: boolean): Promise<Figures> {
  const stage = await setStage({})
  try {
    const posts: Post[] = []
    for (let index = 0; index < count; index += 1) {
      if (idle) await allConfirmed(stage, index)
      // Anywhere in a block, anywhere between two looks at the chain.
      await pause(Math.random() * (idle ? 1_000 : 250))
      posts.push(...(await postAll(stage, 1, { gas_limit: 21_000 })))
      await until(() => posts.every(({ nonce }) => stage.tap.broadcasts().has(nonce)))
    }
    return {
      ...percentilesOf('answered', answeredIn(posts)),
      ...percentilesOf('broadcast', broadcastIn(posts, stage.tap.broadcasts())),
    }
  } finally {
    await stage.end()
  }
}
