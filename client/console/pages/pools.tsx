import { Layers } from 'lucide-react'
import { Link } from 'wouter'
import type { Pool } from '../../index.ts'
import { given, listOf, perDay, useForm } from '../data/form.ts'
import { count } from '../data/format.ts'
import { useNetworks, usePools, useSymbols } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from '../parts/action.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { poolPath } from '../parts/links.tsx'
import { Nothing } from '../parts/nothing.tsx'
import { Options } from '../parts/options.tsx'
import { PoolLimits } from '../parts/pool-limits.tsx'
import { type Column, Table } from '../parts/table.tsx'

const poll_ms = 5_000

/** The pools, each with a page of its own. */
export function Pools() {
  const { mayManageAll } = useSession()
  const pools = usePools(poll_ms)
  return (
    <>
      <div className="bar">
        <Heading name="Pools" />
        {mayManageAll && <Create />}
      </div>
      <Loaded query={pools} as="rows">
        {(all) =>
          all.length === 0 ? (
            <Nothing icon={Layers} title="No pools yet" create={mayManageAll && 'Create a pool'}>
              A pool is several relayers of one network that send as one, for more transactions at a time.
            </Nothing>
          ) : (
            <Table of="pools" rows={all} columns={columns} idOf={({ id }) => id} />
          )
        }
      </Loaded>
    </>
  )
}

const columns: Column<Pool>[] = [
  { name: 'Pool', by: ({ id }) => id, cell: ({ id }) => <Link to={poolPath(id)}>{id}</Link> },
  { name: 'Network', by: ({ network }) => network, cell: ({ network }) => network },
  {
    name: 'Relayers',
    isNumber: true,
    by: ({ relayers }) => relayers.length,
    cell: ({ relayers }) => count(relayers.length),
  },
  { name: 'Limits', cell: (pool) => <PoolLimits pool={pool} /> },
]

function Create() {
  const { client } = useSession()
  const networks = useNetworks()
  const { values, bind, reset } = useForm({ id: '', network: '', relayer_ids: '', max_value_per_day: '' })
  const symbol = useSymbols()(values.network)
  return (
    <Action
      label="Create a pool"
      told={({ data: { id } }) => (
        <>
          Pool <Link to={poolPath(id)}>{id}</Link> is created.
        </>
      )}
      tone="primary"
      opened={reset}
      effect={<p>Its relayers send as one. A contract that lists its senders must list every address of the pool.</p>}
      run={() =>
        client.post('/api/v1/pools', {
          body: {
            ...given({ id: values.id }),
            network: values.network,
            relayer_ids: listOf(values.relayer_ids),
            policies: perDay(values.max_value_per_day, symbol),
          },
        })
      }
    >
      <label>
        ID (optional)
        <input spellCheck={false} {...bind('id')} />
      </label>
      <label>
        Network
        <select required {...bind('network')}>
          <option value="">Choose one</option>
          <Options of={networks.data?.map(({ name }) => name)} />
        </select>
      </label>
      <label>
        Relayers, one per line
        <textarea required rows={4} spellCheck={false} {...bind('relayer_ids')} />
      </label>
      <label>
        Highest value per day in {symbol}, over all relayers (optional)
        <input inputMode="decimal" {...bind('max_value_per_day')} />
      </label>
    </Action>
  )
}
