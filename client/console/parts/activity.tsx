import { useMemo } from 'react'
import { useLocation } from 'wouter'
import type { ActivityPoint as Point } from '../../index.ts'
import {
  meanOf,
  other,
  type Period,
  periods,
  slowestOf,
  stepText,
  succeeded,
  sumOf,
  timesOf,
  total,
  totalSucceeded,
  useActivity,
  type Whose,
} from '../data/activity.ts'
import { oneOf, useChoices } from '../data/choices.ts'
import { count } from '../data/format.ts'
import { useNetworks, useSymbols } from '../data/overview.ts'
import { duration, durationMark } from '../data/times.ts'
import { Chart } from './chart.tsx'
import { Loaded } from './feedback.tsx'
import { FeesByNetwork, feeLine } from './fees.tsx'
import { encoded, poolPath, relayerPath } from './links.tsx'
import { Options } from './options.tsx'
import { Segments } from './segments.tsx'

const names = Object.keys(periods) as Period[]

/** Charts of the last hour to 90 days, for all relayers, for those of one network or pool, or for one relayer. */
export function ActivityCharts({
  relayer_id,
  pool_id,
  its,
  here,
  find,
}: {
  relayer_id?: string
  pool_id?: string
  /** Their network. */
  its?: string
  /** The address of the page without what was chosen on it. */
  here: string
  find: string | undefined
}) {
  const networks = useNetworks()
  const [{ network: chosen, ...others }, choose] = useChoices(here, find, { period: 'day', network: '' })
  const period = oneOf(names, others.period)
  const all = networks.data ?? []
  const isOfAll = relayer_id === undefined && pool_id === undefined
  const network = isOfAll && chosen !== '' ? { network: chosen } : {}
  const whose: Whose = {
    ...(relayer_id !== undefined && { relayer_id }),
    ...(pool_id !== undefined && { pool_id }),
    ...network,
  }
  const activity = useActivity(period, whose)
  const whole =
    relayer_id !== undefined ? relayerPath(relayer_id) : pool_id !== undefined ? poolPath(pool_id) : undefined
  return (
    <section aria-labelledby="activity">
      <div className="bar">
        <h2 id="activity">Activity</h2>
        <div className="buttons">
          {isOfAll && all.length > 1 && (
            <select aria-label="Network" value={chosen} onChange={(event) => choose({ network: event.target.value })}>
              <option value="">All networks</option>
              <Options of={all.map(({ name }) => name)} />
            </select>
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
        {({ points, seconds_per_point }) => (
          <Charts
            points={points}
            step_s={seconds_per_point}
            period={period}
            whose={whose}
            network={its ?? (chosen || (all.length === 1 ? all[0]?.name : undefined))}
            list={whole === undefined ? '/transactions' : `${whole}/list`}
          />
        )}
      </Loaded>
    </section>
  )
}

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
  const each = stepText(step_s)
  const mean = meanOf(points)
  /** The transactions that were accepted then; of those that failed, only these. */
  const open = (from_s: number, to_s: number, label?: string) => {
    const iso = (at_s: number) => new Date(at_s * 1_000).toISOString().slice(0, 16)
    go(`${list}/${label === 'failed' ? label : 'all'}/${encoded(`after:${iso(from_s)}Z before:${iso(to_s)}Z`)}`)
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
        <Chart title="Fees" unit={`${each}, in ${symbol}`} at={at} {...fees} open={open} />
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
    label: 'not mined',
    about: 'not mined: accepted, but unfinished, canceled, expired or mined later',
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
