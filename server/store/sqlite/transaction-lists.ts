import type { Slice } from '../../core/rows.ts'
import type { TransactionFilter } from '../../core/sending-rows.ts'
import type { ShownColumns } from '../../core/shown-transaction.ts'
import { nextTurn } from '../../next-turn.ts'
import { findPage } from '../blocks.ts'
import type { Store } from '../store.ts'
import { hexOf } from '../transaction-data.ts'
import { type BlockRow, countIn, max_depth, searchFor } from '../transaction-filters.ts'
import { type ShownRow, show, shownColumns, type WholeRow } from '../transaction-rows.ts'
import type { Connection } from './connection.ts'
import { createTransactionData } from './transaction-data.ts'
import { createSearch } from './transaction-search.ts'

/** The longest data that is read together with its row. */
const short_bytes = 1_000
/** The most data that is read in one turn of the event loop, which takes some milliseconds. */
const turn_characters = 1_000_000
/** The most rows that are read in one turn of the event loop, which takes some milliseconds. */
const turn_rows = 250

type ListedRow = ShownRow & Pick<WholeRow, 'data' | 'data_bytes' | 'data_row_id'>

/** Pages of transactions, newest first. */
export function transactionLists({ db }: Connection): Pick<Store, 'listTransactions' | 'listTransactionsOf'> {
  // Two seeks in the index of (relayer_row_id, sequence). Sequences have no gaps, so both ends give the length of the list.
  const ends = db.prepare<[number, number], { first: number | null; last: number | null }>(`
    SELECT (SELECT min(sequence) FROM transactions WHERE relayer_row_id = +?) AS first,
           (SELECT max(sequence) FROM transactions WHERE relayer_row_id = +?) AS last`)
  const range = db.prepare<[number, number, number], ListedRow>(`
    SELECT ${shownColumns}, data_bytes, data_row_id, iif(data_bytes <= ${short_bytes},
      (SELECT data FROM transaction_data WHERE row_id = data_row_id), NULL) AS data
    FROM transactions WHERE relayer_row_id = +? AND sequence BETWEEN ? AND ? ORDER BY sequence DESC`)
  const versions = createTransactionData({ db })

  /** Reads runs of sequence numbers. Rows and large data are read in steps, between which other work runs. */
  const readRuns = async (
    runs: RunOf[],
    admit: (data_bytes: number) => void = () => undefined,
  ): Promise<ShownColumns[]> => {
    const rows = await inTurns(runs, ({ relayer_row_id, to, from }) => range.all(relayer_row_id, from, to))
    admit(rows.reduce((sum, { data_bytes }) => sum + data_bytes, 0))
    const items: ShownColumns[] = []
    let characters = 0
    for (const [index, row] of rows.entries()) {
      if (characters >= turn_characters || (index > 0 && index % turn_rows === 0)) {
        await nextTurn()
        characters = 0
      }
      const data = row.data_bytes > short_bytes ? versions.read(row.data_row_id) : hexOf(row.data)
      items.push(show(row, data))
      characters += data?.length ?? 0
    }
    return items
  }

  const all = (relayer_row_id: number, { offset, limit }: Slice): Found => {
    const { first, last } = ends.get(relayer_row_id, relayer_row_id) as { first: number | null; last: number | null }
    if (first === null || last === null) return { runs: [], total_items: 0 }
    const to = last - offset
    const from = Math.max(first, to - limit + 1)
    return { runs: to < from ? [] : [[to, from]], total_items: last - first + 1 }
  }

  const blocks = db.prepare<[number, number, number, number], BlockRow>(`
    SELECT block, oldest, newest, unfinished, confirmed, failed, canceled, expired FROM transaction_blocks
    WHERE relayer_row_id = +? AND level = +? AND block BETWEEN ? AND ? ORDER BY block DESC`)
  const numbers = db
    .prepare<[object], number>(`
      SELECT sequence FROM transactions WHERE relayer_row_id = +$relayer_row_id AND sequence BETWEEN $from AND $to
        AND ($states IS NULL OR status IN (SELECT value FROM json_each($states)))
        AND ($after IS NULL OR created_at > +$after) AND ($before IS NULL OR created_at < +$before)
      ORDER BY sequence DESC`)
    .pluck()

  /** A transaction that changes its status while the page is read is shown with the new status. */
  const filtered = async (relayer_row_id: number, slice: Slice, filter: TransactionFilter): Promise<Found> => {
    const values = {
      relayer_row_id,
      states: filter.status.length > 0 ? JSON.stringify(filter.status) : null,
      after: filter.created_after ?? null,
      before: filter.created_before ?? null,
    }
    const { items, total_items } = await findPage(
      {
        blocks: (level, from, to) =>
          blocks.all(relayer_row_id, level, from, to).map((row) => ({ block: row.block, count: countIn(row, filter) })),
        numbers: (from, to) => numbers.all({ ...values, from, to }),
      },
      slice,
    )
    return { runs: runsOf(items), total_items }
  }

  const search = createSearch({ db })

  /** The sequence numbers of a page, and the length of the list. */
  async function find(relayer_row_id: number, slice: Slice, filter: TransactionFilter): Promise<Found> {
    const index = searchFor(filter)
    if (index !== undefined) {
      const { items, total_items } = await search(index, relayer_row_id, slice, filter)
      return { runs: runsOf(items), total_items }
    }
    const { status, created_after, created_before } = filter
    return status.length > 0 || created_after || created_before
      ? filtered(relayer_row_id, slice, filter)
      : all(relayer_row_id, slice)
  }

  const relayerRowIds = db
    .prepare<[object], number>(`
      SELECT row_id FROM relayers WHERE $ids IS NULL OR id IN (SELECT value FROM json_each($ids)) ORDER BY row_id`)
    .pluck()
  const rowIdsIn = db.prepare<[number, number, number], Place>(`
    SELECT row_id, relayer_row_id, sequence FROM transactions WHERE relayer_row_id = +? AND sequence BETWEEN ? AND ?`)

  /** Row ids follow the order of creation across all relayers. */
  async function merged(relayer_row_ids: number[], depth: number, filter: TransactionFilter) {
    let newest: Place[] = []
    let total_items = 0
    for (const relayer_row_id of relayer_row_ids) {
      const found = await find(relayer_row_id, { offset: 0, limit: depth }, filter)
      total_items += found.total_items
      const runs = found.runs.map(([to, from]) => ({ relayer_row_id, to, from }))
      const places = await inTurns(runs, ({ to, from }) => rowIdsIn.all(relayer_row_id, from, to))
      if (places.length > 0) newest = [...newest, ...places].sort((a, b) => b.row_id - a.row_id).slice(0, depth)
      await nextTurn()
    }
    return { newest, total_items }
  }

  return {
    async listTransactions(relayer_row_id, slice, filter, admit) {
      const { runs, total_items } = await find(relayer_row_id, slice, filter)
      const ranges = runs.map(([to, from]) => ({ relayer_row_id, to, from }))
      return { items: await readRuns(ranges, admit), total_items }
    },
    async listTransactionsOf(ids, { offset, limit }, filter, admit) {
      const relayer_row_ids = relayerRowIds.all({ ids: ids ? JSON.stringify([...ids]) : null })
      const depth = Math.min(offset + limit, max_depth)
      const { newest, total_items } = await merged(relayer_row_ids, limit === 0 ? 0 : depth, filter)
      if (limit > 0 && offset < total_items && offset + limit > max_depth) return 'too_deep'
      const places = newest.slice(offset, offset + limit)
      const runs = places.map(({ relayer_row_id, sequence }) => ({ relayer_row_id, to: sequence, from: sequence }))
      return { items: await readRuns(runs, admit), total_items }
    },
  }
}

interface Found {
  runs: Run[]
  total_items: number
}

interface Place {
  row_id: number
  relayer_row_id: number
  sequence: number
}

/** The highest and the lowest number of a range without gaps. */
type Run = [to: number, from: number]

interface RunOf {
  relayer_row_id: number
  to: number
  from: number
}

/** Reads runs from the highest number down, at most `turn_rows` numbers in one turn of the event loop. */
async function inTurns<T extends object>(runs: RunOf[], read: (run: RunOf) => T[]): Promise<T[]> {
  const rows: T[] = []
  let left = turn_rows
  for (const { relayer_row_id, to, from } of runs) {
    for (let highest = to; highest >= from; ) {
      if (left === 0) {
        await nextTurn()
        left = turn_rows
      }
      const lowest = Math.max(from, highest - left + 1)
      rows.push(...read({ relayer_row_id, to: highest, from: lowest }))
      left -= highest - lowest + 1
      highest = lowest - 1
    }
  }
  return rows
}

/** Groups decreasing numbers into runs. */
function runsOf(sequences: number[]): Run[] {
  const runs: Run[] = []
  for (const sequence of sequences) {
    const run = runs.at(-1)
    if (run && run[1] === sequence + 1) run[1] = sequence
    else runs.push([sequence, sequence])
  }
  return runs
}
