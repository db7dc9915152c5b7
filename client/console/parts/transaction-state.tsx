import type { Transaction, TransactionStatus } from '../../index.ts'
import { age } from '../data/format.ts'
import { stateOf } from '../data/statuses.ts'
import { Badge } from './badge.tsx'
import { useTicks } from './moment.tsx'

/** Without a block for longer than this, a transaction shows its wait. */
const slow_ms = 120_000
const unmined: ReadonlySet<TransactionStatus> = new Set(['pending', 'sent', 'submitted'])

/** Its status, and how long it waits for a block when that takes minutes. */
export function TransactionState({ its }: { its: Pick<Transaction, 'status' | 'is_canceling' | 'created_at'> }) {
  useTicks()
  const isSlow = unmined.has(its.status) && Date.now() - Date.parse(its.created_at) >= slow_ms
  return <Badge state={stateOf(its)} waited={isSlow ? age(its.created_at) : undefined} />
}
