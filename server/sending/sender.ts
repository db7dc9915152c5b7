import { setImmediate as turn } from 'node:timers/promises'
import { capOf } from '../policies/fee-policies.ts'
import type { Move, TransactionRow } from '../store/rows.ts'
import { type Broadcast, broadcast } from './broadcast.ts'
import {
  type HeldRelayer,
  type Market,
  type NetworkClient,
  pricesOf,
  type SendingDependencies,
  tierOf,
} from './dependencies.ts'
import {
  countLeftOut,
  first_retry_ms,
  isStalled,
  type LaneState,
  lookInterval_ms,
  lookSoon,
  max_retry_ms,
  narrow,
  newLaneState,
  nextLookAt,
  restInterval_ms,
  takeIn,
  watchLimit_ms,
} from './lane-state.ts'
import type { Nonces } from './nonces.ts'
import { createReconciliation } from './reconcile.ts'
import { createReorganized, watched_blocks } from './reorganized.ts'
import { createSigning, type Signed } from './signing.ts'
import { decide, type Sight, type Step, type Tracked } from './state.ts'
import { laneWait, type WaitFacts, waitColumns } from './wait-reason.ts'

const max_rows = 2_000
const sign_at_once = 100
const move_at_once = 100
/** The most data that is signed or broadcast together. */
const max_lot_bytes = 1_000_000
/** The longest time that signing blocks the event loop. */
const turn_ms = 10
const disabled_look_ms = 5_000

export interface SenderDependencies extends SendingDependencies {
  nonces: Nonces
  /** Called after every change; wakes requests that wait for a status. */
  changed(): void
}

export interface Sender {
  /**
   * Does all that is possible now for one relayer. Resolves to the milliseconds until the next round; undefined: nothing is left.
   */
  work(relayer_key: number): Promise<number | undefined>
  /** Makes the next round read the chain at once. `resend`: it also broadcasts all signed transactions again. */
  hurry(relayer_key: number, resend: boolean): void
}

/** The subject of a round: one relayer, its network, and its lane state. */
interface Lane {
  held: HeldRelayer
  networkClient: NetworkClient
  laneState: LaneState
}

interface Decided {
  row: TransactionRow
  step: Step
}

/** The background half of sending: moves each accepted transaction to its end, step by step, as `decide` (state.ts) says. */
export function createSender(dependencies: SenderDependencies): Sender {
  const { store, fees, nonces, now, elapsed, changed } = dependencies
  const laneStates = new Map<number, LaneState>()
  const sign = createSigning(dependencies)
  const reconciliation = createReconciliation(dependencies)
  const reorganized = createReorganized(dependencies)

  async function work(relayer_key: number): Promise<number | undefined> {
    const relayer = await store.getRelayerByKey(relayer_key)
    const held = relayer && (await dependencies.findSigner(relayer.id))
    const networkClient = held && (await dependencies.networkClient(held.relayer))
    if (!held || !networkClient) {
      laneStates.delete(relayer_key)
      return undefined
    }
    const isResting = (await store.countUnfinished(relayer_key)) === 0
    const before = laneStates.get(relayer_key)
    // After a rest the lane starts with an empty state, so that everything is read again before anything is signed.
    const laneState = before && (isResting || before.rest_since === undefined) ? before : newLaneState()
    laneStates.set(relayer_key, laneState)
    if (isResting) laneState.rest_since ??= elapsed()
    try {
      if (!isResting) {
        if (laneState.head === undefined) await store.watch(relayer_key)
        await round({ held, networkClient, laneState })
      } else if (await isWatched({ held, networkClient, laneState })) {
        await watchRound({ held, networkClient, laneState })
      } else {
        laneStates.delete(relayer_key)
        await store.unwatch(relayer_key)
        return undefined
      }
      laneState.failure_ms = first_retry_ms
    } catch (error) {
      if (dependencies.kindOf(error) === undefined) throw error
      const wrong = dependencies.wrongChain(error)
      if (wrong !== undefined) await nonces.disableWrongChain(held.relayer, wrong)
      await noteWait({ held, networkClient, laneState }, wrong === undefined ? { unreachable: messageOf(error) } : {})
      laneState.failure_ms = Math.min(laneState.failure_ms * 2, max_retry_ms)
      laneState.look_at = elapsed() + laneState.failure_ms * (0.75 + Math.random() / 2)
    }
    return Math.max(0, laneState.look_at - elapsed())
  }

  async function round(lane: Lane): Promise<void> {
    const { held, networkClient, laneState } = lane
    const { relayer } = held
    laneState.handed.clear()
    // New transactions are sent before the chain is read.
    if (laneState.head !== undefined && !relayer.system_disabled) await sendNew(lane)
    if (elapsed() < laneState.look_at) return

    const seen = await look(lane)
    if (!seen) return
    if (laneState.recheck && (await reorganized.reopen(relayer, networkClient, laneState.head?.number ?? 0)))
      laneState.resend = true
    // Gaps are closed before anything is signed at a higher nonce.
    if (laneState.resend || laneState.recheck) await mend(lane)
    await sendNew(lane)
    await reconcile(lane, seen.isNewBlock)
    if (seen.isNew) await noteBalance(lane)
  }

  /** Resolves to whether the chain changed since the last look; undefined when its answer must not be used. */
  async function look(lane: Lane): Promise<{ isNew: boolean; isNewBlock: boolean } | undefined> {
    const { networkClient, laneState } = lane
    const { relayer } = lane.held
    const seen = await networkClient.chain.look(relayer.address, lookInterval_ms(networkClient) / 2)
    laneState.look_at = nextLookAt(networkClient, elapsed())
    const latest = await nonces.believe(relayer, networkClient, seen.latest)
    if (latest === undefined) {
      if (relayer.system_disabled) laneState.look_at = elapsed() + disabled_look_ms
      await noteWait(lane, { counted: seen.latest })
      return undefined
    }
    const isNewBlock = laneState.head?.hash !== seen.head.hash
    const isNew = isNewBlock || laneState.latest !== latest
    if (!(await takeIn(laneState, networkClient.chain, { ...seen, latest }))) return undefined
    if ((isNew || relayer.system_disabled) && !(await nonces.follow(relayer, networkClient, latest))) {
      laneState.look_at = elapsed() + disabled_look_ms
      await noteWait(lane, {})
      return undefined
    }
    return { isNew, isNewBlock }
  }

  /** For a relayer without unfinished transactions: whether a reorganization may still remove its last confirmed one. */
  async function isWatched({ held, networkClient, laneState }: Lane): Promise<boolean> {
    if (elapsed() - (laneState.rest_since ?? 0) > watchLimit_ms(networkClient, watched_blocks)) return false
    const newest = await store.newestEnded(held.relayer.key)
    if (!newest) return false
    const until = newest.number + networkClient.network.required_confirmations + watched_blocks
    return laneState.head === undefined || laneState.head.number < until
  }

  /** A cheap round: two calls, and one more when a block was replaced. */
  async function watchRound(lane: Lane): Promise<void> {
    const { held, networkClient, laneState } = lane
    if (elapsed() < laneState.look_at) return
    const seen = await look(lane)
    laneState.look_at = elapsed() + restInterval_ms(networkClient)
    if (!seen || !laneState.recheck) return
    if (await reorganized.reopen(held.relayer, networkClient, laneState.head?.number ?? 0)) {
      Object.assign(laneState, { resend: true, look_at: 0 })
      changed()
    } else {
      laneState.recheck = false
    }
  }

  async function mend({ held, networkClient, laneState }: Lane): Promise<void> {
    laneState.gaps = await nonces.mend(held.relayer, networkClient, laneState.latest)
  }

  /** Reports low balances after a new block. Only this check sees a recovery, because POST may use a cached balance. */
  async function noteBalance({ held, networkClient }: Lane): Promise<void> {
    const { key, address, policies } = held.relayer
    if (policies.min_balance === undefined) return
    const balance = await networkClient.chain.balance(address)
    await store.noteBalance(key, balance.toString(), policies.min_balance, balance < BigInt(policies.min_balance))
  }

  /** Signs `pending` transactions in the order of their nonces, stores the bytes, and broadcasts them. */
  async function sendNew(lane: Lane): Promise<void> {
    const { held, laneState } = lane
    if (nonces.isInDoubt(held.relayer.key)) return
    // A new transaction may close an open gap.
    if (laneState.gaps > 0) await mend(lane)
    while (!held.relayer.paused) {
      const below = laneState.latest + laneState.window
      const rows = await store.pending(held.relayer.key, laneState.latest, below, sign_at_once)
      const decided = rows.map((row) => ({ row, step: decide(trackedOf(row), sightOf(lane, {})) }))
      const toSign = decided.filter(({ step }) => step.do === 'sign')
      for (const { row, step } of decided) if (step.do !== 'sign') await carryOut(lane, row, step)
      const signed = await signAll(lane, toSign)
      if (signed < sign_at_once) return
    }
  }

  /** Handles signed and mined transactions: follows the chain, reprices slow ones, and broadcasts again those that may be lost. */
  async function reconcile(lane: Lane, isNewBlock: boolean): Promise<void> {
    const { held, networkClient, laneState } = lane
    const { relayer } = held
    const isReorganized = laneState.recheck
    const head = laneState.head?.number ?? 0
    const deep = head - networkClient.network.required_confirmations + 1
    const market = await marketOf(networkClient)
    const inFlight = await store.inFlight(relayer.key, max_rows)
    const unsigned = await store.pending(relayer.key, 0, laneState.latest, max_rows)
    const mined = await store.mined(relayer.key, isReorganized ? Number.MAX_SAFE_INTEGER : deep, max_rows)
    const { paused } = relayer
    const priced = inFlight.map((row) => ({ row, nonce: row.nonce as number, payable: isPayable(row, market) }))
    if (isNewBlock) countLeftOut(laneState, priced)

    const known = { reorganized: isReorganized, paused }
    const others = [...mined, ...unsigned].map((row) => ({ row, payable: true }))
    const decided = [...others, ...priced].map(({ row, payable }): Decided => {
      const blocks = laneState.left_out.get(row.key)?.blocks ?? 0
      return { row, step: decide(trackedOf(row), sightOf(lane, { ...known, payable, blocks })) }
    })
    const asked = decided.filter(({ step }) => step.do === 'ask').map(({ row }) => row)
    const receipts = await reconciliation.receipts(networkClient.chain, asked)
    const answered = await verified(
      lane,
      asked.map((row, index): Decided => {
        return { row, step: decide(trackedOf(row), sightOf(lane, { ...known, receipt: receipts[index] ?? null })) }
      }),
    )
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
    if (everything) await mend(lane)
    // Only now, so that steps which fail with a node are repeated in the next round.
    laneState.resend = false
    laneState.recheck = false
    await noteWait(lane, { paused, ...(market?.kind === 'eip1559' && { base_fee: market.base_fee }) })
    if (paused) return
    const isInWindow = ({ nonce }: TransactionRow) =>
      nonce !== null && nonce >= laneState.latest && nonce < laneState.latest + laneState.window
    // Read again, because transactions that just lost their block are in flight now.
    const lost = everything
      ? (await store.inFlight(relayer.key, max_rows)).filter(isInWindow)
      : elapsed() >= laneState.retry_at
        ? decided.filter(({ step }) => step.do === 'broadcast').map(({ row }) => row)
        : []
    await handOverAgain(
      lane,
      lost.filter(({ key }) => !laneState.handed.has(key)),
      everything,
    )
  }

  /** Records why the first in line waits, unless an answer to its own bytes has given the reason. */
  async function noteWait({ held }: Lane, known: Partial<WaitFacts>): Promise<void> {
    const row = await store.firstInLine(held.relayer.key)
    if (!row) return
    const relayer = (await store.getRelayerByKey(held.relayer.key)) ?? held.relayer
    const prices = row.hash === null ? undefined : pricesOf(row)
    const wait = laneWait(row, {
      paused: relayer.paused,
      ...(relayer.disabled_reason !== null && { disabled: relayer.disabled_reason }),
      cap: capOf(relayer),
      price: prices && fees.most(prices),
      ...known,
    })
    const { key, revision, waiting_for, waits_told } = row
    if (wait !== undefined && wait?.waiting_for !== waiting_for) {
      await commit([{ key, revision, set: waitColumns(row, wait) }])
    } else if (waiting_for !== null && !waits_told.includes(waiting_for)) {
      // It has become the first in line: this move makes the store write the event.
      await commit([{ key, revision, set: {} }])
    }
  }

  /** Decides again about transactions without a receipt, by the block at their height. */
  async function verified(lane: Lane, decided: Decided[]): Promise<Decided[]> {
    const doubtful = decided.filter(({ step }) => step.do === 'verify').map(({ row }) => row)
    if (doubtful.length === 0) return decided
    const fates = await reorganized.fatesOf(lane.networkClient, doubtful)
    const again = doubtful.map((row, index): Decided => {
      const { receipt = null, isReplaced = false } = fates[index] ?? {}
      const known = { receipt, replaced: isReplaced, paused: lane.held.relayer.paused }
      return { row, step: decide(trackedOf(row), sightOf(lane, known)) }
    })
    return [...decided.filter(({ step }) => step.do !== 'verify'), ...again]
  }

  /** The steps that neither sign nor ask the chain. */
  async function carryOut({ held, networkClient, laneState }: Lane, row: TransactionRow, step: Step): Promise<void> {
    if (step.do === 'return') {
      const status_reason = 'A reorganization removed its block: it is sent again'
      const set = { status: 'submitted', block_number: null, block_hash: null, status_reason } as const
      await commit([{ key: row.key, revision: row.revision, set }])
      laneState.resend = true
      lookSoon(laneState, elapsed())
    } else if (step.do === 'withdraw') {
      await store.withdraw(row.relayer_key, row.id, 'expire', 'valid_until has passed')
      lookSoon(laneState, elapsed())
      changed()
    } else if (step.do === 'trace') {
      nonces.trace(held.relayer, networkClient, row, () => {
        lookSoon(laneState, elapsed())
        changed()
      })
    }
  }

  /** Resolves to the number of transactions that were signed and stored. */
  async function signAll(lane: Lane, decided: Decided[]): Promise<number> {
    let signed = 0
    for (const lot of lotsOf(decided, ({ row }) => row.data_bytes)) signed += await signLot(lane, lot)
    return signed
  }

  async function signLot(lane: Lane, decided: Decided[]): Promise<number> {
    const signed: Signed[] = []
    let began = performance.now()
    for (const { row, step } of decided) {
      if (performance.now() - began > turn_ms) {
        await turn()
        began = performance.now()
      }
      // After the response to a pause nothing more is signed, not even the rest of a round.
      const held = await dependencies.findSigner(row.relayer_id)
      if (!held || held.relayer.paused) break
      const made = step.do === 'sign' ? await sign(held, lane.networkClient, row, step.purpose, step.slow) : undefined
      if (made) signed.push(made)
    }
    const rows = await commit(signed.map(({ move }) => move))
    const durable = signed.flatMap(({ bytes }, index): Broadcast[] => {
      const row = rows[index]
      // Only stored bytes are broadcast. When the compare-and-set failed, the new bytes are discarded.
      return row && bytes ? [{ row, attempt: bytes }] : []
    })
    await handOver(lane, durable, false)
    return signed.filter(({ isNew }, index) => isNew && rows[index]).length
  }

  async function handOverAgain(lane: Lane, rows: TransactionRow[], everywhere: boolean): Promise<void> {
    for (const lot of lotsOf(rows, ({ data_bytes }) => data_bytes)) {
      const wanted: Broadcast[] = []
      for (const row of lot) {
        const attempt = (await store.attempts(row.key)).at(-1)
        if (attempt) wanted.push({ row, attempt: { ...attempt, raw: await store.rawOf(row.key, attempt.number) } })
      }
      await handOver(lane, wanted, everywhere)
    }
  }

  async function handOver(
    { held, networkClient, laneState }: Lane,
    wanted: Broadcast[],
    everywhere: boolean,
  ): Promise<void> {
    if (wanted.length === 0) return
    for (const { row } of wanted) laneState.handed.add(row.key)
    const state = { next: laneState.latest, cap: capOf(held.relayer), everywhere }
    const { moves, hopeless, again, look, full_at } = await broadcast(dependencies, networkClient.chain, state, wanted)
    await commit(moves)
    if (full_at !== undefined) narrow(laneState, full_at)
    for (const { row, reason } of hopeless) await store.withdraw(held.relayer.key, row.id, 'fail', reason)
    if (hopeless.length > 0) changed()
    if (look || hopeless.length > 0) lookSoon(laneState, elapsed())
    if (again) {
      laneState.retry_at = elapsed() + laneState.retry_ms
      laneState.retry_ms = Math.min(laneState.retry_ms * 2, max_retry_ms)
    } else {
      laneState.retry_ms = first_retry_ms
    }
  }

  /** Moves are committed in batches, so that the event loop stays free: a block may settle 1,000 rows, which take 100 ms. */
  async function commit(moves: Move[]): Promise<(TransactionRow | undefined)[]> {
    const rows: (TransactionRow | undefined)[] = []
    for (let at = 0; at < moves.length; at += move_at_once) {
      if (at > 0) await turn()
      rows.push(...(await store.move(moves.slice(at, at + move_at_once))))
      changed()
    }
    return rows
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

  const sightOf = ({ networkClient, laneState }: Lane, known: Partial<Sight>): Sight => ({
    now: now(),
    head: laneState.head?.number ?? 0,
    latest: laneState.latest,
    confirmations: networkClient.network.required_confirmations,
    receipt: undefined,
    replaced: undefined,
    reorganized: false,
    payable: true,
    paused: false,
    blocks: 0,
    end: laneState.latest + laneState.window,
    ...known,
  })

  return {
    work,
    hurry(relayer_key, resend) {
      const laneState = laneStates.get(relayer_key)
      if (!laneState) return
      laneState.look_at = 0
      laneState.resend ||= resend
    },
  }
}

/** Splits rows into batches in their order, which bounds the memory of one batch. */
function lotsOf<T>(items: T[], bytesOf: (item: T) => number): T[][] {
  const lots: T[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const item of items) {
    if (bytes >= max_lot_bytes) {
      lots.push([])
      bytes = 0
    }
    lots.at(-1)?.push(item)
    bytes += bytesOf(item)
  }
  return lots
}

const trackedOf = (row: TransactionRow): Tracked => ({
  ...row,
  nonce: row.nonce as number,
  tier: tierOf(row),
  valid_until: row.valid_until === null ? undefined : Date.parse(row.valid_until),
})

const messageOf = (error: unknown): string => (error as Error).message.slice(0, 900)
