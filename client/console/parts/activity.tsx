import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useNetworks } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Chart } from './chart.tsx'
import { Loaded } from './feedback.tsx'

const poll_ms = 10_000
const wei_per_ether = 1e18
const day_minutes = 1_440
const periods = { hour: '1 hour', day: '24 hours', week: '7 days', month: '30 days', quarter: '90 days' } as const

/** Charts of the last hour to 90 days, for all relayers, for those of one network or pool, or for one relayer. */
export function ActivityCharts({ relayer_id, pool_id }: { relayer_id?: string; pool_id?: string }) {
  const { client } = useSession()
  const networks = useNetworks()
  const [period, setPeriod] = useState<keyof typeof periods>('hour')
  const [network, setNetwork] = useState('')
  const query = {
    period,
    ...(relayer_id !== undefined && { relayer_id }),
    ...(pool_id !== undefined && { pool_id }),
    ...(network !== '' && { network }),
  }
  const activity = useQuery({
    queryKey: ['activity', query],
    queryFn: async ({ signal }) => (await client.get('/api/v1/activity', { query, signal })).data,
    refetchInterval: poll_ms,
    placeholderData: (before) => before,
  })
  return (
    <section aria-labelledby="activity">
      <div className="bar">
        <h2 id="activity">Activity</h2>
        <fieldset className="choice">
          <legend className="hidden">Period</legend>
          {(Object.keys(periods) as (keyof typeof periods)[]).map((one) => (
            <button key={one} type="button" aria-pressed={period === one} onClick={() => setPeriod(one)}>
              {periods[one]}
            </button>
          ))}
        </fieldset>
        {relayer_id === undefined && pool_id === undefined && (networks.data?.length ?? 0) > 1 && (
          <label className="inline">
            Network
            <select value={network} onChange={(event) => setNetwork(event.target.value)}>
              <option value="">all</option>
              {networks.data?.map(({ id, name }) => (
                <option key={id} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Loaded query={activity} lines={4}>
        {({ points, seconds_per_point }) => <Charts points={points} minutes={seconds_per_point / 60} />}
      </Loaded>
    </section>
  )
}

/** The chart of the fees that the relayers of one network paid by day. */
export function Fees({ period, network }: { period: keyof typeof periods; network: string }) {
  const { client } = useSession()
  const query = { period, ...(network !== '' && { network }) }
  const activity = useQuery({
    queryKey: ['activity', query],
    queryFn: async ({ signal }) => (await client.get('/api/v1/activity', { query, signal })).data,
    refetchInterval: poll_ms * 3,
    placeholderData: (before) => before,
  })
  return (
    <Loaded query={activity} lines={4}>
      {({ points }) => <Chart title="Fees" unit="per day, in the network's currency" {...feesOf(points)} />}
    </Loaded>
  )
}

const feesOf = (points: Point[]) => ({
  at: points.map((point) => Date.parse(point.at) / 1_000),
  lines: [{ label: 'paid', color: '--blue', values: points.map(({ fees }) => Number(fees ?? 0) / wei_per_ether) }],
})

interface Point {
  at: string
  accepted: number
  mined: number
  failed: number
  mean_inclusion_ms: number | null
  max_inclusion_ms: number | null
  fees: string | null
}

function Charts({ points, minutes }: { points: Point[]; minutes: number }) {
  const { at, counts, times, fees } = useMemo(() => {
    const perMinute = (name: 'accepted' | 'mined' | 'failed') =>
      points.map((point) => point[name] / (minutes < day_minutes ? minutes : 1))
    const seconds = (name: 'mean_inclusion_ms' | 'max_inclusion_ms') =>
      points.map((point) => (point[name] === null ? null : point[name] / 1_000))
    return {
      at: points.map((point) => Date.parse(point.at) / 1_000),
      counts: [
        { label: 'accepted', color: '--blue', values: perMinute('accepted') },
        { label: 'mined', color: '--green', values: perMinute('mined') },
        { label: 'failed', color: '--red', values: perMinute('failed') },
      ],
      times: [
        { label: 'mean', color: '--blue', values: seconds('mean_inclusion_ms') },
        { label: 'longest', color: '--orange', values: seconds('max_inclusion_ms') },
      ],
      fees: points.every((point) => point.fees !== null) ? feesOf(points).lines : undefined,
    }
  }, [points, minutes])
  const each = minutes === 1 ? 'per minute' : minutes < day_minutes ? `per ${minutes} minutes` : 'per day'
  return (
    <div className="charts">
      <Chart title="Transactions" unit={minutes < day_minutes ? 'per minute' : 'per day'} at={at} lines={counts} />
      <Chart title="Time to inclusion" unit="seconds" at={at} lines={times} />
      {fees ? (
        <Chart title="Fees" unit={`${each}, in the network's currency`} at={at} lines={fees} />
      ) : (
        <figure className="chart">
          <figcaption>
            <strong>Fees</strong>
          </figcaption>
          <p className="hint">Choose a network: fees of several networks have no sum.</p>
        </figure>
      )}
    </div>
  )
}
