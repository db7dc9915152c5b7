import { isRpcFailure, orUnknown } from '../chain/rpc.ts'
import { decide } from '../domain/decide.ts'
import type { Market } from '../domain/fees.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import { quorumWait } from '../domain/wait-reason.ts'
import { broadcastLost, releasePrivate, signAll } from './broadcast.ts'
import { commit, currentOf, type NetworkClient, recordWait } from './context.ts'
import { noteForeign } from './nonces/external.ts'
import { lookAtPool, observe, poll, recordRelayerWait } from './observe.ts'
import { FailedUnmined, reopen, type ShownStep, updatesByReceipt, watchedBlocks } from './receipts.ts'
import {
  type Decided,
  RelayerState,
  restIntervalMs,
  type Tick,
  type TickContext,
  transactionState,
  watchLimitMs,
} from './relayer-state.ts'

const minRecheckMs = 1_000
const signAtOnce = 100
/** With a key service more, because its calls in flight run out at the end of every batch. */
const signRemotelyAtOnce = 400

/**
 * The way into this folder, and the background half of sending: moves each accepted transaction to its end, step by step, as `decide`
 * (domain/decide.ts) says.
 */
export class Sender {
  readonly #context: TickContext
  readonly #states = new Map<number, RelayerState>()
  readonly #failed: FailedUnmined

  constructor(context: TickContext) {
    this.#context = context
    this.#failed = new FailedUnmined(context)
  }

  /** Does all that is possible now for one relayer. Resolves to the milliseconds until the next tick; undefined: nothing is left. */
  async work(relayerRowId: number): Promise<number | undefined> {
    const { store, findSigner, nonces, changed } = this.#context
    const [relayer, unfinished] = await Promise.all([
      store.getRelayerByRowId(relayerRowId),
      store.countUnfinished(relayerRowId),
    ])
    const held = relayer && (await findSigner(relayer.id))
    const networkClient = held && (await this.#context.networkClient(held.relayer))
    if (!held || !networkClient) {
      this.leave(relayerRowId)
      return undefined
    }
    const isResting = unfinished === 0
    const state = this.#stateOf(relayerRowId, networkClient, isResting)
    const tick: Tick = { held, networkClient, state }
    try {
      if (!isResting) {
        if (state.head === undefined) await store.watch(relayerRowId)
        await runTick(this.#context, tick)
      } else if (await isWatched(this.#context, tick)) {
        await watch(this.#context, tick)
      } else {
        const dueMs = await this.#failed.dueIn(relayerRowId)
        if (dueMs === undefined) {
          this.leave(relayerRowId)
          await store.unwatch(relayerRowId)
          return undefined
        }
        state.pollAfter(Math.max(dueMs, minRecheckMs))
      }
      if (await this.#failed.correct(tick)) changed()
      state.noteSuccess()
    } catch (error) {
      if (!isRpcFailure(error)) throw error
      const isWrongChain = await nonces.identity.disableOnWrongChain(held.relayer, error)
      await recordRelayerWait(this.#context, tick, isWrongChain ? {} : { unreachable: error.message.slice(0, 900) })
      state.noteFailure(Math.random())
    }
    return state.msUntilPoll
  }

  /** Forgets a relayer that another server works on from now on. */
  leave(relayerRowId: number): void {
    this.#states.delete(relayerRowId)
  }

  /** Makes the next tick read the chain at once. `resend`: it also broadcasts all signed transactions again. */
  pollNow(relayerRowId: number, resend: boolean): void {
    this.#states.get(relayerRowId)?.pollNow(resend)
  }

  /**
   * After a rest, and at other endpoints, a relayer starts with an empty state: everything is read again before anything is signed. The
   * window of the same endpoints stays.
   */
  #stateOf(relayerRowId: number, { endpoints }: NetworkClient, isResting: boolean): RelayerState {
    const before = this.#states.get(relayerRowId)
    const isSame = before?.endpoints === endpoints
    const isKept = isSame && (isResting || before.restedMs === undefined)
    const state = isKept ? before : new RelayerState(endpoints, this.#context.elapsed, isSame ? before : undefined)
    this.#states.set(relayerRowId, state)
    if (isResting) state.rest()
    return state
  }
}

/** For a relayer without unfinished transactions: whether a reorganization may still remove its last confirmed one. */
async function isWatched({ store }: TickContext, { held, networkClient, state }: Tick): Promise<boolean> {
  if ((state.restedMs ?? 0) > watchLimitMs(networkClient, watchedBlocks)) return false
  const newest = await store.newestEnded(held.relayer.row_id)
  if (!newest) return false
  const until = newest.number + networkClient.network.required_confirmations + watchedBlocks
  return state.head === undefined || state.head.number < until
}

/** A cheap tick: two calls, and one more when a block was replaced. */
async function watch(context: TickContext, tick: Tick): Promise<void> {
  const { networkClient, state } = tick
  if (!state.isPollDue) return
  const polled = await poll(context, tick)
  state.pollAfter(restIntervalMs(networkClient))
  if (!polled || !state.needsRecheck) return
  if (await reopen(context, tick)) {
    state.pollNow(true)
    context.changed()
  } else state.noteFollowed()
}

/** One tick of a relayer: observe the chain, decide the step of each transaction, commit what it shows, and act. */
async function runTick(context: TickContext, tick: Tick): Promise<void> {
  const { held, state } = tick
  state.beginTick()
  // New transactions are sent before the chain is read.
  if (state.head !== undefined && !held.relayer.system_disabled) await sendNew(context, tick)
  if (!state.isPollDue) return

  const polled = await poll(context, tick)
  if (!polled) return
  if (state.needsRecheck && (await reopen(context, tick))) state.resendAll()
  // Gaps are closed before anything is signed at a higher nonce.
  if (state.isUncertain) await fillNonceGaps(context, tick)
  await sendNew(context, tick)
  // Signed and mined transactions: follows the chain, reprices slow ones, and broadcasts again those that may be lost.
  const { decided, market } = await observe(context, tick, polled)
  await commitShown(context, tick, decided)
  await act(context, tick, await releasePrivate(context, tick, decided), market)
  if (polled.isNew) await noteBalance(context, tick)
}

/** Signs `pending` transactions in the order of their nonces, stores the bytes, and broadcasts them. */
async function sendNew(context: TickContext, tick: Tick): Promise<void> {
  const { store, nonces, now } = context
  const { held, state } = tick
  const { row_id, paused } = held.relayer
  if (nonces.counts.isInDoubt(row_id)) return
  // A new transaction may close an open gap.
  if (state.hasGaps) await fillNonceGaps(context, tick)
  const isRemote = held.signer.at_once > 1
  const atOnce = isRemote ? signRemotelyAtOnce : signAtOnce
  while (!paused) {
    const { size } = state.window
    const rows = await store.pending(row_id, { from: state.latest, below: state.windowEnd }, atOnce)
    if (rows.length === 0) return
    await lookAtPool(context, tick)
    const time = now()
    const decided = rows.map((row) => ({
      row,
      step: decide(transactionState(row), state.observation(tick, row, time, {})),
    }))
    // Nonces are signed in their order, so the first one that waits for another sender's transaction holds up the others.
    const waiting = decided.findIndex(({ step }) => step.do === 'yield')
    const first = waiting < 0 ? decided.length : waiting
    for (const [index, { row, step }] of decided.entries()) {
      if (step.do !== 'sign' && (step.do !== 'yield' || index === first)) await carryOut(context, tick, row, step)
    }
    const toSign = decided.slice(0, first).filter(({ step }) => step.do === 'sign')
    const signed = await signAll(context, tick, toSign)
    const isAll = signed < atOnce && state.window.size <= size
    // With a key service many batches take long: the chain is read between them.
    if (isAll || (isRemote && state.isPollDue)) return
  }
}

/** Closes the gaps of a relayer's nonces, and notes how many stay open. */
async function fillNonceGaps({ nonces }: TickContext, { held, networkClient, state }: Tick): Promise<void> {
  state.noteGaps(await nonces.gaps.close(held.relayer, networkClient, state.latest))
}

/** Commits what the chain showed: transactions that are in a block, and those that are final. */
async function commitShown(context: TickContext, tick: Tick, decided: Decided[]): Promise<void> {
  const isShown = (one: Decided): one is { row: TransactionRow; step: ShownStep } =>
    one.step.do === 'note' || one.step.do === 'end'
  const shown = decided.filter(isShown)
  const updates = await Promise.all(shown.map(({ row, step }) => updatesByReceipt(context, tick, row, step)))
  await commit(context, updates.flat())
}

async function act(context: TickContext, tick: Tick, decided: Decided[], market: Market | undefined): Promise<void> {
  const { held, state } = tick
  for (const { row, step } of decided) await carryOut(context, tick, row, step)
  const toSign = decided.filter(({ step }) => step.do === 'sign')
  await signAll(context, tick, toSign)
  const everything = state.decideResend()
  if (everything) await fillNonceGaps(context, tick)
  state.noteFollowed()
  const { paused } = await currentOf(context, held.relayer)
  await recordRelayerWait(context, tick, {
    paused,
    ...(market?.kind === 'eip1559' && { base_fee: market.base_fee }),
  })
  if (!paused) await broadcastLost(context, tick, decided, everything)
}

/** The steps that neither sign nor ask the chain. */
async function carryOut(context: TickContext, tick: Tick, row: TransactionRow, step: Decided['step']) {
  const { store, nonces, changed } = context
  const { held, networkClient, state } = tick
  const { row_id, revision } = row
  if (step.do === 'return') {
    const statusReason = 'Its block was removed by a reorganization, or never had it: it is sent again'
    const set = { status: 'submitted', block_number: null, block_hash: null, status_reason: statusReason } as const
    await commit(context, [{ row_id, revision, set }])
    state.resendAll()
    state.pollSoon()
  } else if (step.do === 'withdraw') {
    await store.withdraw(
      { relayer_row_id: row.relayer_row_id, id: row.id },
      { intent: 'expire', status_reason: 'valid_until has passed' },
    )
    state.pollSoon()
    changed()
  } else if (step.do === 'doubt') {
    await recordWait(context, row, quorumWait(step.seen))
  } else if (step.do === 'yield') {
    await waitForForeign(context, tick, row)
  } else if (step.do === 'trace') {
    nonces.users.trace(held.relayer, networkClient, row, (finding) => {
      if (finding === 'shown') state.markReceiptShown(row_id)
      if (finding === 'disputed') state.dispute()
      state.pollSoon()
      changed()
    })
  }
}

/** Another sender's transaction with this nonce is in the pool. It is not replaced unless the caller asks for that. */
async function waitForForeign(context: TickContext, { held, networkClient }: Tick, row: TransactionRow): Promise<void> {
  const nonce = row.nonce as number
  if (row.wait_reason === 'nonce_conflict') return
  const hash = (await networkClient.chain.pooledHash(held.relayer.address, nonce)) ?? null
  await noteForeign(context, held.relayer, { nonce, hash })
  const other = hash === null ? 'a transaction' : `the transaction ${hash}`
  const text =
    `a node has ${other} of this account with nonce ${nonce}, which this service did not send. It waits for that one; ` +
    'replace it with prices to pay more than that one'
  await recordWait(context, row, { wait_reason: 'nonce_conflict', text })
}

/** Reports low balances after a new block. Only this check sees a recovery, because POST may use a cached balance. */
async function noteBalance({ store }: TickContext, { held, networkClient }: Tick): Promise<void> {
  const { row_id, address, policies } = held.relayer
  if (policies.min_balance === undefined) return
  const balance = await networkClient.chain.balance(address).catch(orUnknown)
  if (balance === undefined) return
  await store.noteBalance(row_id, {
    balance: balance.toString(),
    min_balance: policies.min_balance,
    is_low: balance < BigInt(policies.min_balance),
  })
}
