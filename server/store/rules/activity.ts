import { nextTurn } from '../../next-turn.ts'
import type { ActivityRow, Store } from '../store.ts'
import type { Database } from './database.ts'
import { sql } from './statement.ts'

/** Periods that are read in one turn of the event loop: with a thousand relayers, some milliseconds. */
const turn_periods = 12

const select = sql<ActivityRow>(`
  SELECT at, sum(accepted) AS accepted, sum(mined) AS mined, sum(failed) AS failed, sum(inclusion_ms) AS inclusion_ms,
    max(max_inclusion_ms) AS max_inclusion_ms, sum(fee_gwei) AS fee_gwei, sum(fee_wei) AS fee_wei,
    count(DISTINCT network) AS networks
  FROM activity JOIN relayers ON relayers.row_id = relayer_row_id
  WHERE period_s = $period_s AND at >= $from AND at < $to AND ($network::text IS NULL OR network = $network::text)
    AND ($ids::text[] IS NULL OR id = ANY ($ids::text[]))
  GROUP BY at ORDER BY at`)
const newest = sql<{ at: number | null }>('SELECT max(at) AS at FROM activity WHERE period_s = $period_s')

/** Reads the counts per period, which triggers keep. */
export function activity({ read }: Database): Pick<Store, 'activity'> {
  return {
    async activity({ period_s, from, ids, network = null }) {
      const rows: ActivityRow[] = []
      const end = (await read.one(newest, { period_s }))?.at ?? 0
      const filter = { period_s, network, ids: ids ? [...ids] : null }
      for (let start = from; start <= end; start += turn_periods * period_s) {
        rows.push(...(await read.all(select, { ...filter, from: start, to: start + turn_periods * period_s })))
        await nextTurn()
      }
      return rows
    },
  }
}
