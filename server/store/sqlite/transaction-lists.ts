import { setImmediate as turn } from 'node:timers/promises'
import type { Transaction } from '../../../generated/openapi.ts'
import type { Slice, TransactionFilter } from '../rows.ts'
import type { Store } from '../store.ts'
import type { Connection } from './connection.ts'
import { type Row, show, shownColumns } from './transaction-rows.ts'

/** Of data with which a transaction is read together with the others of its page. */
const short_characters = 2_000
/** Of data that is read in one turn of the event loop: some milliseconds. */
const turn_characters = 1_000_000

/** Pages of a relayer's transactions, the newest first. */
export function transactionLists({ db }: Connection): Pick<Store, 'listTransactions'> {
  // Two seeks in the index of (relayer_key, sequence): sequences have no gaps, so the ends tell the count.
  const ends = db.prepare<[number, number], { first: number | null; last: number | null }>(`
    SELECT (SELECT min(sequence) FROM transactions WHERE relayer_key = +?) AS first,
           (SELECT max(sequence) FROM transactions WHERE relayer_key = +?) AS last`)
  const range = db.prepare<[number, number, number], Row>(`
    SELECT ${shownColumns} FROM transactions
    WHERE relayer_key = +? AND sequence BETWEEN ? AND ? ORDER BY sequence DESC`)

  // To see how long it is SQLite need not read it, nor what stands behind it.
  const short = db.prepare<[number, number, number], Row>(`
    SELECT ${shownColumns} FROM transactions
    WHERE relayer_key = +? AND sequence BETWEEN ? AND ? AND coalesce(octet_length(data), 0) <= ${short_characters}
    ORDER BY sequence DESC`)

  // A transaction may carry a megabyte: a page of them is read in steps, between which others have their turn. Their numbers stay.
  const readInSteps = async (relayer_key: number, from: number, to: number): Promise<Transaction[]> => {
    const rows = short.all(relayer_key, from, to)
    if (rows.length === to - from + 1) return rows.map(show)
    const items: Transaction[] = []
    for (;;) {
      let characters = 0
      for (const row of range.iterate(relayer_key, from, to - items.length)) {
        items.push(show(row))
        characters += row.data?.length ?? 0
        if (characters >= turn_characters) break
      }
      if (characters < turn_characters) return items
      await turn()
    }
  }

  const all = async (relayer_key: number, { offset, limit }: Slice) => {
    const { first, last } = ends.get(relayer_key, relayer_key) as { first: number | null; last: number | null }
    if (first === null || last === null) return { items: [], total_items: 0 }
    const to = last - offset
    const from = Math.max(first, to - limit + 1)
    return { items: await readInSteps(relayer_key, from, to), total_items: last - first + 1 }
  }

  // A filter has no sequence of its own: it costs what it lets through.
  const where = `relayer_key = +$relayer_key
    AND ($states IS NULL OR status IN (SELECT value FROM json_each($states)))
    AND ($after IS NULL OR created_at > $after) AND ($before IS NULL OR created_at < $before)`
  const count = db.prepare<[object], number>(`SELECT COUNT(*) FROM transactions WHERE ${where}`).pluck()
  const select = db
    .prepare<[object], number>(`
      SELECT sequence FROM transactions WHERE ${where} ORDER BY sequence DESC LIMIT +$limit OFFSET +$offset`)
    .pluck()

  const some = db.transaction((relayer_key: number, { offset, limit }: Slice, filter: TransactionFilter) => {
    const values = {
      relayer_key,
      states: filter.status.length > 0 ? JSON.stringify(filter.status) : null,
      after: filter.created_after ?? null,
      before: filter.created_before ?? null,
    }
    const total_items = count.get(values) as number
    return { sequences: offset < total_items ? select.all({ ...values, limit, offset }) : [], total_items }
  })

  /** What moves on to another state while the page is read is shown in that state. */
  const filtered = async (relayer_key: number, slice: Slice, filter: TransactionFilter) => {
    const { sequences, total_items } = some(relayer_key, slice, filter)
    const items: Transaction[] = []
    for (const [to, from] of runsOf(sequences)) items.push(...(await readInSteps(relayer_key, from, to)))
    return { items, total_items }
  }

  return {
    listTransactions: async (relayer_key, slice, filter) =>
      filter.status.length > 0 || filter.created_after || filter.created_before
        ? filtered(relayer_key, slice, filter)
        : all(relayer_key, slice),
  }
}

/** Falling numbers as runs without gaps, each from its highest to its lowest. */
function runsOf(sequences: number[]): [to: number, from: number][] {
  const runs: [number, number][] = []
  for (const sequence of sequences) {
    const run = runs.at(-1)
    if (run && run[1] === sequence + 1) run[1] = sequence
    else runs.push([sequence, sequence])
  }
  return runs
}
