import { Wallet } from 'lucide-react'
import { type ReactNode, useMemo, useState } from 'react'
import { Link } from 'wouter'
import type { Relayer } from '../../index.ts'
import { oneOf, useChoices } from '../data/choices.ts'
import { count, words } from '../data/format.ts'
import { useNetworks, useRelayers } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { useSpending } from '../data/spending.ts'
import { ActivityCharts } from '../parts/activity.tsx'
import { Badge } from '../parts/badge.tsx'
import { Balance } from '../parts/balance.tsx'
import { Bulk, type Choice, useChoice } from '../parts/bulk.tsx'
import { Paid } from '../parts/costs.tsx'
import { CreateRelayer } from '../parts/create-relayer.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { RelayerLink, transactionPath } from '../parts/links.tsx'
import { Age } from '../parts/moment.tsx'
import { Nothing } from '../parts/nothing.tsx'
import { Problems } from '../parts/problems.tsx'
import { LastsOf } from '../parts/runway.tsx'
import { Segments } from '../parts/segments.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Tiles } from '../parts/tiles.tsx'

type Row = NonNullable<ReturnType<typeof useRelayers>['data']>[number] & { fees?: string | undefined }

/** Problems come first. */
export function Overview({ find }: { find?: string | undefined }) {
  const relayers = useRelayers()
  const [isHeld, hold] = useState(false)
  const isEmpty = isHeld || relayers.data?.length === 0
  return (
    <>
      <Heading name="Overview" />
      {isEmpty ? <FirstSteps hold={hold} /> : <Problems />}
      {!isEmpty && <Tiles />}
      {!isEmpty && <ActivityCharts />}
      {!isEmpty && (
        <section aria-labelledby="relayers">
          <Loaded query={relayers} lines={8}>
            {(rows) => <Relayers rows={rows} find={find} here="/overview" heading={<h2 id="relayers">Relayers</h2>} />}
          </Loaded>
        </section>
      )}
    </>
  )
}

/** The relayers on a page of their own. */
export function RelayerList({ find }: { find?: string | undefined }) {
  const relayers = useRelayers()
  const [isHeld, hold] = useState(false)
  const heading = <Heading name="Relayers" />
  if (isHeld || relayers.data === undefined || relayers.data.length === 0)
    return (
      <>
        {heading}
        <Loaded query={relayers} lines={8}>
          {() => <FirstSteps hold={hold} />}
        </Loaded>
      </>
    )
  return <Relayers rows={relayers.data} find={find} here="/relayer-list" heading={heading} />
}

/** Of a service without relayers: what to do, in order, and what of it is done. */
function FirstSteps({ hold }: { hold(isOpen: boolean): void }) {
  const { mayManageAll } = useSession()
  const networks = useNetworks()
  if (!mayManageAll)
    return (
      <Nothing icon={Wallet} title="No relayers">
        This API key has access to no relayers. Ask who gave it to you for access to some.
      </Nothing>
    )
  const hasNetwork = (networks.data?.length ?? 0) > 0
  return (
    <section aria-labelledby="first">
      <h2 id="first">First steps</h2>
      <p className="hint">The service runs. Four steps to the first transaction:</p>
      <ol className="steps">
        <li className={hasNetwork ? 'met' : undefined}>
          <strong>Create a network</strong>
          <span>A chain and the URLs of its nodes. {hasNetwork && `There is ${networks.data?.[0]?.name}.`}</span>
          <Link to="/networks">Open the networks</Link>
        </li>
        <li>
          <strong>Create a relayer</strong>
          <span>A key on a network. The service makes a new key for it.</span>
          <span>
            <CreateRelayer hold={hold} />
          </span>
        </li>
        <li>
          <strong>Fund it</strong>
          <span>Send some coins to the relayer's address, which its page shows.</span>
        </li>
        <li>
          <strong>Send a transaction</strong>
          <span>Sign, simulate and send in the sandbox, and take its code samples.</span>
          <Link to="/sandbox">Open the sandbox</Link>
        </li>
      </ol>
    </section>
  )
}

/** What can be done with several relayers. */
function Chosen({ choice }: { choice: Choice<Row> }) {
  const { client } = useSession()
  const set = (paused: boolean) => ({
    items: choice.items,
    nameOf: ({ relayer: { id } }: Row) => id,
    run: ({ relayer: { id } }: Row) =>
      client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: id }, body: { paused } }),
  })
  return (
    <section className="bar chosen" aria-label="Chosen relayers">
      <span>{count(choice.items.length)} chosen</span>
      <Bulk
        {...set(true)}
        label="Pause chosen"
        tone="danger"
        effect={<p>They sign and send nothing until they are resumed. What a node already has may still be mined.</p>}
      />
      <Bulk
        {...set(false)}
        label="Resume chosen"
        tone="primary"
        effect={<p>They sign and send again, and their waiting transactions continue.</p>}
      />
      <button type="button" onClick={() => choice.set([])}>
        Choose none
      </button>
    </section>
  )
}

const stateOf = ({ system_disabled, paused }: Relayer) => (system_disabled ? 'disabled' : paused ? 'paused' : 'active')
const states = ['all', 'active', 'paused', 'disabled', 'waiting'] as const

/** `here`: the address of the page without what was chosen on it. */
function Relayers({
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
  const choice = useChoice(({ relayer }: Row) => relayer.id)
  const [{ text, ...chosen }, choose] = useChoices(here, find, { state: 'all', text: '' })
  const state = oneOf(states, chosen.state)
  const spending = useSpending({ days: fee_days }).data
  const shown = useMemo(() => {
    const feesOf = new Map(spending?.map(({ relayer_id, fees }) => [relayer_id, fees]))
    const wanted = text.trim().toLowerCase()
    const found = rows.filter(
      ({ relayer, queue }) =>
        (state === 'all' || (state === 'waiting' ? (queue?.unfinished ?? 0) > 0 : stateOf(relayer) === state)) &&
        [relayer.id, relayer.name, relayer.network, relayer.address].some((its) => its.toLowerCase().includes(wanted)),
    )
    return found.map((row) => ({ ...row, fees: feesOf.get(row.relayer.id) }))
  }, [rows, text, state, spending])
  return (
    <>
      <div className="bar">
        {heading}
        <CreateRelayer />
      </div>
      <div className="bar">
        <Segments label="State" values={states} value={state} choose={(one) => choose({ state: one })} />
        <input
          type="search"
          className="filter"
          aria-label="Filter relayers by ID, name, network or address"
          placeholder="ID, name, network or address"
          value={text}
          onChange={(event) => choose({ text: event.target.value })}
        />
      </div>
      {choice.items.length > 0 && <Chosen choice={choice} />}
      {shown.length === 0 ? (
        <Nothing icon={Wallet} title="No relayer matches">
          Choose another state, or clear the filter.
        </Nothing>
      ) : (
        <Table
          of="relayers"
          rows={shown}
          columns={columns}
          idOf={({ relayer }) => relayer.id}
          {...(may('manage') && { choice })}
        />
      )}
    </>
  )
}

/** As many as "Lasts" is reckoned from, so that both are one request. */
const fee_days = 7

const columns: Column<Row>[] = [
  {
    name: 'Relayer',
    by: ({ relayer }) => relayer.id,
    cell: ({ relayer }) => <RelayerLink id={relayer.id} />,
  },
  {
    name: 'State',
    isBeside: true,
    by: ({ relayer }) => stateOf(relayer),
    cell: ({ relayer }) => (
      <span title={relayer.disabled_reason ?? undefined}>
        <Badge state={stateOf(relayer)} />
      </span>
    ),
  },
  { name: 'Network', by: ({ relayer }) => relayer.network, cell: ({ relayer }) => relayer.network },
  {
    name: 'Balance',
    isNumber: true,
    cell: ({ relayer }) => <Balance relayer_id={relayer.id} network={relayer.network} />,
  },
  { name: 'Lasts', isNumber: true, cell: ({ relayer }) => <LastsOf relayer_id={relayer.id} /> },
  {
    name: `Fees, ${fee_days} days`,
    isNumber: true,
    by: ({ fees = '0' }) => Number(fees),
    cell: ({ relayer, fees = '0' }) => (fees === '0' ? '–' : <Paid wei={fees} network={relayer.network} />),
  },
  {
    name: 'Unfinished',
    by: ({ queue }) => queue?.unfinished ?? 0,
    cell: ({ relayer, queue }) => (
      <>
        {count(queue?.unfinished ?? 0)}{' '}
        {queue?.first && (
          <Link to={transactionPath({ relayer_id: relayer.id, id: queue.first.transaction_id })}>
            {queue.first.waiting_for === null ? words(queue.first.status) : `waits: ${words(queue.first.waiting_for)}`},{' '}
            <Age of={queue.first.created_at} />
          </Link>
        )}
      </>
    ),
  },
]
