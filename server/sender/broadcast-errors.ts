import { RpcError } from '../chain/rpc.ts'
import type { RpcErrorKind } from '../chain/rpc-error.ts'
import { contradictionOf, flawOf } from '../domain/decoding/transaction.ts'
import { gwei, most, pricesOf } from '../domain/fees.ts'
import type { TransactionRow } from '../domain/transaction-rows.ts'
import { tooLow, type Wait } from '../domain/wait-reason.ts'
import { ceilingOf } from './context.ts'

/** The meaning of a node's answer to signed bytes. */
export type Verdict = 'accepted' | 'used' | 'refused' | 'contested' | 'cheap' | 'later'

const verdicts: Partial<Record<RpcErrorKind | 'unreachable', Verdict>> = {
  already_known: 'accepted',
  nonce_too_low: 'used',
  replacement_underpriced: 'contested',
  underpriced: 'cheap',
  gas_limit_too_low: 'refused',
  gas_limit_too_high: 'refused',
  rejected: 'refused',
}

/** `kind`: of the node's error; undefined: it accepted the bytes. */
export const verdictOf = (kind: RpcErrorKind | 'unreachable' | 'unknown' | undefined): Verdict =>
  kind === undefined ? 'accepted' : (verdicts[kind as RpcErrorKind] ?? 'later')

/** A node that does not take the bytes now may take them later. `isPrivate`: private relays, beside which the nodes may answer. */
export function laterWait(kind: string | undefined, text: string, isPrivate: boolean): Wait {
  if (kind === 'unreachable' && isPrivate)
    return { waiting_for: 'private_relay', text: `no private relay answers: ${text}` }
  if (kind === 'unreachable') return { waiting_for: 'unreachable', text }
  if (kind === 'insufficient_funds') return { waiting_for: 'funds', text: `the balance is too low: ${text}` }
  return refusal(text)
}

/** The chain requires a higher price than the attempt pays. */
export function cheapWait(row: TransactionRow, cap: bigint | undefined, text: string): Wait {
  const price = pricesOf(row)
  const { fee } = ceilingOf(row)
  if (row.intent === 'send' && fee !== undefined && (cap === undefined || fee <= cap))
    return tooLow(fee, `a node says "${text}"`)
  if (cap !== undefined && price !== undefined && most(price) >= cap) {
    const words = `the policy gas_price_cap (${gwei(cap)}) is below the price that the chain requires: ${text}`
    return { waiting_for: 'price_cap', text: words }
  }
  return { waiting_for: 'base_fee', text: `its price is below the price that the chain requires: ${text}` }
}

/**
 * Why a refusal ends a transaction: our own bytes prove it, or every healthy endpoint refuses them for good, and these are at least
 * two and more than half of all, or the only one, for minutes (`isLong`). Undefined: one node's refusal, which ends nothing, and one that
 * the bytes contradict. The transaction then waits, is broadcast again at growing intervals, and ends by `valid_until`, a cancellation or
 * a replacement.
 */
export function endingReason(error: Error | undefined, raw: Uint8Array, isLong: boolean): string | undefined {
  const text = error?.message ?? ''
  const flaw = flawOf(raw)
  if (flaw !== undefined) return `It can never be accepted: ${flaw}. A node refused it: ${text}`
  if (error instanceof RpcError && error.isAgreed) return `All healthy endpoints refused it: ${text}`
  return isLong && contradictionOf(text, raw) === undefined ? `The node refused it again and again: ${text}` : undefined
}

export const refusal = (text: string): Wait => ({ waiting_for: 'node', text: `nodes refuse it: ${text}` })

/** The reason to wait after a final refusal that ends nothing. */
export function doubtedRefusal(text: string, raw: Uint8Array): Wait {
  const contradiction = contradictionOf(text, raw)
  return contradiction === undefined
    ? refusal(text)
    : { waiting_for: 'node', text: `the node says "${text}", although ${contradiction}` }
}
