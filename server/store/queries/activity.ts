import { yieldToEventLoop } from '../../lib/timers.ts'
import { nameOfCaller } from './api-keys.ts'
import { type Database, type Statement, sql, type Values } from './database.ts'

interface ActivityFilter {
  period_s: 60 | 900
  /** The start of the first period, in seconds since the Unix epoch. */
  from: number
  /**
   * The present, or the end of what is asked for, in seconds since the Unix epoch: later periods are not read. A clock that once stood in a
   * later year has left rows, and periods are read one after the other.
   */
  now: number
  /** Only these relayers; undefined: all. */
  ids: ReadonlySet<string> | undefined
  /** Only relayers on the network with this name; undefined: on any. */
  network: string | undefined
}

export interface ActivityRow {
  /** The start of the period, in seconds since the Unix epoch. */
  at: number
  accepted: number
  /** Got into a block, also if they reverted; not those that a cancellation replaced. */
  mined: number
  failed: number
  /** The sum and the maximum of the times from acceptance to a block, of those that were mined. */
  inclusion_ms: number
  max_inclusion_ms: number
  /** The sum of the fees: gwei, and the rest in wei. */
  fee_gwei: number
  fee_wei: number
  /** How many networks the relayers are on. */
  networks: number
}

/** `repriced`: transactions in a block with a later version than the first; `repricing_gwei`: what they paid more for it. */
export interface Repricing {
  repriced: number
  repricing_gwei: number
}

/** What the transactions of a caller cost on a day. `name`: of the API key, if there is one. */
export interface CallerDayRow extends Repricing, Pick<ActivityRow, 'at' | 'mined' | 'fee_gwei' | 'fee_wei'> {
  caller: string
  caller_name: string | null
  network: string
}

/** What a relayer did on a day. */
export type DayRow = Omit<ActivityRow, 'networks'> & { relayer_id: string; network: string }

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

const selectActivity = sql<ActivityRow>(`
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
  SELECT at, caller, network, ${nameOfCaller('caller')} AS caller_name, sum(mined) AS mined,
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

/** Reads a few periods in each turn of the event loop. */
async function inTurns<Row extends object>(
  { read }: Database,
  statement: Statement<Row>,
  { period_s, from, end }: { period_s: number; from: number; end: number },
  values: Values,
): Promise<Row[]> {
  const rows: Row[] = []
  for (let start = from; start <= end; start += turnPeriods * period_s) {
    const to = Math.min(start + turnPeriods * period_s, end + 1)
    rows.push(...(await read.all(statement, { ...values, from: start, to })))
    await yieldToEventLoop()
  }
  return rows
}

async function ofCallers<Row extends object>(
  database: Database,
  statement: Statement<Row>,
  { from, now, ...whose }: Omit<ActivityFilter, 'period_s'>,
): Promise<Row[]> {
  const range = within({ period_s: dayS, from, now }, await database.read.one(rangeOfCallers))
  return inTurns(database, statement, range, valuesOf(whose))
}

/**
 * Counts per period from `from` on, summed over relayers; periods without any are absent. They are kept with each change of a
 * transaction, in the same database transaction, and for a little more than an hour (`period_s` 60) or a day (900).
 */
export async function activity(
  database: Database,
  { period_s, from, now, ...whose }: ActivityFilter,
): Promise<ActivityRow[]> {
  const known = await database.read.one(range, { period_s })
  return inTurns(database, selectActivity, within({ period_s, from, now }, known), { period_s, ...valuesOf(whose) })
}

/** The same by relayer and day (UTC). The present day, and others, may have two rows, which have to be added. */
export async function activityDays(
  database: Database,
  { from, now, ...whose }: Omit<ActivityFilter, 'period_s'>,
): Promise<DayRow[]> {
  const values = valuesOf(whose)
  const [quarters, days] = [await database.read.one(range, { period_s: 900 }), await database.read.one(rangeOfDays)]
  return [
    ...(await inTurns(database, selectDays, within({ period_s: dayS, from, now }, days), values)),
    ...(await inTurns(database, selectQuarters, within({ period_s: 900, from, now }, quarters), values)),
  ]
}

/** The fees by caller, network and day (UTC) from then on. */
export const callerDays = (database: Database, filter: Omit<ActivityFilter, 'period_s'>): Promise<CallerDayRow[]> =>
  ofCallers(database, selectCallers, filter)

/** By relayer, from then on. */
export const repricings = (
  database: Database,
  filter: Omit<ActivityFilter, 'period_s'>,
): Promise<(Repricing & { relayer_id: string })[]> => ofCallers(database, selectRepricings, filter)

/** Adds some of the quarters of an hour that no chart shows to the days, and removes old days. `more`: it has to be called again. */
export const pruneActivity = (database: Database, nowS: number): Promise<{ more: boolean }> =>
  database.write(async (dbTransaction) => {
    const quarters = await dbTransaction.run(removeQuarters, { before: nowS - keptS })
    const days = await dbTransaction.run(removeDays, { before: nowS - keptDays * dayS })
    const callers = await dbTransaction.run(removeCallers, { before: nowS - keptDays * dayS })
    return { more: [quarters, days, callers].includes(maxRemoved) }
  })

/** From the first to the last row of a table between then and now. */
const within = (
  { period_s, from, now }: Pick<ActivityFilter, 'from' | 'now'> & { period_s: number },
  known: { first: number | null; last: number | null } | undefined,
) => ({
  period_s,
  from: Math.max(from, known?.first ?? 0),
  end: Math.min(known?.last ?? 0, now),
})

const valuesOf = ({ ids, network }: Pick<ActivityFilter, 'ids' | 'network'>) => ({
  network: network ?? null,
  ids: ids ? [...ids] : null,
})
