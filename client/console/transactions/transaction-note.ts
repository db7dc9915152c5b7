import type { Transaction } from '../../index.ts'
import { reasonText, words } from '../data/format.ts'

/**
 * The note of a transaction in a list: its reason in two or three words, then its reference. `whole`: the whole reason in the place of the
 * words. Without a reference there is room for more of the reason. Both are empty where it has neither.
 */
export function transactionNote(
  transaction: Pick<Transaction, 'status' | 'status_reason' | 'wait_reason' | 'error' | 'reference'>,
  symbol: string,
): { text: string; whole: string } {
  const reason = transaction.status_reason === null ? null : reasonText(transaction.status_reason, symbol)
  const joined = (first: string | null) => [first, transaction.reference].filter((part) => part !== null).join(' · ')
  return { text: joined(shortly(transaction) ?? reason), whole: joined(reason) }
}

function shortly({ status, wait_reason, error, reference }: Parameters<typeof transactionNote>[0]): string | undefined {
  if (wait_reason !== null) return words(wait_reason)
  const isKnown = status === 'failed' && reference !== null && error !== null && error.code !== 'other'
  return isKnown ? words(error.code) : undefined
}
