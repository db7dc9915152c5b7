import { Wallet } from 'lucide-react'
import { type ReactNode, useMemo, useState } from 'react'
import { Link } from 'wouter'
import type { RelayerClient, RelayerQueue } from '../../index.ts'
import { Bulk } from '../components/action.tsx'
import { ClearFilters, EmptyState, Loaded } from '../components/feedback.tsx'
import { Filters, SearchField, Segments } from '../components/filters.tsx'
import { Heading } from '../components/page.tsx'
import { type Choice, type Column, column, relayerColumn, Table, useChoice } from '../components/table.tsx'
import { Badge, NetworkLink, Paid, Pending, TransactionState } from '../components/values.tsx'
import { useAddressState } from '../data/address-state.ts'
import { count, words } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { useHealthOf, useRelayersWithQueues, useSpending, useStuck } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { FirstSteps } from '../overview/first-steps.tsx'
import { CreateRelayer } from './create-relayer.tsx'
import { Balance, useBalances } from './funds.tsx'

const feeDays = 7
const statuses = ['all', 'active', 'paused', 'disabled', 'unfinished'] as const

interface RelayerTableProps {
  rows: RelayerRow[]
  find: string | undefined
  here: string
  heading: ReactNode
}

/** `here`: the address of the page without what was chosen on it. */
export function RelayerTable({ rows, find, here, heading }: RelayerTableProps) {
  const { may } = useSession()
  const [{ text, status }, choose] = useAddressState(here, find, { status: statuses, text: '' })
  const choice = useChoice(`${status} ${text}`)
  const healthOf = useHealthOf()
  const spending = useSpending({ days: feeDays }).data
  const ids = rows.map(({ relayer }) => relayer.id)
  const balances = useBalances(ids)
  const shown = useMemo(() => {
    const feesOf = spending && new Map(spending.map(({ relayer_id, fees }) => [relayer_id, fees]))
    const wanted = text.trim().toLowerCase()
    const withHealth = rows.map((row) => ({ ...row, health: healthOf(row.relayer) }))
    const found = withHealth.filter(
      ({ relayer, queue, health }) =>
        (status === 'all' || (status === 'unfinished' ? (queue?.unfinished_count ?? 0) > 0 : health === status)) &&
        [relayer.id, relayer.name, relayer.network, relayer.address, health].some((its) =>
          its.toLowerCase().includes(wanted),
        ),
    )
    return found.map((row) => ({
      ...row,
      balance: balances?.get(row.relayer.id),
      fees: feesOf && (feesOf.get(row.relayer.id) ?? '0'),
    }))
  }, [rows, text, status, spending, balances, healthOf])
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
      {choice.size > 0 && (
        <ChosenRelayers choice={choice} rows={rows.filter(({ relayer }) => choice.has(relayer.id))} />
      )}
      <Table
        of="relayers"
        sorted="Relayer"
        rows={shown}
        columns={columnsOf(balances !== undefined)}
        idOf={({ relayer }) => relayer.id}
        {...(may('manage') && { choice })}
        none={
          <EmptyState
            icon={Wallet}
            title={noneText(status, text.trim())}
            action={<ClearFilters clear={() => choose({ status: 'all', text: '' })} />}
          >
            {text.trim() === '' ? 'No relayer has this status.' : 'Searched: ID, name, network and address.'}
          </EmptyState>
        }
      />
    </>
  )
}

const noneText = (status: string, text: string) =>
  `No ${status === 'all' ? '' : `${status} `}relayer${text === '' ? '' : ` has “${text}”`}`

/** `isKnown`: the balances of all are, so that rows can be sorted by them. */
const columnsOf = (isKnown: boolean): Column<ShownRow>[] => [
  relayerColumn('Relayer', ({ relayer }) => relayer.id, { isWhole: true }),
  {
    name: 'Status',
    isBeside: true,
    by: ({ health }) => health,
    cell: ({ relayer, health }) => (
      <span title={relayer.disabled_reason ?? undefined}>
        <Badge state={health} />
      </span>
    ),
  },
  column('Network', ({ relayer }) => relayer.network, {
    isAbsent: true,
    cell: ({ relayer }) => <NetworkLink name={relayer.network} />,
  }),
  {
    name: 'Balance',
    isNumber: true,
    ...(isKnown && { by: ({ relayer, balance = -1 }: RelayerRow) => [relayer.network, balance] as const }),
    cell: ({ relayer }) => <Balance of={relayer.id} network={relayer.network} />,
  },
  {
    name: `Fees, ${feeDays} d`,
    isNumber: true,
    isAbsent: true,
    by: ({ relayer, fees = '0' }) => [relayer.network, Number(fees)],
    cell: ({ relayer, fees }) => (fees === undefined ? <Pending /> : <Paid wei={fees} network={relayer.network} />),
  },
  {
    name: 'Unfinished',
    isNumber: true,
    by: ({ queue }) => queue?.unfinished_count ?? 0,
    cell: ({ queue }) =>
      queue && (
        <>
          {queue.first && <First of={queue} first={queue.first} />} {count(queue.unfinished_count)}
        </>
      ),
  },
]

/** What the first in the queue waits for: the same as its problem says, which also knows whether the chain makes blocks. */
function First({ of: { relayer_id }, first }: { of: RelayerQueue; first: NonNullable<RelayerQueue['first']> }) {
  const { transaction_id, wait_reason } = first
  const isOfChain = useStuck(relayer_id)?.kind === 'transaction_slow'
  return (
    <Link to={paths.transaction({ relayer_id, id: transaction_id })}>
      {wait_reason !== null && !isOfChain && words(wait_reason)} <TransactionState transaction={first} />
    </Link>
  )
}

/** The relayers on a page of their own. */
export function RelayerList({ find }: { find?: string | undefined }) {
  const relayers = useRelayersWithQueues()
  const [isHeld, hold] = useState(false)
  const heading = <Heading name="Relayers" />
  if (isHeld || relayers.data === undefined || relayers.data.length === 0)
    return (
      <>
        {heading}
        <Loaded query={relayers} lines={8} as="rows">
          {() => <FirstSteps hold={hold} />}
        </Loaded>
      </>
    )
  return <RelayerTable rows={relayers.data} find={find} here={paths.relayers} heading={heading} />
}

type RelayerRow = NonNullable<ReturnType<typeof useRelayersWithQueues>['data']>[number] & {
  fees?: string | undefined
  /** In wei; -1: unknown. */
  balance?: number | undefined
}
type ShownRow = RelayerRow & { health: string }

/** What can be done with the relayers that are chosen. */
function ChosenRelayers({ choice, rows }: { choice: Choice; rows: RelayerRow[] }) {
  const set = (paused: boolean) => ({
    choice,
    items: rows,
    idOf: ({ relayer }: RelayerRow) => relayer.id,
    nameOf: ({ relayer }: RelayerRow) => relayer.id,
    run: (client: RelayerClient, { relayer }: RelayerRow) => client.relayers.update(relayer.id, { paused }),
  })
  return (
    <section className="bar chosen" aria-label="Selected relayers">
      <span>{count(choice.size)} selected</span>
      <Bulk
        {...set(true)}
        label="Pause selected"
        did="paused"
        effect="They sign and send nothing until they are resumed. What a node already has may still be mined."
      />
      <Bulk
        {...set(false)}
        label="Resume selected"
        did="resumed"
        disabled={!rows.some(({ relayer }) => relayer.paused)}
        effect="They sign and send again, and their waiting transactions continue."
      />
      <button type="button" onClick={() => choice.set([])}>
        Clear selection
      </button>
    </section>
  )
}
