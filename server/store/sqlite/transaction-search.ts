import type { Listing, Slice } from '../../core/rows.ts'
import type { TransactionFilter } from '../../core/sending-rows.ts'
import { nextTurn } from '../../next-turn.ts'
import type { Search } from '../transaction-filters.ts'
import type { Connection } from './connection.ts'

/** Rows that one step reads: some milliseconds at most. */
const step_rows = 250
/** The longest time that a search blocks the event loop. */
const turn_ms = 5

interface Step {
  sequence: number
  /** The position in the index at which the next step continues. */
  at: number
  isMatch: 0 | 1
}

/** The whole filter, for the rows of an index that answers a part of it. */
const matches = `
  relayer_row_id = +$relayer_row_id
  AND ($states IS NULL OR status IN (SELECT value FROM json_each($states)))
  AND ($created_after IS NULL OR created_at > +$created_after)
  AND ($created_before IS NULL OR created_at < +$created_before)
  AND ($reference IS NULL OR reference = +$reference)
  AND ($to IS NULL OR "to" = +$to)
  AND ($hash IS NULL OR EXISTS (SELECT 1 FROM attempts WHERE transaction_row_id = transactions.row_id AND hash = +$hash))`

export const searches: Record<Search, string> = {
  hash: `
    SELECT sequence, sequence AS at, ${matches} AS isMatch FROM transactions
    WHERE row_id IN (SELECT transaction_row_id FROM attempts WHERE hash = +$hash) AND sequence < +$below
      AND ($nonce_from IS NULL OR nonce >= +$nonce_from) AND ($nonce_to IS NULL OR nonce <= +$nonce_to)
    ORDER BY sequence DESC LIMIT ${step_rows}`,
  nonce: `
    SELECT sequence, nonce AS at, ${matches} AS isMatch FROM transactions
    WHERE chain_id = (SELECT chain_id FROM relayers WHERE row_id = +$relayer_row_id)
      AND "from" = (SELECT address FROM relayers WHERE row_id = +$relayer_row_id)
      AND nonce >= coalesce(+$nonce_from, 0) AND nonce <= min(+$nonce_to, +$below - 1)
    ORDER BY nonce DESC LIMIT ${step_rows}`,
  reference: `
    SELECT sequence, sequence AS at, ${matches} AS isMatch FROM transactions
    WHERE relayer_row_id = +$relayer_row_id AND reference = +$reference AND sequence < +$below
    ORDER BY sequence DESC LIMIT ${step_rows}`,
  to: `
    SELECT sequence, sequence AS at, ${matches} AS isMatch FROM transactions
    WHERE relayer_row_id = +$relayer_row_id AND "to" = +$to AND sequence < +$below
    ORDER BY sequence DESC LIMIT ${step_rows}`,
  // Where the index answers the whole filter, no row is read.
  reference_alone: `
    SELECT sequence, sequence AS at, 1 AS isMatch FROM transactions
    WHERE relayer_row_id = +$relayer_row_id AND reference = +$reference AND sequence < +$below
    ORDER BY sequence DESC LIMIT ${step_rows}`,
  to_alone: `
    SELECT sequence, sequence AS at, 1 AS isMatch FROM transactions
    WHERE relayer_row_id = +$relayer_row_id AND "to" = +$to AND sequence < +$below
    ORDER BY sequence DESC LIMIT ${step_rows}`,
}

/**
 * Finds a page of a list that an index answers, and the length of the list: walks the rows of the index in steps, between which
 * other work runs. Sequence numbers, the highest first; with a range of nonces, the highest nonce first.
 */
export function createSearch({ db }: Pick<Connection, 'db'>) {
  const steps = Object.fromEntries(
    Object.entries(searches).map(([name, statement]) => [name, db.prepare<[object], Step>(statement)]),
  ) as Record<Search, ReturnType<typeof db.prepare<[object], Step>>>

  return async (
    search: Search,
    relayer_row_id: number,
    { offset, limit }: Slice,
    filter: TransactionFilter,
  ): Promise<Listing<number>> => {
    const values = {
      relayer_row_id,
      states: filter.status.length > 0 ? JSON.stringify(filter.status) : null,
      created_after: filter.created_after ?? null,
      created_before: filter.created_before ?? null,
      reference: filter.reference ?? null,
      to: filter.to ?? null,
      hash: filter.hash ?? null,
      nonce_from: filter.nonce_from ?? null,
      nonce_to: filter.nonce_to ?? Number.MAX_SAFE_INTEGER,
    }
    const items: number[] = []
    let total_items = 0
    let below = Number.MAX_SAFE_INTEGER
    let began = performance.now()
    for (;;) {
      const rows = steps[search].all({ ...values, below })
      for (const { sequence, isMatch } of rows) {
        if (isMatch !== 1) continue
        if (total_items >= offset && items.length < limit) items.push(sequence)
        total_items += 1
      }
      const last = rows.at(-1)
      if (last === undefined || rows.length < step_rows) return { items, total_items }
      below = last.at
      if (performance.now() - began < turn_ms) continue
      await nextTurn()
      began = performance.now()
    }
  }
}
