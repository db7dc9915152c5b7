import { isDeepStrictEqual } from 'node:util'
import type { RelayerPolicies } from '../../generated/openapi.ts'
import { given } from '../chain/chain.ts'
import type { Mempool } from '../chain/mempool.ts'
import { proveHead } from '../chain/proofs.ts'
import { capOf } from '../domain/policies/fee-policies.ts'
import type { RelayerRow } from '../domain/rows.ts'
import { isUnmined } from '../domain/statuses.ts'
import { afterHead, isDueToPublish, isPrivate } from '../domain/submission.ts'
import type { TransactionRow, TransactionUpdate } from '../domain/transaction-rows.ts'
import { type Wait, waitColumns } from '../domain/wait-reason.ts'
import { CannotSign, KeyServicesStopped, KeyServiceUnavailable } from '../keys/key-service.ts'
import type { RelayerSigner } from '../keys/keyring.ts'
import { batchesOf, mapInOrder } from '../lib/in-order.ts'
import { yieldToEventLoop } from '../lib/timers.ts'
import { commit, recordWait } from './context.ts'
import { noteForeign } from './nonces/external.ts'
import type { Decided, Tick, TickContext } from './relayer-state.ts'
import { type Broadcast, broadcast } from './send-raw-transaction.ts'
import { type Hopeless, type Signed, sign } from './sign.ts'

/** The most data that is signed or broadcast together. */
const maxLotBytes = 1_000_000
const maxRows = 2_000
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

/** Signs transactions, stores the bytes, and broadcasts them, in that order. Resolves to the number that were signed and stored. */
export async function signAll(context: TickContext, tick: Tick, decided: Decided[]): Promise<number> {
  let signed = 0
  for (const batch of batchesOf(decided, ({ row }) => row.data_bytes, maxLotBytes)) {
    const done = await signBatch(context, tick, batch)
    signed += done.signed
    if (done.isStopped) break
  }
  return signed
}

/**
 * A key that fails, and a pause, stop the batch: what was signed before is stored and sent. One that waits for a reason of its own does
 * not.
 */
async function signBatch(
  context: TickContext,
  tick: Tick,
  decided: Decided[],
): Promise<{ signed: number; isStopped: boolean }> {
  let signed = 0
  let done = 0
  for await (const results of signatures(context, tick, decided)) {
    const made: AllowedSignature[] = []
    let stopped: PromiseRejectedResult | 'paused' | undefined
    for (const result of results) {
      stopped = result.status === 'rejected' ? result : result.value === 'paused' ? 'paused' : undefined
      if (stopped) break
      done += 1
      if (result.status === 'fulfilled' && typeof result.value === 'object') made.push(result.value)
    }
    if (made.length > 0 && !(await areStillAllowed(context, tick, made))) return { signed, isStopped: true }
    signed += await storeAndBroadcast(context, tick, made)
    if (stopped === 'paused') return { signed, isStopped: true }
    if (stopped) {
      await waitForKey(context, decided[done]?.row, stopped.reason)
      return { signed, isStopped: true }
    }
  }
  return { signed, isStopped: false }
}

/** One group for a key in this process. For a key service: groups of signatures that are ready, while others are being made. */
function signatures(context: TickContext, tick: Tick, decided: Decided[]): AsyncIterable<PromiseSettledResult<Made>[]> {
  const { signer } = tick.held
  if (signer.at_once === 1) return oneByOne(context, tick, decided)
  return mapInOrder(
    decided,
    () => signer.at_once,
    async (one, signal) => {
      const held = await holderOf(context, tick)
      return held ? make(context, { ...tick, held }, one, signal) : 'paused'
    },
  )
}

/**
 * One signature in each turn of the event loop, for all relayers together, because requests go first. The right to sign is checked for
 * those of a few milliseconds together. Before they are stored, a pause and the fence of the commit discard them.
 */
async function* oneByOne(
  context: TickContext,
  tick: Tick,
  decided: Decided[],
): AsyncGenerator<PromiseSettledResult<Made>[]> {
  const made: PromiseSettledResult<Made>[] = []
  let allowed: Tick | undefined
  let checkedAt = Number.NEGATIVE_INFINITY
  for (const one of decided) {
    await yieldToEventLoop()
    if (performance.now() - checkedAt > rightMs) {
      checkedAt = performance.now()
      const held = await holderOf(context, tick)
      allowed = held && { ...tick, held }
    }
    const [result] = await Promise.allSettled([allowed ? make(context, allowed, one) : ('paused' as const)])
    made.push(result)
    if (result.status === 'rejected' || result.value === 'paused') break
  }
  yield made
}

/** Undefined: after the response to a pause nothing more is signed, not even the rest of a tick. */
async function holderOf(context: TickContext, tick: Tick): Promise<RelayerSigner | undefined> {
  const held = await signerOf(context, tick)
  return held && (await context.mayWork(held.relayer.row_id)) ? held : undefined
}

/** A pause, or other policies, that were answered meanwhile discard signatures. */
async function areStillAllowed(context: TickContext, tick: Tick, made: AllowedSignature[]): Promise<boolean> {
  const held = await signerOf(context, tick)
  return held !== undefined && made.every(({ policies }) => isDeepStrictEqual(policies, held.relayer.policies))
}

/** Undefined: the relayer is paused, or gone. Whether another server has taken it over, the fence of a commit knows. */
async function signerOf({ findSigner }: TickContext, { held }: Tick): Promise<RelayerSigner | undefined> {
  const current = await findSigner(held.relayer.id)
  return current && !current.relayer.paused ? current : undefined
}

async function make(
  context: TickContext,
  { held, networkClient }: Tick,
  { row, step }: Decided,
  signal?: AbortSignal,
): Promise<Made> {
  if (step.do !== 'sign') return undefined
  const { purpose, slow } = step
  const signed = await sign(context, held, networkClient, { row, purpose, slow, signal })
  return signed && { ...signed, policies: held.relayer.policies }
}

/** Records that a transaction waits for its key service. A node that has an attempt makes progress without it. */
async function waitForKey(context: TickContext, row: TransactionRow | undefined, error: unknown): Promise<void> {
  // The next start signs it.
  if (error instanceof KeyServicesStopped) return
  if (!row || !(error instanceof KeyServiceUnavailable || error instanceof CannotSign)) throw error
  if (row.status === 'submitted' && !row.resign) return
  await recordWait(context, row, {
    wait_reason: 'key_service',
    text: `the key service does not sign: ${error.message}`,
  })
}

/** Stores the bytes, broadcasts them, and resolves to the number of new ones. */
async function storeAndBroadcast(context: TickContext, tick: Tick, signed: Signed[]): Promise<number> {
  const rows = await commit(
    context,
    signed.map(({ update }) => update),
  )
  const hopeless = signed.flatMap((one) => one.hopeless ?? [])
  if (hopeless.length > 0 && (await endHopeless(context, tick.held.relayer, hopeless)) > 0) context.changed()
  const durable = signed.flatMap(({ bytes, isNew }, index): Broadcast[] => {
    const row = rows[index]
    // Only stored bytes are broadcast. When the compare-and-set failed, the new bytes are discarded.
    return row && bytes ? [{ row, attempt: bytes, isFirst: isNew }] : []
  })
  await broadcastAll(context, tick, durable, false)
  return signed.filter(({ isNew }, index) => isNew && rows[index]).length
}

/** Broadcasts the newest stored bytes of transactions. */
async function broadcastAgain(
  context: TickContext,
  tick: Tick,
  rows: TransactionRow[],
  everywhere: boolean,
): Promise<void> {
  const { store } = context
  for (const batch of batchesOf(rows, ({ data_bytes }) => data_bytes, maxLotBytes)) {
    const wanted: Broadcast[] = []
    for (const row of batch) {
      const attempt = (await store.attempts(row.row_id)).at(-1)
      if (!attempt) continue
      const raw = await store.rawOf(row.row_id, attempt.number)
      wanted.push({ row, attempt: { ...attempt, raw }, isFirst: false })
    }
    await broadcastAll(context, tick, wanted, everywhere)
  }
}

async function broadcastAll(context: TickContext, tick: Tick, wanted: Broadcast[], everywhere: boolean): Promise<void> {
  if (wanted.length === 0) return
  const again: number[] = []
  for (const [mempool, some] of Map.groupBy(wanted, ({ row }) => tick.networkClient.mempoolOf(row)))
    again.push(...(await broadcastTo(context, tick, mempool, { wanted: some, everywhere })))
  tick.state.markNotTaken(again)
}

/** Resolves to the rows whose bytes no node accepted. */
async function broadcastTo(
  context: TickContext,
  { held, state, networkClient }: Tick,
  mempool: Mempool,
  { wanted, everywhere }: { wanted: Broadcast[]; everywhere: boolean },
): Promise<number[]> {
  for (const { row, attempt } of wanted) {
    state.markSent(row.row_id)
    if (mempool.private_expiry_blocks !== undefined) state.markGiven(row.row_id, attempt.hash)
  }
  const isSole = networkClient.each.length === 1
  const isRefusedLong = (row: TransactionRow) =>
    isSole && !isPrivate(row) && state.markRefused(row.row_id) >= longRefusedMs
  const { isLimited } = state.window
  const facts = { next: state.latest, cap: capOf(held.relayer), everywhere, isLimited, isRefusedLong }
  const result = await broadcast(context, mempool, facts, wanted)
  const refused = new Set(result.again)
  for (const { row } of wanted) if (!refused.has(row.row_id)) state.markAccepted(row.row_id)
  await commit(context, result.updates)
  state.window.noteAnswers(state.latest, result)
  for (const foreign of result.foreign) await noteForeign(context, held.relayer, foreign)
  const ended = await endHopeless(context, held.relayer, result.hopeless)
  if (ended > 0) context.changed()
  if (result.poll || ended > 0) state.pollSoon()
  return result.again
}

/** Each uses its nonce with a zero-value transfer, so their number per hour is bounded. Resolves to how many were ended. */
async function endHopeless(context: TickContext, relayer: RelayerRow, hopeless: Hopeless[]): Promise<number> {
  let ended = 0
  for (const { row, reason, error, isConfirmed } of hopeless) {
    if (isConfirmed || (await context.nonces.gaps.takeFill(relayer))) {
      await context.store.withdraw(
        { relayer_row_id: relayer.row_id, id: row.id },
        { intent: 'fail', status_reason: reason, error },
      )
      ended += 1
    } else {
      const text = `${reason}; the policy max_gap_fills_per_hour does not allow a transfer at its nonce now`
      await recordWait(context, row, { wait_reason: 'node', text })
    }
  }
  return ended
}

/** Broadcasts again what nodes or relays no longer have, or have not accepted; `everything`: all that is signed, at all nodes. */
export async function broadcastLost(
  context: TickContext,
  tick: Tick,
  decided: Decided[],
  everything: boolean,
): Promise<void> {
  const lost = everything ? await signedOf(context, tick) : await lostOf(context, tick, decided)
  const due = lost.filter(({ row_id }) => !tick.state.isSentNow(row_id))
  await broadcastAgain(context, tick, due, everything)
}

/** All that nodes may hold. Read again, because transactions that just lost their block are in flight now. */
async function signedOf({ store }: TickContext, { held, state }: Tick): Promise<TransactionRow[]> {
  const { latest, window } = state
  const inFlight = await store.inFlight(held.relayer.row_id, maxRows)
  return inFlight.filter(({ nonce }) => nonce !== null && nonce >= latest && nonce < latest + window.heldByNodes)
}

async function lostOf(context: TickContext, tick: Tick, decided: Decided[]): Promise<TransactionRow[]> {
  const { state } = tick
  const forgotten = [...(await forgottenOf(tick, decided)), ...(await droppedOf(context, tick, decided))]
  if (!state.isRetryDue) return forgotten
  return [...forgotten, ...decided.filter((one) => isNotTaken(tick, one)).map(({ row }) => row)]
}

/** Without new blocks time alone tells nothing: the nodes are asked whether they still have a transaction. */
async function forgottenOf({ networkClient, state }: Tick, decided: Decided[]): Promise<TransactionRow[]> {
  const forgotten: TransactionRow[] = []
  for (const { row, step } of decided) {
    if (step.do !== 'look' || row.hash === null || !state.isSilent(row)) continue
    if (await networkClient.mempoolOf(row).isKnown(row.hash)) state.markKnown(row.row_id)
    else forgotten.push(row)
  }
  return forgotten
}

/**
 * What private relays dropped by their rules. They get it again, as the row before this reason: their acceptance ends an earlier reason,
 * and leaves this one.
 */
async function droppedOf(
  context: TickContext,
  { networkClient, state }: Tick,
  decided: Decided[],
): Promise<TransactionRow[]> {
  const dropped = decided.flatMap(({ row, step }) => {
    const { private_expiry_blocks } = networkClient.mempoolOf(row)
    if (row.status !== 'submitted' || step.do !== 'rest' || private_expiry_blocks === undefined) return []
    return state.isDropped(row.row_id, private_expiry_blocks) ? { row, private_expiry_blocks } : []
  })
  for (const { row } of dropped) state.takeBack(row.row_id)
  const updated = await commit(
    context,
    dropped.map(({ row, private_expiry_blocks }) => ({
      row_id: row.row_id,
      revision: row.revision,
      set: waitColumns(row, droppedWait(private_expiry_blocks, state.height)),
    })),
  )
  return dropped.flatMap(({ row }, index) => (updated[index] ? row : []))
}

const droppedWait = (blocks: number, height: number): Wait => ({
  wait_reason: 'private_relay',
  text: `the private relays had it for ${blocks} blocks, and drop it then; they were given it again at block ${height}`,
})

/** A transaction that a node has may have newer bytes, for example of its cancellation, that none has. */
function isNotTaken({ state }: Tick, { row, step }: Decided): boolean {
  const isOlder = row.status === 'submitted' && state.isNotTaken(row.row_id) && (row.nonce ?? -1) >= state.latest
  return step.do === 'broadcast' || (step.do === 'rest' && isOlder)
}

/**
 * Releases the bytes of `private_then_public` transactions, by the proven height of the chain: a release cannot be taken back. Resolves to
 * the same steps, for the rows as they are then. The tick broadcasts what was released.
 */
export async function releasePrivate(
  context: TickContext,
  { networkClient, state }: Tick,
  decided: Decided[],
): Promise<Decided[]> {
  const isSigned = ({ status }: TransactionRow) => isUnmined(status) && status !== 'pending'
  // What a caller has released, which no node has yet.
  for (const { row } of decided) if (!isPrivate(row) && state.takeBack(row.row_id)) state.resendAll()
  const due = decided.flatMap(({ row }) => (isSigned(row) && isDueToPublish(row, state.height) ? row : []))
  const proof = due.length === 0 ? undefined : await proveHead(networkClient)
  if (!proof) return decided
  const updates = due.flatMap((row): TransactionUpdate[] => {
    const submission = row.submission && afterHead(row.submission, proof, context.now())
    if (!submission) return []
    const { row_id, revision } = row
    if (submission.public_since === null) return [{ row_id, revision, set: { submission } }]
    const statusReason = `Public from block ${proof.fact.head}: the private relays had it for ${submission.after_blocks} blocks`
    const reason = row.intent === 'send' && { status_reason: statusReason }
    // What it waited for at the relays has ended.
    return [{ row_id, revision, set: { submission, ...waitColumns(row, null), ...reason } }]
  })
  const changed = new Map(given(await commit(context, updates)).map((row) => [row.row_id, row]))
  if (changed.values().some((row) => !isPrivate(row))) state.resendAll()
  return decided.map(({ row, step }) => ({ row: changed.get(row.row_id) ?? row, step }))
}
