import type { Chain, Head } from '../chain/chain.ts'
import { type ChainObservation, repriceMs, type Step, type TransactionState } from '../domain/decide.ts'
import { tierOf } from '../domain/fees.ts'
import { NonceWindow } from '../domain/nonce-window.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import type { RelayerSigner } from '../keys/keyring.ts'
import type { NetworkClient, SenderContext } from './context.ts'
import type { Nonces } from './nonces/nonces.ts'

/** The effects of the background work. */
export interface TickContext extends SenderContext {
  nonces: Nonces
  /** Whether this process may send for the relayer: asked before each signature. */
  mayWork(relayerRowId: number): Promise<boolean>
  /** The same without waiting, by the monotonic clock: asked directly before a key is used. */
  holds(relayerRowId: number): boolean
  /** Called after every change; wakes requests that wait for a status. */
  changed(): void
}

/** The subject of a tick: one relayer and its network, with what the sender remembers of them. */
export interface Tick {
  held: RelayerSigner
  networkClient: NetworkClient
  state: RelayerState
}

export interface Decided {
  row: TransactionRow
  step: Step
}

/** The chain has changed since the last look, and whether by a new block. */
export interface Polled {
  isNew: boolean
  isNewBlock: boolean
}

const maxLags = 5
const firstFailureMs = 500
const maxFailureMs = 10_000
const firstRetryMs = 500
const maxRetryMs = 10_000
const maxPatience = 64
const minPollMs = 100
const maxPollMs = 3_000
const defaultBlocktimeMs = 1_000
const minRestPollMs = 1_000
const maxRestPollMs = 30_000
const minWatchMs = 600_000
const maxImmediate = 64
const disputeMs = 30_000

type Network = Pick<NetworkClient, 'network'>

/** A fifth of the block time: new blocks are seen soon, at the cost of few calls. */
export const pollIntervalMs = ({ network }: Network): number =>
  Math.min(Math.max((network.average_blocktime_ms ?? defaultBlocktimeMs) / 5, minPollMs), maxPollMs)

/** Confirmed transactions are checked every two blocks. */
export const restIntervalMs = ({ network }: Network): number =>
  Math.min(Math.max((network.average_blocktime_ms ?? defaultBlocktimeMs) * 2, minRestPollMs), maxRestPollMs)

/** Limits the watch in time, for chains that produce no blocks. */
export const watchLimitMs = ({ network }: Network, blocks: number): number =>
  Math.max(4 * blocks * (network.average_blocktime_ms ?? defaultBlocktimeMs), minWatchMs)

/** What most endpoints report, and for which head and when they were asked; `view`: undefined without a majority. */
interface Survey {
  view: { head: Head; latest: number } | undefined
  askedFor: string
  at: number
}

interface LeftOut {
  /** Of the newest attempt. */
  hash: string | null
  payable: boolean
  blocks: number
}

/**
 * What the sender remembers of one relayer between two ticks: what the chain showed, what was broadcast, and when to look again. It is a
 * cache: all of it can be read again. It holds for the endpoints that showed it: with others the sender begins anew, and reads the chain
 * before it sends. Times are milliseconds of the monotonic clock.
 */
export class RelayerState {
  readonly endpoints: string
  readonly window: NonceWindow
  readonly #elapsed: () => number

  /** The newest block that was seen, and the account's transaction count at it. */
  #head: Head | undefined
  #latest = 0
  /** The account's count including the pool, and when it was read. */
  #pooled = 0
  #pooledAt = Number.NEGATIVE_INFINITY
  /** Consecutive answers from nodes that lag behind. */
  #lags = 0
  /** The number of open gaps below a signed nonce. */
  #gaps = 0
  /** True after a start, when it is unknown whether the blocks of mined transactions are still in the chain. */
  #needsRecheck = true
  /** True after a start, when it is unknown which of the signed transactions the nodes still have. */
  #needsResend = true

  #pollAt = 0
  /** The delay after the next failure of the nodes. */
  #failureMs = firstFailureMs
  /** Consecutive immediate reads of the chain without a new block in between. */
  #immediate = 0
  /** The time since which no transaction is unfinished. Confirmed ones are still watched for reorganizations. */
  #restSince: number | undefined
  /** A node reported a false head or count: until when the endpoints are surveyed at every new head, and their last answer. */
  #disputedUntil = 0
  #survey: Survey | undefined

  /** When to broadcast again the bytes that no node has accepted. */
  #retryAt = 0
  #retryMs = firstRetryMs
  /** Consecutive blocks without a transaction of ours, and how many of them cause the next broadcast of all. */
  #idleBlocks = 0
  #patience = 1

  // By row id of a transaction:
  /** How many blocks left out one that a node has. */
  #leftOut = new Map<number, LeftOut>()
  /** Some endpoint has its receipt, while the asked node denies it. */
  readonly #receiptShown = new Set<number>()
  /** Broadcast in this tick. */
  readonly #sentNow = new Set<number>()
  /** No node accepted its newest bytes when they were last broadcast. */
  readonly #notTaken = new Set<number>()
  /** When its newest bytes were last broadcast or looked up. */
  readonly #lookedAt = new Map<number, number>()
  /** The bytes that private relays were given, and the chain's height then. */
  readonly #givenToRelays = new Map<number, { hash: string; height: number }>()
  /** Since when all that was broadcast was refused for good. */
  readonly #refusedSince = new Map<number, number>()

  /** `before`: of the same relayer at the same endpoints, before it rested. What nodes hold of an account stays. */
  constructor(endpoints: string, elapsed: () => number, before?: RelayerState) {
    this.endpoints = endpoints
    this.#elapsed = elapsed
    this.window = before?.window ?? new NonceWindow()
  }

  /** The newest block that was seen; undefined: none yet. */
  get head(): Head | undefined {
    return this.#head
  }

  get height(): number {
    return this.#head?.number ?? 0
  }

  /** The account's transaction count at the head. */
  get latest(): number {
    return this.#latest
  }

  get hasGaps(): boolean {
    return this.#gaps > 0
  }

  /** Whether mined transactions are looked up again. */
  get needsRecheck(): boolean {
    return this.#needsRecheck
  }

  /** Whether nodes may lack signed transactions, or blocks that were seen. */
  get isUncertain(): boolean {
    return this.#needsResend || this.#needsRecheck
  }

  /** The first nonce that is not broadcast now. */
  get windowEnd(): number {
    return this.#latest + this.window.size
  }

  /**
   * Takes in a newer head and count, and checks whether the previous head is still in the chain. Undefined when the answer is older than an
   * earlier one and must be ignored: nodes behind one URL may lag. When older answers persist, they are accepted; a lower count by most
   * endpoints (`isWitnessed`) at once.
   */
  async advance(
    chain: Pick<Chain, 'blockHash'>,
    { head, latest, isWitnessed = false }: { head: Head; latest: number; isWitnessed?: boolean },
  ): Promise<Polled | undefined> {
    const before = this.#head
    const isReorganized = before !== undefined && (await isReplaced(before, head, chain))
    const isLower = latest < this.#latest && !isReorganized && !isWitnessed
    const isBehind = before !== undefined && (head.number < before.number || isLower)
    this.#lags = isBehind ? this.#lags + 1 : 0
    if (isBehind && this.#lags < maxLags) return undefined

    const isNewBlock = before?.hash !== head.hash
    const isNew = isNewBlock || latest !== this.#latest
    if (isNewBlock) this.#immediate = 0
    if (before !== undefined && latest > this.#latest) this.#sawMined()
    else if (before !== undefined && head.number > before.number) this.#idleBlocks += 1
    // Transactions below the former count were not broadcast.
    this.#needsResend ||= latest < this.#latest
    this.#needsRecheck ||= isReorganized || isBehind
    this.#head = head
    this.#latest = latest
    this.#lags = 0
    return { isNew, isNewBlock }
  }

  #sawMined(): void {
    this.#idleBlocks = 0
    this.#patience = 1
    this.#retryAt = 0
    this.#retryMs = firstRetryMs
    this.window.sawMined()
  }

  /**
   * At a new block, counts the blocks that left out a transaction which a node has: those in which it was the account's next one, or
   * in which its price was below the base fee.
   */
  countLeftOut<Row extends Pick<TransactionRow, 'row_id' | 'hash' | 'nonce'>>(
    rows: Row[],
    isPayable: (row: Row) => boolean,
  ): void {
    const counted = new Map<number, LeftOut>()
    for (const row of rows) {
      const { row_id, hash } = row
      const payable = isPayable(row)
      if (payable && row.nonce !== this.#latest) continue
      const before = this.#leftOut.get(row_id)
      const isSame = before?.hash === hash && before.payable === payable
      counted.set(row_id, { hash, payable, blocks: isSame ? before.blocks + 1 : 0 })
    }
    this.#leftOut = counted
  }

  blocksWithout(rowId: number): number | undefined {
    return this.#leftOut.get(rowId)?.blocks
  }

  isPooledOlderThan(ms: number): boolean {
    return this.#elapsed() - this.#pooledAt >= ms
  }

  notePooled(pooled: number): void {
    this.#pooled = pooled
    this.#pooledAt = this.#elapsed()
  }

  noteGaps(open: number): void {
    this.#gaps = open
  }

  noteSurvey(survey: Survey): void {
    this.#survey = survey
  }

  /** The last survey, if it was asked for at this head at most `maxAgeMs` ago. */
  surveyAt(hash: string, maxAgeMs: number): Survey | undefined {
    const isFresh = this.#survey?.askedFor === hash && this.#elapsed() - this.#survey.at < maxAgeMs
    return isFresh ? this.#survey : undefined
  }

  /** Nodes behind one URL may lag for a moment: whether they did before, and do so again. */
  isBehindAgain(seen: Head, counted: number): boolean {
    if (this.#head === undefined || this.#lags === 0) return false
    return seen.number < this.#head.number || counted < this.#latest
  }

  /** An endpoint has its receipt, while the asked node denies it. */
  markReceiptShown(rowId: number): void {
    this.#receiptShown.add(rowId)
  }

  /** Returns whether it was marked so since the last call. */
  takeReceiptShown(rowId: number): boolean {
    return this.#receiptShown.delete(rowId)
  }

  dispute(): void {
    this.#disputedUntil = this.#elapsed() + disputeMs
    this.#survey = undefined
  }

  get isDisputed(): boolean {
    return this.#disputedUntil > this.#elapsed()
  }

  /** The facts for `decide`; `known` adds facts about one transaction. `now`: the wall clock. */
  observation({ held, networkClient }: Tick, row: TransactionRow, now: number, known: Partial<ChainObservation>) {
    const observation: ChainObservation = {
      now,
      head: this.height,
      latest: this.#latest,
      confirmations: networkClient.network.required_confirmations,
      receipt: undefined,
      quorum: undefined,
      replaced: undefined,
      reorganized: this.#needsRecheck,
      payable: true,
      paused: held.relayer.paused,
      blocks: this.blocksWithout(row.row_id) ?? 0,
      end: this.windowEnd,
      pooled: this.#pooled,
      is_silent: this.isSilent(row),
      ...known,
    }
    return observation
  }

  get isPollDue(): boolean {
    return this.#elapsed() >= this.#pollAt
  }

  get msUntilPoll(): number {
    return Math.max(0, this.#pollAt - this.#elapsed())
  }

  /** Times are aligned to a grid, so that all relayers of a network read the chain at the same moment and share one request. */
  schedulePoll(network: Network): void {
    const intervalMs = pollIntervalMs(network)
    this.#pollAt = Math.floor(this.#elapsed() / intervalMs + 1.5) * intervalMs
  }

  pollAfter(waitMs: number): void {
    this.#pollAt = this.#elapsed() + waitMs
  }

  /** `resend`: and broadcasts all signed transactions again. */
  pollNow(resend: boolean): void {
    this.#pollAt = 0
    this.#needsResend ||= resend
  }

  /** Reads the chain again at once; without a new block in between, after growing delays. */
  pollSoon(): void {
    const waitMs = Math.min(minPollMs * 2 ** (this.#immediate - 1), maxPollMs)
    this.#pollAt = Math.min(this.#pollAt, this.#immediate === 0 ? 0 : this.#elapsed() + waitMs)
    this.#immediate = Math.min(this.#immediate + 1, maxImmediate)
  }

  noteSuccess(): void {
    this.#failureMs = firstFailureMs
  }

  /** The nodes failed. `random`: 0 to 1, which spreads the relayers. */
  noteFailure(random: number): void {
    this.#failureMs = Math.min(this.#failureMs * 2, maxFailureMs)
    this.pollAfter(this.#failureMs * (0.75 + random / 2))
  }

  /** No transaction is unfinished. */
  rest(): void {
    this.#restSince ??= this.#elapsed()
  }

  /** For how long no transaction has been unfinished; undefined: some is. */
  get restedMs(): number | undefined {
    return this.#restSince === undefined ? undefined : this.#elapsed() - this.#restSince
  }

  beginTick(): void {
    this.#sentNow.clear()
  }

  /** Nodes may lack signed transactions: all are broadcast again. */
  resendAll(): void {
    this.#needsResend = true
  }

  /**
   * Decides whether all signed transactions are broadcast again, and counts a stall as used. It stays decided until `noteFollowed`: when a
   * node fails before, the next tick does it.
   */
  decideResend(): boolean {
    this.#needsResend = this.#takeStall() || this.isUncertain
    return this.#needsResend
  }

  /** The interval grows until a transaction is mined. */
  #takeStall(): boolean {
    if (this.#idleBlocks < this.#patience) return false
    this.#idleBlocks = 0
    this.#patience = Math.min(this.#patience * 2, maxPatience)
    return true
  }

  /** The steps of all transactions were carried out, by what the chain shows. */
  noteFollowed(): void {
    this.#needsResend = false
    this.#needsRecheck = false
  }

  /** Forgets transactions that are no longer in flight. */
  keepOnly(rows: TransactionRow[]): void {
    const open = new Set(rows.map(({ row_id }) => row_id))
    for (const known of [this.#notTaken, this.#lookedAt, this.#givenToRelays, this.#refusedSince])
      for (const rowId of known.keys()) if (!open.has(rowId)) known.delete(rowId)
  }

  markSent(rowId: number): void {
    this.#sentNow.add(rowId)
    this.markKnown(rowId)
  }

  isSentNow(rowId: number): boolean {
    return this.#sentNow.has(rowId)
  }

  /** A node has it. */
  markKnown(rowId: number): void {
    this.#notTaken.delete(rowId)
    this.#lookedAt.set(rowId, this.#elapsed())
  }

  /** Whether the tier's time has passed since the newest bytes were broadcast or looked up. */
  isSilent(row: Pick<TransactionRow, 'row_id' | 'speed'>): boolean {
    const at = this.#lookedAt.get(row.row_id)
    return at !== undefined && this.#elapsed() - at >= repriceMs[tierOf(row)]
  }

  /** The transactions of a broadcast that no node accepted. */
  markNotTaken(rowIds: number[]): void {
    for (const rowId of rowIds) this.#notTaken.add(rowId)
    if (rowIds.length > 0) {
      this.#retryAt = this.#elapsed() + this.#retryMs
      this.#retryMs = Math.min(this.#retryMs * 2, maxRetryMs)
    } else {
      this.#retryMs = firstRetryMs
    }
  }

  isNotTaken(rowId: number): boolean {
    return this.#notTaken.has(rowId)
  }

  get isRetryDue(): boolean {
    return this.#elapsed() >= this.#retryAt
  }

  /** Returns for how many milliseconds it has been refused for good. */
  markRefused(rowId: number): number {
    const since = this.#refusedSince.get(rowId) ?? this.#elapsed()
    this.#refusedSince.set(rowId, since)
    return this.#elapsed() - since
  }

  markAccepted(rowId: number): void {
    this.#refusedSince.delete(rowId)
  }

  /** Private relays got it. They count from the first time that they get the same bytes. */
  markGiven(rowId: number, hash: string): void {
    if (this.#givenToRelays.get(rowId)?.hash !== hash) this.#givenToRelays.set(rowId, { hash, height: this.height })
  }

  /** Whether relays that drop a transaction after this number of blocks have dropped it. */
  isDropped(rowId: number, privateExpiryBlocks: number): boolean {
    const since = this.#givenToRelays.get(rowId)?.height
    return since !== undefined && this.height - since >= privateExpiryBlocks && !this.#notTaken.has(rowId)
  }

  /** Private relays count anew, or have it no longer. Returns whether they had it. */
  takeBack(rowId: number): boolean {
    return this.#givenToRelays.delete(rowId)
  }
}

async function isReplaced(before: Head, head: Head, chain: Pick<Chain, 'blockHash'>): Promise<boolean> {
  if (head.hash === before.hash) return false
  if (head.number === before.number + 1) return head.parent_hash !== before.hash
  if (head.number === before.number) return true
  if (head.number < before.number) return (await chain.blockHash(head.number)) !== head.hash
  return (await chain.blockHash(before.number)) !== before.hash
}

/** The columns of a row that `decide` depends on. */
export const transactionState = (row: TransactionRow): TransactionState => ({
  ...row,
  nonce: row.nonce as number,
  tier: tierOf(row),
  valid_until: row.valid_until === null ? undefined : Date.parse(row.valid_until),
})
