import type { ActivityRow, Store } from '../store.ts'
import { type Connection, sql } from './connection.ts'

const select = sql<ActivityRow>(`
  SELECT at, sum(accepted) AS accepted, sum(mined) AS mined, sum(failed) AS failed, sum(inclusion_ms) AS inclusion_ms,
    max(max_inclusion_ms) AS max_inclusion_ms, sum(fee_gwei) AS fee_gwei, sum(fee_wei) AS fee_wei,
    count(DISTINCT network) AS networks
  FROM activity JOIN relayers ON relayers.row_id = relayer_row_id
  WHERE period_s = $period_s AND at >= $from AND ($network::text IS NULL OR network = $network::text)
    AND ($ids::text[] IS NULL OR id = ANY ($ids::text[]))
  GROUP BY at ORDER BY at`)

/** Reads the counts per period, which triggers keep. */
export function activity({ read }: Connection): Pick<Store, 'activity'> {
  return {
    activity: ({ period_s, from, ids, network = null }) =>
      read.all(select, { period_s, from, network, ids: ids ? [...ids] : null }),
  }
}
