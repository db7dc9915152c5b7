import { useQuery } from '@tanstack/react-query'
import { Key } from 'lucide-react'
import type { ReactNode } from 'react'
import type { CallerSpending } from '../../index.ts'
import { everyPage } from '../data/every-page.ts'
import { callerName } from '../data/names.ts'
import { useSession } from '../data/session.tsx'
import { cost_columns } from './costs.tsx'
import { Csv } from './csv.tsx'
import { Loaded } from './feedback.tsx'
import { Nothing } from './nothing.tsx'
import { Spark } from './spark.tsx'
import { type Column, Table } from './table.tsx'

const poll_ms = 30_000
const day_ms = 86_400_000
const header = ['day', 'caller', 'name', 'network', 'fees']

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
    queryFn: ({ signal }) =>
      everyPage((page) =>
        client.get('/api/v1/spending/callers', { query: { ...filter, page, per_page: 1_000 }, signal }),
      ),
    refetchInterval: poll_ms,
    placeholderData: (before) => before,
  })
  return (
    <section aria-label="API keys" aria-busy={spending.isPlaceholderData}>
      <div className="bar">
        {bar}
        {spending.data && spending.data.length > 0 && <Download days={days} rows={spending.data} />}
      </div>
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

const Download = ({ days, rows }: { days: number; rows: CallerSpending[] }) => (
  <Csv
    label="Download CSV by key and day"
    name="fees-by-key"
    what={`the fees of each API key and day (UTC) in ${days} days, by network`}
    header={header}
    pages={() => rowsByDay(rows)}
  />
)

const nameOf = ({ caller, name }: CallerSpending) => name ?? callerName(caller)

const columns: Column<CallerSpending>[] = [
  { name: 'API key', by: nameOf, cell: (its) => <span title={its.caller}>{nameOf(its)}</span> },
  { ...cost_columns.network, isAbsent: true },
  { name: 'By day', isAbsent: true, cell: ({ fees_by_day }) => <Spark values={fees_by_day.map(Number)} /> },
  cost_columns.mined,
  { ...cost_columns.fees, isBeside: true },
  { ...cost_columns.repricing, isAbsent: true },
  cost_columns.today,
]

/** A row for each day on which the key paid something. */
async function* rowsByDay(rows: CallerSpending[]): AsyncIterable<unknown[][]> {
  const today = Math.floor(Date.now() / day_ms) * day_ms
  for (const { caller, name, network, fees_by_day } of rows)
    yield fees_by_day.flatMap((fees, index) => {
      const day = new Date(today - (fees_by_day.length - 1 - index) * day_ms).toISOString().slice(0, 10)
      return fees === '0' ? [] : [[day, caller, name, network, fees]]
    })
}
