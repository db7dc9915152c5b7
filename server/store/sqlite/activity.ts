import { nextTurn } from '../../next-turn.ts'
import type { ActivityRow, Store } from '../store.ts'
import type { Connection } from './connection.ts'

/** Periods that are read in one turn of the event loop: with a thousand relayers, some milliseconds. */
const turn_periods = 12

/** Reads the counts per period, which triggers keep (migrations/0018.sql). */
export function activity({ db }: Connection): Pick<Store, 'activity'> {
  const select = db.prepare<[object], ActivityRow>(`
    SELECT at, sum(accepted) AS accepted, sum(mined) AS mined, sum(failed) AS failed, sum(inclusion_ms) AS inclusion_ms,
      max(max_inclusion_ms) AS max_inclusion_ms, sum(fee_gwei) AS fee_gwei, sum(fee_wei) AS fee_wei,
      count(DISTINCT network) AS networks
    FROM activity JOIN relayers ON relayers.row_id = relayer_row_id
    WHERE period_s = +$period_s AND at >= +$from AND at < +$to AND (+$network IS NULL OR network = +$network)
      AND (+$ids IS NULL OR id IN (SELECT value FROM json_each($ids)))
    GROUP BY at ORDER BY at`)
  const newest = db.prepare<[number], number | null>('SELECT max(at) FROM activity WHERE period_s = +?').pluck()

  return {
    async activity({ period_s, from, ids, network = null }) {
      const rows: ActivityRow[] = []
      const end = newest.get(period_s) ?? 0
      const filter = { period_s, network, ids: ids === undefined ? null : JSON.stringify([...ids]) }
      for (let start = from; start <= end; start += turn_periods * period_s) {
        rows.push(...select.all({ ...filter, from: start, to: start + turn_periods * period_s }))
        await nextTurn()
      }
      return rows
    },
  }
}
