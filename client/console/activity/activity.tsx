import { useMemo } from 'react'
import { Link, useLocation } from 'wouter'
import type { ActivityPoint as Point, RelayerActivity } from '../../index.ts'
import { Chart, Spark } from '../components/chart.tsx'
import { errorText, Loaded } from '../components/feedback.tsx'
import { Options } from '../components/fields.tsx'
import { Segments } from '../components/filters.tsx'
import { NetworkLink, Pending } from '../components/values.tsx'
import { startingWith, useAddressState } from '../data/address-state.ts'
import { coins, count, fixed } from '../data/format.ts'
import { useAnswer } from '../data/get.ts'
import { paths } from '../data/paths.ts'
import { useNetworkNames, useSymbols } from '../data/resources.ts'
import { duration, durationMark } from '../data/times.ts'

interface ActivityChartsProps {
  of?: { network: string }
  relayer_id?: string
  pool_id?: string
  here: string
  find: string | undefined
}

/**
 * Charts of the last hour to 90 days, for all relayers, for those of one network or pool, or for one relayer. `of`: the pool or relayer.
 * `here`: the address of the page without what was chosen on it.
 */
export function ActivityCharts({ of, here, find, ...place }: ActivityChartsProps) {
  const networks = useNetworkNames()
  const [{ network: chosen, period }, choose] = useAddressState(here, find, {
    period: startingWith('day', names),
    network: '',
  })
  const whose: Whose = of || chosen === '' ? place : { network: chosen }
  const activity = useActivity(period, whose)
  const { relayer_id, pool_id } = place
  return (
    <section aria-labelledby="activity">
      <div className="bar">
        <h2 id="activity">Activity</h2>
        <div className="buttons">
          {!of && networks.length > 1 && (
            <NetworkSelect value={chosen} choose={(network) => choose({ network })} networks={networks} />
          )}
          <Segments
            label="Period"
            values={names}
            texts={periods}
            value={period}
            choose={(one) => choose({ period: one })}
          />
        </div>
      </div>
      <Loaded query={activity} as="charts">
        {(shown) => (
          <Charts
            {...shown}
            period={period}
            whose={whose}
            network={of?.network ?? (chosen || (networks.length === 1 ? networks[0] : undefined))}
            list={
              relayer_id !== undefined
                ? paths.relayer(relayer_id, 'list')
                : pool_id !== undefined
                  ? paths.pool(pool_id, 'list')
                  : paths.transactions
            }
          />
        )}
      </Loaded>
    </section>
  )
}

interface NetworkSelectProps {
  value: string
  choose(network: string): void
  networks: string[]
}

/** One network or all, in a bar. */
export const NetworkSelect = ({ value, choose, networks }: NetworkSelectProps) => (
  <select aria-label="Network" value={value} onChange={({ target }) => choose(target.value)}>
    <option value="">All networks</option>
    <Options of={networks} />
  </select>
)

type ChartsProps = Steps & {
  period: Period
  whose: Whose
  network: string | undefined
  list: string
}

function Charts({ points, seconds_per_point, network, list, period, whose }: ChartsProps) {
  const [, go] = useLocation()
  const symbol = useSymbols()(network)
  const { at, counts, accepted, times, fees } = useMemo(
    () => ({
      at: timesOf(points),
      counts: countsOf(points),
      accepted: { label: 'accepted', values: points.map((point) => point.accepted) },
      times: timeLines(points),
      fees: points.every((point) => point.fees !== null) ? feeLine(points, symbol) : undefined,
    }),
    [points, symbol],
  )
  const each = stepText(seconds_per_point)
  const mean = meanOf(points)
  /** The transactions that were accepted then; of those that failed, only these. */
  const open = (fromS: number, toS: number, label?: string) => {
    const iso = (atS: number) => new Date(atS * 1_000).toISOString().slice(0, 16)
    go(paths.group(list, label === 'failed' ? label : 'all', `after:${iso(fromS)}Z before:${iso(toS)}Z`))
  }
  return (
    <div className="charts">
      <Chart
        title="Transactions"
        unit={each}
        at={at}
        lines={counts}
        whole={accepted}
        measure="count"
        total={`${count(total(points, 'accepted'))} accepted`}
        open={open}
      />
      <Chart
        title="Time to inclusion"
        unit={each}
        at={at}
        lines={times}
        measure="ms"
        show={duration}
        mark={durationMark}
        total={mean === null ? '–' : `${duration(mean)} on average`}
        isLevel
        open={open}
      />
      {fees ? (
        <Chart title="Fees" at={at} {...fees} unit={`${each}, ${fees.unit}`} open={open} />
      ) : (
        <FeesByNetwork period={period} whose={whose} />
      )}
    </div>
  )
}

/** Stacked, they are as high as what was accepted. In the colors of the states. */
const countsOf = (points: Point[]) => [
  { label: 'succeeded', color: '--green', values: points.map(succeeded), total: count(totalSucceeded(points)) },
  {
    label: 'failed',
    color: '--red',
    values: points.map(({ failed }) => failed),
    total: count(total(points, 'failed')),
  },
  {
    label: 'unfinished',
    about: 'unfinished or withdrawn: accepted, and neither succeeded nor failed in the same time',
    color: '--blue',
    values: points.map(other),
    total: count(other(sumOf(points))),
  },
]

function timeLines(points: Point[]) {
  const slowest = slowestOf(points)
  return [
    { label: 'average', color: '--blue', values: points.map(({ mean_inclusion_ms }) => mean_inclusion_ms) },
    {
      label: 'slowest',
      color: '--orange',
      values: points.map(({ max_inclusion_ms }) => max_inclusion_ms),
      ...(slowest !== null && { total: duration(slowest) }),
    },
  ]
}

/** The chart of the fees that the relayers of one network paid by day. */
export function Fees({ period, whose }: { period: Period; whose: Whose & { network: string } }) {
  const { network } = whose
  const symbol = useSymbols()(network)
  const activity = useActivity(period, whose)
  if (activity.isLoadingError)
    return (
      <figure className="chart">
        <figcaption>
          <strong>Fees on {network}</strong>
        </figcaption>
        <div className="plot">
          <div className="empty" role="alert">
            <p>Fees could not be loaded. {errorText(activity.error)}</p>
            <button type="button" onClick={() => activity.refetch()}>
              Retry
            </button>
          </div>
        </div>
      </figure>
    )
  return (
    <Loaded query={activity} as="charts" lines={1}>
      {({ points }) => <FeeChart points={points} symbol={symbol} title={`Fees on ${network}`} />}
    </Loaded>
  )
}

function FeeChart({ points, symbol, title }: { points: Point[]; symbol: string; title: string }) {
  const { at, fees } = useMemo(() => ({ at: timesOf(points), fees: feeLine(points, symbol) }), [points, symbol])
  return <Chart title={title} at={at} {...fees} unit={`per day (UTC), ${fees.unit}`} />
}

export const weiPerCoin = 1e18

const weiPerGwei = 1e9
/** Below this, the marks of an axis in coins would have zeros only in common. */
const minCoins = 0.001

/** What the chart of the fees of one network shows: small fees in gwei. */
function feeLine(points: Point[], symbol: string) {
  const fees = points.map((point) => Number(point.fees ?? 0))
  const [unit, size] = Math.max(...fees) < minCoins * weiPerCoin ? ['gwei', weiPerGwei] : [symbol, weiPerCoin]
  return {
    unit: unit === symbol ? `in ${symbol}` : `axis in ${unit}`,
    lines: [{ label: 'paid', color: '--blue', values: fees.map((wei) => wei / size) }],
    measure: 'amount' as const,
    total: fixed(feesOf(points).toString(), symbol),
    show: (value: number) => coins(value, unit),
    mark: (value: number, step: number) =>
      step >= 1 ? count(value) : value.toFixed(Math.max(0, -Math.floor(Math.log10(step)))),
  }
}

const maxNetworks = 8

/** Fees in different currencies have no sum: the total of each network. */
function FeesByNetwork({ period, whose }: { period: Period; whose: Whose }) {
  const networks = useNetworkNames()
  return (
    <figure className="chart">
      <figcaption>
        <strong>Fees</strong> <span className="hint">by network, {periods[period]}</span>
      </figcaption>
      <ul className="plain totals">
        {networks.slice(0, maxNetworks).map((network) => (
          <Total key={network} period={period} whose={{ ...whose, network }} />
        ))}
      </ul>
      <Link to={paths.spending}>Spending by relayer</Link>
    </figure>
  )
}

function Total({ period, whose }: { period: Period; whose: Whose & { network: string } }) {
  const { data } = useActivity(period, whose)
  const symbol = useSymbols()(whose.network)
  if (!data)
    return (
      <li>
        <NetworkLink name={whose.network} /> <Pending />
      </li>
    )
  const { lines, show, total } = feeLine(data.points, symbol)
  return (
    <li>
      <NetworkLink name={whose.network} />
      <Spark values={lines[0]?.values ?? []} each={stepText(data.seconds_per_point)} show={show} />
      <strong>{total}</strong>
    </li>
  )
}

const pollMs = 10_000
/** More bars than these are too thin to be told apart. */
const maxPoints = 48
/** The steps that points are put together to, in seconds. */
const stepsS = [300, 3_600]

export const periods = {
  hour: '1 h',
  day: '24 h',
  week: '7 d',
  month: '30 d',
  quarter: '90 d',
} as const
type Period = keyof typeof periods

const names = Object.keys(periods) as Period[]
/** All relayers, those of a pool or a network, or one. */
interface Whose {
  relayer_id?: string
  pool_id?: string
  network?: string
  /** Of this month, in the place of the period. */
  calendar_month?: string
}

/** The activity of all relayers, of those of a network or pool, or of one. */
export const useActivity = (period: Period, whose: Whose = {}) =>
  useAnswer(
    '/api/v1/activity',
    { query: { period, ...whose } },
    { pollMs: period === 'hour' || period === 'day' ? pollMs : pollMs * 3, keepsPrevious: true, select: inSteps },
  )

/** Other steps than the service's are possible. */
type Steps = Omit<RelayerActivity, 'seconds_per_point'> & { seconds_per_point: number }

/** Points of minutes become ones of five minutes, and points of a quarter of an hour become hours. Those of days stay. */
function inSteps({ data }: { data: RelayerActivity }): Steps {
  const { seconds_per_point, points } = data
  const stepS = stepsS.find((one) => one > seconds_per_point)
  if (stepS === undefined || points.length <= maxPoints) return data
  const steps = Map.groupBy(points, ({ at }) => Math.floor(Date.parse(at) / (stepS * 1_000)))
  return {
    seconds_per_point: stepS,
    points: [...steps].map(([step, its]) => ({ ...sumOf(its), at: new Date(step * stepS * 1_000).toISOString() })),
  }
}

/** All of the points as one. */
function sumOf(points: Point[]): Omit<Point, 'at'> {
  const hasFees = points.every(({ fees }) => fees !== null)
  return {
    accepted: total(points, 'accepted'),
    mined: total(points, 'mined'),
    failed: total(points, 'failed'),
    mean_inclusion_ms: meanOf(points),
    max_inclusion_ms: slowestOf(points),
    fees: hasFees ? feesOf(points).toString() : null,
  }
}

export const total = (points: Point[], name: 'accepted' | 'mined' | 'failed'): number =>
  points.reduce((sum, point) => sum + point[name], 0)

/** What got into a block and did what it should. `mined` has the reverted ones too, which are counted as `failed`. */
export const succeeded = ({ mined, failed }: Point): number => Math.max(mined - failed, 0)

/**
 * Accepted, but neither succeeded nor failed in the same time: unfinished, canceled or expired. Where more ended than was accepted, there is
 * none.
 */
const other = ({ accepted, mined, failed }: Pick<Point, 'accepted' | 'mined' | 'failed'>): number =>
  Math.max(accepted - Math.max(mined, failed), 0)

export const totalSucceeded = (points: Point[]): number => points.reduce((sum, point) => sum + succeeded(point), 0)

/** Seconds since the Unix epoch, of the begin of each point. */
const timesOf = (points: Point[]): number[] => points.map((point) => Date.parse(point.at) / 1_000)

/** In wei. */
const feesOf = (points: Point[]): bigint => points.reduce((sum, { fees }) => sum + BigInt(fees ?? 0), 0n)

/** The mean time to inclusion of all that were mined; null: of none. */
function meanOf(points: Point[]): number | null {
  const known = points.filter(({ mean_inclusion_ms, mined }) => mean_inclusion_ms !== null && mined > 0)
  const ms = known.reduce((sum, point) => sum + (point.mean_inclusion_ms ?? 0) * point.mined, 0)
  return known.length === 0 ? null : ms / total(known, 'mined')
}

/** The longest time to inclusion; null: none was mined. */
export function slowestOf(points: Point[]): number | null {
  const known = points.map(({ max_inclusion_ms }) => max_inclusion_ms).filter((ms) => ms !== null)
  return known.length === 0 ? null : Math.max(...known)
}

/** The length of a point in words: `per hour`. */
export function stepText(stepS: number): string {
  if (stepS >= 86_400) return 'per day (UTC)'
  return stepS === 3_600 ? 'per hour' : `per ${stepS / 60} minutes`
}
