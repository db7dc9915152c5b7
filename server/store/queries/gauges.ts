import type { TransactionStatus } from '../../../generated/openapi.ts'
import type { Gauges, Store } from '../store.ts'
import type { Database } from './database.ts'
import { indexedBy, least, sql } from './session.ts'
import { unfinishedOfAll } from './unfinished.ts'

/** Counts stop here, so that reading the gauges never delays a request for long. */
export const maxCounted = 20_000
export const maxRelayers = 100
export const maxPools = 100
/** Gaps are searched in this many nonces: no more transactions are ever broadcast at once. */
export const maxNonces = 1_000

// Row ids follow the order of creation, so the lowest is the oldest.
const groups = (
  [
    ['transactions_pending', `'pending'`, `status = 'pending'`],
    ['transactions_flying', 'status', `status IN ('sent', 'submitted')`],
    ['transactions_mined', `'mined'`, `status = 'mined'`],
  ] as const
).map(([index, status, where]) =>
  sql<{ status: TransactionStatus; count: number; oldest: string }>(
    (engine) => `
    SELECT status, count, (SELECT created_at FROM transactions WHERE row_id = oldest_row_id) AS oldest FROM (
      SELECT status, count(*) AS count, min(row_id) AS oldest_row_id FROM (
        SELECT ${status} AS status, row_id FROM transactions${indexedBy[engine](index)} WHERE ${where} LIMIT ${maxCounted}
      ) AS counted GROUP BY status
    ) AS grouped ORDER BY status`,
  ),
)
const countDeliveries = sql<Gauges['deliveries']>(
  (engine) => `
  SELECT count(*) AS pending, count(*) FILTER (WHERE next_at <= $now) AS due FROM (
    SELECT next_at FROM deliveries${indexedBy[engine]('deliveries_due')} WHERE status = 'pending' LIMIT ${maxCounted}
  ) AS counted`,
)
/** Above every nonce. */
const none = Number.MAX_SAFE_INTEGER
const lowestOf = (status: string) =>
  `coalesce((SELECT min(nonce) FROM transactions WHERE relayer_row_id = relayers.row_id AND ${status}), ${none})`
// Nonces that no transaction holds, from the lowest unfinished one to the nonce counter or the limit of the search.
const gaps = sql<{ relayer_id: string; gaps: number }>(
  (engine) => `
  SELECT id AS relayer_id, ${least[engine]}(next_nonce, lowest + ${maxNonces}) - lowest - (
      SELECT count(*) FROM transactions
      WHERE chain_id = accounts.chain_id AND "from" = accounts.address AND nonce >= lowest
        AND nonce < ${least[engine]}(next_nonce, lowest + ${maxNonces})
    ) AS gaps
  FROM (
    SELECT id, chain_id, address,
      ${least[engine]}(${lowestOf(`status = 'pending'`)}, ${lowestOf(`status IN ('sent', 'submitted')`)}) AS lowest
    FROM relayers ORDER BY row_id LIMIT ${maxRelayers}
  ) AS lowest_nonces JOIN accounts USING (chain_id, address)
  WHERE lowest < next_nonce`,
)

const members = sql<{ pool_id: string; relayer_row_id: number; weight: number }>(`
  SELECT pools.id AS pool_id, relayer_row_id, weight FROM (SELECT * FROM pools ORDER BY row_id LIMIT ${maxPools}) AS pools
    JOIN pool_relayers ON pool_row_id = pools.row_id`)

/** Gauges from the indexes of unfinished rows: the cost depends on the unfinished rows, not on all stored ones. */
export function gauges({ read }: Database): Pick<Store, 'readGauges'> {
  async function readPools(): Promise<Gauges['pools']> {
    const rows = await read.all(members)
    const counts = await unfinishedOfAll(read, [...new Set(rows.map(({ relayer_row_id }) => relayer_row_id))])
    return [...Map.groupBy(rows, ({ pool_id }) => pool_id)].map(([poolId, its]) => ({
      pool_id: poolId,
      relayers: its.filter(({ weight }) => weight > 0).length,
      unfinished: its.reduce((sum, { relayer_row_id }) => sum + (counts.get(relayer_row_id)?.count ?? 0), 0),
    }))
  }

  return {
    async readGauges(now) {
      const transactions: Gauges['transactions'] = []
      for (const group of groups) {
        for (const { status, count, oldest } of await read.all(group)) {
          transactions.push({ status, count, oldest_ms: Math.max(0, now - Date.parse(oldest)) })
        }
      }
      const deliveries = (await read.one(countDeliveries, { now })) as Gauges['deliveries']
      return { transactions, deliveries, nonce_gaps: await read.all(gaps), pools: await readPools() }
    },
  }
}
