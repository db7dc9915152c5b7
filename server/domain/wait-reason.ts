import type { TransactionExplanation, TransactionStatus, WaitReason } from '../../generated/openapi.ts'
import type { Intent, ReceiptView } from './decide.ts'
import { gwei } from './fees.ts'
import type { TransactionRow } from './transaction-rows.ts'

/** The reason why a transaction makes no progress. `text` completes the sentence "Waits: ...". */
export interface Wait {
  wait_reason: WaitReason
  text: string
}

const maxTextLength = 900

/** The columns of a row that hold why it ended or is withdrawn, and why it makes no progress. */
export interface WaitColumns {
  status_reason: string | null
  wait_reason: WaitReason | null
  wait_text: string | null
}

/** The columns of a row that waits, or (null) that does not wait. The reason of a withdrawal is kept until the end. */
export const waitColumns = (
  { intent, status_reason }: { intent: Intent; status_reason: string | null },
  wait: Wait | null,
): WaitColumns => ({
  status_reason: intent === 'send' ? null : status_reason,
  wait_reason: wait?.wait_reason ?? null,
  wait_text: wait?.text.slice(0, maxTextLength) ?? null,
})

export const isSameWait = (row: WaitColumns, wait: Wait): boolean =>
  row.wait_reason === wait.wait_reason && row.wait_text === wait.text.slice(0, maxTextLength)

/** The `status_reason` that the contract shows. */
export const shownReason = ({ status_reason, wait_reason, wait_text }: WaitColumns): string | null =>
  [status_reason, wait_reason && wait_text && `Waits: ${wait_text}`].filter(Boolean).join('; ') || null

/** What the first transaction in line of a relayer waits for, apart from answers to its own bytes. */
export interface WaitFacts {
  /** Why the relayer as a whole makes no progress. */
  unreachable?: string
  disabled?: string
  /** A transaction count that a node reports without evidence, above the nonce counter. */
  counted?: number
  /** The account's count, while too few endpoints show the first block to tell whether their chain is the one of the nonces. */
  unknown_chain?: number
  paused: boolean
  /** The base fee of the newest block; absent on a chain without EIP-1559. */
  base_fee?: bigint | undefined
  cap: bigint | undefined
  /** The highest gas price of its newest attempt, in wei; absent while nothing is signed. */
  price: bigint | undefined
  /** The highest price that its request gave; absent: the service chooses. */
  ceiling: bigint | undefined
}

const endsWhenPayable: ReadonlySet<WaitReason> = new Set(['base_fee', 'fee_too_low'])

const forbidsRaise: ReadonlySet<WaitReason | null> = new Set([
  'price_cap',
  'fee_multiplier',
  'fee_budget',
  'replacement_underpriced',
] as const)

/**
 * What forbids a higher price stays the cause, with its time, as long as the price is too low: the next signature tells whether it has
 * ended.
 */
export const isRaiseForbidden = ({ wait_reason }: Pick<WaitColumns, 'wait_reason'>): boolean =>
  forbidsRaise.has(wait_reason)

/** The reasons to wait that depend on the state of the relayer. */
const ofRelayer: ReadonlySet<WaitReason> = new Set(['unreachable', 'disabled', 'paused'])

/**
 * Why the first in line waits, apart from reasons that a node gives for its bytes. Null: a former reason has ended. Undefined:
 * nothing changes.
 */
export function waitOfFirst(
  row: { status: TransactionStatus; wait_reason: WaitReason | null },
  { unreachable, disabled, counted, unknown_chain, paused, ...prices }: WaitFacts,
): Wait | null | undefined {
  if (disabled !== undefined) return { wait_reason: 'disabled', text: `the relayer is disabled. ${disabled}` }
  if (unreachable !== undefined) return { wait_reason: 'unreachable', text: unreachable }
  if (counted !== undefined) {
    const text = `a node counts ${counted} transactions of this account, more than this service has sent; the service searches for evidence`
    return { wait_reason: 'uncertain_nonce', text }
  }
  if (unknown_chain !== undefined) {
    const text = `a node counts ${unknown_chain} transactions of this account, and too few endpoints show the first block to tell whether this is the chain that the nonces were used on`
    return { wait_reason: 'uncertain_nonce', text }
  }
  if (paused) return { wait_reason: 'paused', text: 'the relayer is paused' }
  const isWithNode = row.status === 'submitted'
  const priceWait = isWithNode ? waitForPrice(prices) : undefined
  if (priceWait) return isRaiseForbidden(row) ? undefined : priceWait
  if (row.wait_reason === null) return undefined
  return ofRelayer.has(row.wait_reason) || (isWithNode && endsWhenPayable.has(row.wait_reason)) ? null : undefined
}

/** Prices in wei per unit of gas. */
export function waitForPrice({
  base_fee,
  cap,
  price,
  ceiling,
}: Pick<WaitFacts, 'base_fee' | 'cap' | 'price' | 'ceiling'>): Wait | undefined {
  if (base_fee === undefined || price === undefined || base_fee <= price) return undefined
  if (ceiling !== undefined && ceiling < base_fee) return tooLow(ceiling, `the base fee is ${gwei(base_fee)}`)
  return cap !== undefined && base_fee > cap
    ? {
        wait_reason: 'price_cap',
        text: `the policy gas_price_cap (${gwei(cap)}) is below the base fee (${gwei(base_fee)})`,
      }
    : { wait_reason: 'base_fee', text: `the base fee (${gwei(base_fee)}) is above its price (${gwei(price)})` }
}

/** The price that a caller gave is a ceiling, and too low. `why`: what the chain requires. */
export const tooLow = (ceiling: bigint, why: string): Wait => ({
  wait_reason: 'fee_too_low',
  text: `the request allows a price of at most ${gwei(ceiling)}, and ${why}. Allow a higher price, or give none`,
})

/** A node shows its receipt, and most endpoints prove no outcome. */
export const quorumWait = ({ outcome, block_number }: Pick<ReceiptView, 'outcome' | 'block_number'>): Wait => ({
  wait_reason: 'awaiting_quorum',
  text:
    outcome === 'unknown'
      ? `the endpoints do not show what it did in block ${block_number}, whose state they no longer have: it is final when more than half of all do`
      : 'the endpoints disagree about its receipt: it is final when more than half of all have the same one',
})

/** What is known of the chain that a transaction waits for. */
export interface ChainPace {
  /** Milliseconds since the Unix epoch. */
  now: number
  /** The time of the newest block, on the same scale; undefined: no node tells it. */
  head_at: number | undefined
  average_blocktime_ms: number | null | undefined
}

/** A transaction that the next few blocks do not include waits for long. */
const fewBlocks = 5
/** Where the network tells none: as long as Ethereum's, so that nothing is called slow too early. */
const defaultBlocktimeMs = 12_000
/** Networks with fast blocks: a new price needs some time too. */
const minWaitMs = 15_000
/** A chain whose newest block is older stands still; development chains without blocks of their own too. */
const stillBlocks = 20
const minStillMs = 60_000
/** What forbids a higher price. The other reasons of a price say that it is below the base fee. */
const ofRaise: ReadonlySet<WaitReason> = new Set(['fee_multiplier', 'fee_budget'])

export const standsStill = ({ now, head_at, average_blocktime_ms }: ChainPace): boolean =>
  head_at !== undefined &&
  now - head_at > Math.max(stillBlocks * (average_blocktime_ms ?? defaultBlocktimeMs), minStillMs)

/** The reason of its row, unless that forbids a higher price while the chain makes no blocks: no price helps then. */
export const reasonToWait = (
  { status, wait_reason }: Pick<TransactionRow, 'status' | 'wait_reason'>,
  pace: ChainPace,
): WaitReason | null =>
  wait_reason !== null && status === 'submitted' && ofRaise.has(wait_reason) && standsStill(pace) ? null : wait_reason

/** Which step comes next for the first in line, without a known reason to wait. `text` completes the sentence "Waiting: …". */
export function nextStep(
  row: Pick<TransactionRow, 'status' | 'sent_at' | 'created_at'>,
  { now, head_at, average_blocktime_ms }: ChainPace,
): { wait_reason: TransactionExplanation['wait_reason']; text: string } {
  if (row.status === 'pending') return { wait_reason: 'signature', text: 'it is signed next' }
  if (row.status === 'sent') return { wait_reason: 'acceptance', text: 'it is signed, and no node has accepted it yet' }
  const waitedMs = now - Date.parse(row.sent_at ?? row.created_at)
  const usualMs = Math.max(fewBlocks * (average_blocktime_ms ?? defaultBlocktimeMs), minWaitMs)
  if (waitedMs <= usualMs) {
    return { wait_reason: 'block', text: 'a node has it, and one of the next blocks includes it' }
  }
  const chain = head_at === undefined ? '' : `; the chain's last block is ${span(now - head_at)} old`
  return { wait_reason: 'block', text: `no block has included it for ${span(waitedMs)}${chain}` }
}

/** `12 s`, `5 min`, `3 h`, `2 d`: never more than passed. */
function span(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1_000))
  if (s < 60) return `${s} s`
  if (s < 3_600) return `${Math.floor(s / 60)} min`
  return s < 172_800 ? `${Math.floor(s / 3_600)} h` : `${Math.floor(s / 86_400)} d`
}
