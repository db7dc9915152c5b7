import { Wallet } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useMemo } from 'react'
import { Link } from 'wouter'
import type { Queue } from '../../index.ts'
import { oneOf, useChoices } from '../data/choices.ts'
import { count, words } from '../data/format.ts'
import { useFunds } from '../data/funds.ts'
import { relayerState } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { useSpending } from '../data/spending.ts'
import { Badge } from './badge.tsx'
import { Balance } from './balance.tsx'
import { useChoice } from './choice.tsx'
import type { Row } from './chosen-relayers.tsx'
import { Paid } from './costs.tsx'
import { CreateRelayer } from './create-relayer.tsx'
import { Filters, SearchField } from './filters.tsx'
import { RelayerLink, transactionPath } from './links.tsx'
import { ClearFilters, Nothing } from './nothing.tsx'
import { useStuck } from './relayer-troubles.tsx'
import { LastsOf } from './runway.tsx'
import { Segments } from './segments.tsx'
import { type Column, Table } from './table.tsx'
import { TransactionState } from './transaction-state.tsx'

const Chosen = lazy(async () => ({ default: (await import('./chosen-relayers.tsx')).ChosenRelayers }))

const statuses = ['all', 'active', 'paused', 'disabled', 'unfinished'] as const

/** `here`: the address of the page without what was chosen on it. */
export function RelayerTable({
  rows,
  find,
  here,
  heading,
}: {
  rows: Row[]
  find: string | undefined
  here: string
  heading: ReactNode
}) {
  const { may } = useSession()
  const [{ text, ...chosen }, choose] = useChoices(here, find, { status: 'all', text: '' })
  const status = oneOf(statuses, chosen.status)
  const choice = useChoice(({ relayer }: Row) => relayer.id, `${status} ${text}`)
  const spending = useSpending({ days: fee_days }).data
  const funds = useFunds(
    rows.map(({ relayer }) => relayer.id),
    spending,
    fee_days,
  )
  const shown = useMemo(() => {
    const feesOf = new Map(spending?.map(({ relayer_id, fees }) => [relayer_id, fees]))
    const wanted = text.trim().toLowerCase()
    const found = rows.filter(
      ({ relayer, queue }) =>
        (status === 'all' ||
          (status === 'unfinished' ? (queue?.unfinished ?? 0) > 0 : relayerState(relayer) === status)) &&
        [relayer.id, relayer.name, relayer.network, relayer.address].some((its) => its.toLowerCase().includes(wanted)),
    )
    return found.map((row) => ({ ...row, ...funds?.get(row.relayer.id), fees: feesOf.get(row.relayer.id) }))
  }, [rows, text, status, spending, funds])
  return (
    <>
      <div className="bar">
        {heading}
        <CreateRelayer />
      </div>
      <Filters>
        <Segments label="Status" values={statuses} value={status} choose={(one) => choose({ status: one })} />
        <SearchField kinds="ID, name, network or address" value={text} change={(its) => choose({ text: its })} />
      </Filters>
      {choice.items.length > 0 && (
        <Suspense>
          <Chosen choice={choice} />
        </Suspense>
      )}
      {shown.length === 0 ? (
        <Nothing
          icon={Wallet}
          title={noneText(status, text.trim())}
          action={<ClearFilters clear={() => choose({ status: 'all', text: '' })} />}
        >
          {text.trim() === '' ? 'Choose another status, or show all.' : 'ID, name, network and address are searched.'}
        </Nothing>
      ) : (
        <Table
          of="relayers"
          sorted="Relayer"
          rows={shown}
          columns={columnsOf(funds !== undefined)}
          idOf={({ relayer }) => relayer.id}
          {...(may('manage') && { choice })}
        />
      )}
    </>
  )
}

const noneText = (status: string, text: string) =>
  `No ${status === 'all' ? '' : `${status} `}relayer${text === '' ? '' : ` has “${text}”`}`

/** As many as "Lasts" is reckoned from, so that both are one request. */
const fee_days = 7

/** `isKnown`: the funds of all are, so that rows can be sorted by them. */
const columnsOf = (isKnown: boolean): Column<Row>[] => [
  {
    name: 'Relayer',
    isWhole: true,
    by: ({ relayer }) => relayer.id,
    cell: ({ relayer }) => <RelayerLink id={relayer.id} />,
  },
  {
    name: 'Status',
    isBeside: true,
    by: ({ relayer }) => relayerState(relayer),
    cell: ({ relayer }) => (
      <span title={relayer.disabled_reason ?? undefined}>
        <Badge state={relayerState(relayer)} />
      </span>
    ),
  },
  { name: 'Network', isAbsent: true, by: ({ relayer }) => relayer.network, cell: ({ relayer }) => relayer.network },
  {
    name: 'Balance',
    isNumber: true,
    ...(isKnown && { by: ({ relayer, balance = -1 }: Row) => [relayer.network, balance] as const }),
    cell: ({ relayer }) => <Balance relayer_id={relayer.id} network={relayer.network} />,
  },
  {
    name: 'Lasts',
    isNumber: true,
    ...(isKnown && { by: ({ lasts_ms = -1 }: Row) => lasts_ms }),
    cell: ({ relayer }) => <LastsOf relayer_id={relayer.id} />,
  },
  {
    name: `Fees, ${fee_days} days`,
    isNumber: true,
    isAbsent: true,
    by: ({ relayer, fees = '0' }) => [relayer.network, Number(fees)],
    cell: ({ relayer, fees = '0' }) => (fees === '0' ? '–' : <Paid wei={fees} network={relayer.network} />),
  },
  {
    name: 'Unfinished',
    isNumber: true,
    by: ({ queue }) => queue?.unfinished ?? 0,
    cell: ({ queue }) =>
      queue && (
        <>
          {queue.first && <First of={queue} first={queue.first} />} {count(queue.unfinished)}
        </>
      ),
  },
]

/** What the first in the queue waits for: the same as its problem says, which also knows whether the chain makes blocks. */
function First({ of: { relayer_id }, first }: { of: Queue; first: NonNullable<Queue['first']> }) {
  const { transaction_id, waiting_for } = first
  const isOfChain = useStuck(relayer_id)?.kind === 'transaction_slow'
  return (
    <Link to={transactionPath({ relayer_id, id: transaction_id })}>
      {waiting_for !== null && !isOfChain && words(waiting_for)} <TransactionState its={first} />
    </Link>
  )
}
