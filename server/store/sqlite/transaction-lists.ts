import type { Slice, Store, TransactionFilter } from '../store.ts'
import type { Connection } from './connection.ts'
import { type Row, show, shownColumns } from './transaction-rows.ts'

/** Pages of a relayer's transactions, the newest first. */
export function transactionLists({ db }: Connection): Pick<Store, 'listTransactions'> {
  // Two seeks in the index of (relayer_key, sequence): sequences have no gaps, so the ends tell the count.
  const ends = db.prepare<[number, number], { first: number | null; last: number | null }>(`
    SELECT (SELECT min(sequence) FROM transactions WHERE relayer_key = ?) AS first,
           (SELECT max(sequence) FROM transactions WHERE relayer_key = ?) AS last`)
  const range = db.prepare<[number, number, number], Row>(`
    SELECT ${shownColumns} FROM transactions
    WHERE relayer_key = ? AND sequence BETWEEN ? AND ? ORDER BY sequence DESC`)

  const all = db.transaction((relayer_key: number, { offset, limit }: Slice) => {
    const { first, last } = ends.get(relayer_key, relayer_key) as { first: number | null; last: number | null }
    if (first === null || last === null) return { items: [], total_items: 0 }
    const to = last - offset
    const from = Math.max(first, to - limit + 1)
    return { items: from <= to ? range.all(relayer_key, from, to).map(show) : [], total_items: last - first + 1 }
  })

  // A filter has no sequence of its own: it costs what it lets through.
  const where = `relayer_key = $relayer_key
    AND ($states IS NULL OR status IN (SELECT value FROM json_each($states)))
    AND ($after IS NULL OR created_at > $after) AND ($before IS NULL OR created_at < $before)`
  const count = db.prepare<[object], number>(`SELECT COUNT(*) FROM transactions WHERE ${where}`).pluck()
  const select = db.prepare<[object], Row>(`
    SELECT ${shownColumns} FROM transactions WHERE ${where} ORDER BY sequence DESC LIMIT $limit OFFSET $offset`)

  const some = db.transaction((relayer_key: number, { offset, limit }: Slice, filter: TransactionFilter) => {
    const values = {
      relayer_key,
      states: filter.status.length > 0 ? JSON.stringify(filter.status) : null,
      after: filter.created_after ?? null,
      before: filter.created_before ?? null,
    }
    const total_items = count.get(values) as number
    return { items: offset < total_items ? select.all({ ...values, limit, offset }).map(show) : [], total_items }
  })

  return {
    listTransactions: async (relayer_key, slice, filter) =>
      filter.status.length > 0 || filter.created_after || filter.created_before
        ? some(relayer_key, slice, filter)
        : all(relayer_key, slice),
  }
}
