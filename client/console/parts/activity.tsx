import { useMemo, useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { ActivityPoint as Point } from '../../index.ts'
import {
  feesOf,
  meanOf,
  type Period,
  periods,
  succeeded,
  total,
  totalSucceeded,
  useActivity,
  type Whose,
} from '../data/activity.ts'
import { count, duration, fixed } from '../data/format.ts'
import { useNetworks, useSymbols } from '../data/overview.ts'
import { Chart } from './chart.tsx'
import { errorText, Loaded } from './feedback.tsx'
import { encoded, poolPath, relayerPath } from './links.tsx'
import { Options } from './options.tsx'
import { Segments } from './segments.tsx'
import { Spark } from './spark.tsx'

const [hour_s, day_s] = [3_600, 86_400]

/** Charts of the last hour to 90 days, for all relayers, for those of one network or pool, or for one relayer. */
export function ActivityCharts({ relayer_id, pool_id, its }: { relayer_id?: string; pool_id?: string; its?: string }) {
  const networks = useNetworks()
  const [period, setPeriod] = useState<Period>('day')
  const [chosen, setChosen] = useState('')
  const all = networks.data ?? []
  const isOfAll = relayer_id === undefined && pool_id === undefined
  const network = isOfAll && chosen !== '' ? { network: chosen } : {}
  const whose: Whose = {
    ...(relayer_id !== undefined && { relayer_id }),
    ...(pool_id !== undefined && { pool_id }),
    ...network,
  }
  const activity = useActivity(period, whose)
  const here =
    relayer_id !== undefined ? relayerPath(relayer_id) : pool_id !== undefined ? poolPath(pool_id) : undefined
  return (
    <section aria-labelledby="activity">
      <div className="bar">
        <h2 id="activity">Activity</h2>
        <div className="buttons">
          {isOfAll && all.length > 1 && (
            <select aria-label="Network" value={chosen} onChange={(event) => setChosen(event.target.value)}>
              <option value="">All networks</option>
              <Options of={all.map(({ name }) => name)} />
            </select>
          )}
          <Segments
            label="Period"
            values={Object.keys(periods) as Period[]}
            texts={periods}
            value={period}
            choose={setPeriod}
          />
        </div>
      </div>
      <Loaded query={activity} lines={8}>
        {({ points, seconds_per_point }) => (
          <Charts
            points={points}
            step_s={seconds_per_point}
            period={period}
            whose={whose}
            network={its ?? (chosen || (all.length === 1 ? all[0]?.name : undefined))}
            list={here === undefined ? '/transactions' : `${here}/list`}
          />
        )}
      </Loaded>
    </section>
  )
}

/** The chart of the fees that the relayers of one network paid by day. */
export function Fees({ period, network }: { period: Period; network: string }) {
  const symbol = useSymbols()(network)
  const activity = useActivity(period, { network })
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
    <Loaded query={activity} lines={4}>
      {({ points }) => <FeeChart points={points} symbol={symbol} title={`Fees on ${network}`} />}
    </Loaded>
  )
}

function FeeChart({ points, symbol, title }: { points: Point[]; symbol: string; title: string }) {
  const { at, fees } = useMemo(() => ({ at: timesOf(points), fees: feeLine(points, symbol) }), [points, symbol])
  return <Chart title={title} unit={`per day (UTC), in ${symbol}`} at={at} {...fees} />
}

const timesOf = (points: Point[]) => points.map((point) => Date.parse(point.at) / 1_000)
const wei_per_coin = 1e18

function feeLine(points: Point[], symbol: string) {
  return {
    lines: [{ label: 'paid', color: '--blue', values: points.map(({ fees }) => Number(fees ?? 0) / wei_per_coin) }],
    measure: 'amount' as const,
    total: fixed(feesOf(points).toString(), symbol, 6),
    show: (value: number) => `${amounts.format(value)} ${symbol}`,
    mark: (value: number, step: number) => value.toFixed(Math.max(0, -Math.floor(Math.log10(step)))),
  }
}

const amounts = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

function Charts({
  points,
  step_s,
  network,
  list,
  period,
  whose,
}: {
  points: Point[]
  step_s: number
  period: Period
  whose: Whose
  network: string | undefined
  list: string
}) {
  const [, go] = useLocation()
  const symbol = useSymbols()(network)
  const { at, counts, times, fees } = useMemo(() => {
    const counted = (name: 'accepted' | 'failed') => ({
      label: name,
      values: points.map((point) => point[name]),
      total: count(total(points, name)),
    })
    return {
      at: timesOf(points),
      counts: [
        { ...counted('accepted'), color: '--blue' },
        {
          label: 'succeeded',
          color: '--green',
          values: points.map(succeeded),
          total: count(totalSucceeded(points)),
        },
        { ...counted('failed'), color: '--red', on: 'succeeded' },
      ],
      times: [
        { label: 'mean', color: '--blue', values: points.map((point) => point.mean_inclusion_ms) },
        { label: 'slowest', color: '--orange', values: points.map((point) => point.max_inclusion_ms) },
      ],
      fees: points.every((point) => point.fees !== null) ? feeLine(points, symbol) : undefined,
    }
  }, [points, symbol])
  const each = step_s >= day_s ? 'per day (UTC)' : step_s === hour_s ? 'per hour' : `per ${step_s / 60} minutes`
  const mean = meanOf(points)
  /** The transactions that were accepted then. */
  const open = (from_s: number, to_s: number) => {
    const iso = (at_s: number) => new Date(at_s * 1_000).toISOString().slice(0, 16)
    go(`${list}/all/${encoded(`after:${iso(from_s)}Z before:${iso(to_s)}Z`)}`)
  }
  return (
    <div className="charts">
      <Chart
        title="Transactions"
        unit={each}
        at={at}
        lines={counts}
        measure="count"
        total={`${count(totalSucceeded(points))} succeeded`}
        open={open}
      />
      <Chart
        title="Time to inclusion"
        unit={each}
        at={at}
        lines={times}
        measure="ms"
        show={duration}
        total={mean === null ? '–' : `${duration(mean)} on average`}
        isLevel
        open={open}
      />
      {fees ? (
        <Chart title="Fees" unit={`${each}, in ${symbol}`} at={at} {...fees} open={open} />
      ) : (
        <FeesByNetwork period={period} whose={whose} />
      )}
    </div>
  )
}

const max_networks = 8

/** Fees in different currencies have no sum: the total of each network. */
function FeesByNetwork({ period, whose }: { period: Period; whose: Whose }) {
  const networks = useNetworks()
  const all = networks.data ?? []
  return (
    <figure className="chart">
      <figcaption>
        <strong>Fees</strong> <span className="hint">by network, {periods[period]}</span>
      </figcaption>
      <ul className="plain totals">
        {all.slice(0, max_networks).map(({ id, name }) => (
          <Total key={id} period={period} whose={{ ...whose, network: name }} />
        ))}
      </ul>
      <Link to="/spending">Spending by relayer</Link>
    </figure>
  )
}

function Total({ period, whose }: { period: Period; whose: Whose & { network: string } }) {
  const { data } = useActivity(period, whose)
  const symbol = useSymbols()(whose.network)
  return (
    <li>
      <span>{whose.network}</span>
      {data && <Spark values={data.points.map(({ fees }) => Number(fees ?? 0))} />}
      <strong>{data ? feeLine(data.points, symbol).total : '…'}</strong>
    </li>
  )
}
