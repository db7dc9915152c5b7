import type { Transaction, TransactionStatus } from '../../index.ts'
import { age } from '../data/format.ts'
import { stateOf } from '../data/transactions.ts'
import { Badge } from './badge.tsx'
import { useTicks } from './moment.tsx'

/** Without a block for longer than this, a transaction shows its wait. */
const slow_ms = 120_000
const unmined: ReadonlySet<TransactionStatus> = new Set(['pending', 'sent', 'submitted'])

export const isSlow = ({ status, created_at }: Transaction): boolean =>
  unmined.has(status) && Date.now() - Date.parse(created_at) >= slow_ms

/** Its state, and how long it waits for a block when that takes minutes. */
export function TransactionState({ its }: { its: Transaction }) {
  useTicks()
  return <Badge state={stateOf(its)} waited={isSlow(its) ? age(its.created_at) : undefined} />
}
