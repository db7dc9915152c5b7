import { isDeepStrictEqual } from 'node:util'
import type { RelayerPolicies } from '../../generated/openapi.ts'
import type { Mempool } from '../chain/mempool.ts'
import { capOf } from '../domain/policies/fee-policies.ts'
import type { RelayerRow } from '../domain/rows.ts'
import { isPrivate } from '../domain/submission.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import { isSameWait, type Wait, waitColumns } from '../domain/wait-reason.ts'
import { CannotSign, KeyServiceUnavailable } from '../keys/key-service.ts'
import type { RelayerSigner } from '../keys/keyring.ts'
import { mapInOrder } from '../lib/map-in-order.ts'
import { yieldToEventLoop } from '../lib/yield-to-event-loop.ts'
import type { Commit } from './commit.ts'
import type { Decided, SenderDependencies, Tick } from './lane.ts'
import { noteGiven, noteNotTaken, noteRefused, noteSent } from './mempool-state.ts'
import { pollSoon } from './schedule.ts'
import { type Broadcast, broadcast, type Hopeless } from './send-raw-transaction.ts'
import { createSign, type Signed } from './sign.ts'
import { noteAnswers } from './window.ts'

/** The most data that is signed or broadcast together. */
const maxLotBytes = 1_000_000
/** After this long, what the only node of a network refuses for good has ended. */
const longRefusedMs = 120_000
/** After this long, the right to sign is checked again. */
const rightMs = 10

/** Undefined: nothing changes. `paused`: nothing may be signed any more, also because another server sends for the relayer now. */
type Made = AllowedSignature | undefined | 'paused'

interface AllowedSignature extends Signed {
  /** By which it was allowed. */
  policies: RelayerPolicies
}

/** Signs transactions, stores the bytes, and broadcasts them, in that order. */
export function createBroadcast(dependencies: SenderDependencies, commit: Commit) {
  const { store, nonces, elapsed, changed } = dependencies
  const sign = createSign(dependencies)

  /** Resolves to the number of transactions that were signed and stored. */
  async function signAll(lane: Tick, decided: Decided[]): Promise<number> {
    let signed = 0
    for (const batch of batchesOf(decided, ({ row }) => row.data_bytes)) {
      const done = await signBatch(lane, batch)
      signed += done.signed
      if (done.isStopped) break
    }
    return signed
  }

  /** A transaction that is not signed stops the batch, so that no later nonce is sent before an earlier one. */
  async function signBatch(lane: Tick, decided: Decided[]): Promise<{ signed: number; isStopped: boolean }> {
    let signed = 0
    let done = 0
    for await (const results of signatures(lane, decided)) {
      const made: AllowedSignature[] = []
      let stopped: PromiseRejectedResult | 'paused' | undefined
      for (const result of results) {
        stopped = result.status === 'rejected' ? result : result.value === 'paused' ? 'paused' : undefined
        if (stopped) break
        done += 1
        if (result.status === 'fulfilled' && typeof result.value === 'object') made.push(result.value)
      }
      if (made.length > 0 && !(await areStillAllowed(lane, made))) return { signed, isStopped: true }
      signed += await storeAndHandOver(lane, made)
      if (stopped === 'paused') return { signed, isStopped: true }
      if (stopped) {
        await waitForKey(decided[done]?.row, stopped.reason)
        return { signed, isStopped: true }
      }
    }
    return { signed, isStopped: false }
  }

  /** One group for a key in this process. For a key service: groups of signatures that are ready, while others are being made. */
  function signatures(lane: Tick, decided: Decided[]): AsyncIterable<PromiseSettledResult<Made>[]> {
    const { signer } = lane.held
    if (signer.at_once === 1) return oneByOne(lane, decided)
    return mapInOrder(
      decided,
      () => signer.at_once,
      (one, signal) => signOne(lane, one, signal),
    )
  }

  /**
   * One signature in each turn of the event loop, for all relayers together, because requests go first. The right to sign is checked for
   * those of a few milliseconds together. Before they are stored, a pause and the fence of the commit discard them.
   */
  async function* oneByOne(lane: Tick, decided: Decided[]): AsyncGenerator<PromiseSettledResult<Made>[]> {
    const made: PromiseSettledResult<Made>[] = []
    let held: RelayerSigner | undefined
    let checkedAt = Number.NEGATIVE_INFINITY
    for (const one of decided) {
      await yieldToEventLoop()
      if (performance.now() - checkedAt > rightMs) {
        checkedAt = performance.now()
        held = await holderOf(lane)
      }
      const value = held ? await make(lane, held, one) : 'paused'
      made.push({ status: 'fulfilled', value })
      if (value === 'paused') break
    }
    yield made
  }

  async function signOne(lane: Tick, decided: Decided, signal?: AbortSignal): Promise<Made> {
    const held = await holderOf(lane)
    return held ? make(lane, held, decided, signal) : 'paused'
  }

  /** Undefined: after the response to a pause nothing more is signed, not even the rest of a round. */
  async function holderOf(lane: Tick): Promise<RelayerSigner | undefined> {
    const held = await signerOf(lane)
    return held && (await dependencies.mayWork(held.relayer.row_id)) ? held : undefined
  }

  /** A pause, or other policies, that were answered meanwhile discard signatures. */
  async function areStillAllowed(lane: Tick, made: AllowedSignature[]): Promise<boolean> {
    const held = await signerOf(lane)
    return held !== undefined && made.every(({ policies }) => isDeepStrictEqual(policies, held.relayer.policies))
  }

  /** Undefined: the relayer is paused, or gone. Whether another server has taken it over, the fence of a commit knows. */
  async function signerOf({ held: { relayer } }: Tick): Promise<RelayerSigner | undefined> {
    const held = await dependencies.findSigner(relayer.id)
    return held && !held.relayer.paused ? held : undefined
  }

  async function make(lane: Tick, held: RelayerSigner, { row, step }: Decided, signal?: AbortSignal): Promise<Made> {
    if (step.do !== 'sign') return undefined
    const signed = await sign(held, lane.networkClient, row, step.purpose, step.slow, signal)
    return signed && { ...signed, policies: held.relayer.policies }
  }

  /** Records that a transaction waits for its key service. A node that has an attempt makes progress without it. */
  async function waitForKey(row: TransactionRow | undefined, error: unknown): Promise<void> {
    if (!row || !(error instanceof KeyServiceUnavailable || error instanceof CannotSign)) throw error
    if (row.status === 'submitted' && !row.resign) return
    const wait: Wait = { waiting_for: 'key_service', text: `the key service does not sign: ${error.reason}` }
    if (!isSameWait(row, wait))
      await commit([{ row_id: row.row_id, revision: row.revision, set: waitColumns(row, wait) }])
  }

  /** Stores the bytes, broadcasts them, and resolves to the number of new ones. */
  async function storeAndHandOver(lane: Tick, signed: Signed[]): Promise<number> {
    const rows = await commit(signed.map(({ move }) => move))
    const hopeless = signed.flatMap((one) => one.hopeless ?? [])
    if (hopeless.length > 0 && (await endHopeless(lane.held.relayer, hopeless)) > 0) changed()
    const durable = signed.flatMap(({ bytes, isNew }, index): Broadcast[] => {
      const row = rows[index]
      // Only stored bytes are broadcast. When the compare-and-set failed, the new bytes are discarded.
      return row && bytes ? [{ row, attempt: bytes, isFirst: isNew }] : []
    })
    await handOver(lane, durable, false)
    return signed.filter(({ isNew }, index) => isNew && rows[index]).length
  }

  async function handOverAgain(lane: Tick, rows: TransactionRow[], everywhere: boolean): Promise<void> {
    for (const batch of batchesOf(rows, ({ data_bytes }) => data_bytes)) {
      const wanted: Broadcast[] = []
      for (const row of batch) {
        const attempt = (await store.attempts(row.row_id)).at(-1)
        if (!attempt) continue
        const raw = await store.rawOf(row.row_id, attempt.number)
        wanted.push({ row, attempt: { ...attempt, raw }, isFirst: false })
      }
      await handOver(lane, wanted, everywhere)
    }
  }

  async function handOver(lane: Tick, wanted: Broadcast[], everywhere: boolean): Promise<void> {
    if (wanted.length === 0) return
    const { networkClient } = lane
    const again: number[] = []
    for (const [mempool, some] of Map.groupBy(wanted, ({ row }) => networkClient.mempoolOf(row)))
      again.push(...(await handOverTo(lane, mempool, some, everywhere)))
    noteNotTaken(lane.pool, again, elapsed())
  }

  /** Resolves to the rows whose bytes no node accepted. */
  async function handOverTo(
    { held, seen, schedule, pool, networkClient }: Tick,
    mempool: Mempool,
    wanted: Broadcast[],
    everywhere: boolean,
  ): Promise<number[]> {
    for (const { row, attempt } of wanted) {
      noteSent(pool, row.row_id, elapsed())
      if (mempool.drops_after_blocks !== undefined) noteGiven(pool, row.row_id, attempt.hash, seen.head?.number ?? 0)
    }
    const isSole = networkClient.each.length === 1
    const isRefusedLong = (row: TransactionRow) =>
      isSole && !isPrivate(row) && noteRefused(pool, row.row_id, elapsed()) >= longRefusedMs
    const { is_limited } = pool.window
    const state = { next: seen.latest, cap: capOf(held.relayer), everywhere, is_limited, isRefusedLong }
    const result = await broadcast(dependencies, mempool, state, wanted)
    const refused = new Set(result.again)
    for (const { row } of wanted) if (!refused.has(row.row_id)) pool.refused_since.delete(row.row_id)
    await commit(result.moves)
    noteAnswers(pool.window, seen.latest, result)
    for (const foreign of result.foreign) await nonces.noteForeign(held.relayer, foreign)
    const ended = await endHopeless(held.relayer, result.hopeless)
    if (ended > 0) changed()
    if (result.poll || ended > 0) pollSoon(schedule, elapsed())
    return result.again
  }

  /** Each uses its nonce with a zero-value transfer, so their number per hour is bounded. Resolves to how many were ended. */
  async function endHopeless(relayer: RelayerRow, hopeless: Hopeless[]): Promise<number> {
    let ended = 0
    for (const { row, reason, error, isConfirmed } of hopeless) {
      if (isConfirmed || (await nonces.takeFill(relayer))) {
        await store.withdraw(relayer.row_id, row.id, 'fail', reason, { error })
        ended += 1
      } else {
        const text = `${reason}; the policy max_gap_fills_per_hour does not allow a transfer at its nonce now`
        const wait: Wait = { waiting_for: 'node', text }
        const { row_id, revision } = row
        if (!isSameWait(row, wait)) await commit([{ row_id, revision, set: waitColumns(row, wait) }])
      }
    }
    return ended
  }

  return { signAll, handOverAgain }
}

/** Splits rows into batches in their order, which bounds the memory of one batch. */
function batchesOf<T>(items: T[], bytesOf: (item: T) => number): T[][] {
  const batches: T[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const item of items) {
    if (bytes >= maxLotBytes) {
      batches.push([])
      bytes = 0
    }
    batches.at(-1)?.push(item)
    bytes += bytesOf(item)
  }
  return batches
}
