import { Layers } from 'lucide-react'
import { Link } from 'wouter'
import type { Pool } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Field, RelayerPicks, Select } from '../components/fields.tsx'
import { TablePage } from '../components/page.tsx'
import { type Column, countColumn, networkColumn } from '../components/table.tsx'
import { about } from '../components/values.tsx'
import { chosenIn, given, perDay, useForm } from '../data/form.ts'
import { amount } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { useNetworkNames, usePools, useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'

const pollMs = 5_000

/** The pools, each with a page of its own. */
export function Pools() {
  const { mayManageAll } = useSession()
  return (
    <TablePage
      name="Pools"
      of="pools"
      icon={Layers}
      create="Create a pool"
      button={mayManageAll && <CreatePool />}
      about="A pool is several relayers of one network that send as one, so that more transactions run at a time."
      query={usePools(pollMs)}
      columns={columns}
    />
  )
}

const columns: Column<Pool>[] = [
  { name: 'Pool', by: ({ id }) => id, cell: ({ id }) => <Link to={paths.pool(id)}>{id}</Link> },
  networkColumn(),
  countColumn('Relayers', ({ relayers }) => relayers.length),
  { name: 'Limits', cell: (pool) => <PoolLimits pool={pool} /> },
]

/** The policies of a pool in words. */
export function PoolLimits({ pool: { network, policies } }: { pool: Pool }) {
  const symbol = useSymbols()(network)
  const { max_value_per_day, ...others } = policies
  const limits = [
    ...(max_value_per_day === null ? [] : [`at most ${amount(max_value_per_day, symbol)} per day`]),
    ...Object.entries(others).flatMap(([name, value]) => (value === null ? [] : [name])),
  ]
  return limits.length === 0 ? 'none' : limits.join(', ')
}

function CreatePool() {
  const { values, bind, pick, reset } = useForm({
    id: '',
    network: '',
    relayer_ids: [] as string[],
    max_value_per_day: '',
  })
  const symbol = useSymbols()(values.network)
  return (
    <Action
      label="Create a pool"
      tone="primary"
      opened={reset}
      effect="Its relayers send as one. A contract that allows only listed senders must list every address of the pool."
      run={async (client) =>
        client.pools.create({
          ...given({ id: values.id }),
          network: values.network,
          relayer_ids: chosenIn('relayer_ids', values.relayer_ids),
          policies: perDay(values.max_value_per_day, symbol),
        })
      }
      message={({ id }) => about('Pool', <Link to={paths.pool(id)}>{id}</Link>, 'is created.')}
    >
      <Field label="ID (optional)" kind="id" {...bind('id')} />
      <Select label="Network" none="Choose one" required values={useNetworkNames()} {...bind('network')} />
      <RelayerPicks network={values.network} {...pick('relayer_ids')} />
      <Field
        label={`Value limit per day in ${symbol}, across all relayers (optional)`}
        kind="amount"
        {...bind('max_value_per_day')}
      />
    </Action>
  )
}
