import type { TransactionStatus } from '../../../generated/openapi.ts'
import type { Listing, PageRequest } from '../../domain/rows.ts'
import type { ShownColumns } from '../../domain/show.ts'
import { finalStatuses, unfinishedStatuses } from '../../domain/statuses.ts'
import type { TransactionFilter } from '../../domain/transaction-rows.ts'
import { yieldToEventLoop } from '../../lib/timers.ts'
import { findPage } from './blocks.ts'
import { type Database, least, type Session, type Statement, sql, type Truth } from './database.ts'
import { findRowIds, isNamed } from './search.ts'
import { hexOf, readData, readShown, type ShownRow, shownColumns, type WholeRow } from './transaction-rows.ts'

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
/** Of a relayer; `pool`: of what it sent through a pool. */
const blocksOf = (table: string, pool = '') =>
  sql<BlockRow>(`
  SELECT block, oldest, newest, unfinished, confirmed, failed, canceled, expired FROM ${table}
  WHERE ${pool} relayer_row_id = $relayer_row_id AND level = $level AND block BETWEEN $from AND $to ORDER BY block DESC`)
const numbersOf = (pool = '') =>
  sql<{ sequence: number }>(`
  SELECT sequence FROM transactions WHERE ${pool} relayer_row_id = $relayer_row_id AND sequence BETWEEN $from AND $to
    AND ($states::text[] IS NULL OR status = ANY ($states::text[]))
    AND ($after::text IS NULL OR created_at > $after::text) AND ($before::text IS NULL OR created_at < $before::text)
  ORDER BY sequence DESC`)
const ofPool = 'pool_row_id = $pool_row_id AND'
const ofRelayers = [blocksOf('transaction_blocks'), numbersOf()] as const
const ofPools = [blocksOf('pool_blocks', ofPool), numbersOf(ofPool)] as const
const relayersOf = sql<{ relayer_row_id: number; id: string; name: string }>(`
  SELECT row_id AS relayer_row_id, id, name FROM relayers
  WHERE ($ids::text[] IS NULL OR id = ANY ($ids::text[])) AND ($pool_row_id::bigint IS NULL OR row_id IN (
    SELECT relayer_row_id FROM pool_blocks WHERE pool_row_id = $pool_row_id::bigint AND level = 1))
  ORDER BY row_id`)
const rowIdsAt = sql<Place & { row_id: number }>(`
  SELECT row_id, relayer_row_id, sequence FROM transactions
  WHERE relayer_row_id = $relayer_row_id AND sequence = ANY ($sequences::bigint[])`)

/** Rows and large data are read in steps, between which other work runs. */
async function readPlaces(
  database: Database,
  places: Place[],
  admit: (dataBytes: number) => void = () => undefined,
): Promise<ShownColumns[]> {
  const rows: ListedRow[] = []
  for (let first = 0; first < places.length; first += stepRows) {
    if (first > 0) await yieldToEventLoop()
    const step = places.slice(first, first + stepRows)
    rows.push(...(await database.read.allOf(rowsOf, runsOf(step))))
  }
  admit(rows.reduce((sum, { data_bytes }) => sum + data_bytes, 0))
  const items: ShownColumns[] = []
  let characters = 0
  for (const [index, row] of rows.entries()) {
    if (characters >= turnCharacters || (index > 0 && index % stepRows === 0)) {
      await yieldToEventLoop()
      characters = 0
    }
    const data = row.data_bytes > shortBytes ? await readData(database.read, row.data_row_id) : hexOf(row.data)
    items.push(readShown(row, data))
    characters += data?.length ?? 0
  }
  return items
}

async function all(database: Database, relayerRowId: number, { offset, limit }: PageRequest): Promise<Listing<number>> {
  const { first = null, last = null } = (await database.read.one(ends, { relayer_row_id: relayerRowId })) ?? {}
  if (first === null || last === null) return { items: [], total_items: 0 }
  const to = last - offset
  const count = Math.max(0, Math.min(limit, to - first + 1))
  return { items: Array.from({ length: count }, (_, index) => to - index), total_items: last - first + 1 }
}

/** A transaction that changes its status while the page is read is shown with the new status. */
function filtered(
  database: Database,
  relayerRowId: number,
  slice: PageRequest,
  filter: TransactionFilter,
): Promise<Listing<number>> {
  const values = {
    relayer_row_id: relayerRowId,
    states: filter.status.length > 0 ? filter.status : null,
    after: filter.created_after ?? null,
    before: filter.created_before ?? null,
  }
  const { pool_row_id } = filter
  const [counts, rows] = pool_row_id === undefined ? ofRelayers : ofPools
  const its =
    pool_row_id === undefined ? { relayer_row_id: relayerRowId } : { relayer_row_id: relayerRowId, pool_row_id }
  return findPage(
    {
      async blocks(level, from, to) {
        const found = await database.read.all(counts, { ...its, level, from, to })
        return found.map((row) => ({ block: row.block, count: countIn(row, filter) }))
      },
      numbers: async (from, to) =>
        (await database.read.all(rows, { ...values, ...its, from, to })).map(({ sequence }) => sequence),
    },
    slice,
  )
}

/** The sequence numbers of a page, and the length of the list. */
function find(
  database: Database,
  relayerRowId: number,
  slice: PageRequest,
  filter: TransactionFilter,
): Promise<Listing<number>> {
  const by = searchFor(filter)
  if (by !== undefined) return search(database.read, { by, relayer_row_id: relayerRowId }, slice, filter)
  const { status, created_after, created_before, pool_row_id } = filter
  return status.length > 0 || created_after || created_before || pool_row_id !== undefined
    ? filtered(database, relayerRowId, slice, filter)
    : all(database, relayerRowId, slice)
}

/** Row ids follow the order of creation across all relayers. */
async function merged(database: Database, relayerRowIds: number[], depth: number, filter: TransactionFilter) {
  let newest: (Place & { row_id: number })[] = []
  let totalItems = 0
  for (const relayerRowId of relayerRowIds) {
    const found = await find(database, relayerRowId, { offset: 0, limit: depth }, filter)
    totalItems += found.total_items
    const places: typeof newest = []
    for (let first = 0; first < found.items.length; first += mergedRows) {
      await yieldToEventLoop()
      const sequences = found.items.slice(first, first + mergedRows)
      places.push(...(await database.read.all(rowIdsAt, { relayer_row_id: relayerRowId, sequences })))
    }
    if (places.length > 0) newest = [...newest, ...places].sort((a, b) => b.row_id - a.row_id).slice(0, depth)
  }
  return { newest, total_items: totalItems }
}

/** A page of places that a text has found. */
async function pageOf(
  database: Database,
  places: Place[],
  { offset, limit }: PageRequest,
  admit: ((dataBytes: number) => void) | undefined,
) {
  return { items: await readPlaces(database, places.slice(offset, offset + limit), admit), total_items: places.length }
}

/** `admit`: called with the size of the page's data before it is read; an error ends the method. */
type ListFilter = TransactionFilter & { admit?: ((dataBytes: number) => void) | undefined }

/**
 * Newest first. A page costs the same at any depth, with and without a filter. `admit`: called with the size of the page's data
 * before it is read; an error ends the method.
 */
export async function listTransactions(
  database: Database,
  relayerRowId: number,
  slice: PageRequest,
  { admit, ...filter }: ListFilter,
): Promise<Listing<ShownColumns>> {
  if (filter.search !== undefined) {
    const rowIds = await findRowIds(database.read, filter.search, { relayers: [{ relayer_row_id: relayerRowId }] }, [])
    return pageOf(database, await filterRows(database.read, rowIds, filter), slice, admit)
  }
  const { items, total_items } = await find(database, relayerRowId, slice, filter)
  const places = items.map((sequence) => ({ relayer_row_id: relayerRowId, sequence }))
  return { items: await readPlaces(database, places, admit), total_items }
}

/**
 * Of several relayers (`ids`; absent: all), newest first; with a filter by a pool, of those that took something for it, now or before.
 * `too_deep`: the page ends beyond the 10,000 newest, which is as far as the lists of several relayers are merged. A filter by nonces
 * does not apply.
 */
export async function listTransactionsOf(
  database: Database,
  ids: ReadonlySet<string> | undefined,
  slice: PageRequest,
  { admit, ...filter }: ListFilter,
): Promise<Listing<ShownColumns> | 'too_deep'> {
  const { offset, limit } = slice
  const its = { ids: ids ? [...ids] : null, pool_row_id: filter.pool_row_id ?? null }
  const relayers = await database.read.all(relayersOf, its)
  if (filter.search !== undefined) {
    const area = { relayers, pool_row_id: filter.pool_row_id }
    const rowIds = await findRowIds(database.read, filter.search, area, relayers.filter(isNamed(filter.search)))
    return pageOf(database, await filterRows(database.read, rowIds, filter), slice, admit)
  }
  const depth = Math.min(offset + limit, maxDepth)
  const rowIds = relayers.map(({ relayer_row_id }) => relayer_row_id)
  const { newest, total_items } = await merged(database, rowIds, limit === 0 ? 0 : depth, filter)
  if (limit > 0 && offset < total_items && offset + limit > maxDepth) return 'too_deep'
  return { items: await readPlaces(database, newest.slice(offset, offset + limit), admit), total_items }
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

/** The depth to which lists of several relayers are merged. */
const maxDepth = 10_000

type Counted = (typeof finalStatuses)[number]
/** The counts of a block of transactions. */
type BlockRow = { block: number; oldest: string; newest: string; unfinished: number } & Record<Counted, number>

/** How many transactions of a block match the filter; undefined when the counts are not sufficient. */
function countIn(row: BlockRow, { status, created_after, created_before }: TransactionFilter): number | undefined {
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
type Search = 'hash' | 'nonce' | 'reference' | 'metadata' | 'to' | 'reference_alone' | 'to_alone'

/** The index that answers a part of the filter: the most selective one that applies. Undefined: none does. */
function searchFor(filter: TransactionFilter): Search | undefined {
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

/** Rows that one step reads: some milliseconds at most. */
const stepRowsTransactionSearch = 250
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
  AND ($pool_row_id::bigint IS NULL OR transactions.pool_row_id = $pool_row_id::bigint)
  AND ($hash::text IS NULL OR EXISTS (
    SELECT 1 FROM attempts WHERE transaction_row_id = transactions.row_id AND hash = $hash::text)))`
const isInRange = `($nonce_from::bigint IS NULL OR nonce >= $nonce_from::bigint) AND ($nonce_to::bigint IS NULL OR nonce <= $nonce_to::bigint)`

/** The whole filter, for the rows of an index that answers a part of it. */
const matches = `(transactions.relayer_row_id = $relayer_row_id AND ${fits})`

const bySequence = (where: string, match = matches) => `
  SELECT sequence, sequence AS at, ${match} AS is_match FROM transactions
  WHERE ${where} AND sequence < $below::bigint ORDER BY sequence DESC LIMIT ${stepRowsTransactionSearch}`

/** `pool`: a condition for those of a pool, or nothing. */
const searchesIn = (pool: string): Record<Search, Statement<Step>> => {
  const own = `${pool} relayer_row_id = $relayer_row_id`
  return {
    hash: sql(bySequence(`row_id IN (SELECT transaction_row_id FROM attempts WHERE hash = $hash) AND ${isInRange}`)),
    nonce: sql(
      (engine) => `
      SELECT sequence, nonce AS at, ${matches} AS is_match FROM transactions
      WHERE chain_id = (SELECT chain_id FROM relayers WHERE row_id = $relayer_row_id)
        AND "from" = (SELECT address FROM relayers WHERE row_id = $relayer_row_id)
        AND nonce >= coalesce($nonce_from::bigint, 0) AND nonce <= ${least[engine]}(coalesce($nonce_to::bigint, $below::bigint), $below::bigint - 1)
      ORDER BY nonce DESC LIMIT ${stepRowsTransactionSearch}`,
    ),
    reference: sql(bySequence(`${own} AND reference = $reference`)),
    metadata: sql(`
      SELECT its.sequence, its.sequence AS at, ${matches} AS is_match
      FROM transaction_metadata AS its JOIN transactions ON transactions.row_id = its.transaction_row_id
      WHERE ${pool && `its.${pool}`} its.relayer_row_id = $relayer_row_id AND its.name = $name AND its.value = $value
        AND its.sequence < $below::bigint ORDER BY its.sequence DESC LIMIT ${stepRowsTransactionSearch}`),
    to: sql(bySequence(`${own} AND "to" = $to`)),
    // Where the index answers the whole filter, no row is read.
    reference_alone: sql(bySequence(`${own} AND reference = $reference`, 'true')),
    to_alone: sql(bySequence(`${own} AND "to" = $to`, 'true')),
  }
}

export const searches = searchesIn('')
/** Those that went through a pool: none that its relayers sent directly is read. */
export const poolSearches = searchesIn('pool_row_id = $pool_row_id::bigint AND')

/**
 * Finds a page of a list that an index answers, and the length of the list: walks the rows of the index in steps, between which
 * other work runs. Sequence numbers, the highest first; with a range of nonces, the highest nonce first.
 */
async function search(
  session: Session,
  { by, relayer_row_id }: { by: Search; relayer_row_id: number },
  { offset, limit }: PageRequest,
  filter: TransactionFilter,
): Promise<Listing<number>> {
  const values = { relayer_row_id, ...valuesOf(filter) }
  const statement = (filter.pool_row_id === undefined ? searches : poolSearches)[by]
  const items: number[] = []
  let totalItems = 0
  let below = Number.MAX_SAFE_INTEGER
  let began = performance.now()
  for (;;) {
    const rows = await session.all(statement, { ...values, below })
    for (const { sequence, is_match } of rows) {
      if (!is_match) continue
      if (totalItems >= offset && items.length < limit) items.push(sequence)
      totalItems += 1
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < stepRowsTransactionSearch) return { items, total_items: totalItems }
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
interface Place {
  relayer_row_id: number
  sequence: number
}

const selectFiltered = sql<Place & { row_id: number }>(`
  SELECT row_id, relayer_row_id, sequence FROM transactions
  WHERE row_id = ANY ($row_ids::bigint[]) AND ${fits} AND ${isInRange}`)

/** The places of those of these transactions that match the filter, the newest first. */
async function filterRows(session: Session, rowIds: number[], filter: TransactionFilter): Promise<Place[]> {
  const rows = await session.all(selectFiltered, { row_ids: rowIds, ...valuesOf(filter) })
  return rows.sort((a, b) => b.row_id - a.row_id)
}
