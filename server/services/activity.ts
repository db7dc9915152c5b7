import type {
  ActivityPoint,
  CallerSpending,
  RelayerActivity,
  RelayerQueue,
  RelayerSpending,
} from '../../generated/openapi.ts'
import { relayerNotFound } from '../domain/errors.ts'
import { type Caller, type Handlers, type OperationId, Page, page } from '../domain/operation.ts'
import type { PageRequest, RelayerRow } from '../domain/rows.ts'
import { shownReason } from '../domain/wait-reason.ts'
import { yieldToEventLoop } from '../lib/timers.ts'
import type { ActivityRow, CallerDayRow, DayRow, Repricing } from '../store/queries/activity.ts'
import type { Store } from '../store/store.ts'
import type { ServicesContext } from './context.ts'
import { findPool } from './pools.ts'

const dayS = 86_400 as const
const periods = {
  hour: { period_s: 60, points: 60 },
  day: { period_s: 900, points: 96 },
  week: { period_s: dayS, points: 7 },
  month: { period_s: dayS, points: 30 },
  quarter: { period_s: dayS, points: 90 },
} as const
const weiPerGwei = 10n ** 9n
/** Queues that are read in one turn of the event loop: a few milliseconds. */
const turnQueues = 50

/* The present queues of relayers, their activity, and what they spent. */

type ActivityContext = Pick<ServicesContext, 'store' | 'pools' | 'now'>
type Query<Id extends OperationId> = Parameters<Handlers[Id]>[0]['query']

export async function listQueues(
  context: ActivityContext,
  caller: Caller,
  query: Query<'listRelayerQueues'>,
): Promise<Page<RelayerQueue[]>> {
  const ids = await relayersOf(context, caller, query.pool_id)
  const { data, pagination } = await page(
    query,
    (slice) => context.store.listRelayers(slice, ids),
    (row) => row,
  )
  const queues: RelayerQueue[] = []
  for (const [index, relayer] of data.entries()) {
    if (index % turnQueues === turnQueues - 1) await yieldToEventLoop()
    queues.push(await queueOf(context.store, relayer))
  }
  return new Page(queues, pagination)
}

/** Throws DomainError (404) for a relayer or a pool that the caller may not see. */
export async function getActivity(
  context: ActivityContext,
  caller: Caller,
  { period, calendar_month, relayer_id, pool_id, network }: Query<'getRelayerActivity'>,
): Promise<RelayerActivity> {
  const { store, now } = context
  if (relayer_id !== undefined) {
    const isVisible = caller.relayer_ids?.has(relayer_id) ?? true
    if (!isVisible || !(await store.getRelayer(relayer_id))) throw relayerNotFound(relayer_id)
  }
  const pooled = await relayersOf(context, caller, pool_id)
  const isOf = (id: string) => pool_id === undefined || pooled?.has(id) === true
  const ids = relayer_id === undefined ? pooled : new Set([relayer_id].filter(isOf))
  const { period_s, from, points, until } = spanOf(
    calendar_month === undefined ? periods[period] : { calendar_month },
    now(),
  )
  const filter = { from, now: until, ids, network }
  const found =
    period_s === dayS
      ? sumBy(await store.activityDays(filter), ({ at }) => at)
      : await store.activity({ period_s, ...filter })
  const rows = new Map(found.map((row) => [row.at, row]))
  const all = Array.from({ length: points }, (_, index) => from + index * period_s)
  return { seconds_per_point: period_s, points: all.map((at) => pointOf(at, rows.get(at))) }
}

export async function getSpending(
  context: ActivityContext,
  caller: Caller,
  { days, calendar_month, pool_id, network, ...slice }: Query<'listRelayerSpending'>,
): Promise<Page<RelayerSpending[]>> {
  const { store, now } = context
  const ids = await relayersOf(context, caller, pool_id)
  const { today, from, until } = daysOf({ days, calendar_month }, now())
  const filter = { from, now: until, ids, network }
  const [rows, repricings] = await Promise.all([store.activityDays(filter), store.repricings(filter)])
  const repricingOf = Map.groupBy(repricings, ({ relayer_id }) => relayer_id)
  const ofToday = sumBy(
    rows.filter(({ at }) => at === today),
    ({ relayer_id }) => relayer_id,
  )
  const feesToday = new Map(ofToday.map((row) => [row.relayer_id, feesOf(row)]))
  const all = sumBy(rows, ({ relayer_id }) => relayer_id)
    .map((row) => ({ row, fees: feesOf(row) }))
    .sort(
      (a, b) => byNetwork(a.row, b.row) || Number(b.fees - a.fees) || (a.row.relayer_id < b.row.relayer_id ? -1 : 1),
    )
  return page(
    slice,
    partOf(all),
    ({ row: { relayer_id, network: its, accepted, mined, failed }, fees }): RelayerSpending => ({
      ...{ relayer_id, network: its, accepted, mined, failed },
      fees: `${fees}`,
      fees_today: `${feesToday.get(relayer_id) ?? 0n}`,
      ...repricingFees(repricingOf.get(relayer_id) ?? []),
    }),
  )
}

export async function getSpendingByCaller(
  { store, now }: ActivityContext,
  { days, calendar_month, network, ...slice }: Query<'listCallerSpending'>,
): Promise<Page<CallerSpending[]>> {
  const shown = daysOf({ days, calendar_month }, now())
  const rows = await store.callerDays({ from: shown.from, now: shown.until, ids: undefined, network })
  const all = [...Map.groupBy(rows, (row) => `${row.network} ${row.caller}`).values()]
    .map((its) => callerSpending(its, shown))
    .sort((a, b) => byNetwork(a, b) || Number(BigInt(b.fees) - BigInt(a.fees)) || (a.caller < b.caller ? -1 : 1))
  return page(slice, partOf(all), (its) => its)
}

/** Periods of so many seconds, and the last moment that counts, in seconds since the Unix epoch. */
type Span = { period_s: 60 | 900 | typeof dayS; from: number; points: number; until: number }
type Days = Span & { today: number }

/** The last periods with the present one, or the days of a month. */
function spanOf(its: { period_s: Span['period_s']; points: number } | { calendar_month: string }, now: number): Span {
  if ('calendar_month' in its) return daysOf(its, now)
  const { period_s, points } = its
  const until = Math.floor(now / 1_000)
  return { period_s, points, until, from: (Math.floor(until / period_s) - (points - 1)) * period_s }
}

/** The last days with today (UTC), or those of a calendar month that have begun. */
function daysOf(
  { days = 1, calendar_month }: { days?: number; calendar_month?: string | undefined },
  now: number,
): Days {
  const last = spanOf({ period_s: dayS, points: days }, now)
  const today = last.from + (days - 1) * dayS
  if (calendar_month === undefined) return { ...last, today }
  const [year, month] = calendar_month.split('-').map(Number) as [number, number]
  const [from, next] = [Date.UTC(year, month - 1) / 1_000, Date.UTC(year, month) / 1_000]
  const points = Math.max(0, (Math.min(next, today + dayS) - from) / dayS)
  return { period_s: dayS, from, points, until: Math.min(last.until, next - 1), today }
}

const partOf =
  <T>(all: T[]) =>
  async ({ offset, limit }: PageRequest) => ({ items: all.slice(offset, offset + limit), total_items: all.length })

/** The relayers, of a pool or of all, that the caller may use themselves; undefined: every relayer. */
async function relayersOf(context: ActivityContext, caller: Caller, poolId: string | undefined) {
  const { relayer_ids } = caller
  if (poolId === undefined) return relayer_ids
  const pool = await findPool(context, poolId, caller)
  const ids = pool.relayers.map(({ relayer_id }) => relayer_id)
  return new Set(relayer_ids ? ids.filter((id) => relayer_ids.has(id)) : ids)
}

async function queueOf(store: Store, { row_id, id: relayerId }: RelayerRow): Promise<RelayerQueue> {
  const [unfinishedCount, first] = await Promise.all([store.countUnfinished(row_id), store.firstInLine(row_id)])
  const queue = { relayer_id: relayerId, unfinished_count: unfinishedCount }
  if (!first) return { ...queue, first: null }
  const { id: transactionId, nonce, status, wait_reason, created_at, changed_at } = first
  const since = changed_at ?? created_at
  const head = {
    transaction_id: transactionId,
    nonce: nonce as number,
    status,
    wait_reason,
    status_reason: shownReason(first),
    created_at,
    since,
  }
  return { ...queue, first: head }
}

/** The days of one caller on one network. */
function callerSpending(rows: CallerDayRow[], { from, points, today }: Days): CallerSpending {
  const [{ caller, caller_name, network }] = rows as [CallerDayRow]
  const byDay = new Map(rows.map((row) => [row.at, feesOf(row)]))
  const feesByDay = Array.from({ length: points }, (_, index) => `${byDay.get(from + index * dayS) ?? 0n}`)
  return {
    ...{ caller, caller_name, network, fees_by_day: feesByDay },
    mined: rows.reduce((sum, { mined }) => sum + mined, 0),
    fees: `${rows.reduce((sum, row) => sum + feesOf(row), 0n)}`,
    fees_today: `${byDay.get(today) ?? 0n}`,
    ...repricingFees(rows),
  }
}

function repricingFees(rows: Repricing[]): Pick<RelayerSpending, 'repriced' | 'repricing_fees'> {
  const gwei = rows.reduce((sum, { repricing_gwei }) => sum + repricing_gwei, 0)
  return {
    repriced: rows.reduce((sum, { repriced }) => sum + repriced, 0),
    repricing_fees: `${BigInt(Math.round(gwei * 1e3)) * (weiPerGwei / 1_000n)}`,
  }
}

const byNetwork = (a: { network: string }, b: { network: string }) =>
  a.network === b.network ? 0 : a.network < b.network ? -1 : 1

const feesOf = ({ fee_gwei, fee_wei }: Pick<ActivityRow, 'fee_gwei' | 'fee_wei'>) =>
  BigInt(fee_gwei) * weiPerGwei + BigInt(fee_wei)

/** One row for each key: the sums of its rows. */
function sumBy(rows: DayRow[], keyOf: (row: DayRow) => number | string): (DayRow & ActivityRow)[] {
  const sums = new Map<number | string, DayRow & ActivityRow>()
  for (const row of rows) {
    const key = keyOf(row)
    const sum = sums.get(key)
    sums.set(key, sum ? added(sum, row) : { ...row, networks: 1 })
  }
  return [...sums.values()]
}

const added = (sum: DayRow & ActivityRow, row: DayRow): DayRow & ActivityRow => ({
  ...sum,
  accepted: sum.accepted + row.accepted,
  mined: sum.mined + row.mined,
  failed: sum.failed + row.failed,
  inclusion_ms: sum.inclusion_ms + row.inclusion_ms,
  max_inclusion_ms: Math.max(sum.max_inclusion_ms, row.max_inclusion_ms),
  fee_gwei: sum.fee_gwei + row.fee_gwei,
  fee_wei: sum.fee_wei + row.fee_wei,
  networks: sum.network === row.network ? sum.networks : 2,
})

function pointOf(atS: number, row: ActivityRow | undefined): ActivityPoint {
  const at = new Date(atS * 1_000).toISOString()
  if (!row)
    return { at, ...{ accepted: 0, mined: 0, failed: 0, mean_inclusion_ms: null, max_inclusion_ms: null }, fees: '0' }
  const { accepted, mined, failed, inclusion_ms, max_inclusion_ms, networks } = row
  return {
    at,
    accepted,
    mined,
    failed,
    mean_inclusion_ms: mined === 0 ? null : Math.round(inclusion_ms / mined),
    max_inclusion_ms: mined === 0 ? null : max_inclusion_ms,
    fees: networks > 1 ? null : `${feesOf(row)}`,
  }
}
