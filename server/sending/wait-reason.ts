import type { WaitingFor } from '../../generated/openapi.ts'
import type { TransactionRow } from '../store/sending-rows.ts'

/** The reason why a transaction makes no progress. `text` follows "Waits: " in its `status_reason`. */
export interface Wait {
  waiting_for: WaitingFor
  text: string
}

const max_reason_length = 1_000

/**
 * The columns of a row that waits, or (null) that does not wait. The reason of a withdrawal is kept until the end, and the reason
 * to wait is appended to it.
 */
export function waitColumns(
  { intent, status_reason }: Pick<TransactionRow, 'intent' | 'status_reason'>,
  wait: Wait | null,
): Pick<TransactionRow, 'status_reason' | 'waiting_for'> {
  const own = intent === 'send' ? null : status_reason?.replace(/(?:^|; )Waits: .*$/s, '')
  const reason = [own, wait && `Waits: ${wait.text}`].filter(Boolean).join('; ')
  return { status_reason: reason.slice(0, max_reason_length) || null, waiting_for: wait?.waiting_for ?? null }
}

/** The state of the lane of the first in line. */
export interface WaitFacts {
  /** Why the relayer as a whole makes no progress. */
  unreachable?: string
  disabled?: string
  /** A transaction count that a node reports without evidence, above the nonce counter. */
  counted?: number
  paused: boolean
  /** The base fee of the newest block; absent on a chain without EIP-1559. */
  base_fee?: bigint | undefined
  cap: bigint | undefined
  /** The highest gas price of its newest attempt, in wei; absent while nothing is signed. */
  price: bigint | undefined
}

/** The reasons to wait that depend on the state of the lane. */
const ofLane: ReadonlySet<WaitingFor> = new Set(['unreachable', 'disabled', 'paused'])

/**
 * Why the first in line waits, apart from reasons that a node gives for its bytes. Null: a former reason has ended. Undefined:
 * nothing changes.
 */
export function laneWait(
  row: Pick<TransactionRow, 'status' | 'waiting_for'>,
  { unreachable, disabled, counted, paused, base_fee, cap, price }: WaitFacts,
): Wait | null | undefined {
  if (disabled !== undefined) return { waiting_for: 'disabled', text: `the relayer is disabled. ${disabled}` }
  if (unreachable !== undefined) return { waiting_for: 'unreachable', text: unreachable }
  if (counted !== undefined) {
    const text = `a node counts ${counted} transactions of this account, more than this service has sent; the service searches for evidence`
    return { waiting_for: 'uncertain_nonce', text }
  }
  if (paused) return { waiting_for: 'paused', text: 'the relayer is paused' }
  const isWithNode = row.status === 'submitted'
  const priceWait = isWithNode ? waitForPrice({ base_fee, cap, price }) : undefined
  if (priceWait) return priceWait
  if (row.waiting_for === null) return undefined
  return ofLane.has(row.waiting_for) || (row.waiting_for === 'base_fee' && isWithNode) ? null : undefined
}

/** Prices in wei per unit of gas. */
export function waitForPrice({
  base_fee,
  cap,
  price,
}: Pick<WaitFacts, 'base_fee' | 'cap' | 'price'>): Wait | undefined {
  if (base_fee === undefined || price === undefined || base_fee <= price) return undefined
  return cap !== undefined && base_fee > cap
    ? { waiting_for: 'price_cap', text: `the policy gas_price_cap (${cap}) is below the base fee (${base_fee})` }
    : { waiting_for: 'base_fee', text: `the base fee (${base_fee}) is above its price (${price})` }
}
