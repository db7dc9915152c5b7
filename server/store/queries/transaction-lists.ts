import type { Listing, PageRequest } from '../../domain/rows.ts'
import type { ShownColumns } from '../../domain/show-transaction.ts'
import type { TransactionFilter } from '../../domain/transaction-rows.ts'
import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import { findPage } from '../blocks.ts'
import type { Store } from '../store.ts'
import type { Database } from './database.ts'
import { sql } from './session.ts'
import { findRowIds, isNamed } from './text-search.ts'
import { type BlockRow, countIn, maxDepth, searchFor } from './transaction-filters.ts'
import { hexOf, readData, type ShownRow, show, shownColumns, type WholeRow } from './transaction-rows.ts'
import { filterRows, type Place, search } from './transaction-search.ts'

/** The longest data that is read together with its row. */
const shortBytes = 1_000
/** The most data that is written out in one turn of the event loop, which takes some milliseconds. */
const turnCharacters = 1_000_000
/** The most rows that are read in one turn of the event loop, and the most whose row ids are: some milliseconds. */
const stepRows = 250
const mergedRows = 1_000

type ListedRow = ShownRow & Pick<WholeRow, 'data' | 'data_bytes' | 'data_row_id'>

// Two seeks in the index of (relayer_row_id, sequence). Sequences have no gaps, so both ends give the length of the list.
const ends = sql<{ first: number | null; last: number | null }>(`
  SELECT (SELECT min(sequence) FROM transactions WHERE relayer_row_id = $relayer_row_id) AS first,
    (SELECT max(sequence) FROM transactions WHERE relayer_row_id = $relayer_row_id) AS last`)
const listed = `${shownColumns}, data_bytes, data_row_id,
  CASE WHEN data_bytes <= ${shortBytes} THEN (SELECT data FROM transaction_data WHERE row_id = data_row_id) END AS data`
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
    admit: (dataBytes: number) => void = () => undefined,
  ): Promise<ShownColumns[]> {
    const rows: ListedRow[] = []
    for (let first = 0; first < places.length; first += stepRows) {
      if (first > 0) await yieldToEventLoop()
      const step = places.slice(first, first + stepRows)
      rows.push(...(await read.allOf(rowsOf, runsOf(step))))
    }
    admit(rows.reduce((sum, { data_bytes }) => sum + data_bytes, 0))
    const items: ShownColumns[] = []
    let characters = 0
    for (const [index, row] of rows.entries()) {
      if (characters >= turnCharacters || (index > 0 && index % stepRows === 0)) {
        await yieldToEventLoop()
        characters = 0
      }
      const data = row.data_bytes > shortBytes ? await readData(read, row.data_row_id) : hexOf(row.data)
      items.push(show(row, data))
      characters += data?.length ?? 0
    }
    return items
  }

  async function all(relayerRowId: number, { offset, limit }: PageRequest): Promise<Listing<number>> {
    const { first = null, last = null } = (await read.one(ends, { relayer_row_id: relayerRowId })) ?? {}
    if (first === null || last === null) return { items: [], total_items: 0 }
    const to = last - offset
    const count = Math.max(0, Math.min(limit, to - first + 1))
    return { items: Array.from({ length: count }, (_, index) => to - index), total_items: last - first + 1 }
  }

  /** A transaction that changes its status while the page is read is shown with the new status. */
  function filtered(relayerRowId: number, slice: PageRequest, filter: TransactionFilter): Promise<Listing<number>> {
    const values = {
      relayer_row_id: relayerRowId,
      states: filter.status.length > 0 ? filter.status : null,
      after: filter.created_after ?? null,
      before: filter.created_before ?? null,
    }
    const { pool_row_id } = filter
    const [counts, rows] = pool_row_id === undefined ? [blocks, numbers] : [poolBlocks, poolNumbers]
    const its =
      pool_row_id === undefined ? { relayer_row_id: relayerRowId } : { relayer_row_id: relayerRowId, pool_row_id }
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
  function find(relayerRowId: number, slice: PageRequest, filter: TransactionFilter): Promise<Listing<number>> {
    const by = searchFor(filter)
    if (by !== undefined) return search(read, by, relayerRowId, slice, filter)
    const { status, created_after, created_before, pool_row_id } = filter
    return status.length > 0 || created_after || created_before || pool_row_id !== undefined
      ? filtered(relayerRowId, slice, filter)
      : all(relayerRowId, slice)
  }

  /** Row ids follow the order of creation across all relayers. */
  async function merged(relayerRowIds: number[], depth: number, filter: TransactionFilter) {
    let newest: (Place & { row_id: number })[] = []
    let totalItems = 0
    for (const relayerRowId of relayerRowIds) {
      const found = await find(relayerRowId, { offset: 0, limit: depth }, filter)
      totalItems += found.total_items
      const places: typeof newest = []
      for (let first = 0; first < found.items.length; first += mergedRows) {
        await yieldToEventLoop()
        const sequences = found.items.slice(first, first + mergedRows)
        places.push(...(await read.all(rowIdsAt, { relayer_row_id: relayerRowId, sequences })))
      }
      if (places.length > 0) newest = [...newest, ...places].sort((a, b) => b.row_id - a.row_id).slice(0, depth)
    }
    return { newest, total_items: totalItems }
  }

  /** A page of places that a text has found. */
  async function pageOf(
    places: Place[],
    { offset, limit }: PageRequest,
    admit: ((dataBytes: number) => void) | undefined,
  ) {
    return { items: await readPlaces(places.slice(offset, offset + limit), admit), total_items: places.length }
  }

  return {
    async listTransactions(relayerRowId, slice, filter, admit) {
      if (filter.search !== undefined) {
        const rowIds = await findRowIds(read, filter.search, [{ relayer_row_id: relayerRowId }], [])
        return pageOf(await filterRows(read, rowIds, filter), slice, admit)
      }
      const { items, total_items } = await find(relayerRowId, slice, filter)
      const places = items.map((sequence) => ({ relayer_row_id: relayerRowId, sequence }))
      return { items: await readPlaces(places, admit), total_items }
    },
    async listTransactionsOf(ids, slice, filter, admit) {
      const { offset, limit } = slice
      const its = { ids: ids ? [...ids] : null, pool_row_id: filter.pool_row_id ?? null }
      const relayers = await read.all(relayersOf, its)
      if (filter.search !== undefined) {
        const rowIds = await findRowIds(read, filter.search, relayers, relayers.filter(isNamed(filter.search)))
        return pageOf(await filterRows(read, rowIds, filter), slice, admit)
      }
      const depth = Math.min(offset + limit, maxDepth)
      const rowIds = relayers.map(({ relayer_row_id }) => relayer_row_id)
      const { newest, total_items } = await merged(rowIds, limit === 0 ? 0 : depth, filter)
      if (limit > 0 && offset < total_items && offset + limit > maxDepth) return 'too_deep'
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
