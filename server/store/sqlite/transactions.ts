import type { Transaction } from '../../../generated/openapi.ts'
import type { Slice, Store } from '../store.ts'
import type { Connection } from './connection.ts'

type Row = Omit<Transaction, 'signature' | 'speed'> & { signature: string | null; speed: string | null }

const columns = `id, relayer_id, hash, "from", "to", value, data, nonce, gas_limit, gas_price, max_fee_per_gas,
  max_priority_fee_per_gas, status, status_reason, created_at, sent_at, confirmed_at, signature, speed`

export function transactions({ db }: Connection): Pick<Store, 'listTransactions'> {
  // Two seeks in the index of (relayer_key, sequence): sequences have no gaps, so the ends tell the count.
  const ends = db.prepare<[number, number], { first: number | null; last: number | null }>(`
    SELECT (SELECT min(sequence) FROM transactions WHERE relayer_key = ?) AS first,
           (SELECT max(sequence) FROM transactions WHERE relayer_key = ?) AS last`)
  const range = db.prepare<[number, number, number], Row>(`
    SELECT ${columns} FROM transactions
    WHERE relayer_key = ? AND sequence BETWEEN ? AND ? ORDER BY sequence DESC`)

  const page = db.transaction((relayer_key: number, { offset, limit }: Slice) => {
    const { first, last } = ends.get(relayer_key, relayer_key) as { first: number | null; last: number | null }
    if (first === null || last === null) return { items: [], total_items: 0 }
    const to = last - offset
    const from = Math.max(first, to - limit + 1)
    return { items: from <= to ? range.all(relayer_key, from, to).map(read) : [], total_items: last - first + 1 }
  })

  return { listTransactions: async (relayer_key, slice) => page(relayer_key, slice) }
}

const read = (row: Row): Transaction => ({
  ...row,
  signature: row.signature === null ? null : JSON.parse(row.signature),
  speed: row.speed === null ? null : JSON.parse(row.speed),
})
