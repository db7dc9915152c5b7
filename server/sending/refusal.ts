import type { SendingDependencies } from './dependencies.ts'
import type { Wait } from './wait-reason.ts'

export type RefusalDependencies = Pick<SendingDependencies, 'kindOf' | 'isAgreed' | 'flawOf' | 'contradictionOf'>

/**
 * Why a refusal ends a transaction: our own bytes prove it, or every healthy endpoint refuses them for good, and these are at least
 * two and more than half of all. Undefined: one node's refusal alone, which ends nothing. The transaction then waits, is broadcast again
 * at growing intervals, and ends by `valid_until`, a cancellation or a replacement.
 */
export function endingReason(
  { isAgreed, flawOf }: RefusalDependencies,
  error: Error | undefined,
  raw: Uint8Array,
): string | undefined {
  const told = error?.message ?? ''
  const flaw = flawOf(raw)
  if (flaw !== undefined) return `It can never be accepted: ${flaw}. A node refused it: ${told}`
  return isAgreed(error) ? `All healthy endpoints refused it: ${told}` : undefined
}

export const refusal = (told: string): Wait => ({ waiting_for: 'node', text: `nodes refuse it: ${told}` })

/** The reason to wait after a final refusal that ends nothing. */
export function doubtedRefusal({ contradictionOf }: RefusalDependencies, told: string, raw: Uint8Array): Wait {
  const contradiction = contradictionOf(told, raw)
  return contradiction === undefined
    ? refusal(told)
    : { waiting_for: 'node', text: `the node says "${told}", although ${contradiction}` }
}
