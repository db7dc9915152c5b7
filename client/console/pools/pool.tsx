import type { Pool as PoolResource } from '../../index.ts'
import { ActivityCharts } from '../activity/activity.tsx'
import { Action } from '../components/action.tsx'
import { Address } from '../components/address.tsx'
import { changedIn, useEdited } from '../components/edited.tsx'
import { Loaded } from '../components/feedback.tsx'
import { Field, RelayerPicks } from '../components/fields.tsx'
import { Menu } from '../components/menu.tsx'
import { Crumbs, Heading, isMissing, Missing, Tabs } from '../components/page.tsx'
import { type Column, countColumn, relayerColumn, Table } from '../components/table.tsx'
import { Badge, Figures, NetworkLink, Pending } from '../components/values.tsx'
import { chosenIn, perDay, useForm } from '../data/form.ts'
import { count, exactly } from '../data/format.ts'
import { useGet } from '../data/get.ts'
import { type PoolPage, type PoolTab, paths } from '../data/paths.ts'
import { useHealthOfId, useStatus, useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { PoolFunding } from '../relayers/funding.tsx'
import { Balance } from '../relayers/funds.tsx'
import { FilteredTransactions } from '../transactions/transactions.tsx'
import { PoolLimits } from './pools.tsx'

const pollMs = 5_000
const tabs: Record<PoolTab, string> = {
  list: 'transactions',
  relayers: 'relayers',
  funding: 'funding',
  activity: 'activity',
}

/** A pool: its limits, and tabs for transactions, relayers, funding and activity. */
export function Pool({ pool_id, tab = 'list', group, find }: PoolPage) {
  const { mayManageAll } = useSession()
  const pool = useGet('/api/v1/pools/{pool_id}', { path: { pool_id } }, { pollMs: pollMs })
  if (isMissing(pool.error)) return <Missing what={`Pool ${pool_id}`} to={paths.pools} list="the pools" />
  return (
    <>
      <Crumbs to={paths.pools} list="Pools">
        {pool_id}
      </Crumbs>
      <div className="bar">
        <Heading name={pool_id} opened={pool.data && { kind: 'pool', name: pool_id, to: paths.pool(pool_id) }} />
        {mayManageAll && pool.data && (
          <div className="buttons">
            <EditPool pool={pool.data} />
            <Menu of={pool_id}>
              <Action
                label="Delete"
                thing={`pool ${pool_id}`}
                tone="danger"
                effect={`Deletes the pool ${pool_id}. Its relayers and their transactions stay.`}
                run={(client) => client.pools.delete(pool_id)}
                to={paths.pools}
              />
            </Menu>
          </div>
        )}
      </div>
      <Loaded query={pool} lines={8} as="rows">
        {(its) => (
          <>
            <Figures
              isHead
              of={{
                Name: its.name !== its.id && its.name,
                Network: <NetworkLink name={its.network} />,
                Limits: <PoolLimits pool={its} />,
              }}
            />
            <Tabs label="Pool pages" base={paths.pool(pool_id)} tabs={tabs} open={tab} />
            {tab === 'relayers' && <Members pool={its} />}
            {tab === 'funding' && <PoolFunding pool={its} />}
            {tab === 'activity' && (
              <ActivityCharts of={its} pool_id={pool_id} here={paths.pool(pool_id, 'activity')} find={group} />
            )}
            {tab === 'list' && (
              <FilteredTransactions place={{ pool_id }} here={paths.pool(pool_id, 'list')} group={group} find={find} />
            )}
          </>
        )}
      </Loaded>
    </>
  )
}

function Members({ pool }: { pool: PoolResource }) {
  const { mayManageAll } = useSession()
  const columns: Column<PoolResource['relayers'][number]>[] = [
    relayerColumn('Relayer', ({ relayer_id }) => relayer_id),
    { name: 'Status', isBeside: true, cell: ({ relayer_id }) => <Status relayer_id={relayer_id} /> },
    {
      name: 'Address',
      cell: ({ address }) => <Address value={address} network={pool.network} what="Relayer" isUnnamed />,
    },
    { name: 'Balance', isNumber: true, cell: ({ relayer_id }) => <Balance of={relayer_id} network={pool.network} /> },
    { name: 'Unfinished', isNumber: true, cell: ({ relayer_id }) => <Unfinished relayer_id={relayer_id} /> },
    countColumn(
      'Weight',
      ({ weight }) => weight,
      (weight) => (weight === 0 ? '0 (gets none)' : weight),
    ),
    {
      name: '',
      cell: (member) =>
        mayManageAll && (
          <div className="buttons">
            <ChangeWeight pool_id={pool.id} {...member} />
          </div>
        ),
    },
  ]
  return (
    <>
      <Table
        of="relayers"
        sorted="Relayer"
        rows={pool.relayers}
        columns={columns}
        idOf={({ relayer_id }) => relayer_id}
      />
      <p className="hint">
        Each address is <code>msg.sender</code> of what its relayer sends. A contract that allows only listed senders
        must list all of them.
      </p>
    </>
  )
}

function Status({ relayer_id }: { relayer_id: string }) {
  const health = useHealthOfId()(relayer_id)
  return health === undefined ? <Pending /> : <Badge state={health} />
}

function Unfinished({ relayer_id }: { relayer_id: string }) {
  const { data } = useStatus(relayer_id)
  return data ? count(data.pending_transactions_count) : <Pending />
}

function ChangeWeight({ pool_id, relayer_id, weight }: { pool_id: string; relayer_id: string; weight: number }) {
  const { values, bind, reset } = useForm({ weight: `${weight}` })
  return (
    <Action
      label="Edit"
      title={`Edit weight of ${relayer_id}`}
      message={`The weight of ${relayer_id} is changed.`}
      opened={reset}
      effect={`How much of what the pool sends goes to ${relayer_id}. With 0 it gets nothing new, and finishes what it has.`}
      run={(client) => client.pools.update(pool_id, { weights: { [relayer_id]: Number(values.weight) } })}
    >
      <Field label="Weight (0 to 1000)" required kind="whole" {...bind('weight')} />
    </Action>
  )
}

const textsOf = ({ name, relayers, policies: { max_value_per_day } }: PoolResource) => ({
  name,
  relayer_ids: relayers.map(({ relayer_id }) => relayer_id),
  max_value_per_day: max_value_per_day === null ? '' : exactly(max_value_per_day),
})

function EditPool({ pool }: { pool: PoolResource }) {
  const symbol = useSymbols()(pool.network)
  const { values, bind, pick, reset } = useForm(textsOf(pool))
  const { opened, open, lack, difference } = useEdited(pool, reset)
  const bodyOf = ({ name, relayer_ids, max_value_per_day }: typeof values) => {
    const policies = { max_value_per_day: null, ...perDay(max_value_per_day, symbol) }
    return { name, relayer_ids: chosenIn('relayer_ids', relayer_ids), policies }
  }
  return (
    <Action
      label="Edit"
      thing={`pool ${pool.id}`}
      opened={open}
      lack={lack}
      effect={`A relayer that leaves the pool ${pool.id} gets nothing new from it, and finishes what it has.`}
      run={async (client) =>
        client.pools.update(pool.id, changedIn(bodyOf(textsOf(opened)), bodyOf(values)), { revision: opened.revision })
      }
    >
      {difference}
      <Field label="Name" required {...bind('name')} />
      <RelayerPicks network={pool.network} {...pick('relayer_ids')} />
      <Field
        label={`Value limit per day in ${symbol}, across all relayers (empty: no limit)`}
        kind="amount"
        {...bind('max_value_per_day')}
      />
    </Action>
  )
}
