import { isRpcFailure } from '../chain/rpc.ts'
import { createAccountViews } from './account-view.ts'
import { createBroadcast } from './broadcast.ts'
import { createCommit } from './commit.ts'
import type { NetworkClient } from './context.ts'
import { newSenderState, type SenderDependencies, type SenderState, type Tick } from './lane.ts'
import { createObserve } from './observe.ts'
import { createReceipts } from './receipts.ts'
import { createRecheckEnded } from './recheck-ended.ts'
import { createReleasePrivate } from './release-private.ts'
import { createReorg, watchedBlocks } from './reorg.ts'
import { failed, pollAfter, restIntervalMs, succeeded, watchLimitMs } from './schedule.ts'
import { createTick } from './tick.ts'
import { createLaneWaits } from './waits.ts'

const minGivenUpMs = 1_000

export interface Sender {
  /**
   * Does all that is possible now for one relayer. Resolves to the milliseconds until the next round; undefined: nothing is left.
   */
  work(relayerRowId: number): Promise<number | undefined>
  /** Forgets a relayer that another server works on from now on. */
  leave(relayerRowId: number): Promise<void>
  /** Makes the next round read the chain at once. `resend`: it also broadcasts all signed transactions again. */
  pollNow(relayerRowId: number, resend: boolean): void
}

/**
 * The way into this folder, and the background half of sending: moves each accepted transaction to its end, step by step, as `decide`
 * (domain/decide.ts) says.
 */
export function createSender(dependencies: SenderDependencies): Sender {
  const { store, nonces, elapsed, changed } = dependencies
  const laneStates = new Map<number, SenderState>()
  const commit = createCommit(store, changed)
  const waits = createLaneWaits(dependencies, commit)
  const reorganized = createReorg(dependencies)
  const handOver = createBroadcast(dependencies, commit)
  const views = createAccountViews(dependencies)
  const observing = createObserve({ ...dependencies, waits, views, reorganized })
  const settlement = createReceipts(dependencies)
  const givenUp = createRecheckEnded({ ...dependencies, commit, settlement })
  const publish = createReleasePrivate(dependencies, commit)
  const parts = { commit, waits, views, reorganized, settlement, handOver, publish, observing }
  const round = createTick({ ...dependencies, ...parts })

  async function work(relayerRowId: number): Promise<number | undefined> {
    const [relayer, unfinished] = await Promise.all([
      store.getRelayerByRowId(relayerRowId),
      store.countUnfinished(relayerRowId),
    ])
    const held = relayer && (await dependencies.findSigner(relayer.id))
    const networkClient = held && (await dependencies.networkClient(held.relayer))
    if (!held || !networkClient) {
      laneStates.delete(relayerRowId)
      return undefined
    }
    const isResting = unfinished === 0
    const lane: Tick = { held, networkClient, ...stateOf(relayerRowId, networkClient, isResting) }
    const { schedule } = lane
    try {
      if (!isResting) {
        if (lane.seen.head === undefined) await store.watch(relayerRowId)
        await round(lane)
      } else if (await isWatched(lane)) {
        await watchRound(lane)
      } else {
        const dueMs = await givenUp.dueIn(relayerRowId)
        if (dueMs === undefined) {
          laneStates.delete(relayerRowId)
          await store.unwatch(relayerRowId)
          return undefined
        }
        pollAfter(schedule, Math.max(dueMs, minGivenUpMs), elapsed())
      }
      if (await givenUp.correct(lane)) changed()
      succeeded(schedule)
    } catch (error) {
      if (!isRpcFailure(error)) throw error
      const isWrongChain = await nonces.disableOnWrongChain(held.relayer, error)
      await waits.note({ held }, isWrongChain ? {} : { unreachable: error.message.slice(0, 900) })
      failed(schedule, elapsed(), Math.random())
    }
    return Math.max(0, schedule.poll_at - elapsed())
  }

  /**
   * After a rest, and at other endpoints, a lane starts with an empty state: everything is read again before anything is signed. The window
   * of the same endpoints stays.
   */
  function stateOf(relayerRowId: number, networkClient: NetworkClient, isResting: boolean): SenderState {
    const before = laneStates.get(relayerRowId)
    const isSame = before?.endpoints === networkClient.endpoints
    const isKept = isSame && (isResting || before.schedule.rest_since === undefined)
    const state = isKept ? before : newSenderState(networkClient, isSame ? before : undefined)
    laneStates.set(relayerRowId, state)
    if (isResting) state.schedule.rest_since ??= elapsed()
    return state
  }

  /** For a relayer without unfinished transactions: whether a reorganization may still remove its last confirmed one. */
  async function isWatched({ held, networkClient, seen, schedule }: Tick): Promise<boolean> {
    if (elapsed() - (schedule.rest_since ?? 0) > watchLimitMs(networkClient, watchedBlocks)) return false
    const newest = await store.newestEnded(held.relayer.row_id)
    if (!newest) return false
    const until = newest.number + networkClient.network.required_confirmations + watchedBlocks
    return seen.head === undefined || seen.head.number < until
  }

  /** A cheap round: two calls, and one more when a block was replaced. */
  async function watchRound(lane: Tick): Promise<void> {
    const { held, networkClient, seen, schedule, pool } = lane
    if (elapsed() < schedule.poll_at) return
    const polled = await observing.poll(lane)
    pollAfter(schedule, restIntervalMs(networkClient), elapsed())
    if (!polled || !seen.recheck) return
    if (await reorganized.reopen(held.relayer, networkClient, seen.head?.number ?? 0)) {
      pool.resend = true
      pollAfter(schedule, 0, elapsed())
      changed()
    } else {
      seen.recheck = false
    }
  }

  return {
    work,
    async leave(relayerRowId) {
      laneStates.delete(relayerRowId)
    },
    pollNow(relayerRowId, resend) {
      const state = laneStates.get(relayerRowId)
      if (!state) return
      state.schedule.poll_at = 0
      state.pool.resend ||= resend
    },
  }
}
