import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { Pool } from '../../index.ts'
import { given, listOf, perDay, useForm } from '../data/form.ts'
import { count } from '../data/format.ts'
import { useNetworks } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from '../parts/action.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { poolPath } from '../parts/links.tsx'
import { PoolLimits } from '../parts/pool-limits.tsx'

const poll_ms = 5_000

/** The pools, each with a page of its own. */
export function Pools() {
  const { client, mayManageAll } = useSession()
  const pools = useQuery({
    queryKey: ['pools'],
    queryFn: async ({ signal }) => (await client.get('/api/v1/pools', { query: { per_page: 1_000 }, signal })).data,
    refetchInterval: poll_ms,
  })
  return (
    <>
      <div className="bar">
        <Heading name="Pools" />
        {mayManageAll && <Create />}
      </div>
      <Loaded query={pools}>
        {(all) =>
          all.length === 0 ? (
            <p>None yet. A pool is several relayers of one network that send as one.</p>
          ) : (
            <List pools={all} />
          )
        }
      </Loaded>
    </>
  )
}

function List({ pools }: { pools: Pool[] }) {
  return (
    <div className="scroll">
      <table>
        <thead>
          <tr>
            <th>Pool</th>
            <th>Network</th>
            <th className="number">Relayers</th>
            <th>Limits</th>
          </tr>
        </thead>
        <tbody>
          {pools.map((pool) => (
            <tr key={pool.id}>
              <td>
                <Link to={poolPath(pool.id)}>{pool.id}</Link>
              </td>
              <td>{pool.network}</td>
              <td className="number">{count(pool.relayers.length)}</td>
              <td>
                <PoolLimits pool={pool} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Create() {
  const { client } = useSession()
  const networks = useNetworks()
  const { values, bind, reset } = useForm({ id: '', network: '', relayers: '', day: '' })
  return (
    <Action
      label="Create a pool"
      tone="primary"
      opened={reset}
      effect={<p>Its relayers send as one. A contract that lists its senders must list every address of the pool.</p>}
      run={() =>
        client.post('/api/v1/pools', {
          body: {
            ...given({ id: values.id }),
            network: values.network,
            relayer_ids: listOf(values.relayers),
            policies: perDay(values.day),
          },
        })
      }
    >
      <label>
        Id (optional)
        <input spellCheck={false} {...bind('id')} />
      </label>
      <label>
        Network
        <select required {...bind('network')}>
          <option value="">Choose one</option>
          {networks.data?.map(({ id, name }) => (
            <option key={id} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Relayers, one per line
        <textarea required rows={4} spellCheck={false} {...bind('relayers')} />
      </label>
      <label>
        Highest value per day, over all relayers (optional)
        <input inputMode="decimal" {...bind('day')} />
      </label>
    </Action>
  )
}
