import type { Transaction } from '../../index.ts'
import { reasonText, words } from '../data/format.ts'

type Its = Pick<Transaction, 'status' | 'status_reason' | 'wait_reason' | 'error'>

export const hasReason = ({ status_reason, wait_reason }: Its): boolean =>
  status_reason !== null || wait_reason !== null

/** Why a transaction waits or ended, in two or three words where these say it, and the whole of it. */
export function briefReason(transaction: Its, symbol: string): { text: string; whole: string } | undefined {
  const { status, status_reason: reason, wait_reason, error } = transaction
  if (!hasReason(transaction)) return undefined
  const whole = reason === null ? '' : reasonText(reason, symbol)
  const isKnown = status === 'failed' && error !== null && error.code !== 'other'
  const brief = wait_reason ?? (isKnown ? error.code : undefined)
  return { text: brief === undefined ? whole : words(brief), whole }
}
