import { Coins, Key } from 'lucide-react'
import type { ReactNode } from 'react'
import type { CallerSpending, RelayerClient, RelayerSpending } from '../../index.ts'
import { Fees, NetworkSelect, periods, stepText, weiPerCoin } from '../activity/activity.tsx'
import { Spark } from '../components/chart.tsx'
import { CsvOfOne, type File } from '../components/csv.tsx'
import { EmptyState, Loaded, SendOne, Skeleton } from '../components/feedback.tsx'
import { Options } from '../components/fields.tsx'
import { Segments } from '../components/filters.tsx'
import { Heading } from '../components/page.tsx'
import { type Column, relayerColumn, SearchedTable, Table } from '../components/table.tsx'
import { Paid } from '../components/values.tsx'
import { useAddressState } from '../data/address-state.ts'
import { coins, count } from '../data/format.ts'
import { readEveryPage } from '../data/get.ts'
import { type Find, paths } from '../data/paths.ts'
import {
  callerName,
  type SpendingFilter,
  useIsUnused,
  useNetworkNames,
  useSpending,
  useSpendingByKey,
  useSymbols,
} from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { Balance, useBalances } from '../relayers/funds.tsx'
import { costColumns, Repricing, useSums } from './costs.tsx'

const spans = { week: 7, month: 30, quarter: 90 } as const
const spanNames = ['week', 'month', 'quarter'] as const

/** What relayers spent on fees, and their balances. */
export function Spending({ find }: Find) {
  const { caller } = useSession()
  const all = useNetworkNames()
  const months = lastMonths()
  const [{ network, period, month, by }, choose] = useAddressState(paths.spending, find, {
    period: spanNames,
    month: ['', ...months],
    network: '',
    by: ['relayer', 'API key'],
  })
  const time = month === '' ? { days: spans[period] } : { calendar_month: month }
  const filter = { ...time, ...(network !== '' && { network }) }
  const spending = useSpending(filter)
  const isUnused = useIsUnused()
  const isUsed = spending.data?.length !== 0
  const spent = new Set(spending.data?.map((its) => its.network))
  const none =
    (period === 'quarter' && month === '') || isUnused ? (
      <SendOne />
    ) : (
      <button type="button" onClick={() => choose({ period: 'quarter', month: '' })}>
        Show 90 d
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
        {isUsed && <SpendingCsv period={period} time={time} filter={filter} networks={shown} />}
      </div>
      <div className="bar">
        <Segments
          label="Period"
          values={spanNames}
          texts={periods}
          value={month === '' ? period : undefined}
          choose={(one) => choose({ period: one, month: '' })}
        />
        <div className="buttons">
          <select aria-label="Calendar month" value={month} onChange={({ target }) => choose({ month: target.value })}>
            <option value="">Calendar month</option>
            <Options of={months.map((one) => [one, monthName(one)])} />
          </select>
          <NetworkSelect value={network} choose={(its) => choose({ network: its })} networks={all} />
        </div>
      </div>
      {network === '' && spending.isPending && <Skeleton as="charts" lines={1} />}
      <div className="charts">
        {shown.slice(0, maxCharts).map((name) => (
          <Fees key={name} period={period} whose={{ network: name, ...(month !== '' && { calendar_month: month }) }} />
        ))}
      </div>
      {shown.length > maxCharts && (
        <p className="hint">Showing the charts of the first {maxCharts} networks. Choose a network to see its chart.</p>
      )}
      <Repricing rows={spending.data ?? []} networks={shown} />
      {by === 'API key' ? (
        <SpendingByKey filter={filter} bar={choice} none={none} />
      ) : (
        <SpendingByRelayer filter={filter} bar={choice} none={none} />
      )}
    </>
  )
}

/** The present month and the two before it (UTC), of which the service has every day: `2026-11`. */
function lastMonths(): string[] {
  const now = new Date()
  return [0, 1, 2].map((ago) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - ago)).toISOString().slice(0, 7),
  )
}

const monthFormat = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })
const monthName = (month: string): string => monthFormat.format(Date.parse(`${month}-01`))

/** In words: `in the last 7 days`, `in October 2026 (UTC)`. */
const timeText = (its: SpendingFilter): string =>
  'days' in its ? `in the last ${its.days} days` : `in ${monthName(its.calendar_month)} (UTC)`

/** `bar`: what stands above the rows. `none`: what can be done where nothing was spent. */
interface PartProps {
  filter: SpendingFilter
  bar: ReactNode
  none: ReactNode
}

function SpendingByRelayer({ filter, bar, none }: PartProps) {
  const spending = useSpending(filter)
  const balances = useBalances(spending.data?.map(({ relayer_id }) => relayer_id) ?? [])
  const sums = useSums(spending.data ?? [], 'relayers', ({ relayer_id }) => relayer_id)
  return (
    <section aria-label="Relayers" aria-busy={spending.isPlaceholderData}>
      <Loaded query={spending} lines={6} as="rows">
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState icon={Coins} title={`No fees ${timeText(filter)}`} action={none}>
              What each relayer pays for its transactions is listed here, with its balance.
            </EmptyState>
          ) : (
            <SearchedTable
              of="relayers"
              rows={rows.map((row) => ({ ...row, balance: balances?.get(row.relayer_id) }))}
              columns={columnsOf(rows, balances !== undefined)}
              sums={sums}
              sorted="Mined"
              isDescending
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

const maxCharts = 6

type Row = RelayerSpending & { balance?: number | undefined }

/** `isKnown`: the balances of all are, so that rows can be sorted by them. */
const columnsOf = (rows: RelayerSpending[], isKnown: boolean): Column<Row>[] => [
  relayerColumn('Relayer', ({ relayer_id }) => relayer_id, { isWhole: true }),
  { ...costColumns.network, isAbsent: true },
  costColumns.mined,
  ...(rows.some(({ failed }) => failed > 0)
    ? [
        {
          ...costColumns.failed,
          cell: ({ failed }: Row) => <Failed count={failed} />,
          sum: (all: Row[]) => <Failed count={all.reduce((sum, { failed }) => sum + failed, 0)} />,
        },
      ]
    : []),
  { ...costColumns.fees, isBeside: true },
  {
    name: 'Per transaction',
    isSpare: true,
    isNumber: true,
    by: ({ network, fees, mined }) => [network, mined === 0 ? 0 : Number(fees) / mined],
    cell: ({ fees, mined, network }) =>
      mined === 0 ? '–' : <Paid wei={(BigInt(fees) / BigInt(mined)).toString()} network={network} />,
  },
  ...(rows.some(({ repriced }) => repriced > 0) ? [{ ...costColumns.repricing, isSpare: true }] : []),
  ...(rows.some(({ fees_today }) => fees_today !== '0') ? [{ ...costColumns.today, isAbsent: true }] : []),
  {
    name: 'Balance',
    isNumber: true,
    ...(isKnown && { by: ({ network, balance = -1 }: Row) => [network, balance] as const }),
    cell: ({ relayer_id, network }) => <Balance of={relayer_id} network={network} />,
  },
]

const Failed = ({ count: number }: { count: number }) =>
  number > 0 ? <span className="low">{count(number)}</span> : '0'

const dayS = 86_400

/** What the transactions of each API key cost, in all and by day. */
function SpendingByKey({ filter, bar, none }: PartProps) {
  const spending = useSpendingByKey(filter)
  const sums = useSums(spending.data ?? [], 'keys', ({ caller }) => caller)
  return (
    <section aria-label="API keys" aria-busy={spending.isPlaceholderData}>
      <div className="bar">{bar}</div>
      <Loaded query={spending} lines={6} as="rows">
        {(rows) => (
          <Table
            of="API keys"
            rows={rows}
            columns={columns}
            sums={sums}
            sorted="Mined"
            isDescending
            isShort
            idOf={(its) => `${its.caller} ${its.network}`}
            none={
              <EmptyState icon={Key} title={`No fees ${timeText(filter)}`} action={none}>
                What the transactions of each API key cost is listed here.
              </EmptyState>
            }
          />
        )}
      </Loaded>
    </section>
  )
}

const nameOf = ({ caller, caller_name }: CallerSpending) => caller_name ?? callerName(caller)

const columns: Column<CallerSpending>[] = [
  { name: 'API key', by: nameOf, cell: (its) => <span title={its.caller}>{nameOf(its)}</span> },
  { ...costColumns.network, isAbsent: true },
  { name: 'By day', isAbsent: true, cell: (its) => <ByDay spending={its} /> },
  costColumns.mined,
  { ...costColumns.fees, isBeside: true },
  { ...costColumns.repricing, isAbsent: true },
  costColumns.today,
]

function ByDay({ spending: { network, fees_by_day } }: { spending: CallerSpending }) {
  const symbol = useSymbols()(network)
  const values = fees_by_day.map((fees) => Number(fees) / weiPerCoin)
  return <Spark values={values} each={stepText(dayS)} show={(value) => coins(value, symbol)} />
}

const dayMs = 86_400_000
const header = [
  ...['relayer_id', 'network', 'accepted', 'mined', 'failed', 'fees', 'fees_today', 'repriced', 'repricing_fees'],
]
const dayHeader = ['network', 'day', 'accepted', 'mined', 'failed', 'fees']
const keyHeader = ['day', 'caller', 'name', 'network', 'fees']

type Period = 'week' | 'month' | 'quarter'

interface SpendingCsvProps {
  period: Period
  time: SpendingFilter
  filter: SpendingFilter
  networks: string[]
}

/** What was spent, as a file by relayer, by day or by API key. */
function SpendingCsv({ period, time, filter, networks }: SpendingCsvProps) {
  const { client, caller } = useSession()
  const symbolOf = useSymbols()
  const span = timeText(filter)
  const files: Record<string, File> = {
    'by relayer': {
      name: 'spending',
      what: `what each relayer spent ${span}`,
      header,
      pages: () => rowsOfRelayers(client, filter),
    },
    'by network and day': {
      name: 'fees',
      what: `the fees of each day (UTC) ${span}, by network`,
      header: dayHeader,
      pages: () => rowsOfDays(client, { period, ...('calendar_month' in time && time) }, networks),
    },
    ...(caller.relayer_ids === null && {
      'by API key and day': {
        name: 'fees-by-key',
        what: `the fees of each API key and day (UTC) ${span}, by network`,
        header: keyHeader,
        pages: () => rowsOfKeys(client, filter),
      },
    }),
  }
  return (
    <CsvOfOne
      files={Object.fromEntries(Object.entries(files).map(([name, file]) => [name, withUnits(file, symbolOf)]))}
    />
  )
}

/** The same file with the currency of each row's network. */
function withUnits(file: File, symbolOf: (network: string) => string): File {
  const place = file.header.indexOf('network')
  const unit = [...file.header, 'symbol', 'decimals']
  return {
    ...file,
    header: unit,
    async *pages() {
      for await (const rows of file.pages())
        yield rows.map((row) => [...row, symbolOf(String(row[place])), coinDecimals])
    },
  }
}

/** Of the currency of every EVM chain. */
const coinDecimals = 18

async function* rowsOfRelayers(client: RelayerClient, filter: SpendingFilter): AsyncIterable<unknown[][]> {
  const rows = await readEveryPage(client, '/api/v1/spending', { query: filter })
  yield rows.map((its) => header.map((name) => its[name as keyof RelayerSpending]))
}

async function* rowsOfDays(
  client: RelayerClient,
  time: { period: Period; calendar_month?: string },
  networks: string[],
): AsyncIterable<unknown[][]> {
  for (const network of networks) {
    const { data } = await client.get('/api/v1/activity', { query: { ...time, network } })
    yield data.points.map(({ at, ...of }) => [network, at.slice(0, 10), of.accepted, of.mined, of.failed, of.fees])
  }
}

/** A row for each day on which the key paid something. */
async function* rowsOfKeys(client: RelayerClient, filter: SpendingFilter): AsyncIterable<unknown[][]> {
  const today = Math.floor(Date.now() / dayMs) * dayMs
  const first = 'days' in filter ? today - (filter.days - 1) * dayMs : Date.parse(`${filter.calendar_month}-01`)
  for (const its of await readEveryPage(client, '/api/v1/spending/callers', { query: filter })) yield daysOf(its, first)
}

const daysOf = ({ caller, caller_name, network, fees_by_day }: CallerSpending, firstMs: number): unknown[][] =>
  fees_by_day.flatMap((fees, index) => {
    const day = new Date(firstMs + index * dayMs).toISOString().slice(0, 10)
    return fees === '0' ? [] : [[day, caller, caller_name, network, fees]]
  })
