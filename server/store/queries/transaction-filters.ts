import type { TransactionStatus } from '../../../generated/openapi.ts'
import { finalStatuses, unfinishedStatuses } from '../../domain/statuses.ts'
import type { TransactionFilter } from '../../domain/transaction-rows.ts'

/** The depth to which lists of several relayers are merged. */
export const maxDepth = 10_000

type Counted = (typeof finalStatuses)[number]
/** The counts of a block of transactions. */
export type BlockRow = { block: number; oldest: string; newest: string; unfinished: number } & Record<Counted, number>

/** How many transactions of a block match the filter; undefined when the counts are not sufficient. */
export function countIn(
  row: BlockRow,
  { status, created_after, created_before }: TransactionFilter,
): number | undefined {
  const isNone =
    (created_after !== undefined && row.newest <= created_after) ||
    (created_before !== undefined && row.oldest >= created_before)
  if (isNone) return 0
  const wanted = (state: TransactionStatus) => status.length === 0 || status.includes(state)
  const some = unfinishedStatuses.filter(wanted).length
  const known = finalStatuses.filter(wanted).reduce((sum, state) => sum + row[state], 0)
  const isAll =
    (created_after === undefined || row.oldest > created_after) &&
    (created_before === undefined || row.newest < created_before)
  if (isAll && (some === 0 || row.unfinished === 0)) return known
  if (isAll && some === unfinishedStatuses.length) return known + row.unfinished
  // The block has no transaction that could match.
  return known === 0 && (some === 0 || row.unfinished === 0) ? 0 : undefined
}

/** An index that answers a part of a filter; `alone`: the whole filter. */
export type Search = 'hash' | 'nonce' | 'reference' | 'metadata' | 'to' | 'reference_alone' | 'to_alone'

/** The index that answers a part of the filter: the most selective one that applies. Undefined: none does. */
export function searchFor(filter: TransactionFilter): Search | undefined {
  const { hash, nonce_from, nonce_to, reference, metadata, to, status, created_after, created_before, pool_row_id } =
    filter
  if (hash !== undefined) return 'hash'
  if (nonce_from !== undefined || nonce_to !== undefined) return 'nonce'
  const isAlone =
    metadata === undefined &&
    status.length === 0 &&
    created_after === undefined &&
    created_before === undefined &&
    pool_row_id === undefined
  if (reference !== undefined) return isAlone && to === undefined ? 'reference_alone' : 'reference'
  if (metadata !== undefined) return 'metadata'
  if (to === undefined) return undefined
  return isAlone ? 'to_alone' : 'to'
}
