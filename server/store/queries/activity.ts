import { yieldToEventLoop } from '../../lib/yield-to-event-loop.ts'
import type { ActivityRow, CallerDayRow, DayRow, Repricing, Store } from '../store.ts'
import type { Database } from './database.ts'
import { type Statement, sql, type Values } from './session.ts'

/** Periods that are read in one turn of the event loop: with a thousand relayers, some milliseconds. */
const turnPeriods = 12

const dayS = 86_400
/** A day and an hour: the chart of a day shows quarters of an hour. */
const keptS = 25 * 3_600
const keptDays = 100
const maxRemoved = 500

const sums = `sum(accepted) AS accepted, sum(mined) AS mined, sum(failed) AS failed, sum(inclusion_ms) AS inclusion_ms,
    max(max_inclusion_ms) AS max_inclusion_ms, sum(fee_gwei) AS fee_gwei, sum(fee_wei) AS fee_wei`
const mayShow = `($network::text IS NULL OR network = $network::text) AND ($ids::text[] IS NULL OR id = ANY ($ids::text[]))`

const select = sql<ActivityRow>(`
  SELECT at, ${sums}, count(DISTINCT network) AS networks
  FROM activity JOIN relayers ON relayers.row_id = relayer_row_id
  WHERE period_s = $period_s AND at >= $from AND at < $to AND ${mayShow}
  GROUP BY at ORDER BY at`)
const selectDays = sql<DayRow>(`
  SELECT at, relayers.id AS relayer_id, network, ${sums}
  FROM activity_days JOIN relayers ON relayers.row_id = relayer_row_id
  WHERE at >= $from AND at < $to AND ${mayShow}
  GROUP BY at, relayers.id, network ORDER BY at`)
const selectQuarters = sql<DayRow>(`
  SELECT at / ${dayS} * ${dayS} AS at, relayers.id AS relayer_id, network, ${sums}
  FROM activity JOIN relayers ON relayers.row_id = relayer_row_id
  WHERE period_s = 900 AND at >= $from AND at < $to AND ${mayShow}
  GROUP BY 1, relayers.id, network ORDER BY 1`)
const range = sql<{ first: number | null; last: number | null }>(
  'SELECT min(at) AS first, max(at) AS last FROM activity WHERE period_s = $period_s',
)
const rangeOfDays = sql<{ first: number | null; last: number | null }>(
  'SELECT min(at) AS first, max(at) AS last FROM activity_days',
)
// Triggers add them to the days.
const removeQuarters = sql(`
  DELETE FROM activity WHERE (period_s, at, relayer_row_id) IN (
    SELECT period_s, at, relayer_row_id FROM activity WHERE period_s = 900 AND at < $before
    ORDER BY at, relayer_row_id LIMIT ${maxRemoved})`)
const selectCallers = sql<CallerDayRow>(`
  SELECT at, caller, network, (SELECT name FROM api_keys WHERE api_keys.id = caller) AS name, sum(mined) AS mined,
    sum(fee_gwei) AS fee_gwei, sum(fee_wei) AS fee_wei, sum(repriced) AS repriced, sum(repricing_gwei) AS repricing_gwei
  FROM caller_days JOIN relayers ON relayers.row_id = relayer_row_id
  WHERE at >= $from AND at < $to AND ${mayShow}
  GROUP BY at, caller, network ORDER BY at`)
const selectRepricings = sql<Repricing & { relayer_id: string }>(`
  SELECT id AS relayer_id, sum(repriced) AS repriced, sum(repricing_gwei) AS repricing_gwei
  FROM caller_days JOIN relayers ON relayers.row_id = relayer_row_id
  WHERE at >= $from AND at < $to AND ${mayShow}
  GROUP BY id`)
const rangeOfCallers = sql<{ first: number | null; last: number | null }>(
  'SELECT min(at) AS first, max(at) AS last FROM caller_days',
)
const removeCallers = sql(`
  DELETE FROM caller_days WHERE (at, relayer_row_id, caller) IN (
    SELECT at, relayer_row_id, caller FROM caller_days WHERE at < $before
    ORDER BY at, relayer_row_id, caller LIMIT ${maxRemoved})`)
const removeDays = sql(`
  DELETE FROM activity_days WHERE (at, relayer_row_id) IN (
    SELECT at, relayer_row_id FROM activity_days WHERE at < $before
    ORDER BY at, relayer_row_id LIMIT ${maxRemoved})`)

type Rules = Pick<Store, 'activity' | 'activityDays' | 'callerDays' | 'repricings' | 'pruneActivity'>

/** Reads the counts per period, which triggers keep. */
export function activity({ read, write }: Database): Rules {
  /** Reads a few periods in each turn of the event loop. */
  async function inTurns<Row extends object>(
    statement: Statement<Row>,
    periodS: number,
    [from, end]: [number, number],
    values: Values,
  ): Promise<Row[]> {
    const rows: Row[] = []
    for (let start = from; start <= end; start += turnPeriods * periodS) {
      rows.push(...(await read.all(statement, { ...values, from: start, to: start + turnPeriods * periodS })))
      await yieldToEventLoop()
    }
    return rows
  }

  const ofCallers =
    <Row extends object>(statement: Statement<Row>) =>
    async ({ from, ids, network }: Parameters<Store['callerDays']>[0]): Promise<Row[]> =>
      inTurns(statement, dayS, within(from, await read.one(rangeOfCallers)), {
        network: network ?? null,
        ids: ids ? [...ids] : null,
      })

  return {
    async activity({ period_s, from, ids, network = null }) {
      const end = (await read.one(range, { period_s }))?.last ?? 0
      return inTurns(select, period_s, [from, end], { period_s, network, ids: ids ? [...ids] : null })
    },

    async activityDays({ from, ids, network = null }) {
      const values = { network, ids: ids ? [...ids] : null }
      const [quarters, days] = [await read.one(range, { period_s: 900 }), await read.one(rangeOfDays)]
      return [
        ...(await inTurns(selectDays, dayS, within(from, days), values)),
        ...(await inTurns(selectQuarters, 900, within(from, quarters), values)),
      ]
    },

    callerDays: ofCallers(selectCallers),
    repricings: ofCallers(selectRepricings),

    pruneActivity: (nowS) =>
      write(async (transaction) => {
        const quarters = await transaction.run(removeQuarters, { before: nowS - keptS })
        const days = await transaction.run(removeDays, { before: nowS - keptDays * dayS })
        const callers = await transaction.run(removeCallers, { before: nowS - keptDays * dayS })
        return { more: [quarters, days, callers].includes(maxRemoved) }
      }),
  }
}

/** The first and the last row of a table from then on. */
const within = (from: number, known: { first: number | null; last: number | null } | undefined): [number, number] => [
  Math.max(from, known?.first ?? 0),
  known?.last ?? 0,
]
