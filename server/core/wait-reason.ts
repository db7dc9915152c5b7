import type { TransactionStatus, WaitingFor } from '../../generated/openapi.ts'
import type { Intent, Seen } from './decide.ts'
import { gwei } from './prices.ts'

/** The reason why a transaction makes no progress. `text` completes the sentence "Waits: ...". */
export interface Wait {
  waiting_for: WaitingFor
  text: string
}

const max_text_length = 900

/** The columns of a row that hold why it ended or is withdrawn, and why it makes no progress. */
export interface WaitColumns {
  status_reason: string | null
  waiting_for: WaitingFor | null
  wait_text: string | null
}

/** The columns of a row that waits, or (null) that does not wait. The reason of a withdrawal is kept until the end. */
export const waitColumns = (
  { intent, status_reason }: { intent: Intent; status_reason: string | null },
  wait: Wait | null,
): WaitColumns => ({
  status_reason: intent === 'send' ? null : status_reason,
  waiting_for: wait?.waiting_for ?? null,
  wait_text: wait?.text.slice(0, max_text_length) ?? null,
})

export const isSameWait = (row: WaitColumns, wait: Wait): boolean =>
  row.waiting_for === wait.waiting_for && row.wait_text === wait.text.slice(0, max_text_length)

/** The `status_reason` that the contract shows. */
export const shownReason = ({ status_reason, waiting_for, wait_text }: WaitColumns): string | null =>
  [status_reason, waiting_for && wait_text && `Waits: ${wait_text}`].filter(Boolean).join('; ') || null

/** The state of the lane of the first in line. */
export interface WaitFacts {
  /** Why the relayer as a whole makes no progress. */
  unreachable?: string
  disabled?: string
  /** A transaction count that a node reports without evidence, above the nonce counter. */
  counted?: number
  /** A count below nonces that were mined: too few endpoints show the first block to tell whether the chain was restarted. */
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

const endsWhenPayable: ReadonlySet<WaitingFor> = new Set(['base_fee', 'fee_too_low'])

/** The reasons to wait that depend on the state of the lane. */
const ofLane: ReadonlySet<WaitingFor> = new Set(['unreachable', 'disabled', 'paused'])

/**
 * Why the first in line waits, apart from reasons that a node gives for its bytes. Null: a former reason has ended. Undefined:
 * nothing changes.
 */
export function laneWait(
  row: { status: TransactionStatus; waiting_for: WaitingFor | null },
  { unreachable, disabled, counted, unknown_chain, paused, ...prices }: WaitFacts,
): Wait | null | undefined {
  if (disabled !== undefined) return { waiting_for: 'disabled', text: `the relayer is disabled. ${disabled}` }
  if (unreachable !== undefined) return { waiting_for: 'unreachable', text: unreachable }
  if (counted !== undefined) {
    const text = `a node counts ${counted} transactions of this account, more than this service has sent; the service searches for evidence`
    return { waiting_for: 'uncertain_nonce', text }
  }
  if (unknown_chain !== undefined) {
    const text = `a node counts ${unknown_chain} transactions of this account, fewer than were mined, and too few endpoints show the first block to tell whether the chain was restarted`
    return { waiting_for: 'uncertain_nonce', text }
  }
  if (paused) return { waiting_for: 'paused', text: 'the relayer is paused' }
  const isWithNode = row.status === 'submitted'
  const priceWait = isWithNode ? waitForPrice(prices) : undefined
  if (priceWait) return priceWait
  if (row.waiting_for === null) return undefined
  return ofLane.has(row.waiting_for) || (isWithNode && endsWhenPayable.has(row.waiting_for)) ? null : undefined
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
        waiting_for: 'price_cap',
        text: `the policy gas_price_cap (${gwei(cap)}) is below the base fee (${gwei(base_fee)})`,
      }
    : { waiting_for: 'base_fee', text: `the base fee (${gwei(base_fee)}) is above its price (${gwei(price)})` }
}

/** The price that a caller gave is a ceiling, and too low. `why`: what the chain requires. */
export const tooLow = (ceiling: bigint, why: string): Wait => ({
  waiting_for: 'fee_too_low',
  text: `the request allows a price of at most ${gwei(ceiling)}, and ${why}. Replace it with a higher price or without one, or cancel it`,
})

/** A node shows its receipt, and most endpoints prove no outcome. */
export const unprovenWait = ({ outcome, block_number }: Pick<Seen, 'outcome' | 'block_number'>): Wait => ({
  waiting_for: 'unproven',
  text:
    outcome === 'unknown'
      ? `the endpoints do not show what it did in block ${block_number}, whose state they no longer have: it is final when more than half of all do`
      : 'the endpoints disagree about its receipt: it is final when more than half of all have the same one',
})
