import type { Transaction } from '../../index.ts'
import { words } from '../data/format.ts'
import { stateOf } from '../data/statuses.ts'
import { age } from '../data/times.ts'
import { Badge } from './badge.tsx'
import { useTicks } from './moment.tsx'

/** Without a block for longer than this, a transaction shows its wait. */
const slow_ms = 120_000
const unmined: ReadonlySet<string> = new Set(['pending', 'sent', 'submitted'])

type Its = Pick<Transaction, 'status' | 'is_canceling' | 'created_at'>

export const isSlow = ({ status, created_at }: { status: string; created_at: string }): boolean =>
  unmined.has(status) && Date.now() - Date.parse(created_at) >= slow_ms

const waitOf = (its: Its): string | undefined => (isSlow(its) ? age(its.created_at) : undefined)

/** Its status, and how long it waits for a block when that takes minutes. */
export function TransactionState({ its }: { its: Its }) {
  useTicks()
  return <Badge state={stateOf(its)} waited={waitOf(its)} />
}

/** The same as a text. */
export const stateText = (its: Its): string => [words(stateOf(its)), waitOf(its)].filter(Boolean).join(', ')
