import type { TransactionStatus } from '../../../generated/openapi.ts'
import { type Aged, type AgedTransaction, ended, max_parents, max_rows, nextAfter, oldOf } from '../retention-rules.ts'
import type { Pruned, Store } from '../store.ts'
import type { Connection } from './connection.ts'

/** Removes old rows, oldest first, a few at a time. Row ids and sequences follow the order of creation. */
export function retention({ db, write }: Connection): Pick<Store, 'prune' | 'believedTime' | 'believeTime'> {
  const remove = (table: string, column: string) => {
    const statement = db.prepare<[string]>(`DELETE FROM ${table} WHERE ${column} IN (SELECT value FROM json_each(?))`)
    return (row_ids: number[]) => void statement.run(JSON.stringify(row_ids))
  }

  // The length of a relayer's list is computed from its lowest and highest sequence, so rows are removed only from the low end.
  const nextRelayer = db
    .prepare<[number], number | null>('SELECT min(relayer_row_id) FROM transactions WHERE relayer_row_id > +?')
    .pluck()
  const oldest = db.prepare<[number], AgedTransaction>(`
    SELECT row_id, status, chain_id, "from", nonce, max(created_at, coalesce(sent_at, ''), coalesce(confirmed_at, '')) AS at
    FROM transactions WHERE relayer_row_id = +? ORDER BY sequence LIMIT ${max_parents}`)
  // The highest used nonce distinguishes a chain from a restarted one, so its transaction is kept. The search above a candidate is
  // limited, because a hundred thousand unfinished transactions may follow. If it finds nothing, the candidate is kept.
  const usedAbove = db
    .prepare<[number, string, number], 0 | 1>(`
      SELECT EXISTS (
        SELECT 1 FROM (SELECT status, block_hash FROM transactions WHERE chain_id = +? AND "from" = +? AND nonce > +?
                       ORDER BY nonce LIMIT ${max_rows})
        WHERE status IN ('mined', 'confirmed') OR block_hash IS NOT NULL)`)
    .pluck()
  const mayEnd = ({ chain_id, from, nonce }: AgedTransaction) =>
    nonce === null || usedAbove.get(chain_id, from, nonce) === 1
  const removeTransactions = [
    remove('attempts', 'transaction_row_id'),
    remove('idempotency', 'transaction_row_id'),
    remove('transactions', 'row_id'),
  ]

  function pruneTransactions(before: string, after: number): Pruned {
    const relayer_row_id = nextRelayer.get(after) ?? undefined
    if (relayer_row_id === undefined) return { removed: 0, next: undefined }
    const rows = oldest.all(relayer_row_id)
    const first = rows.findIndex((row) => !ended.has(row.status) || row.at >= before || !mayEnd(row))
    const row_ids = rows.slice(0, first < 0 ? rows.length : first).map(({ row_id }) => row_id)
    for (const its of removeTransactions) its(row_ids)
    return { removed: row_ids.length, next: row_ids.length === max_parents ? after : relayer_row_id }
  }

  /** Prunes a table in the order of its row ids, up to the first young row: the rows for which `mayGo` is true. */
  const byRowId = <Row extends Aged>(
    rows: (after: number) => Row[],
    limit: number,
    mayGo: (row: Row) => boolean,
    removals: ((row_ids: number[]) => void)[],
  ) => {
    return (before: string, after: number): Pruned => {
      const old = oldOf(rows(after), before)
      const row_ids = old.filter(mayGo).map(({ row_id }) => row_id)
      for (const its of removals) its(row_ids)
      return { removed: row_ids.length, next: nextAfter(old, limit) }
    }
  }

  const known = db.prepare<[number], Aged & { status: TransactionStatus }>(`
    SELECT transaction_row_id AS row_id, transactions.created_at AS at, status
    FROM idempotency INDEXED BY idempotency_by_transaction JOIN transactions ON transactions.row_id = transaction_row_id
    WHERE transaction_row_id > +? ORDER BY transaction_row_id LIMIT ${max_rows}`)
  const delivered = db.prepare<[number], Aged & { status: string }>(
    `SELECT row_id, status, created_at AS at FROM deliveries WHERE row_id > +? ORDER BY row_id LIMIT ${max_parents}`,
  )
  // The last event of a relayer is kept, because the next sequence follows from it.
  const happened = db.prepare<[number], Aged & { held: 0 | 1 }>(`
    SELECT row_id, created_at AS at,
      EXISTS (SELECT 1 FROM deliveries WHERE event_row_id = events.row_id)
        OR NOT EXISTS (SELECT 1 FROM events AS later
                       WHERE later.relayer_row_id = events.relayer_row_id AND later.sequence > events.sequence) AS held
    FROM events WHERE row_id > +? ORDER BY row_id LIMIT ${max_rows}`)

  const prunes = {
    transactions: pruneTransactions,
    idempotency: byRowId(
      (after) => known.all(after),
      max_rows,
      // While its transaction is unfinished, a caller may still repeat the request.
      ({ status }) => ended.has(status),
      [remove('idempotency', 'transaction_row_id')],
    ),
    deliveries: byRowId(
      (after) => delivered.all(after),
      max_parents,
      ({ status }) => status !== 'pending',
      [remove('delivery_attempts', 'delivery_row_id'), remove('deliveries', 'row_id')],
    ),
    events: byRowId(
      (after) => happened.all(after),
      max_rows,
      ({ held }) => held === 0,
      [remove('events', 'row_id')],
    ),
  }

  const believed = db.prepare<[], number>('SELECT ms FROM believed_time').pluck()
  const believe = db.prepare<[number]>(`
    INSERT INTO believed_time (id, ms) VALUES (1, ?) ON CONFLICT DO UPDATE SET ms = excluded.ms`)
  const newest = db
    .prepare<[], string | null>(`
      SELECT max(at) FROM (
        SELECT * FROM (SELECT created_at AS at FROM transactions ORDER BY row_id DESC LIMIT 1)
        UNION ALL SELECT * FROM (SELECT created_at AS at FROM events ORDER BY row_id DESC LIMIT 1))`)
    .pluck()

  return {
    prune: async (kind, before, after) => write(() => prunes[kind](before, after)),
    async believedTime() {
      const at = newest.get()
      return believed.get() ?? (at == null ? undefined : Date.parse(at))
    },
    believeTime: async (ms) => write(() => void believe.run(ms)),
  }
}
