import { useQuery } from '@tanstack/react-query'
import { Key } from 'lucide-react'
import type { ReactNode } from 'react'
import type { CallerSpending } from '../../index.ts'
import { stepText } from '../data/activity.ts'
import { coins } from '../data/format.ts'
import { callerName } from '../data/names.ts'
import { useSymbols } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { allSpendingByKey } from '../data/spending.ts'
import { cost_columns } from './costs.tsx'
import { Loaded } from './feedback.tsx'
import { wei_per_coin } from './fees.tsx'
import { Nothing } from './nothing.tsx'
import { Spark } from './spark.tsx'
import { type Column, Table } from './table.tsx'

const poll_ms = 30_000
const day_s = 86_400

/** What the transactions of each API key cost, in all and by day. */
export function SpendingByKey({
  days,
  network,
  bar,
  none,
}: {
  days: number
  network: string
  bar: ReactNode
  /** What can be done where nothing was spent. */
  none: ReactNode
}) {
  const { client } = useSession()
  const filter = { days, ...(network !== '' && { network }) }
  const spending = useQuery({
    queryKey: ['spending by key', filter],
    queryFn: ({ signal }) => allSpendingByKey(client, filter, signal),
    refetchInterval: poll_ms,
    placeholderData: (before) => before,
  })
  return (
    <section aria-label="API keys" aria-busy={spending.isPlaceholderData}>
      <div className="bar">{bar}</div>
      <Loaded query={spending} lines={6} as="rows">
        {(rows) =>
          rows.length === 0 ? (
            <Nothing icon={Key} title={`No fees in these ${days} days`} action={none}>
              What the transactions of each API key cost is listed here.
            </Nothing>
          ) : (
            <Table
              of="API keys"
              rows={rows}
              columns={columns}
              isShort
              idOf={({ caller, network: its }) => `${caller} ${its}`}
            />
          )
        }
      </Loaded>
    </section>
  )
}

const nameOf = ({ caller, name }: CallerSpending) => name ?? callerName(caller)

const columns: Column<CallerSpending>[] = [
  { name: 'API key', by: nameOf, cell: (its) => <span title={its.caller}>{nameOf(its)}</span> },
  { ...cost_columns.network, isAbsent: true },
  { name: 'By day', isAbsent: true, cell: (its) => <ByDay its={its} /> },
  cost_columns.mined,
  { ...cost_columns.fees, isBeside: true },
  { ...cost_columns.repricing, isAbsent: true },
  cost_columns.today,
]

function ByDay({ its: { network, fees_by_day } }: { its: CallerSpending }) {
  const symbol = useSymbols()(network)
  const values = fees_by_day.map((fees) => Number(fees) / wei_per_coin)
  return <Spark values={values} each={stepText(day_s)} show={(value) => coins(value, symbol)} />
}
