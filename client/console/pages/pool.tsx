import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import type { Pool as Its } from '../../index.ts'
import { listOf, perDay, useForm } from '../data/form.ts'
import { count, exactly } from '../data/format.ts'
import { relayerState, useStatus, useSymbols } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from '../parts/action.tsx'
import { ActivityCharts } from '../parts/activity.tsx'
import { Badge } from '../parts/badge.tsx'
import { Balance } from '../parts/balance.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Figure } from '../parts/figure.tsx'
import { PoolFunding } from '../parts/funding.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable, poolPath, RelayerLink } from '../parts/links.tsx'
import { isMissing, Missing } from '../parts/missing.tsx'
import { PoolLimits } from '../parts/pool-limits.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { Transactions } from '../parts/transactions.tsx'

const poll_ms = 5_000
const base = '/api/v1/pools/{pool_id}'
const tabs = { list: 'transactions', relayers: 'relayers', funding: 'funding', activity: 'activity' } as const

/** A pool: its limits, and tabs for transactions, relayers, funding and activity. */
export function Pool({
  pool_id,
  tab = 'list',
  group,
  find,
}: {
  pool_id: string
  tab?: string | undefined
  /** The filters of the list. */
  group?: string | undefined
  find?: string | undefined
}) {
  const { client, mayManageAll } = useSession()
  const [, go] = useLocation()
  const path = { pool_id }
  const pool = useQuery({
    queryKey: ['pool', pool_id],
    queryFn: async ({ signal }) => (await client.get(base, { path, signal })).data,
    refetchInterval: poll_ms,
  })
  if (isMissing(pool.error)) return <Missing what={`Pool ${pool_id}`} to="/pools" list="the pools" />
  return (
    <>
      <p className="crumbs">
        <Link to="/pools">Pools</Link> / {pool_id}
      </p>
      <div className="bar">
        <Heading name={pool_id} opened={pool.data && { kind: 'pool', name: pool_id, to: poolPath(pool_id) }} />
        {mayManageAll && pool.data && (
          <div className="buttons">
            <Edit pool={pool.data} />
            <Action
              label="Delete"
              title={`Delete pool ${pool_id}`}
              told={`Pool ${pool_id} is deleted.`}
              tone="danger"
              effect={<p>Deletes the pool {pool_id}. Its relayers and their transactions stay.</p>}
              run={async () => {
                await client.delete(base, { path })
                go('/pools')
              }}
            />
          </div>
        )}
      </div>
      <Loaded query={pool} lines={8} as="rows">
        {(its) => (
          <>
            <dl className="head figures">
              {its.name !== its.id && <Figure name="Name">{its.name}</Figure>}
              <Figure name="Network">{its.network}</Figure>
              <Figure name="Limits">
                <PoolLimits pool={its} />
              </Figure>
            </dl>
            <Tabs label="Pool pages" base={poolPath(pool_id)} tabs={tabs} open={tab} />
            {tab === 'relayers' && <Members pool={its} />}
            {tab === 'funding' && <PoolFunding pool={its} />}
            {tab === 'activity' && (
              <ActivityCharts pool_id={pool_id} its={its.network} here={`${poolPath(pool_id)}/activity`} find={group} />
            )}
            {tab === 'list' && (
              <Transactions place={path} here={`${poolPath(pool_id)}/list`} group={group} find={find} />
            )}
          </>
        )}
      </Loaded>
    </>
  )
}

type Member = Its['relayers'][number]

function Members({ pool }: { pool: Its }) {
  const { mayManageAll } = useSession()
  const columns: Column<Member>[] = [
    {
      name: 'Relayer',
      by: ({ relayer_id }) => relayer_id,
      cell: ({ relayer_id }) => <RelayerLink id={relayer_id} />,
    },
    { name: 'Status', isBeside: true, cell: ({ relayer_id }) => <Status id={relayer_id} /> },
    { name: 'Address', cell: ({ address }) => <Copyable value={address} /> },
    {
      name: 'Balance',
      isNumber: true,
      cell: ({ relayer_id }) => <Balance relayer_id={relayer_id} network={pool.network} />,
    },
    { name: 'Unfinished', isNumber: true, cell: ({ relayer_id }) => <Unfinished id={relayer_id} /> },
    {
      name: 'Weight',
      isNumber: true,
      by: ({ weight }) => weight,
      cell: ({ weight }) => (weight === 0 ? '0 (gets none)' : weight),
    },
    {
      name: '',
      cell: ({ relayer_id, weight }) =>
        mayManageAll && (
          <div className="buttons">
            <Weigh pool_id={pool.id} relayer_id={relayer_id} weight={weight} />
          </div>
        ),
    },
  ]
  return (
    <>
      <Table of="relayers" rows={pool.relayers} columns={columns} idOf={({ relayer_id }) => relayer_id} />
      <p className="hint">
        Each address is <code>msg.sender</code> of what its relayer sends. A contract that lists its senders must list
        all of them.
      </p>
    </>
  )
}

function Status({ id }: { id: string }) {
  const { data } = useStatus(id)
  return data ? <Badge state={relayerState(data)} /> : '…'
}

function Unfinished({ id }: { id: string }) {
  const { data } = useStatus(id)
  return data ? count(data.pending_transactions_count) : '…'
}

function Weigh({ pool_id, relayer_id, weight }: { pool_id: string; relayer_id: string; weight: number }) {
  const { client } = useSession()
  const { values, bind, reset } = useForm({ weight: `${weight}` })
  return (
    <Action
      label="Change weight"
      title={`Change weight of ${relayer_id}`}
      told={`The weight of ${relayer_id} is changed.`}
      opened={reset}
      effect={
        <p>The share of {relayer_id} of what the pool sends. With 0 it gets nothing new, and finishes what it has.</p>
      }
      run={() =>
        client.patch(`${base}/relayers/{member_id}`, {
          path: { pool_id, member_id: relayer_id },
          body: { weight: Number(values.weight) },
        })
      }
    >
      <label>
        Weight (0 to 1000)
        <input required inputMode="numeric" pattern="[0-9]+" {...bind('weight')} />
      </label>
    </Action>
  )
}

function Edit({ pool }: { pool: Its }) {
  const { client } = useSession()
  const { max_value_per_day, ...others } = pool.policies
  const symbol = useSymbols()(pool.network)
  const { values, bind, reset } = useForm({
    name: pool.name,
    relayers: pool.relayers.map(({ relayer_id }) => relayer_id).join('\n'),
    max_value_per_day: max_value_per_day === undefined ? '' : exactly(max_value_per_day),
  })
  return (
    <Action
      label="Edit"
      title={`Edit pool ${pool.id}`}
      told={`Pool ${pool.id} is edited.`}
      opened={reset}
      effect={<p>A relayer that leaves the pool {pool.id} gets nothing new, and finishes what it has.</p>}
      run={() =>
        client.patch(base, {
          path: { pool_id: pool.id },
          body: {
            name: values.name,
            relayer_ids: listOf(values.relayers),
            policies: { ...others, ...perDay(values.max_value_per_day, symbol) },
          },
        })
      }
    >
      <label>
        Name
        <input required {...bind('name')} />
      </label>
      <label>
        Relayers, one per line
        <textarea required rows={4} spellCheck={false} {...bind('relayers')} />
      </label>
      <label>
        Highest value per day in {symbol}, over all relayers (empty: no limit)
        <input inputMode="decimal" {...bind('max_value_per_day')} />
      </label>
    </Action>
  )
}
