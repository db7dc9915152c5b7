import type { Listing, Slice } from '../../domain/rows.ts'
import type { ShownColumns } from '../../domain/show-transaction.ts'
import type { TransactionFilter } from '../../domain/transaction-rows.ts'
import { nextTurn } from '../../lib/yield-to-event-loop.ts'
import { findPage } from '../blocks.ts'
import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { sql } from './session.ts'
import { findRowIds, isNamed } from './text-search.ts'
import { type BlockRow, countIn, max_depth, searchFor } from './transaction-filters.ts'
import { hexOf, readData, type ShownRow, show, shownColumns, type WholeRow } from './transaction-rows.ts'
import { filterRows, type Place, search } from './transaction-search.ts'

/** The longest data that is read together with its row. */
const short_bytes = 1_000
/** The most data that is written out in one turn of the event loop, which takes some milliseconds. */
const turn_characters = 1_000_000
/** The most rows that are read in one turn of the event loop, and the most whose row ids are: some milliseconds. */
const step_rows = 250
const merged_rows = 1_000

type ListedRow = ShownRow & Pick<WholeRow, 'data' | 'data_bytes' | 'data_row_id'>

// Two seeks in the index of (relayer_row_id, sequence). Sequences have no gaps, so both ends give the length of the list.
const ends = sql<{ first: number | null; last: number | null }>(`
  SELECT (SELECT min(sequence) FROM transactions WHERE relayer_row_id = $relayer_row_id) AS first,
    (SELECT max(sequence) FROM transactions WHERE relayer_row_id = $relayer_row_id) AS last`)
const listed = `${shownColumns}, data_bytes, data_row_id,
  CASE WHEN data_bytes <= ${short_bytes} THEN (SELECT data FROM transaction_data WHERE row_id = data_row_id) END AS data`
const rowsOf = sql<ListedRow>({
  sqlite: `
    SELECT ${listed} FROM transactions
    WHERE relayer_row_id = $relayer_row_id AND sequence BETWEEN $lowest AND $highest ORDER BY sequence DESC`,
  postgres: `
    SELECT ${listed} FROM json_to_recordset($rows::json) AS run (relayer_row_id bigint, lowest bigint, highest bigint, at bigint),
      LATERAL (
        SELECT * FROM transactions
        WHERE relayer_row_id = run.relayer_row_id AND sequence BETWEEN run.lowest AND run.highest OFFSET 0
      ) AS its ORDER BY at, sequence DESC`,
})
const blocks = sql<BlockRow>(`
  SELECT block, oldest, newest, unfinished, confirmed, failed, canceled, expired FROM transaction_blocks
  WHERE relayer_row_id = $relayer_row_id AND level = $level AND block BETWEEN $from AND $to ORDER BY block DESC`)
const poolBlocks = sql<BlockRow>(`
  SELECT block, oldest, newest, unfinished, confirmed, failed, canceled, expired FROM pool_blocks
  WHERE pool_row_id = $pool_row_id AND relayer_row_id = $relayer_row_id AND level = $level AND block BETWEEN $from AND $to
  ORDER BY block DESC`)
const numbers = sql<{ sequence: number }>(`
  SELECT sequence FROM transactions WHERE relayer_row_id = $relayer_row_id AND sequence BETWEEN $from AND $to
    AND ($states::text[] IS NULL OR status = ANY ($states::text[]))
    AND ($after::text IS NULL OR created_at > $after::text) AND ($before::text IS NULL OR created_at < $before::text)
  ORDER BY sequence DESC`)
const poolNumbers = sql<{ sequence: number }>(`
  SELECT sequence FROM transactions WHERE pool_row_id = $pool_row_id AND relayer_row_id = $relayer_row_id AND sequence BETWEEN $from AND $to
    AND ($states::text[] IS NULL OR status = ANY ($states::text[]))
    AND ($after::text IS NULL OR created_at > $after::text) AND ($before::text IS NULL OR created_at < $before::text)
  ORDER BY sequence DESC`)
const relayersOf = sql<{ relayer_row_id: number; id: string; name: string }>(`
  SELECT row_id AS relayer_row_id, id, name FROM relayers
  WHERE ($ids::text[] IS NULL OR id = ANY ($ids::text[])) AND ($pool_row_id::bigint IS NULL OR row_id IN (
    SELECT relayer_row_id FROM pool_blocks WHERE pool_row_id = $pool_row_id::bigint AND level = 1))
  ORDER BY row_id`)
const rowIdsAt = sql<Place & { row_id: number }>(`
  SELECT row_id, relayer_row_id, sequence FROM transactions
  WHERE relayer_row_id = $relayer_row_id AND sequence = ANY ($sequences::bigint[])`)

/** Pages of transactions, newest first. */
export function transactionLists({ read }: Database): Pick<Store, 'listTransactions' | 'listTransactionsOf'> {
  /** Rows and large data are read in steps, between which other work runs. */
  async function readPlaces(
    places: Place[],
    admit: (data_bytes: number) => void = () => undefined,
  ): Promise<ShownColumns[]> {
    const rows: ListedRow[] = []
    for (let first = 0; first < places.length; first += step_rows) {
      if (first > 0) await nextTurn()
      const step = places.slice(first, first + step_rows)
      rows.push(...(await read.allOf(rowsOf, runsOf(step))))
    }
    admit(rows.reduce((sum, { data_bytes }) => sum + data_bytes, 0))
    const items: ShownColumns[] = []
    let characters = 0
    for (const [index, row] of rows.entries()) {
      if (characters >= turn_characters || (index > 0 && index % step_rows === 0)) {
        await nextTurn()
        characters = 0
      }
      const data = row.data_bytes > short_bytes ? await readData(read, row.data_row_id) : hexOf(row.data)
      items.push(show(row, data))
      characters += data?.length ?? 0
    }
    return items
  }

  async function all(relayer_row_id: number, { offset, limit }: Slice): Promise<Listing<number>> {
    const { first = null, last = null } = (await read.one(ends, { relayer_row_id })) ?? {}
    if (first === null || last === null) return { items: [], total_items: 0 }
    const to = last - offset
    const count = Math.max(0, Math.min(limit, to - first + 1))
    return { items: Array.from({ length: count }, (_, index) => to - index), total_items: last - first + 1 }
  }

  /** A transaction that changes its status while the page is read is shown with the new status. */
  function filtered(relayer_row_id: number, slice: Slice, filter: TransactionFilter): Promise<Listing<number>> {
    const values = {
      relayer_row_id,
      states: filter.status.length > 0 ? filter.status : null,
      after: filter.created_after ?? null,
      before: filter.created_before ?? null,
    }
    const { pool_row_id } = filter
    const [counts, rows] = pool_row_id === undefined ? [blocks, numbers] : [poolBlocks, poolNumbers]
    const its = pool_row_id === undefined ? { relayer_row_id } : { relayer_row_id, pool_row_id }
    return findPage(
      {
        async blocks(level, from, to) {
          const found = await read.all(counts, { ...its, level, from, to })
          return found.map((row) => ({ block: row.block, count: countIn(row, filter) }))
        },
        numbers: async (from, to) =>
          (await read.all(rows, { ...values, ...its, from, to })).map(({ sequence }) => sequence),
      },
      slice,
    )
  }

  /** The sequence numbers of a page, and the length of the list. */
  function find(relayer_row_id: number, slice: Slice, filter: TransactionFilter): Promise<Listing<number>> {
    const by = searchFor(filter)
    if (by !== undefined) return search(read, by, relayer_row_id, slice, filter)
    const { status, created_after, created_before, pool_row_id } = filter
    return status.length > 0 || created_after || created_before || pool_row_id !== undefined
      ? filtered(relayer_row_id, slice, filter)
      : all(relayer_row_id, slice)
  }

  /** Row ids follow the order of creation across all relayers. */
  async function merged(relayer_row_ids: number[], depth: number, filter: TransactionFilter) {
    let newest: (Place & { row_id: number })[] = []
    let total_items = 0
    for (const relayer_row_id of relayer_row_ids) {
      const found = await find(relayer_row_id, { offset: 0, limit: depth }, filter)
      total_items += found.total_items
      const places: typeof newest = []
      for (let first = 0; first < found.items.length; first += merged_rows) {
        await nextTurn()
        const sequences = found.items.slice(first, first + merged_rows)
        places.push(...(await read.all(rowIdsAt, { relayer_row_id, sequences })))
      }
      if (places.length > 0) newest = [...newest, ...places].sort((a, b) => b.row_id - a.row_id).slice(0, depth)
    }
    return { newest, total_items }
  }

  /** A page of places that a text has found. */
  async function pageOf(places: Place[], { offset, limit }: Slice, admit: ((data_bytes: number) => void) | undefined) {
    return { items: await readPlaces(places.slice(offset, offset + limit), admit), total_items: places.length }
  }

  return {
    async listTransactions(relayer_row_id, slice, filter, admit) {
      if (filter.search !== undefined) {
        const row_ids = await findRowIds(read, filter.search, [{ relayer_row_id }], [])
        return pageOf(await filterRows(read, row_ids, filter), slice, admit)
      }
      const { items, total_items } = await find(relayer_row_id, slice, filter)
      const places = items.map((sequence) => ({ relayer_row_id, sequence }))
      return { items: await readPlaces(places, admit), total_items }
    },
    async listTransactionsOf(ids, slice, filter, admit) {
      const { offset, limit } = slice
      const its = { ids: ids ? [...ids] : null, pool_row_id: filter.pool_row_id ?? null }
      const relayers = await read.all(relayersOf, its)
      if (filter.search !== undefined) {
        const row_ids = await findRowIds(read, filter.search, relayers, relayers.filter(isNamed(filter.search)))
        return pageOf(await filterRows(read, row_ids, filter), slice, admit)
      }
      const depth = Math.min(offset + limit, max_depth)
      const row_ids = relayers.map(({ relayer_row_id }) => relayer_row_id)
      const { newest, total_items } = await merged(row_ids, limit === 0 ? 0 : depth, filter)
      if (limit > 0 && offset < total_items && offset + limit > max_depth) return 'too_deep'
      return { items: await readPlaces(newest.slice(offset, offset + limit), admit), total_items }
    },
  }
}

/** Places that follow each other without a gap. `at`: the number of the run. */
function runsOf(places: Place[]): { relayer_row_id: number; lowest: number; highest: number; at: number }[] {
  const runs: ReturnType<typeof runsOf> = []
  for (const { relayer_row_id, sequence } of places) {
    const run = runs.at(-1)
    if (run?.relayer_row_id === relayer_row_id && run.lowest === sequence + 1) run.lowest = sequence
    else runs.push({ relayer_row_id, lowest: sequence, highest: sequence, at: runs.length })
  }
  return runs
}
