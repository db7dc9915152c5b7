import { createAccountViews } from './account-view.ts'
import { createCommit } from './commit.ts'
import { createFollow } from './follow.ts'
import { createGivenUp } from './given-up.ts'
import { createHandOver } from './hand-over.ts'
import { type Lane, mendGaps, type SenderDependencies, sightOf, trackedOf } from './lane.ts'
import { createLanePoll } from './lane-poll.ts'
import { first_retry_ms, type LaneState, max_retry_ms, newLaneState } from './lane-state.ts'
import { createLaneWaits } from './lane-waits.ts'
import { createReconciliation } from './reconcile.ts'
import { createReorganized } from './reorganized.ts'
import { decide } from './state.ts'

const sign_at_once = 100
/** With a key service more, because its calls in flight run out at the end of every batch. */
const sign_remotely_at_once = 400
const min_given_up_ms = 1_000

export interface Sender {
  /**
   * Does all that is possible now for one relayer. Resolves to the milliseconds until the next round; undefined: nothing is left.
   */
  work(relayer_row_id: number): Promise<number | undefined>
  /** Forgets a relayer that another server works on from now on. */
  leave(relayer_row_id: number): Promise<void>
  /** Makes the next round read the chain at once. `resend`: it also broadcasts all signed transactions again. */
  hurry(relayer_row_id: number, resend: boolean): void
}

/** The background half of sending: moves each accepted transaction to its end, step by step, as `decide` (state.ts) says. */
export function createSender(dependencies: SenderDependencies): Sender {
  const { store, nonces, now, elapsed, changed } = dependencies
  const laneStates = new Map<number, LaneState>()
  const commit = createCommit(store, changed)
  const waits = createLaneWaits(dependencies, commit)
  const reorganized = createReorganized(dependencies)
  const handOver = createHandOver(dependencies, commit)
  const views = createAccountViews(dependencies)
  const { poll, isWatched, watchRound } = createLanePoll({ ...dependencies, waits, views, reorganized })
  const reconciliation = createReconciliation(dependencies)
  const givenUp = createGivenUp({ ...dependencies, commit, reconciliation })
  const { reconcile, carryOut } = createFollow({
    ...dependencies,
    commit,
    waits,
    views,
    reorganized,
    reconciliation,
    handOver,
  })

  async function work(relayer_row_id: number): Promise<number | undefined> {
    const relayer = await store.getRelayerByRowId(relayer_row_id)
    const held = relayer && (await dependencies.findSigner(relayer.id))
    const networkClient = held && (await dependencies.networkClient(held.relayer))
    if (!held || !networkClient) {
      laneStates.delete(relayer_row_id)
      return undefined
    }
    const isResting = (await store.countUnfinished(relayer_row_id)) === 0
    const before = laneStates.get(relayer_row_id)
    // After a rest the lane starts with an empty state, so that everything is read again before anything is signed.
    const laneState = before && (isResting || before.rest_since === undefined) ? before : newLaneState()
    laneStates.set(relayer_row_id, laneState)
    if (isResting) laneState.rest_since ??= elapsed()
    try {
      if (!isResting) {
        if (laneState.head === undefined) await store.watch(relayer_row_id)
        await round({ held, networkClient, laneState })
      } else if (await isWatched({ held, networkClient, laneState })) {
        await watchRound({ held, networkClient, laneState })
      } else {
        const due_ms = await givenUp.dueIn(relayer_row_id)
        if (due_ms === undefined) {
          laneStates.delete(relayer_row_id)
          await store.unwatch(relayer_row_id)
          return undefined
        }
        laneState.poll_at = elapsed() + Math.max(due_ms, min_given_up_ms)
      }
      if (await givenUp.correct({ held, networkClient, laneState })) changed()
      laneState.failure_ms = first_retry_ms
    } catch (error) {
      if (dependencies.kindOf(error) === undefined) throw error
      const wrong = dependencies.wrongChain(error)
      if (wrong !== undefined) await nonces.disableWrongChain(held.relayer, wrong)
      await waits.note({ held }, wrong === undefined ? { unreachable: messageOf(error) } : {})
      laneState.failure_ms = Math.min(laneState.failure_ms * 2, max_retry_ms)
      laneState.poll_at = elapsed() + laneState.failure_ms * (0.75 + Math.random() / 2)
    }
    return Math.max(0, laneState.poll_at - elapsed())
  }

  async function round(lane: Lane): Promise<void> {
    const { held, networkClient, laneState } = lane
    const { relayer } = held
    laneState.handed.clear()
    // New transactions are sent before the chain is read.
    if (laneState.head !== undefined && !relayer.system_disabled) await sendNew(lane)
    if (elapsed() < laneState.poll_at) return

    const seen = await poll(lane)
    if (!seen) return
    if (laneState.recheck && (await reorganized.reopen(relayer, networkClient, laneState.head?.number ?? 0)))
      laneState.resend = true
    // Gaps are closed before anything is signed at a higher nonce.
    if (laneState.resend || laneState.recheck) await mendGaps(nonces, lane)
    await sendNew(lane)
    await reconcile(lane, seen.isNewBlock)
    if (seen.isNew) await noteBalance(lane)
  }

  /** Reports low balances after a new block. Only this check sees a recovery, because POST may use a cached balance. */
  async function noteBalance({ held, networkClient }: Lane): Promise<void> {
    const { row_id, address, policies } = held.relayer
    if (policies.min_balance === undefined) return
    const balance = await networkClient.chain.balance(address)
    await store.noteBalance(row_id, balance.toString(), policies.min_balance, balance < BigInt(policies.min_balance))
  }

  /** Signs `pending` transactions in the order of their nonces, stores the bytes, and broadcasts them. */
  async function sendNew(lane: Lane): Promise<void> {
    const { held, laneState } = lane
    if (nonces.isInDoubt(held.relayer.row_id)) return
    // A new transaction may close an open gap.
    if (laneState.gaps > 0) await mendGaps(nonces, lane)
    const at_once = held.signer.at_once > 1 ? sign_remotely_at_once : sign_at_once
    while (!held.relayer.paused) {
      const below = laneState.latest + laneState.window
      const rows = await store.pending(held.relayer.row_id, laneState.latest, below, at_once)
      const decided = rows.map((row) => ({ row, step: decide(trackedOf(row), sightOf(lane, now(), {})) }))
      const toSign = decided.filter(({ step }) => step.do === 'sign')
      for (const { row, step } of decided) if (step.do !== 'sign') await carryOut(lane, row, step)
      const signed = await handOver.signAll(lane, toSign)
      // With a key service many batches take long: the chain is read between them.
      if (signed < at_once || (held.signer.at_once > 1 && elapsed() >= laneState.poll_at)) return
    }
  }

  return {
    work,
    async leave(relayer_row_id) {
      laneStates.delete(relayer_row_id)
    },
    hurry(relayer_row_id, resend) {
      const laneState = laneStates.get(relayer_row_id)
      if (!laneState) return
      laneState.poll_at = 0
      laneState.resend ||= resend
    },
  }
}

const messageOf = (error: unknown): string => (error as Error).message.slice(0, 900)
