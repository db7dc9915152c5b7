import { askEach, type Chain, given, type Head, majorityOf, reachedByMost } from '../chain/chain.ts'
import { type Asked, minWitnesses, newestOf, proveCount, proveReceipts, withOutcome } from '../chain/proofs.ts'
import { orUnknown } from '../chain/rpc.ts'
import { type ChainObservation, decide, type ReceiptView, type Step } from '../domain/decide.ts'
import { readSigned } from '../domain/decoding/transaction.ts'
import { type Effect, effectOf } from '../domain/effect.ts'
import { ceilingOf, isPayable, type Market, most, pricesOf } from '../domain/fees.ts'
import { capOf } from '../domain/policies/fee-policies.ts'
import { isSecret, mayAskFor } from '../domain/submission.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import { type WaitFacts, waitColumns, waitOfFirst } from '../domain/wait-reason.ts'
import { commit, currentOf } from './context.ts'
import { fatesOf } from './receipts.ts'
import {
  type Decided,
  type Polled,
  pollIntervalMs,
  type Tick,
  type TickContext,
  transactionState,
} from './relayer-state.ts'

const disabledPollMs = 5_000
const maxRows = 2_000
/** A survey is repeated at the same head after this time, because endpoints may have lagged. */
const surveyAgainMs = 2_000
/** The lead in blocks that an endpoint may have over most others before its answer counts as false. */
const plausibleLead = 64

type Facts = Pick<ChainObservation, 'receipt' | 'replaced' | 'quorum'> & { effect: Effect | undefined }

/** Reads the newest block and the account's count. Undefined when the nodes' answer must not be used. */
export async function poll(context: TickContext, tick: Tick): Promise<Polled | undefined> {
  const { nonces } = context
  const { networkClient, state } = tick
  const { relayer } = tick.held
  const shown = await networkClient.watch.poll(relayer.address, pollIntervalMs(networkClient) / 2)
  state.schedulePoll(networkClient)
  const view = await viewAccount(context, tick, shown)
  const latest = await nonces.counts.believe(relayer, networkClient, view.latest)
  if (latest === undefined) {
    if (relayer.system_disabled) state.pollAfter(disabledPollMs)
    await recordRelayerWait(context, tick, { counted: view.latest })
    return undefined
  }
  const polled = await state.advance(networkClient.chain, { ...view, latest })
  if (!polled) return undefined
  if (polled.isNew || relayer.system_disabled) {
    const followed = await nonces.identity.follow(relayer, networkClient, latest)
    if (followed !== 'same_chain') {
      state.pollAfter(disabledPollMs)
      await recordRelayerWait(context, tick, followed === 'unknown' ? { unknown_chain: latest } : {})
      return undefined
    }
  }
  return polled
}

/** The newest block, and the account's transaction count. */
interface View {
  head: Head
  latest: number
  /** Most endpoints report it. */
  isWitnessed: boolean
}

type Answer = Awaited<ReturnType<typeof answerOf>>

/**
 * One node's answer is used while nothing contradicts it. It is contradicted when it calls the nonce of an unsigned transaction used, when
 * it keeps falling behind an earlier answer, and when a survey has shown a false answer recently. Then most endpoints decide. When no
 * majority answers, the node's answer is used: it signs nothing and only delays.
 */
async function viewAccount(context: TickContext, tick: Tick, shown: Pick<View, 'head' | 'latest'>): Promise<View> {
  const { elapsed } = context
  const { held, networkClient, state } = tick
  if (networkClient.each.length < minWitnesses || !(await isContradicted(context, tick, shown))) {
    return { ...shown, isWitnessed: false }
  }
  const { hash } = shown.head
  let survey = state.surveyAt(hash, surveyAgainMs)
  if (!survey) {
    const answers = await askEach(networkClient.each, (node) => answerOf(node, held.relayer.address))
    const view = viewOfMost(answers)
    if (view && given(answers).some((answer) => isFalse(answer, view))) state.dispute()
    survey = { view, askedFor: hash, at: elapsed() }
    state.noteSurvey(survey)
  }
  const { view } = survey
  return view ? { ...view, isWitnessed: true } : { ...shown, isWitnessed: false }
}

async function isContradicted(
  { store }: TickContext,
  { held, state }: Tick,
  { head, latest }: Pick<View, 'head' | 'latest'>,
): Promise<boolean> {
  if (state.isDisputed || state.isBehindAgain(head, latest)) return true
  // A nonce is used by signed bytes, and this service has not signed this one.
  return (await store.pending(held.relayer.row_id, { from: 0, below: latest }, 1)).length > 0
}

async function answerOf(node: Chain, address: string) {
  const snapshot = await node.snapshot()
  return { head: snapshot.head, latest: await snapshot.latestNonce(address) }
}

/** The highest block and count that most endpoints have; undefined when no majority answers. */
function viewOfMost(answers: (Answer | undefined)[]): Answer | undefined {
  const number = reachedByMost(answers.map((answer) => answer?.head.number))
  const latest = reachedByMost(answers.map((answer) => answer?.latest))
  const there = given(answers).filter(({ head }) => head.number === number)
  const withHash = (hash: string) => there.filter(({ head }) => head.hash === hash).length
  const [most] = there.sort((a, b) => withHash(b.head.hash) - withHash(a.head.hash))
  return most && latest !== undefined ? { head: most.head, latest } : undefined
}

/** An endpoint that has a newer block may count more. */
const isFalse = ({ head, latest }: Answer, most: Answer): boolean =>
  head.number > most.head.number + plausibleLead || (head.number <= most.head.number && latest > most.latest)

/**
 * Looks at the pool before a nonce is signed for the first time: another sender's transaction may wait there. A count above the lowest
 * unsigned nonce is one node's word: with several endpoints, most of them must confirm it.
 */
export async function lookAtPool({ store }: TickContext, { held, networkClient, state }: Tick): Promise<void> {
  if (!state.isPooledOlderThan(pollIntervalMs(networkClient))) return
  const { address, row_id } = held.relayer
  const pooled = await networkClient.chain.pendingNonce(address)
  const [first] = await store.pending(row_id, { from: 0, below: pooled }, 1)
  if (!first || networkClient.each.length < minWitnesses) return state.notePooled(pooled)
  const answers = await askEach(networkClient.each, (node) => node.pendingNonce(address))
  const nonce = first.nonce as number
  const above = answers.filter((one) => one !== undefined && one > nonce).length
  state.notePooled(above >= majorityOf(answers.length) ? (reachedByMost(answers) ?? 0) : nonce)
}

/** Records why the first in line waits, unless an answer to its own bytes has given the reason. */
export async function recordRelayerWait(
  context: TickContext,
  { held }: Pick<Tick, 'held'>,
  known: Partial<WaitFacts>,
): Promise<void> {
  const { store } = context
  const row = await store.firstInLine(held.relayer.row_id)
  if (!row) return
  const relayer = await currentOf(context, held.relayer)
  const prices = row.hash === null ? undefined : pricesOf(row)
  const wait = waitOfFirst(row, {
    paused: relayer.paused,
    ...(relayer.disabled_reason !== null && { disabled: relayer.disabled_reason }),
    cap: capOf(relayer),
    price: prices && most(prices),
    ceiling: ceilingOf(row).fee,
    ...known,
  })
  const { row_id, revision, wait_reason, waits_told } = row
  if (wait !== undefined && wait?.wait_reason !== wait_reason) {
    await commit(context, [{ row_id, revision, set: waitColumns(row, wait) }])
  } else if (wait_reason !== null && !waits_told.includes(wait_reason)) {
    // It has become the first in line.
    await store.announceWait(row)
    context.changed()
  }
}

/** The next step of every transaction that is not final, after all questions that `decide` has. */
export async function observe(
  context: TickContext,
  tick: Tick,
  { isNewBlock }: Polled,
): Promise<{ decided: Decided[]; market: Market | undefined }> {
  const { store, now } = context
  const { held, networkClient, state } = tick
  const { row_id } = held.relayer
  const deep = state.height - networkClient.network.required_confirmations + 1
  // Receipts are read even when prices cannot be: a node that returns no price may still have receipts.
  const market = await networkClient.market().catch(orUnknown)
  const inFlight = await store.inFlight(row_id, maxRows)
  const unsigned = await store.pending(row_id, { from: 0, below: state.latest }, maxRows)
  const mined = await store.mined(row_id, state.needsRecheck ? Number.MAX_SAFE_INTEGER : deep, maxRows)
  const unpayable = new Set(inFlight.flatMap((row) => (isRowPayable(row, market) ? [] : row.row_id)))
  const payableOf = ({ row_id }: TransactionRow) => !unpayable.has(row_id)
  if (isNewBlock) state.countLeftOut(inFlight, payableOf)
  state.keepOnly(inFlight)

  const { paused } = await currentOf(context, held.relayer)
  const stepOf = (row: TransactionRow, facts: Partial<Facts>): Step =>
    decide(transactionState(row), state.observation(tick, row, now(), { ...facts, payable: payableOf(row), paused }))
  const decided = [...mined, ...unsigned, ...inFlight].map((row) => ({ row, step: stepOf(row, {}) }))
  return { decided: await answerAll(context, tick, decided, stepOf), market }
}

function isRowPayable(row: TransactionRow, market: Market | undefined): boolean {
  const prices = pricesOf(row)
  return !prices || !market || isPayable(prices, market)
}

const questions = { ask: askReceipts, verify: askFates, prove: askProofs }

/** Each question is asked for all transactions that have it, at most once per tick. */
async function answerAll(
  context: TickContext,
  tick: Tick,
  decided: Decided[],
  stepOf: (row: TransactionRow, facts: Partial<Facts>) => Step,
): Promise<Decided[]> {
  const facts = new Map<number, Partial<Facts>>()
  for (const question of ['ask', 'verify', 'prove'] as const) {
    const asked = decided.filter(({ step }) => step.do === question).map(({ row }) => row)
    if (asked.length === 0) continue
    const answers = await questions[question](context, tick, asked, facts)
    for (const [index, row] of asked.entries()) {
      facts.set(row.row_id, { ...facts.get(row.row_id), ...answers[index] })
    }
    decided = decided.map((one) =>
      one.step.do === question ? { row: one.row, step: stepOf(one.row, facts.get(one.row.row_id) ?? {}) } : one,
    )
  }
  return decided
}

const attemptsOf = ({ store }: TickContext, rows: TransactionRow[]) =>
  Promise.all(rows.map(({ row_id }) => store.attempts(row_id)))

/** The receipts of the asked node, of any attempt, in few requests. One node's count gives it no hash that only private relays know. */
async function askReceipts(
  context: TickContext,
  { held, networkClient, state }: Tick,
  rows: TransactionRow[],
): Promise<Partial<Facts>[]> {
  const counted = rows.some(isSecret) ? await proveCount(networkClient, held.relayer.address) : undefined
  const known = await attemptsOf(context, rows)
  const attempts = known.map((own, index) => (mayAskFor(rows[index] as TransactionRow, counted) ? own : []))
  const receipts = await networkClient.chain.receipts(attempts.flat().map(({ hash }) => hash))
  const asked = await Promise.all(
    rows.map(async (row, index): Promise<Asked> => {
      const own = attempts[index] ?? []
      return { attempts: own, effect: await effectIn(context, row, newestOf(own, receipts)) }
    }),
  )
  const found = await Promise.all(asked.map((one) => withOutcome(networkClient.chain, one, receipts)))
  // An endpoint that was asked alone has a receipt that the asked node denies: most of all decide.
  const denied = rows.flatMap(({ row_id }, index) => (!found[index] && state.takeReceiptShown(row_id) ? index : []))
  const quorums = await proveReceipts(
    networkClient,
    denied.map((index) => ({ attempts: attempts[index] ?? [], effect: effectOf(rows[index] as TransactionRow) })),
  )
  return asked.map(({ effect }, index) => {
    const quorum = quorums[denied.indexOf(index)]
    if (quorum?.is === 'proven') return { receipt: quorum.proof.fact, quorum, effect }
    return { receipt: found[index] ?? null, effect }
  })
}

/** The effect of the attempt that is in a block: a replaced transaction may be there with its former content. */
async function effectIn(
  { store }: TickContext,
  row: TransactionRow,
  mined: ReceiptView | undefined,
): Promise<Effect | undefined> {
  if (!mined || row.sponsored || mined.hash === row.hash) return effectOf(row)
  const number = (await store.attempts(row.row_id)).findIndex(({ hash }) => hash === mined.hash) + 1
  const { content } = readSigned(await store.rawOf(row.row_id, number))
  const { to, data, authorization_list } = content
  return effectOf({ sponsored: null, to, data_bytes: data?.length ?? 0, authorization_list })
}

/** Whether the blocks of transactions without a receipt were replaced: a lagging node has no receipt either. */
function askFates(context: TickContext, { networkClient }: Tick, rows: TransactionRow[]) {
  return fatesOf(context, networkClient, rows)
}

async function askProofs(
  context: TickContext,
  { networkClient, state }: Tick,
  rows: TransactionRow[],
  facts: Map<number, Partial<Facts>>,
): Promise<Partial<Facts>[]> {
  const attempts = await attemptsOf(context, rows)
  const wanted = rows.map(({ row_id }, index) => {
    const { receipt, effect } = facts.get(row_id) ?? {}
    return { attempts: attempts[index] ?? [], shown: receipt as ReceiptView, effect }
  })
  const quorums = await proveReceipts(networkClient, wanted, state.head?.number)
  return quorums.map((quorum) => ({ quorum }))
}
