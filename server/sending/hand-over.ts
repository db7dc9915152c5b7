import { setImmediate as turn } from 'node:timers/promises'
import { capOf } from '../policies/fee-policies.ts'
import type { RelayerRow } from '../store/rows.ts'
import type { TransactionRow } from '../store/sending-rows.ts'
import { type Broadcast, broadcast, type Hopeless } from './broadcast.ts'
import type { Commit } from './commit.ts'
import type { Decided, Lane, SenderDependencies } from './lane.ts'
import { first_retry_ms, lookSoon, max_retry_ms, narrow } from './lane-state.ts'
import { createSigning, type Signed } from './signing.ts'
import { waitColumns } from './wait-reason.ts'

/** The most data that is signed or broadcast together. */
const max_lot_bytes = 1_000_000
/** The longest time that signing blocks the event loop. */
const turn_ms = 10

/** Signs transactions, stores the bytes, and broadcasts them, in that order. */
export function createHandOver(dependencies: SenderDependencies, commit: Commit) {
  const { store, nonces, elapsed, changed } = dependencies
  const sign = createSigning(dependencies)

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
    const ended = await endHopeless(held.relayer, hopeless)
    if (ended > 0) changed()
    if (look || ended > 0) lookSoon(laneState, elapsed())
    if (again) {
      laneState.retry_at = elapsed() + laneState.retry_ms
      laneState.retry_ms = Math.min(laneState.retry_ms * 2, max_retry_ms)
    } else {
      laneState.retry_ms = first_retry_ms
    }
  }

  /** Each uses its nonce with a zero-value transfer, so their number per hour is bounded. Resolves to how many were ended. */
  async function endHopeless(relayer: RelayerRow, hopeless: Hopeless[]): Promise<number> {
    let ended = 0
    for (const { row, reason, error } of hopeless) {
      if (nonces.takeFill(relayer)) {
        await store.withdraw(relayer.key, row.id, 'fail', reason, error)
        ended += 1
      } else {
        const text = `${reason}; the policy max_gap_fills_per_hour does not allow to use its nonce now`
        const columns = waitColumns(row, { waiting_for: 'node', text })
        const isSaid = row.status_reason === columns.status_reason
        if (!isSaid) await commit([{ key: row.key, revision: row.revision, set: columns }])
      }
    }
    return ended
  }

  return { signAll, handOverAgain }
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
