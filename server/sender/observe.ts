import { type Asked, newestOf, proveReceipts, withOutcome } from '../chain/proofs.ts'
import { orUnknown } from '../chain/rpc.ts'
import { type ChainObservation, decide, type ReceiptView, type Step } from '../domain/decide.ts'
import { readSigned } from '../domain/decoding/transaction.ts'
import { type Effect, effectOf } from '../domain/effect.ts'
import { isPayable, type Market, pricesOf } from '../domain/fees.ts'
import type { AttemptRow, TransactionRow } from '../domain/transaction-rows.ts'
import type { AccountViews } from './account-view.ts'
import { countLeftOut, takeIn } from './chain-state.ts'
import { currentOf, type NetworkClient } from './context.ts'
import { chainObservation, type Decided, type SenderDependencies, type Tick, transactionState } from './lane.ts'
import { keepOnly, notePooled, sawBlocks } from './mempool-state.ts'
import type { createReorg } from './reorg.ts'
import { pollAfter, pollIntervalMs, pollNext, sawNewBlock } from './schedule.ts'
import type { LaneWaits } from './waits.ts'

const disabledPollMs = 5_000
const maxRows = 2_000

interface ObserveDependencies extends Pick<SenderDependencies, 'store' | 'nonces' | 'now' | 'elapsed'> {
  waits: LaneWaits
  views: AccountViews
  reorganized: ReturnType<typeof createReorg>
}

/** The chain has changed since the last look, and whether by a new block. */
export interface Polled {
  isNew: boolean
  isNewBlock: boolean
}

type Facts = Pick<ChainObservation, 'receipt' | 'replaced' | 'proof'> & { effect: Effect | undefined }

/** Looks at the chain for a lane. It changes what the lane remembers, and nothing in the store but reasons to wait. */
export function createObserve({ store, nonces, now, elapsed, waits, views, reorganized }: ObserveDependencies) {
  /** Undefined when the nodes' answer must not be used. */
  async function poll(lane: Tick): Promise<Polled | undefined> {
    const { networkClient, seen, schedule, pool } = lane
    const { relayer } = lane.held
    const shown = await networkClient.chain.poll(relayer.address, pollIntervalMs(networkClient) / 2)
    pollNext(schedule, networkClient, elapsed())
    const view = await views.of(lane, shown)
    const latest = await nonces.believe(relayer, networkClient, view.latest)
    if (latest === undefined) {
      if (relayer.system_disabled) pollAfter(schedule, disabledPollMs, elapsed())
      await waits.note(lane, { counted: view.latest })
      return undefined
    }
    const isChanged = seen.head?.hash !== view.head.hash || seen.latest !== latest
    const advance = await takeIn(seen, networkClient.chain, { ...view, latest })
    if (!advance) return undefined
    sawBlocks(pool, advance)
    if (advance.isNewBlock) sawNewBlock(schedule)
    if (isChanged || relayer.system_disabled) {
      const followed = await nonces.follow(relayer, networkClient, latest)
      if (followed !== 'same_chain') {
        pollAfter(schedule, disabledPollMs, elapsed())
        await waits.note(lane, followed === 'unknown' ? { unknown_chain: latest } : {})
        return undefined
      }
    }
    return { isNew: isChanged, isNewBlock: advance.isNewBlock }
  }

  /**
   * Looks at the pool before a nonce is signed for the first time: another sender's transaction may wait there. One node's count is
   * believed when another endpoint confirms it, or when there is no other.
   */
  async function look(lane: Tick): Promise<void> {
    const { networkClient, pool } = lane
    if (elapsed() - pool.pooled_at < pollIntervalMs(networkClient)) return
    const pooled = await views.pooledOf(lane)
    notePooled(pool, pooled, elapsed())
  }

  /** The next step of every transaction that is not final, after all questions that `decide` has. */
  async function observe(
    lane: Tick,
    { isNewBlock }: Polled,
  ): Promise<{ decided: Decided[]; market: Market | undefined }> {
    const { held, networkClient, seen, pool } = lane
    const { row_id } = held.relayer
    const deep = (seen.head?.number ?? 0) - networkClient.network.required_confirmations + 1
    const market = await marketOf(networkClient)
    const inFlight = await store.inFlight(row_id, maxRows)
    const unsigned = await store.pending(row_id, 0, seen.latest, maxRows)
    const mined = await store.mined(row_id, seen.recheck ? Number.MAX_SAFE_INTEGER : deep, maxRows)
    const payable = new Map(inFlight.map((row) => [row.row_id, isRowPayable(row, market)]))
    const flying = inFlight.map((row) => ({
      row,
      nonce: row.nonce as number,
      payable: payable.get(row.row_id) === true,
    }))
    if (isNewBlock) countLeftOut(seen, flying)
    keepOnly(pool, new Set(inFlight.map((row) => row.row_id)))

    const relayer = await currentOf({ store }, held.relayer)
    const stepOf = (row: TransactionRow, facts: Partial<Facts>): Step =>
      decide(
        transactionState(row),
        chainObservation(
          lane,
          row,
          { now: now(), elapsed: elapsed() },
          {
            ...facts,
            payable: payable.get(row.row_id) ?? true,
            paused: relayer.paused,
          },
        ),
      )
    const decided = [...mined, ...unsigned, ...inFlight].map((row) => ({ row, step: stepOf(row, {}) }))
    return { decided: await answerAll(lane, decided, stepOf), market }
  }

  /** Each question is asked for all transactions that have it, at most once per round. */
  async function answerAll(
    lane: Tick,
    decided: Decided[],
    stepOf: (row: TransactionRow, facts: Partial<Facts>) => Step,
  ): Promise<Decided[]> {
    const facts = new Map<number, Partial<Facts>>()
    for (const question of ['ask', 'verify', 'prove'] as const) {
      const asked = decided.filter(({ step }) => step.do === question).map(({ row }) => row)
      if (asked.length === 0) continue
      const answers = await questions[question](lane, asked, facts)
      for (const [index, row] of asked.entries()) {
        facts.set(row.row_id, { ...facts.get(row.row_id), ...answers[index] })
      }
      decided = decided.map((one) =>
        one.step.do === question ? { row: one.row, step: stepOf(one.row, facts.get(one.row.row_id) ?? {}) } : one,
      )
    }
    return decided
  }

  const attemptsOf = (rows: TransactionRow[]): Promise<AttemptRow[][]> =>
    Promise.all(rows.map(({ row_id }) => store.attempts(row_id)))

  /** The effect of the attempt that is in a block: a replaced transaction may be there with its former content. */
  async function effectIn(row: TransactionRow, mined: ReceiptView | undefined): Promise<Effect | undefined> {
    if (!mined || row.sponsored || mined.hash === row.hash) return effectOf(row)
    const number = (await store.attempts(row.row_id)).findIndex(({ hash }) => hash === mined.hash) + 1
    const { content } = readSigned(await store.rawOf(row.row_id, number))
    const { to, data, authorization_list } = content
    return effectOf({ sponsored: null, to, data_bytes: data?.length ?? 0, authorization_list })
  }

  const questions = {
    /** The receipts of the asked node, of any attempt, in few requests. */
    async ask({ networkClient, seen }: Tick, rows: TransactionRow[]): Promise<Partial<Facts>[]> {
      const attempts = await attemptsOf(rows)
      const receipts = await networkClient.chain.receipts(attempts.flat().map(({ hash }) => hash))
      const asked = await Promise.all(
        rows.map(async (row, index): Promise<Asked> => {
          const own = attempts[index] ?? []
          return { attempts: own, effect: await effectIn(row, newestOf(own, receipts)) }
        }),
      )
      const found = await Promise.all(asked.map((one) => withOutcome(networkClient.chain, one, receipts)))
      // An endpoint that was asked alone has a receipt that the asked node denies: most of all decide.
      const denied = rows.flatMap(({ row_id }, index) => (!found[index] && seen.shown.delete(row_id) ? index : []))
      const proofs = await proveReceipts(
        networkClient,
        denied.map((index) => ({ attempts: attempts[index] ?? [], effect: effectOf(rows[index] as TransactionRow) })),
      )
      return asked.map(({ effect }, index) => {
        const proof = proofs[denied.indexOf(index)]
        if (proof && proof !== 'shallow') return { receipt: proof.fact, proof, effect }
        return { receipt: found[index] ?? null, effect }
      })
    },
    /** Whether the blocks of transactions without a receipt were replaced: a lagging node has no receipt either. */
    verify: async ({ networkClient }: Tick, rows: TransactionRow[]): Promise<Partial<Facts>[]> =>
      reorganized.fatesOf(networkClient, rows),
    async prove(
      { networkClient, seen }: Tick,
      rows: TransactionRow[],
      facts: Map<number, Partial<Facts>>,
    ): Promise<Partial<Facts>[]> {
      const attempts = await attemptsOf(rows)
      const wanted = rows.map(({ row_id }, index) => {
        const { receipt, effect } = facts.get(row_id) ?? {}
        return { attempts: attempts[index] ?? [], shown: receipt as ReceiptView, effect }
      })
      const proofs = await proveReceipts(networkClient, wanted, seen.head?.number)
      return proofs.map((proof) => ({ proof: proof ?? null }))
    },
  }

  return { poll, look, observe }
}

/** Receipts are read even when prices cannot be: a node that returns no price may still have receipts. */
const marketOf = ({ market }: NetworkClient): Promise<Market | undefined> => market().catch(orUnknown)

function isRowPayable(row: TransactionRow, market: Market | undefined): boolean {
  const prices = pricesOf(row)
  return !prices || !market || isPayable(prices, market)
}
