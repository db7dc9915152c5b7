import { orUnknown } from '../chain/rpc.ts'
import { decide } from '../domain/decide.ts'
import type { Market } from '../domain/fees.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import { isSameWait, unprovenWait, type Wait, waitColumns } from '../domain/wait-reason.ts'
import type { AccountViews } from './account-view.ts'
import type { createBroadcast } from './broadcast.ts'
import type { Commit } from './commit.ts'
import { tierOf } from './context.ts'
import {
  chainObservation,
  type Decided,
  fillNonceGaps,
  type SenderDependencies,
  type Tick,
  transactionState,
} from './lane.ts'
import { beginRound, isDropped, isSilent, isStalled, noteKnown } from './mempool-state.ts'
import type { createObserve, Polled } from './observe.ts'
import type { createReceipts, Settling } from './receipts.ts'
import type { createReleasePrivate } from './release-private.ts'
import type { createReorg } from './reorg.ts'
import { pollSoon } from './schedule.ts'
import type { LaneWaits } from './waits.ts'
import { heldByNodes } from './window.ts'

const signAtOnce = 100
/** With a key service more, because its calls in flight run out at the end of every batch. */
const signRemotelyAtOnce = 400
const maxRows = 2_000

interface RoundDependencies extends SenderDependencies {
  commit: Commit
  waits: LaneWaits
  views: AccountViews
  reorganized: ReturnType<typeof createReorg>
  settlement: ReturnType<typeof createReceipts>
  handOver: ReturnType<typeof createBroadcast>
  publish: ReturnType<typeof createReleasePrivate>
  observing: ReturnType<typeof createObserve>
}

/** One round of a lane: observe the chain, decide the step of each transaction, commit what it shows, and act. */
export function createTick(dependencies: RoundDependencies) {
  const { store, nonces, now, elapsed, changed, commit, waits, views, reorganized, settlement, publish } = dependencies
  const { signAll, handOverAgain } = dependencies.handOver
  const { poll, look, observe } = dependencies.observing

  async function round(lane: Tick): Promise<void> {
    const { held, networkClient, seen, schedule, pool } = lane
    const { relayer } = held
    beginRound(pool)
    // New transactions are sent before the chain is read.
    if (seen.head !== undefined && !relayer.system_disabled) await sendNew(lane)
    if (elapsed() < schedule.poll_at) return

    const polled = await poll(lane)
    if (!polled) return
    if (seen.recheck && (await reorganized.reopen(relayer, networkClient, seen.head?.number ?? 0))) pool.resend = true
    // Gaps are closed before anything is signed at a higher nonce.
    if (pool.resend || seen.recheck) await fillNonceGaps(nonces, lane)
    await sendNew(lane)
    await followAll(lane, polled)
    if (polled.isNew) await noteBalance(lane)
  }

  /** Handles signed and mined transactions: follows the chain, reprices slow ones, and broadcasts again those that may be lost. */
  async function followAll(lane: Tick, polled: Polled): Promise<void> {
    const { decided, market } = await observe(lane, polled)
    await commitShown(lane, decided)
    await act(lane, await publish(lane, decided), market)
  }

  /** Commits what the chain showed: transactions that are in a block, and those that are final. */
  async function commitShown(lane: Tick, decided: Decided[]): Promise<void> {
    const settling = decided.filter((one): one is { row: TransactionRow; step: Settling } => isSettling(one))
    const moves = await Promise.all(settling.map(({ row, step }) => settlement.movesOf(lane, row, step)))
    await commit(moves.flat())
  }

  async function act(lane: Tick, decided: Decided[], market: Market | undefined): Promise<void> {
    const { held, seen, pool } = lane
    const isReorganized = seen.recheck
    for (const { row, step } of decided) await carryOut(lane, row, step)
    await signAll(
      lane,
      decided.filter(({ step }) => step.do === 'sign'),
    )
    const everything = isStalled(pool) || pool.resend || isReorganized
    pool.resend = everything
    if (everything) await fillNonceGaps(nonces, lane)
    // Cleared only now: when a node failed in a step above, the next round repeats it.
    pool.resend = false
    seen.recheck = false
    const relayer = (await store.getRelayerByRowId(held.relayer.row_id)) ?? held.relayer
    await waits.note(lane, {
      paused: relayer.paused,
      ...(market?.kind === 'eip1559' && { base_fee: market.base_fee }),
    })
    if (relayer.paused) return
    const lost = await lostOf(lane, decided, everything)
    await handOverAgain(
      lane,
      lost.filter(({ row_id }) => !pool.sent_now.has(row_id)),
      everything,
    )
  }

  /** The transactions to broadcast again. */
  async function lostOf(lane: Tick, decided: Decided[], everything: boolean): Promise<TransactionRow[]> {
    const { held, seen, pool } = lane
    if (everything) {
      // Read again, because transactions that just lost their block are in flight now.
      const inFlight = await store.inFlight(held.relayer.row_id, maxRows)
      return inFlight.filter(
        ({ nonce }) => nonce !== null && nonce >= seen.latest && nonce < seen.latest + heldByNodes(pool.window),
      )
    }
    const forgotten = [...(await forgottenOf(lane, decided)), ...(await droppedOf(lane, decided))]
    return elapsed() >= pool.retry_at
      ? [...forgotten, ...decided.filter((one) => isNotTaken(lane, one)).map(({ row }) => row)]
      : forgotten
  }

  /** Without new blocks time alone tells nothing: the nodes are asked whether they still have a transaction. */
  async function forgottenOf({ networkClient, pool }: Tick, decided: Decided[]): Promise<TransactionRow[]> {
    const forgotten: TransactionRow[] = []
    for (const { row, step } of decided) {
      if (step.do !== 'look' || row.hash === null || !isSilent(pool, row.row_id, tierOf(row), elapsed())) continue
      if (await networkClient.mempoolOf(row).isKnown(row.hash)) noteKnown(pool, row.row_id, elapsed())
      else forgotten.push(row)
    }
    return forgotten
  }

  /**
   * What private relays dropped by their rules. They get it again, as the row before this reason: their acceptance ends an earlier reason,
   * and leaves this one.
   */
  async function droppedOf({ networkClient, seen, pool }: Tick, decided: Decided[]): Promise<TransactionRow[]> {
    const height = seen.head?.number ?? 0
    const dropped = decided.flatMap(({ row, step }) => {
      const { drops_after_blocks } = networkClient.mempoolOf(row)
      if (row.status !== 'submitted' || step.do !== 'rest' || drops_after_blocks === undefined) return []
      return isDropped(pool, row.row_id, height, drops_after_blocks) ? { row, drops_after_blocks } : []
    })
    if (dropped.length === 0) return []
    for (const { row } of dropped) pool.given_to_relays.delete(row.row_id)
    const told = await commit(
      dropped.map(({ row, drops_after_blocks }) => ({
        ...{ row_id: row.row_id, revision: row.revision },
        set: waitColumns(row, droppedWait(drops_after_blocks, height)),
      })),
    )
    return dropped.flatMap(({ row }, index) => (told[index] ? row : []))
  }

  /** A transaction that a node has may have newer bytes, for example of its cancellation, that none has. */
  function isNotTaken({ pool, seen }: Tick, { row, step }: Decided): boolean {
    const isOlder = row.status === 'submitted' && pool.not_taken.has(row.row_id) && (row.nonce ?? -1) >= seen.latest
    return step.do === 'broadcast' || (step.do === 'rest' && isOlder)
  }

  /** The steps that neither sign nor ask the chain. */
  async function carryOut(lane: Tick, row: TransactionRow, step: Decided['step']): Promise<void> {
    const { held, networkClient, seen, schedule, pool } = lane
    const { row_id, revision } = row
    if (step.do === 'return') {
      const statusReason = 'Its block was removed by a reorganization, or never had it: it is sent again'
      const set = { status: 'submitted', block_number: null, block_hash: null, status_reason: statusReason } as const
      await commit([{ row_id, revision, set }])
      pool.resend = true
      pollSoon(schedule, elapsed())
    } else if (step.do === 'withdraw') {
      await store.withdraw(row.relayer_row_id, row.id, 'expire', 'valid_until has passed')
      pollSoon(schedule, elapsed())
      changed()
    } else if (step.do === 'doubt') {
      const wait = unprovenWait(step.seen)
      if (!isSameWait(row, wait)) await commit([{ row_id, revision, set: waitColumns(row, wait) }])
    } else if (step.do === 'yield') {
      await waitForForeign(lane, row)
    } else if (step.do === 'trace') {
      nonces.trace(held.relayer, networkClient, row, (finding) => {
        if (finding === 'shown') seen.shown.add(row_id)
        if (finding === 'disputed') views.dispute(row.relayer_row_id)
        pollSoon(schedule, elapsed())
        changed()
      })
    }
  }

  /** Another sender's transaction with this nonce is in the pool. It is not replaced unless the caller asks for that. */
  async function waitForForeign({ held, networkClient }: Tick, row: TransactionRow): Promise<void> {
    const nonce = row.nonce as number
    if (row.waiting_for === 'contested_nonce') return
    const hash = (await networkClient.chain.pooledHash(held.relayer.address, nonce)) ?? null
    await nonces.noteForeign(held.relayer, { nonce, hash })
    const other = hash === null ? 'a transaction' : `the transaction ${hash}`
    const text =
      `a node has ${other} of this account with nonce ${nonce}, which this service did not send. It waits for that one; ` +
      'replace it with prices to pay more than that one'
    const wait: Wait = { waiting_for: 'contested_nonce', text }
    if (isSameWait(row, wait)) return
    await commit([{ row_id: row.row_id, revision: row.revision, set: waitColumns(row, wait) }])
  }

  /** Reports low balances after a new block. Only this check sees a recovery, because POST may use a cached balance. */
  async function noteBalance({ held, networkClient }: Tick): Promise<void> {
    const { row_id, address, policies } = held.relayer
    if (policies.min_balance === undefined) return
    const balance = await networkClient.chain.balance(address).catch(orUnknown)
    if (balance === undefined) return
    await store.noteBalance(row_id, balance.toString(), policies.min_balance, balance < BigInt(policies.min_balance))
  }

  /** Signs `pending` transactions in the order of their nonces, stores the bytes, and broadcasts them. */
  async function sendNew(lane: Tick): Promise<void> {
    const { held, seen, schedule, pool } = lane
    if (nonces.isInDoubt(held.relayer.row_id)) return
    // A new transaction may close an open gap.
    if (seen.gaps > 0) await fillNonceGaps(nonces, lane)
    const atOnce = held.signer.at_once > 1 ? signRemotelyAtOnce : signAtOnce
    while (!held.relayer.paused) {
      const { size } = pool.window
      const rows = await store.pending(held.relayer.row_id, seen.latest, seen.latest + size, atOnce)
      if (rows.length === 0) return
      await look(lane)
      const time = { now: now(), elapsed: elapsed() }
      const decided = rows.map((row) => ({
        row,
        step: decide(transactionState(row), chainObservation(lane, row, time, {})),
      }))
      // Nonces are signed in their order, so the first one that waits for another sender's transaction holds up the others.
      const waiting = decided.findIndex(({ step }) => step.do === 'yield')
      const first = waiting < 0 ? decided.length : waiting
      for (const [index, { row, step }] of decided.entries()) {
        if (step.do !== 'sign' && (step.do !== 'yield' || index === first)) await carryOut(lane, row, step)
      }
      const signed = await signAll(
        lane,
        decided.slice(0, first).filter(({ step }) => step.do === 'sign'),
      )
      // With a key service many batches take long: the chain is read between them.
      const isAll = signed < atOnce && pool.window.size <= size
      if (isAll || (held.signer.at_once > 1 && elapsed() >= schedule.poll_at)) return
    }
  }

  return round
}

const droppedWait = (blocks: number, height: number): Wait => ({
  waiting_for: 'private_relay',
  text: `the private relays had it for ${blocks} blocks, and drop it then; they were given it again at block ${height}`,
})

const isSettling = ({ step }: Decided): boolean => step.do === 'note' || step.do === 'end'
