import type { TransactionStatus } from '../../../generated/openapi.ts'
import { max_counted, max_nonces, max_relayers } from '../gauge-limits.ts'
import type { Gauges, Store } from '../store.ts'
import { type Connection, sql } from './connection.ts'

// Row ids follow the order of creation, so the lowest is the oldest.
const groups = [`status = 'pending'`, `status IN ('sent', 'submitted')`, `status = 'mined'`].map((where) =>
  sql<{ status: TransactionStatus; count: number; oldest: string }>(`
    SELECT status, count, (SELECT created_at FROM transactions WHERE row_id = oldest_row_id) AS oldest FROM (
      SELECT status, count(*) AS count, min(row_id) AS oldest_row_id FROM (
        SELECT status, row_id FROM transactions WHERE ${where} LIMIT ${max_counted}
      ) AS counted GROUP BY status
    ) AS grouped ORDER BY status`),
)
const countDeliveries = sql<Gauges['deliveries']>(`
  SELECT count(*) AS pending, count(*) FILTER (WHERE next_at <= $now) AS due FROM (
    SELECT next_at FROM deliveries WHERE status = 'pending' LIMIT ${max_counted}) AS counted`)
// Nonces that no transaction holds, from the lowest unfinished one to the nonce counter or the limit of the search.
const gaps = sql<{ relayer_id: string; gaps: number }>(`
  SELECT id AS relayer_id, least(next_nonce, lowest + ${max_nonces}) - lowest - (
      SELECT count(*) FROM transactions
      WHERE chain_id = accounts.chain_id AND "from" = accounts.address AND nonce >= lowest
        AND nonce < least(next_nonce, lowest + ${max_nonces})
    ) AS gaps
  FROM (
    SELECT id, chain_id, address, least(
        (SELECT min(nonce) FROM transactions WHERE relayer_row_id = relayers.row_id AND status = 'pending'),
        (SELECT min(nonce) FROM transactions
         WHERE relayer_row_id = relayers.row_id AND status IN ('sent', 'submitted'))) AS lowest
    FROM relayers ORDER BY row_id LIMIT ${max_relayers}
  ) AS lowest_nonces JOIN accounts USING (chain_id, address)
  WHERE lowest < next_nonce`)

/** Gauges from the indexes of unfinished rows: the cost depends on the unfinished rows, not on all stored ones. */
export function gauges({ read }: Connection): Pick<Store, 'readGauges'> {
  return {
    async readGauges(now) {
      const transactions: Gauges['transactions'] = []
      for (const group of groups) {
        for (const { status, count, oldest } of await read.all(group)) {
          transactions.push({ status, count, oldest_ms: Math.max(0, now - Date.parse(oldest)) })
        }
      }
      const deliveries = (await read.one(countDeliveries, { now })) as Gauges['deliveries']
      return { transactions, deliveries, nonce_gaps: await read.all(gaps) }
    },
  }
}
