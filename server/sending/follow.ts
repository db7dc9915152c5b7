import type { Move, TransactionRow } from '../store/sending-rows.ts'
import type { AccountViews } from './account-view.ts'
import type { Commit } from './commit.ts'
import { type Market, type NetworkClient, pricesOf } from './dependencies.ts'
import type { createHandOver } from './hand-over.ts'
import { type Decided, type Lane, mendGaps, type SenderDependencies, sightOf, trackedOf } from './lane.ts'
import { countLeftOut, isStalled, type LaneState, pollSoon } from './lane-state.ts'
import type { LaneWaits } from './lane-waits.ts'
import { min_witnesses } from './nonce-evidence.ts'
import { receiptsOfMost } from './receipts-of-most.ts'
import type { createReconciliation } from './reconcile.ts'
import type { createReorganized } from './reorganized.ts'
import { decide, type Step } from './state.ts'

const max_rows = 2_000
const disputed = 'The endpoints disagree about its receipt: it is final when most of them have the same one'

interface FollowDependencies extends SenderDependencies {
  commit: Commit
  waits: LaneWaits
  views: AccountViews
  reorganized: ReturnType<typeof createReorganized>
  reconciliation: ReturnType<typeof createReconciliation>
  handOver: ReturnType<typeof createHandOver>
}

/** Follows signed and mined transactions to their end. */
export function createFollow(dependencies: FollowDependencies) {
  const { store, fees, nonces, now, elapsed, changed, commit, waits, views, reorganized, reconciliation } = dependencies
  const { signAll, handOverAgain } = dependencies.handOver

  /** Handles signed and mined transactions: follows the chain, reprices slow ones, and broadcasts again those that may be lost. */
  async function reconcile(lane: Lane, isNewBlock: boolean): Promise<void> {
    const { held, networkClient, laneState } = lane
    const { relayer } = held
    const isReorganized = laneState.recheck
    const head = laneState.head?.number ?? 0
    const deep = head - networkClient.network.required_confirmations + 1
    const market = await marketOf(networkClient)
    const inFlight = await store.inFlight(relayer.row_id, max_rows)
    const unsigned = await store.pending(relayer.row_id, 0, laneState.latest, max_rows)
    const mined = await store.mined(relayer.row_id, isReorganized ? Number.MAX_SAFE_INTEGER : deep, max_rows)
    const { paused } = relayer
    const priced = inFlight.map((row) => ({ row, nonce: row.nonce as number, payable: isPayable(row, market) }))
    if (isNewBlock) countLeftOut(laneState, priced)
    const open = new Set(inFlight.map(({ row_id }) => row_id))
    for (const row_id of laneState.not_taken) if (!open.has(row_id)) laneState.not_taken.delete(row_id)

    const known = { reorganized: isReorganized, paused }
    const others = [...mined, ...unsigned].map((row) => ({ row, payable: true }))
    const decided = [...others, ...priced].map(({ row, payable }): Decided => {
      const blocks = laneState.left_out.get(row.row_id)?.blocks ?? 0
      return { row, step: decide(trackedOf(row), sightOf(lane, now(), { ...known, payable, blocks })) }
    })
    const asked = decided.filter(({ step }) => step.do === 'ask').map(({ row }) => row)
    const receipts = await reconciliation.receipts(networkClient.chain, asked)
    const { witnessed } = laneState
    laneState.witnessed = new Map()
    const unchecked = await verified(
      lane,
      asked.map((row, index): Decided => {
        return {
          row,
          step: decide(
            trackedOf(row),
            sightOf(lane, now(), { ...known, receipt: receipts[index] ?? witnessed.get(row.row_id) ?? null }),
          ),
        }
      }),
    )
    const answered = await agreed(lane, unchecked)
    await commit(
      (
        await Promise.all(answered.map(({ row, step }) => reconciliation.settle(networkClient.chain, row, step)))
      ).flat(),
    )
    for (const { row, step } of [...decided, ...answered]) await carryOut(lane, row, step)

    await signAll(
      lane,
      decided.filter(({ step }) => step.do === 'sign'),
    )
    laneState.resend = isStalled(laneState) || laneState.resend || isReorganized
    const everything = laneState.resend
    if (everything) await mendGaps(nonces, lane)
    // Cleared only now: when a node failed in a step above, the next round repeats it.
    laneState.resend = false
    laneState.recheck = false
    await waits.note(lane, { paused, ...(market?.kind === 'eip1559' && { base_fee: market.base_fee }) })
    if (paused) return
    const isInWindow = ({ nonce }: TransactionRow) =>
      nonce !== null && nonce >= laneState.latest && nonce < laneState.latest + laneState.window
    // Read again, because transactions that just lost their block are in flight now.
    const lost = everything
      ? (await store.inFlight(relayer.row_id, max_rows)).filter(isInWindow)
      : elapsed() >= laneState.retry_at
        ? decided.filter((one) => isNotTaken(laneState, one)).map(({ row }) => row)
        : []
    await handOverAgain(
      lane,
      lost.filter(({ row_id }) => !laneState.handed.has(row_id)),
      everything,
    )
  }

  /** A transaction that a node has may have newer bytes, for example of its cancellation, that none has. */
  function isNotTaken({ not_taken, latest }: LaneState, { row, step }: Decided): boolean {
    const isOlder = row.status === 'submitted' && not_taken.has(row.row_id) && (row.nonce ?? -1) >= latest
    return step.do === 'broadcast' || (step.do === 'rest' && isOlder)
  }

  /** Decides again about transactions without a receipt, by the block at their height. */
  async function verified(lane: Lane, decided: Decided[]): Promise<Decided[]> {
    const doubtful = decided.filter(({ step }) => step.do === 'verify').map(({ row }) => row)
    if (doubtful.length === 0) return decided
    const fates = await reorganized.fatesOf(lane.networkClient, doubtful)
    const again = doubtful.map((row, index): Decided => {
      const { receipt = null, isReplaced = false } = fates[index] ?? {}
      const known = { receipt, replaced: isReplaced, paused: lane.held.relayer.paused }
      return { row, step: decide(trackedOf(row), sightOf(lane, now(), known)) }
    })
    return [...decided.filter(({ step }) => step.do !== 'verify'), ...again]
  }

  /**
   * A final state comes from most of several endpoints, not from the one that was asked: decides again by their receipts, and by the
   * height that they have. Transactions about which they disagree are left out, and decided again in the next round.
   */
  async function agreed(lane: Lane, decided: Decided[]): Promise<Decided[]> {
    const { each } = lane.networkClient
    const ends = decided.filter(({ step }) => step.do === 'end').map(({ row }) => row)
    if (each.length < min_witnesses || ends.length === 0) return decided
    const { head, seen } = await receiptsOfMost(
      each,
      await Promise.all(ends.map(({ row_id }) => store.attempts(row_id))),
    )
    const again = ends.flatMap((row, index): Decided[] => {
      const receipt = seen[index]
      if (!receipt) return []
      const known = { receipt, paused: lane.held.relayer.paused, ...(head !== undefined && { head }) }
      return [{ row, step: decide(trackedOf(row), sightOf(lane, now(), known)) }]
    })
    await commit(ends.filter((_, index) => !seen[index]).flatMap(disagreed))
    return [...decided.filter(({ step }) => step.do !== 'end'), ...again]
  }

  /** A reason that the row has already says more. */
  function disagreed({ row_id, revision, status_reason }: TransactionRow): Move[] {
    return status_reason === null ? [{ row_id, revision, set: { status_reason: disputed } }] : []
  }

  /** The steps that neither sign nor ask the chain. */
  async function carryOut({ held, networkClient, laneState }: Lane, row: TransactionRow, step: Step): Promise<void> {
    if (step.do === 'return') {
      const status_reason = 'A reorganization removed its block: it is sent again'
      const set = { status: 'submitted', block_number: null, block_hash: null, status_reason } as const
      await commit([{ row_id: row.row_id, revision: row.revision, set }])
      laneState.resend = true
      pollSoon(laneState, elapsed())
    } else if (step.do === 'withdraw') {
      await store.withdraw(row.relayer_row_id, row.id, 'expire', 'valid_until has passed')
      pollSoon(laneState, elapsed())
      changed()
    } else if (step.do === 'trace') {
      nonces.trace(held.relayer, networkClient, row, ({ seen, isDisputed }) => {
        if (seen) laneState.witnessed.set(row.row_id, seen)
        if (isDisputed) views.dispute(row.relayer_row_id)
        pollSoon(laneState, elapsed())
        changed()
      })
    }
  }

  /** Receipts are read even when prices cannot be: a node that returns no price may still have receipts. */
  const marketOf = ({ market }: NetworkClient): Promise<Market | undefined> =>
    market().catch((error) => {
      if (dependencies.kindOf(error) === undefined) throw error
      return undefined
    })

  function isPayable(row: TransactionRow, market: Market | undefined): boolean {
    const prices = pricesOf(row)
    return !prices || !market || fees.isPayable(prices, market)
  }

  return { reconcile, carryOut }
}
