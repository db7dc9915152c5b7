import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useNetworks } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Chart } from './chart.tsx'
import { Loaded } from './feedback.tsx'

const poll_ms = 10_000
const wei_per_ether = 1e18

/** Charts of the last hour or day, for all relayers, for those of one network, or for one relayer. */
export function ActivityCharts({ relayer_id, pool_id }: { relayer_id?: string; pool_id?: string }) {
  const { client } = useSession()
  const networks = useNetworks()
  const [period, setPeriod] = useState<'hour' | 'day'>('hour')
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
          {(['hour', 'day'] as const).map((one) => (
            <button key={one} type="button" aria-pressed={period === one} onClick={() => setPeriod(one)}>
              {one === 'hour' ? 'Last hour' : 'Last day'}
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
    const perMinute = (name: 'accepted' | 'mined' | 'failed') => points.map((point) => point[name] / minutes)
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
      fees: points.every((point) => point.fees !== null)
        ? [{ label: 'paid', color: '--blue', values: points.map((point) => Number(point.fees) / wei_per_ether) }]
        : undefined,
    }
  }, [points, minutes])
  const each = minutes === 1 ? 'per minute' : `per ${minutes} minutes`
  return (
    <div className="charts">
      <Chart title="Transactions" unit="per minute" at={at} lines={counts} />
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
