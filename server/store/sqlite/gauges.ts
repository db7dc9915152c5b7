import type { TransactionStatus } from '../../../generated/openapi.ts'
import { max_counted, max_nonces, max_relayers } from '../gauge-limits.ts'
import type { Gauges, Store } from '../store.ts'
import type { Connection } from './connection.ts'

/** Gauges from the indexes of unfinished rows: the cost depends on the unfinished rows, not on all stored ones. */
export function gauges({ db }: Connection): Pick<Store, 'readGauges'> {
  // Row ids follow the order of creation, so the lowest is the oldest.
  const groups = [
    ['transactions_pending', `'pending'`, `status = 'pending'`],
    ['transactions_flying', 'status', `status IN ('sent', 'submitted')`],
    ['transactions_mined', `'mined'`, `status = 'mined'`],
  ].map(([index, status, where]) =>
    db.prepare<[], { status: TransactionStatus; count: number; oldest: number }>(`
      SELECT status, COUNT(*) AS count, min(row_id) AS oldest FROM (
        SELECT ${status} AS status, row_id FROM transactions INDEXED BY ${index} WHERE ${where} LIMIT ${max_counted}
      ) GROUP BY status`),
  )
  const createdAt = db.prepare<[number], string>('SELECT created_at FROM transactions WHERE row_id = ?').pluck()
  const deliveries = db.prepare<[number], { pending: number; due: number | null }>(`
    SELECT COUNT(*) AS pending, sum(next_at <= +?) AS due FROM (
      SELECT next_at FROM deliveries INDEXED BY deliveries_due WHERE status = 'pending' LIMIT ${max_counted})`)
  // Nonces that no transaction holds, from the lowest unfinished one to the nonce counter or the limit of the search.
  const gaps = db.prepare<[], { relayer_id: string; gaps: number }>(`
    SELECT id AS relayer_id, min(next_nonce, lowest + ${max_nonces}) - lowest - (
        SELECT COUNT(*) FROM transactions
        WHERE chain_id = accounts.chain_id AND "from" = accounts.address AND nonce >= lowest
          AND nonce < min(next_nonce, lowest + ${max_nonces})
      ) AS gaps
    FROM (
      SELECT id, chain_id, address, min(
          coalesce((SELECT min(nonce) FROM transactions WHERE relayer_row_id = relayers.row_id AND status = 'pending'), 1e18),
          coalesce((SELECT min(nonce) FROM transactions
                    WHERE relayer_row_id = relayers.row_id AND status IN ('sent', 'submitted')), 1e18)) AS lowest
      FROM relayers ORDER BY row_id LIMIT ${max_relayers}
    ) JOIN accounts USING (chain_id, address)
    WHERE lowest < next_nonce`)

  return {
    async readGauges(now): Promise<Gauges> {
      const { pending, due } = deliveries.get(now) as { pending: number; due: number | null }
      return {
        transactions: groups.flatMap((group) =>
          group.all().map(({ status, count, oldest }) => ({
            status,
            count,
            oldest_ms: Math.max(0, now - Date.parse(createdAt.get(oldest) as string)),
          })),
        ),
        deliveries: { pending, due: due ?? 0 },
        nonce_gaps: gaps.all(),
      }
    },
  }
}
