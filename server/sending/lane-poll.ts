import type { AccountViews } from './account-view.ts'
import type { Lane, SenderDependencies } from './lane.ts'
import { nextPollAt, pollInterval_ms, restInterval_ms, takeIn, watchLimit_ms } from './lane-state.ts'
import type { LaneWaits } from './lane-waits.ts'
import { type createReorganized, watched_blocks } from './reorganized.ts'

const disabled_poll_ms = 5_000

interface PollDependencies extends Pick<SenderDependencies, 'store' | 'nonces' | 'elapsed' | 'changed'> {
  waits: LaneWaits
  views: AccountViews
  reorganized: ReturnType<typeof createReorganized>
}

/** Reads the chain for a lane, and checks whether the answer may be used. */
export function createLanePoll({ store, nonces, elapsed, changed, waits, views, reorganized }: PollDependencies) {
  /** Resolves to whether the chain changed since the last poll; undefined when its answer must not be used. */
  async function poll(lane: Lane): Promise<{ isNew: boolean; isNewBlock: boolean } | undefined> {
    const { networkClient, laneState } = lane
    const { relayer } = lane.held
    const told = await networkClient.chain.poll(relayer.address, pollInterval_ms(networkClient) / 2)
    laneState.poll_at = nextPollAt(networkClient, elapsed())
    const seen = await views.of(lane, told)
    const latest = await nonces.believe(relayer, networkClient, seen.latest)
    if (latest === undefined) {
      if (relayer.system_disabled) laneState.poll_at = elapsed() + disabled_poll_ms
      await waits.note(lane, { counted: seen.latest })
      return undefined
    }
    const isNewBlock = laneState.head?.hash !== seen.head.hash
    const isNew = isNewBlock || laneState.latest !== latest
    if (!(await takeIn(laneState, networkClient.chain, { ...seen, latest }))) return undefined
    if ((isNew || relayer.system_disabled) && !(await nonces.follow(relayer, networkClient, latest))) {
      laneState.poll_at = elapsed() + disabled_poll_ms
      await waits.note(lane, {})
      return undefined
    }
    return { isNew, isNewBlock }
  }

  /** For a relayer without unfinished transactions: whether a reorganization may still remove its last confirmed one. */
  async function isWatched({ held, networkClient, laneState }: Lane): Promise<boolean> {
    if (elapsed() - (laneState.rest_since ?? 0) > watchLimit_ms(networkClient, watched_blocks)) return false
    const newest = await store.newestEnded(held.relayer.row_id)
    if (!newest) return false
    const until = newest.number + networkClient.network.required_confirmations + watched_blocks
    return laneState.head === undefined || laneState.head.number < until
  }

  /** A cheap round: two calls, and one more when a block was replaced. */
  async function watchRound(lane: Lane): Promise<void> {
    const { held, networkClient, laneState } = lane
    if (elapsed() < laneState.poll_at) return
    const seen = await poll(lane)
    laneState.poll_at = elapsed() + restInterval_ms(networkClient)
    if (!seen || !laneState.recheck) return
    if (await reorganized.reopen(held.relayer, networkClient, laneState.head?.number ?? 0)) {
      Object.assign(laneState, { resend: true, poll_at: 0 })
      changed()
    } else {
      laneState.recheck = false
    }
  }

  return { poll, isWatched, watchRound }
}
