import type { Transaction } from '../../index.ts'
import { Badge, useTicks } from '../components/values.tsx'
import { words } from '../data/format.ts'
import { isSlow, stateOf } from '../data/statuses.ts'
import { age } from '../data/times.ts'

type Its = Pick<Transaction, 'status' | 'is_canceling' | 'created_at'>

const waitOf = (its: Its): string | undefined => (isSlow(its) ? age(its.created_at) : undefined)

/** Its status, and how long it waits for a block when that takes minutes. */
export function TransactionState({ its }: { its: Its }) {
  useTicks()
  return <Badge state={stateOf(its)} waited={waitOf(its)} />
}

/** The same as a text. */
export const stateText = (its: Its): string => [words(stateOf(its)), waitOf(its)].filter(Boolean).join(', ')
