import type { Transaction } from '../../index.ts'
import { Badge, useTicks } from '../components/values.tsx'
import { words } from '../data/format.ts'
import { isSlow, stateOf } from '../data/statuses.ts'
import { age } from '../data/times.ts'

type Its = Pick<Transaction, 'status' | 'is_canceling' | 'created_at'>

const waitOf = (transaction: Its): string | undefined => (isSlow(transaction) ? age(transaction.created_at) : undefined)

/** Its status, and how long it waits for a block when that takes minutes. */
export function TransactionState({ transaction }: { transaction: Its }) {
  useTicks()
  return <Badge state={stateOf(transaction)} waited={waitOf(transaction)} />
}

/** The same as a text. */
export const stateText = (transaction: Its): string =>
  [words(stateOf(transaction)), waitOf(transaction)].filter(Boolean).join(', ')
