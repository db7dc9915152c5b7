import { useQuery } from '@tanstack/react-query'
import type { Pool } from '../../index.ts'
import { given, listOf, useForm } from '../data/form.ts'
import { amount, count, exactly, weiOf } from '../data/format.ts'
import { useNetworks, useStatuses, useSymbols } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from '../parts/action.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable, RelayerLink } from '../parts/links.tsx'

const poll_ms = 5_000
const base = '/api/v1/pools/{pool_id}'

/** The pools, each with its relayers: what they have left to do, their balance and their weight. */
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
            all.map((pool) => <One key={pool.id} pool={pool} />)
          )
        }
      </Loaded>
    </>
  )
}

function One({ pool }: { pool: Pool }) {
  const { client, mayManageAll } = useSession()
  const statuses = useStatuses(pool.relayers.map(({ relayer_id }) => relayer_id))
  const symbol = useSymbols()(pool.network)
  const { max_value_per_day, ...others } = pool.policies
  const limits = [
    ...(max_value_per_day === undefined ? [] : [`at most ${amount(max_value_per_day, symbol)} per day`]),
    ...Object.keys(others),
  ]
  return (
    <section className="card" aria-label={pool.id}>
      <div className="bar">
        <h2 title={pool.name}>{pool.id}</h2>
        {mayManageAll && (
          <div className="buttons">
            <Edit pool={pool} />
            <Action
              label="Delete"
              tone="danger"
              effect={<p>Deletes the pool {pool.id}. Its relayers and their transactions stay.</p>}
              run={() => client.delete(base, { path: { pool_id: pool.id } })}
            />
          </div>
        )}
      </div>
      <p className="hint">
        {pool.network}. {limits.length === 0 ? 'No limits of its own.' : `Limits: ${limits.join(', ')}.`}
      </p>
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th>Relayer</th>
              <th>Address (msg.sender)</th>
              <th className="number">Unfinished</th>
              <th className="number">Balance</th>
              <th className="number">Weight</th>
              <th>
                <span className="hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {pool.relayers.map(({ relayer_id, address, weight }) => {
              const status = statuses.get(relayer_id)
              return (
                <tr key={relayer_id}>
                  <td>
                    <RelayerLink id={relayer_id} />
                    {status?.paused && ' (paused)'}
                    {status?.system_disabled && ' (disabled)'}
                  </td>
                  <td>
                    <Copyable value={address} />
                  </td>
                  <td className="number">{status ? count(status.pending_transactions_count) : '…'}</td>
                  <td className="number">{status ? amount(status.balance, symbol) : '…'}</td>
                  <td className="number">{weight === 0 ? '0 (gets none)' : weight}</td>
                  <td>{mayManageAll && <Weigh pool_id={pool.id} relayer_id={relayer_id} weight={weight} />}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
    </section>
  )
}

function Weigh({ pool_id, relayer_id, weight }: { pool_id: string; relayer_id: string; weight: number }) {
  const { client } = useSession()
  const { values, bind, reset } = useForm({ weight: `${weight}` })
  return (
    <Action
      label="Change weight"
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

/** An empty text: no limit. */
function perDay(text: string): { max_value_per_day?: string } {
  if (text.trim() === '') return {}
  const wei = weiOf(text)
  if (wei === undefined) throw new Error(`${text} is no amount`)
  return { max_value_per_day: wei }
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

function Edit({ pool }: { pool: Pool }) {
  const { client } = useSession()
  const { max_value_per_day, ...others } = pool.policies
  const { values, bind, reset } = useForm({
    name: pool.name,
    relayers: pool.relayers.map(({ relayer_id }) => relayer_id).join('\n'),
    day: max_value_per_day === undefined ? '' : exactly(max_value_per_day),
  })
  return (
    <Action
      label="Edit"
      opened={reset}
      effect={<p>A relayer that leaves the pool {pool.id} gets nothing new, and finishes what it has.</p>}
      run={() =>
        client.patch(base, {
          path: { pool_id: pool.id },
          body: {
            name: values.name,
            relayer_ids: listOf(values.relayers),
            policies: { ...others, ...perDay(values.day) },
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
        Highest value per day, over all relayers (empty: no limit)
        <input inputMode="decimal" {...bind('day')} />
      </label>
    </Action>
  )
}
