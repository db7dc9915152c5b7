import { useMemo } from 'react'
import { Link } from 'wouter'
import type { ActivityPoint as Point } from '../../index.ts'
import { feesOf, type Period, periods, stepText, timesOf, useActivity, type Whose } from '../data/activity.ts'
import { coins, fixed } from '../data/format.ts'
import { useNetworks, useSymbols } from '../data/overview.ts'
import { Chart } from './chart.tsx'
import { errorText, Loaded } from './feedback.tsx'
import { Spark } from './spark.tsx'

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
    <Loaded query={activity} as="charts" lines={1}>
      {({ points }) => <FeeChart points={points} symbol={symbol} title={`Fees on ${network}`} />}
    </Loaded>
  )
}

function FeeChart({ points, symbol, title }: { points: Point[]; symbol: string; title: string }) {
  const { at, fees } = useMemo(() => ({ at: timesOf(points), fees: feeLine(points, symbol) }), [points, symbol])
  return <Chart title={title} unit={`per day (UTC), in ${symbol}`} at={at} {...fees} />
}

export const wei_per_coin = 1e18

/** What the chart of the fees of one network shows. */
export function feeLine(points: Point[], symbol: string) {
  return {
    lines: [{ label: 'paid', color: '--blue', values: points.map(({ fees }) => Number(fees ?? 0) / wei_per_coin) }],
    measure: 'amount' as const,
    total: fixed(feesOf(points).toString(), symbol, 6),
    show: (value: number) => coins(value, symbol),
    mark: (value: number, step: number) => value.toFixed(Math.max(0, -Math.floor(Math.log10(step)))),
  }
}

const max_networks = 8

/** Fees in different currencies have no sum: the total of each network. */
export function FeesByNetwork({ period, whose }: { period: Period; whose: Whose }) {
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
  if (!data)
    return (
      <li>
        <span>{whose.network}</span> <strong>…</strong>
      </li>
    )
  const { lines, show, total } = feeLine(data.points, symbol)
  return (
    <li>
      <span>{whose.network}</span>
      <Spark values={lines[0]?.values ?? []} each={stepText(data.seconds_per_point)} show={show} />
      <strong>{total}</strong>
    </li>
  )
}
