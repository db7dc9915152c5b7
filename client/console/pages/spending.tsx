import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Spending as Its, RelayerClient } from '../../index.ts'
import { amount, count, ether, span } from '../data/format.ts'
import { useNetworks, useStatuses, useSymbols } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Fees } from '../parts/activity.tsx'
import { Csv } from '../parts/csv.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { RelayerLink } from '../parts/links.tsx'
import { Pages } from '../parts/pages.tsx'

const per_page = 25
const poll_ms = 30_000
const year_s = 365 * 86_400
const spans = { week: 7, month: 30, quarter: 90 } as const
const header = ['relayer_id', 'network', 'accepted', 'mined', 'failed', 'fees', 'fees_today']

/** What relayers spent on fees, and for how long their balances last. */
export function Spending() {
  const { client } = useSession()
  const networks = useNetworks()
  const [period, setPeriod] = useState<keyof typeof spans>('week')
  const [network, setNetwork] = useState('')
  const [page, setPage] = useState(1)
  const days = spans[period]
  const filter = { days, ...(network !== '' && { network }) }
  const spending = useQuery({
    queryKey: ['spending', filter, page],
    queryFn: ({ signal }) => client.get('/api/v1/spending', { query: { ...filter, page, per_page }, signal }),
    refetchInterval: poll_ms,
    placeholderData: (before) => before,
  })
  const isOne = network !== '' || (networks.data?.length ?? 0) < 2
  return (
    <>
      <Heading name="Spending" />
      <div className="bar">
        <fieldset className="choice">
          <legend className="hidden">Period</legend>
          {(Object.keys(spans) as (keyof typeof spans)[]).map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={period === one}
              onClick={() => {
                setPeriod(one)
                setPage(1)
              }}
            >
              {spans[one]} days
            </button>
          ))}
        </fieldset>
        <label className="inline">
          Network
          <select
            value={network}
            onChange={(event) => {
              setNetwork(event.target.value)
              setPage(1)
            }}
          >
            <option value="">all</option>
            {networks.data?.map(({ id, name }) => (
              <option key={id} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <Csv
          name="spending"
          what={`what each relayer spent in ${days} days`}
          header={header}
          pages={() => allSpending(client, filter)}
        />
      </div>
      {isOne ? (
        <Fees period={period} network={network} />
      ) : (
        <p className="hint">Choose a network for a chart: fees of several networks have no sum.</p>
      )}
      <Loaded query={spending} lines={6}>
        {({ data, pagination: { total_items } }) =>
          total_items === 0 ? (
            <p>No relayer has done anything in these {days} days.</p>
          ) : (
            <>
              <List rows={data} days={days} />
              <Pages
                of="relayers"
                page={page}
                last={Math.ceil(total_items / per_page)}
                total={total_items}
                go={setPage}
              />
            </>
          )
        }
      </Loaded>
    </>
  )
}

function List({ rows, days }: { rows: Its[]; days: number }) {
  const statuses = useStatuses(rows.map(({ relayer_id }) => relayer_id))
  const symbolOf = useSymbols()
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th>Relayer</th>
            <th>Network</th>
            <th className="number">Transactions</th>
            <th className="number">Failed</th>
            <th className="number">Fees</th>
            <th className="number">Today (UTC)</th>
            <th className="number">Balance</th>
            <th className="number">Lasts</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ relayer_id, network, mined, failed, fees, fees_today }) => {
            const balance = statuses.get(relayer_id)?.balance
            return (
              <tr key={relayer_id}>
                <td>
                  <RelayerLink id={relayer_id} />
                </td>
                <td>{network}</td>
                <td className="number">{count(mined)}</td>
                <td className="number">{count(failed)}</td>
                <td className="number">{amount(fees, symbolOf(network))}</td>
                <td className="number">{ether(fees_today)}</td>
                <td className="number">{balance === undefined ? '…' : amount(balance, symbolOf(network))}</td>
                <td className="number" title={`At the mean of ${days} days; values that it sends are not counted`}>
                  {balance == null ? '…' : lasts(BigInt(balance), BigInt(fees), days)}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function lasts(balance: bigint, fees: bigint, days: number): string {
  if (fees === 0n) return '–'
  const seconds = Number((balance * BigInt(days * 86_400)) / fees)
  return seconds > year_s ? 'over a year' : span(seconds * 1_000)
}

async function* allSpending(
  client: RelayerClient,
  filter: { days: number; network?: string },
): AsyncIterable<unknown[][]> {
  for (let page = 1; ; page += 1) {
    const query = { ...filter, page, per_page: 1_000 }
    const { data, pagination } = await client.get('/api/v1/spending', { query })
    yield data.map((its) => header.map((name) => its[name as keyof Its]))
    if (page * 1_000 >= pagination.total_items) return
  }
}
