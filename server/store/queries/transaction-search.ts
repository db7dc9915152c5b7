import type { Listing, PageRequest } from '../../domain/rows.ts'
import type { TransactionFilter } from '../../domain/transaction-rows.ts'
import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import { least, type Session, type Statement, sql, type Truth } from './session.ts'
import type { Search } from './transaction-filters.ts'

/** Rows that one step reads: some milliseconds at most. */
const stepRows = 250
/** The longest time that a search blocks the event loop. */
const turnMs = 5

interface Step {
  sequence: number
  /** The position in the index at which the next step continues. */
  at: number
  is_match: Truth
}

/** Of a transaction, whosever it is. */
const fits = `(
  ($states::text[] IS NULL OR status = ANY ($states::text[]))
  AND ($created_after::text IS NULL OR created_at > $created_after::text)
  AND ($created_before::text IS NULL OR created_at < $created_before::text)
  AND ($reference::text IS NULL OR reference = $reference::text)
  AND ($name::text IS NULL OR EXISTS (
    SELECT 1 FROM transaction_metadata AS its WHERE its.transaction_row_id = transactions.row_id
      AND its.name = $name::text AND its.value = $value::text))
  AND ($to::text IS NULL OR "to" = $to::text)
  AND ($pool_row_id::bigint IS NULL OR pool_row_id = $pool_row_id::bigint)
  AND ($hash::text IS NULL OR EXISTS (
    SELECT 1 FROM attempts WHERE transaction_row_id = transactions.row_id AND hash = $hash::text)))`
const isInRange = `($nonce_from::bigint IS NULL OR nonce >= $nonce_from::bigint) AND ($nonce_to::bigint IS NULL OR nonce <= $nonce_to::bigint)`

/** The whole filter, for the rows of an index that answers a part of it. */
const matches = `(transactions.relayer_row_id = $relayer_row_id AND ${fits})`

const bySequence = (where: string, match = matches) => `
  SELECT sequence, sequence AS at, ${match} AS is_match FROM transactions
  WHERE ${where} AND sequence < $below::bigint ORDER BY sequence DESC LIMIT ${stepRows}`

export const searches: Record<Search, Statement<Step>> = {
  hash: sql(bySequence(`row_id IN (SELECT transaction_row_id FROM attempts WHERE hash = $hash) AND ${isInRange}`)),
  nonce: sql(
    (engine) => `
    SELECT sequence, nonce AS at, ${matches} AS is_match FROM transactions
    WHERE chain_id = (SELECT chain_id FROM relayers WHERE row_id = $relayer_row_id)
      AND "from" = (SELECT address FROM relayers WHERE row_id = $relayer_row_id)
      AND nonce >= coalesce($nonce_from::bigint, 0) AND nonce <= ${least[engine]}(coalesce($nonce_to::bigint, $below::bigint), $below::bigint - 1)
    ORDER BY nonce DESC LIMIT ${stepRows}`,
  ),
  reference: sql(bySequence('relayer_row_id = $relayer_row_id AND reference = $reference')),
  metadata: sql(`
    SELECT its.sequence, its.sequence AS at, ${matches} AS is_match
    FROM transaction_metadata AS its JOIN transactions ON transactions.row_id = its.transaction_row_id
    WHERE its.relayer_row_id = $relayer_row_id AND its.name = $name AND its.value = $value
      AND its.sequence < $below::bigint ORDER BY its.sequence DESC LIMIT ${stepRows}`),
  to: sql(bySequence('relayer_row_id = $relayer_row_id AND "to" = $to')),
  // Where the index answers the whole filter, no row is read.
  reference_alone: sql(bySequence('relayer_row_id = $relayer_row_id AND reference = $reference', 'true')),
  to_alone: sql(bySequence('relayer_row_id = $relayer_row_id AND "to" = $to', 'true')),
}

/**
 * Finds a page of a list that an index answers, and the length of the list: walks the rows of the index in steps, between which
 * other work runs. Sequence numbers, the highest first; with a range of nonces, the highest nonce first.
 */
export async function search(
  session: Session,
  by: Search,
  relayerRowId: number,
  { offset, limit }: PageRequest,
  filter: TransactionFilter,
): Promise<Listing<number>> {
  const values = { relayer_row_id: relayerRowId, ...valuesOf(filter) }
  const items: number[] = []
  let totalItems = 0
  let below = Number.MAX_SAFE_INTEGER
  let began = performance.now()
  for (;;) {
    const rows = await session.all(searches[by], { ...values, below })
    for (const { sequence, is_match } of rows) {
      if (!is_match) continue
      if (totalItems >= offset && items.length < limit) items.push(sequence)
      totalItems += 1
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < stepRows) return { items, total_items: totalItems }
    below = last.at
    if (performance.now() - began < turnMs) continue
    await yieldToEventLoop()
    began = performance.now()
  }
}

const valuesOf = (filter: TransactionFilter) => ({
  states: filter.status.length > 0 ? filter.status : null,
  created_after: filter.created_after ?? null,
  created_before: filter.created_before ?? null,
  reference: filter.reference ?? null,
  name: filter.metadata?.name ?? null,
  value: filter.metadata?.value ?? null,
  to: filter.to ?? null,
  pool_row_id: filter.pool_row_id ?? null,
  hash: filter.hash ?? null,
  nonce_from: filter.nonce_from ?? null,
  nonce_to: filter.nonce_to ?? null,
})

/** The place of a transaction. */
export interface Place {
  relayer_row_id: number
  sequence: number
}

const filtered = sql<Place & { row_id: number }>(`
  SELECT row_id, relayer_row_id, sequence FROM transactions
  WHERE row_id = ANY ($row_ids::bigint[]) AND ${fits} AND ${isInRange}`)

/** The places of those of these transactions that match the filter, the newest first. */
export async function filterRows(session: Session, rowIds: number[], filter: TransactionFilter): Promise<Place[]> {
  const rows = await session.all(filtered, { row_ids: rowIds, ...valuesOf(filter) })
  return rows.sort((a, b) => b.row_id - a.row_id)
}
