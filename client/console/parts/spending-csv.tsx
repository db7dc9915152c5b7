import type { CallerSpending, RelayerClient, Spending } from '../../index.ts'
import { useSession } from '../data/session.tsx'
import { allSpending, allSpendingByKey, type Filter } from '../data/spending.ts'
import { CsvOfOne, type File } from './csv.tsx'

const day_ms = 86_400_000
const header = [
  ...['relayer_id', 'network', 'accepted', 'mined', 'failed', 'fees', 'fees_today', 'repriced', 'repricing_fees'],
]
const day_header = ['network', 'day', 'accepted', 'mined', 'failed', 'fees']
const key_header = ['day', 'caller', 'name', 'network', 'fees']

type Period = 'week' | 'month' | 'quarter'

/** What was spent, as a file by relayer, by day or by API key. */
export function SpendingCsv({ period, filter, networks }: { period: Period; filter: Filter; networks: string[] }) {
  const { client, caller } = useSession()
  const { days } = filter
  const files: Record<string, File> = {
    'by relayer': {
      name: 'spending',
      what: `what each relayer spent in ${days} days`,
      header,
      pages: () => rowsOfRelayers(client, filter),
    },
    'by network and day': {
      name: 'fees',
      what: `the fees of each day (UTC) in ${days} days, by network`,
      header: day_header,
      pages: () => rowsOfDays(client, period, networks),
    },
    ...(caller.relayer_ids === null && {
      'by API key and day': {
        name: 'fees-by-key',
        what: `the fees of each API key and day (UTC) in ${days} days, by network`,
        header: key_header,
        pages: () => rowsOfKeys(client, filter),
      },
    }),
  }
  return <CsvOfOne files={files} />
}

async function* rowsOfRelayers(client: RelayerClient, filter: Filter): AsyncIterable<unknown[][]> {
  const rows = await allSpending(client, filter)
  yield rows.map((its) => header.map((name) => its[name as keyof Spending]))
}

async function* rowsOfDays(client: RelayerClient, period: Period, networks: string[]): AsyncIterable<unknown[][]> {
  for (const network of networks) {
    const { data } = await client.get('/api/v1/activity', { query: { period, network } })
    yield data.points.map(({ at, accepted, mined, failed, fees }) => [
      network,
      at.slice(0, 10),
      accepted,
      mined,
      failed,
      fees,
    ])
  }
}

/** A row for each day on which the key paid something. */
async function* rowsOfKeys(client: RelayerClient, filter: Filter): AsyncIterable<unknown[][]> {
  const today = Math.floor(Date.now() / day_ms) * day_ms
  for (const its of await allSpendingByKey(client, filter)) yield daysOf(its, today)
}

const daysOf = ({ caller, name, network, fees_by_day }: CallerSpending, today: number): unknown[][] =>
  fees_by_day.flatMap((fees, index) => {
    const day = new Date(today - (fees_by_day.length - 1 - index) * day_ms).toISOString().slice(0, 10)
    return fees === '0' ? [] : [[day, caller, name, network, fees]]
  })
