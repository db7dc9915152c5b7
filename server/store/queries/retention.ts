import type { TransactionStatus } from '../../../generated/openapi.ts'
import { isFinal } from '../../domain/statuses.ts'
import {
  type Database,
  type DatabaseTransaction,
  greatest,
  indexedBy,
  type Statement,
  sql,
  type Truth,
} from './database.ts'

export type Prunable = 'transactions' | 'idempotency' | 'deliveries' | 'events'

interface Pruned {
  removed: number
  /** The position at which the next call continues; undefined at the end. */
  next: number | undefined
}

/** The rows that one database transaction removes; fewer of those that have dependent rows. */
const maxRows = 500
const maxParents = 100

interface Aged {
  row_id: number
  at: string
}

interface AgedTransaction extends Aged {
  status: TransactionStatus
  chain_id: number
  from: string
  nonce: number | null
}

/** The rows before the first young one. `before`: RFC 3339, UTC, milliseconds. */
function oldOf<Row extends Aged>(rows: Row[], before: string): Row[] {
  const young = rows.findIndex(({ at }) => at >= before)
  return young < 0 ? rows : rows.slice(0, young)
}

/** Where the next call continues, when `limit` rows were read; undefined at the end. */
const nextAfter = (old: Aged[], limit: number): number | undefined =>
  old.length === limit ? old.at(-1)?.row_id : undefined

type Prune = (dbTransaction: DatabaseTransaction, before: string, after: number) => Promise<Pruned>

// The length of a relayer's list is computed from its lowest and highest sequence, so rows are removed only from the low end.
const nextRelayer = sql<{ relayer_row_id: number }>(
  'SELECT relayer_row_id FROM transactions WHERE relayer_row_id > $after ORDER BY relayer_row_id LIMIT 1',
)
const oldest = sql<AgedTransaction>(
  (engine) => `
  SELECT row_id, status, chain_id, "from", nonce,
    ${greatest[engine]}(created_at, coalesce(sent_at, ''), coalesce(confirmed_at, '')) AS at
  FROM transactions WHERE relayer_row_id = $relayer_row_id ORDER BY sequence LIMIT ${maxParents}`,
)
// The highest used nonce distinguishes a chain from a restarted one, so its transaction is kept. The search above a candidate is
// limited, because a hundred thousand unfinished transactions may follow. If it finds nothing, the candidate is kept.
const usedAbove = sql<{ is_used: Truth }>(`
  SELECT EXISTS (
    SELECT 1 FROM (SELECT status, block_hash FROM transactions
                   WHERE chain_id = $chain_id AND "from" = $from AND nonce > $nonce
                   ORDER BY nonce LIMIT ${maxRows}) AS above
    WHERE status IN ('mined', 'confirmed') OR block_hash IS NOT NULL) AS is_used`)
const known = sql<Aged & { status: TransactionStatus }>(
  (engine) => `
  SELECT transaction_row_id AS row_id, transactions.created_at AS at, status
  FROM idempotency${indexedBy[engine]('idempotency_by_transaction')}
    JOIN transactions ON transactions.row_id = transaction_row_id
  WHERE transaction_row_id > $after ORDER BY transaction_row_id LIMIT ${maxRows}`,
)
const delivered = sql<Aged & { notification_row_id: number }>(`
  SELECT row_id, notification_row_id, created_at AS at FROM deliveries
  WHERE row_id > $after ORDER BY row_id LIMIT ${maxParents}`)
const finished = sql<Aged>(
  `SELECT row_id, created_at AS at FROM deliveries WHERE row_id = ANY ($row_ids::bigint[]) AND status <> 'pending'`,
)
// The last event of a relayer is kept, because the next sequence follows from it.
// LIMIT 1: EXISTS may be answered from a hash of the whole table.
const happened = sql<Aged & { is_held: Truth }>(`
  SELECT row_id, created_at AS at,
    (SELECT 1 FROM deliveries WHERE event_row_id = events.row_id LIMIT 1) IS NOT NULL
      OR sequence = (SELECT max(sequence) FROM events AS its WHERE its.relayer_row_id = events.relayer_row_id) AS is_held
  FROM events WHERE row_id > $after ORDER BY row_id LIMIT ${maxRows}`)

const remove = (table: string, column: string) => sql(`DELETE FROM ${table} WHERE ${column} = ANY ($row_ids::bigint[])`)
const removeTransactions = [
  remove('attempts', 'transaction_row_id'),
  remove('idempotency', 'transaction_row_id'),
  remove('transaction_metadata', 'transaction_row_id'),
  remove('pool_orders', 'transaction_row_id'),
  remove('deduplication_ids', 'transaction_row_id'),
  sql(`
    DELETE FROM payments WHERE transaction_id IN (SELECT id FROM transactions WHERE row_id = ANY ($row_ids::bigint[]))`),
  remove('transactions', 'row_id'),
]
const removeIdempotency = [remove('idempotency', 'transaction_row_id')]
const removeDeliveries = [remove('delivery_attempts', 'delivery_row_id'), remove('deliveries', 'row_id')]
const removeEvents = [remove('events', 'row_id')]

async function removeAll(
  dbTransaction: DatabaseTransaction,
  removals: Statement<object>[],
  rows: Aged[],
): Promise<number> {
  const rowIds = rows.map(({ row_id }) => row_id)
  for (const its of removals) await dbTransaction.run(its, { row_ids: rowIds })
  return rowIds.length
}

async function mayEnd(
  dbTransaction: DatabaseTransaction,
  { chain_id, from, nonce }: AgedTransaction,
): Promise<boolean> {
  return nonce === null || Boolean((await dbTransaction.one(usedAbove, { chain_id, from, nonce }))?.is_used)
}

const prunes: Record<Prunable, Prune> = {
  async transactions(dbTransaction, before, after) {
    const next = await dbTransaction.one(nextRelayer, { after })
    if (!next) return { removed: 0, next: undefined }
    const { relayer_row_id } = next
    await dbTransaction.lockRelayers({ relayers: [relayer_row_id] })
    const old: Aged[] = []
    for (const row of await dbTransaction.all(oldest, { relayer_row_id })) {
      if (!isFinal(row.status) || row.at >= before || !(await mayEnd(dbTransaction, row))) break
      old.push(row)
    }
    const removed = await removeAll(dbTransaction, removeTransactions, old)
    return { removed, next: removed === maxParents ? after : relayer_row_id }
  },
  async idempotency(dbTransaction, before, after) {
    const old = oldOf(await dbTransaction.all(known, { after }), before)
    // While its transaction is unfinished, a caller may still repeat the request.
    const mayGo = old.filter(({ status }) => isFinal(status))
    return { removed: await removeAll(dbTransaction, removeIdempotency, mayGo), next: nextAfter(old, maxRows) }
  },
  async deliveries(dbTransaction, before, after) {
    const old = oldOf(await dbTransaction.all(delivered, { after }), before)
    await dbTransaction.lockNotifications([...new Set(old.map((row) => row.notification_row_id))])
    const mayGo = await dbTransaction.all(finished, { row_ids: old.map(({ row_id }) => row_id) })
    return { removed: await removeAll(dbTransaction, removeDeliveries, mayGo), next: nextAfter(old, maxParents) }
  },
  async events(dbTransaction, before, after) {
    const old = oldOf(await dbTransaction.all(happened, { after }), before)
    const mayGo = old.filter(({ is_held }) => !is_held)
    return { removed: await removeAll(dbTransaction, removeEvents, mayGo), next: nextAfter(old, maxRows) }
  },
}

const believed = sql<{ ms: number }>('SELECT ms FROM believed_time')
const believe = sql(
  'INSERT INTO believed_time (id, ms) VALUES (1, $ms) ON CONFLICT (id) DO UPDATE SET ms = excluded.ms',
)
const newest = sql<{ at: string | null }>(`
  SELECT max(at) AS at FROM (
    SELECT * FROM (SELECT created_at AS at FROM transactions ORDER BY row_id DESC LIMIT 1) AS newest
    UNION ALL SELECT * FROM (SELECT created_at AS at FROM events ORDER BY row_id DESC LIMIT 1) AS newest) AS both_newest`)

/**
 * Removes a few of the oldest rows from before a time (RFC 3339, UTC, milliseconds): final transactions, from each relayer's first
 * one on without leaving gaps; finished deliveries; events that no delivery refers to, but never a relayer's last. `after`: 0 at
 * first, then `next` of the previous call.
 */
export const prune = (database: Database, kind: Prunable, before: string, after: number): Promise<Pruned> =>
  database.write((dbTransaction) => prunes[kind](dbTransaction, before, after))

/**
 * The last trusted wall clock time, in milliseconds since the Unix epoch. Before the first `believeTime`: the time of the newest
 * row; undefined for an empty store.
 */
export async function believedTime(database: Database): Promise<number | undefined> {
  const at = (await database.read.one(newest))?.at
  return (await database.read.one(believed))?.ms ?? (at == null ? undefined : Date.parse(at))
}

export const believeTime = async (database: Database, ms: number): Promise<void> =>
  void (await database.write((dbTransaction) => dbTransaction.run(believe, { ms })))
