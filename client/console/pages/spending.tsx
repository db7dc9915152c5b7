import type { UseQueryResult } from '@tanstack/react-query'
import { Coins } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Spending as Its } from '../../index.ts'
import { oneOf, useChoices } from '../data/choices.ts'
import { count } from '../data/format.ts'
import { type Funds, useFunds } from '../data/funds.ts'
import { useNetworks } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { type Filter, useSpending } from '../data/spending.ts'
import { Balance } from '../parts/balance.tsx'
import { cost_columns, Paid, Repricing } from '../parts/costs.tsx'
import { Loaded, Skeleton } from '../parts/feedback.tsx'
import { Fees } from '../parts/fees.tsx'
import { useIsUnused } from '../parts/first-steps.tsx'
import { FoundTable } from '../parts/found-table.tsx'
import { Heading } from '../parts/heading.tsx'
import { RelayerLink } from '../parts/links.tsx'
import { Nothing, SendOne } from '../parts/nothing.tsx'
import { Options } from '../parts/options.tsx'
import { Runway } from '../parts/runway.tsx'
import { Segments } from '../parts/segments.tsx'
import { SpendingByKey } from '../parts/spending-by-key.tsx'
import { SpendingCsv } from '../parts/spending-csv.tsx'
import type { Column } from '../parts/table.tsx'

const spans = { week: 7, month: 30, quarter: 90 } as const

/** What relayers spent on fees, and for how long their balances last. */
export function Spending({ find }: { find?: string | undefined }) {
  const { caller } = useSession()
  const networks = useNetworks()
  const [{ network, ...chosen }, choose] = useChoices('/spending', find, { period: 'week', network: '', by: 'relayer' })
  const period = oneOf(Object.keys(spans) as (keyof typeof spans)[], chosen.period)
  const by = oneOf(['relayer', 'API key'], chosen.by)
  const days = spans[period]
  const filter = { days, ...(network !== '' && { network }) }
  const spending = useSpending(filter)
  const isUnused = useIsUnused()
  const isUsed = spending.data?.length !== 0
  const all = networks.data?.map(({ name }) => name) ?? []
  const spent = new Set(spending.data?.map((its) => its.network))
  const none =
    period === 'quarter' || isUnused ? (
      <SendOne />
    ) : (
      <button type="button" onClick={() => choose({ period: 'quarter' })}>
        Show 90 days
      </button>
    )
  const shown = network === '' ? all.filter((name) => spent.has(name)) : [network]
  const choice = caller.relayer_ids === null && isUsed && (
    <Segments
      label="By"
      values={['relayer', 'API key']}
      texts={{ relayer: 'By relayer', 'API key': 'By API key' }}
      value={by}
      choose={(one) => choose({ by: one })}
    />
  )
  return (
    <>
      <div className="bar">
        <Heading name="Spending" />
        <div className="buttons">
          <Segments
            label="Period"
            values={Object.keys(spans) as (keyof typeof spans)[]}
            texts={{ week: '7 days', month: '30 days', quarter: '90 days' }}
            value={period}
            choose={(one) => choose({ period: one })}
          />
          <select aria-label="Network" value={network} onChange={(event) => choose({ network: event.target.value })}>
            <option value="">All networks</option>
            <Options of={all} />
          </select>
          {isUsed && <SpendingCsv period={period} filter={filter} networks={shown} />}
        </div>
      </div>
      {network === '' && spending.isPending && <Skeleton as="charts" lines={1} />}
      <div className="charts">
        {shown.slice(0, max_charts).map((name) => (
          <Fees key={name} period={period} network={name} />
        ))}
      </div>
      {shown.length > max_charts && (
        <p className="hint">The charts of the first {max_charts} networks are shown. Choose a network for its chart.</p>
      )}
      <Repricing rows={spending.data ?? []} networks={shown} />
      {by === 'API key' ? (
        <SpendingByKey days={days} network={network} bar={choice} none={none} />
      ) : (
        <SpendingByRelayer spending={spending} filter={filter} bar={choice} none={none} />
      )}
    </>
  )
}

/** `bar`: what stands before the filter. `none`: what can be done where nothing was spent. */
function SpendingByRelayer({
  spending,
  filter,
  bar,
  none,
}: {
  spending: UseQueryResult<Its[]>
  filter: Filter
  bar: ReactNode
  none: ReactNode
}) {
  const { days } = filter
  const funds = useFunds(spending.data?.map(({ relayer_id }) => relayer_id) ?? [], spending.data, days)
  return (
    <section aria-label="Relayers" aria-busy={spending.isPlaceholderData}>
      <Loaded query={spending} lines={6} as="rows">
        {(rows) =>
          rows.length === 0 ? (
            <Nothing icon={Coins} title={`No fees in these ${days} days`} action={none}>
              What each relayer pays for its transactions is listed here, with its balance and for how long that lasts.
            </Nothing>
          ) : (
            <FoundTable
              of="relayers"
              rows={rows.map((row) => ({ ...row, ...funds?.get(row.relayer_id) }))}
              columns={columnsOf(days, rows, funds !== undefined)}
              isShort
              idOf={({ relayer_id }) => relayer_id}
              kinds="relayer or network"
              textsOf={({ relayer_id, network }) => [relayer_id, network]}
              before={bar}
            />
          )
        }
      </Loaded>
    </section>
  )
}

const max_charts = 6

type Row = Its & Partial<Funds>

/** `isKnown`: the funds of all are, so that rows can be sorted by them. */
const columnsOf = (days: number, rows: Its[], isKnown: boolean): Column<Row>[] => [
  {
    name: 'Relayer',
    isWhole: true,
    by: ({ relayer_id }) => relayer_id,
    cell: ({ relayer_id }) => <RelayerLink id={relayer_id} />,
  },
  { ...cost_columns.network, isAbsent: true },
  {
    ...cost_columns.mined,
    cell: ({ mined, failed }) => (
      <>
        {failed > 0 && <span className="low">{count(failed)} failed of </span>}
        {count(mined)}
      </>
    ),
  },
  { ...cost_columns.fees, isBeside: true },
  {
    name: 'Per transaction',
    isSpare: true,
    isNumber: true,
    by: ({ network, fees, mined }) => [network, mined === 0 ? 0 : Number(fees) / mined],
    cell: ({ fees, mined, network }) =>
      mined === 0 ? '–' : <Paid wei={(BigInt(fees) / BigInt(mined)).toString()} network={network} />,
  },
  ...(rows.some(({ repriced }) => repriced > 0) ? [{ ...cost_columns.repricing, isSpare: true }] : []),
  { ...cost_columns.today, isAbsent: true },
  {
    name: 'Balance',
    isNumber: true,
    ...(isKnown && { by: ({ network, balance = -1 }: Row) => [network, balance] as const }),
    cell: ({ relayer_id, network }) => <Balance relayer_id={relayer_id} network={network} />,
  },
  {
    name: 'Lasts',
    isNumber: true,
    isAbsent: true,
    ...(isKnown && { by: ({ lasts_ms = -1 }: Row) => lasts_ms }),
    cell: ({ relayer_id, fees, fees_today }) => (
      <Runway relayer_id={relayer_id} fees={BigInt(fees)} fees_today={BigInt(fees_today)} days={days} />
    ),
  },
]
