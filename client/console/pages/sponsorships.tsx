import { useQuery } from '@tanstack/react-query'
import { Gift } from 'lucide-react'
import { Link } from 'wouter'
import type { Sponsorship, UpdateSponsorshipRequest } from '../../index.ts'
import { FormError, given, listOf, useForm, weiIn } from '../data/form.ts'
import { amount, count, exactly, short, time } from '../data/format.ts'
import { useSymbols } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from '../parts/action.tsx'
import { Badge } from '../parts/badge.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { Copyable, poolPath, RelayerLink } from '../parts/links.tsx'
import { Nothing } from '../parts/nothing.tsx'
import { type Column, Table } from '../parts/table.tsx'

const poll_ms = 5_000
const one = '/api/v1/sponsorships/{sponsorship_id}'

/** Users' calls that relayers pay for, and what their budgets have left. */
export function Sponsorships() {
  const { client, mayManageAll } = useSession()
  const sponsorships = useQuery({
    queryKey: ['sponsorships'],
    queryFn: async ({ signal }) =>
      (await client.get('/api/v1/sponsorships', { query: { per_page: 1_000 }, signal })).data,
    refetchInterval: poll_ms,
  })
  return (
    <>
      <div className="bar">
        <Heading name="Sponsorships" />
        {mayManageAll && <Create />}
      </div>
      <Loaded query={sponsorships}>
        {(all) =>
          all.length === 0 ? (
            <Nothing icon={Gift} title="No sponsorships yet" create={mayManageAll && 'Create a sponsorship'}>
              With a sponsorship, a relayer pays for the calls of users who have no coins, within budgets.
            </Nothing>
          ) : (
            <Table of="sponsorships" rows={all} columns={columns} idOf={({ id }) => id} />
          )
        }
      </Loaded>
    </>
  )
}

const columns: Column<Sponsorship>[] = [
  {
    name: 'Sponsorship',
    by: ({ id }) => id,
    cell: ({ id, paused }) => (
      <>
        {id} {paused && <Badge state="paused" />}
      </>
    ),
  },
  {
    name: 'Sent by',
    cell: ({ relayer_id, pool_id }) =>
      relayer_id === null ? (
        <Link to={poolPath(pool_id as string)}>pool {pool_id}</Link>
      ) : (
        <RelayerLink id={relayer_id} />
      ),
  },
  {
    name: 'Pays for',
    cell: ({ targets }) => (
      <span title={targets.map(({ address, selectors }) => `${address}: ${selectors.join(', ')}`).join('\n')}>
        {targets.length === 0
          ? 'nothing yet'
          : targets.map(({ address, selectors }) => `${short(address)} (${count(selectors.length)})`).join(', ')}
      </span>
    ),
  },
  {
    name: 'Used in 24 hours',
    isNumber: true,
    cell: ({ usage, network }) => <Coins wei={usage.used} network={network} />,
  },
  {
    name: 'Left',
    isNumber: true,
    cell: ({ usage, network }) => (
      <span title={usage.resets_at === null ? undefined : `More from ${time(usage.resets_at)}`}>
        <Coins wei={usage.remaining} network={network} />
      </span>
    ),
  },
  { name: 'For one call', isNumber: true, cell: ({ max_fee, network }) => <Coins wei={max_fee} network={network} /> },
  { name: '', cell: (its) => <Actions its={its} /> },
]

function Coins({ wei, network }: { wei: string | null; network: string }) {
  return amount(wei, useSymbols()(network))
}

function Actions({ its }: { its: Sponsorship }) {
  const { client, mayManageAll } = useSession()
  const symbol = useSymbols()(its.network)
  const { id, paused } = its
  const path = { sponsorship_id: id }
  const update = (body: UpdateSponsorshipRequest) => client.patch(one, { path, body })
  const { values, bind, reset } = useForm({
    budget_per_day: exactly(its.budget_per_day),
    max_fee: exactly(its.max_fee),
  })
  if (!mayManageAll) return null
  return (
    <div className="buttons">
      <Action
        label={paused ? 'Resume' : 'Pause'}
        title={`${paused ? 'Resume' : 'Pause'} sponsorship ${id}`}
        told={paused ? `Sponsorship ${id} pays again.` : `Sponsorship ${id} is paused.`}
        effect={
          paused ? (
            <p>Calls of “{id}” are accepted again.</p>
          ) : (
            <p>Every call of “{id}” is refused from the next one on. Accepted ones are sent.</p>
          )
        }
        run={() => update({ paused: !paused })}
      />
      <Action
        label="Change budgets"
        title={`Change budgets of ${id}`}
        told={`The budgets of ${id} are changed.`}
        opened={reset}
        effect={<p>They hold from the next call on. What is used already counts.</p>}
        run={() =>
          update({
            budget_per_day: weiIn('budget_per_day', values.budget_per_day, symbol),
            max_fee: weiIn('max_fee', values.max_fee, symbol),
          })
        }
      >
        <label>
          For 24 hours, in {symbol}
          <input required inputMode="decimal" {...bind('budget_per_day')} />
        </label>
        <label>
          For one call, in {symbol}
          <input required inputMode="decimal" {...bind('max_fee')} />
        </label>
      </Action>
      <Action
        label="Delete"
        title={`Delete sponsorship ${id}`}
        told={`Sponsorship ${id} is deleted.`}
        tone="danger"
        effect={<p>Its API key is revoked with it, in every page that has it. Accepted calls are sent.</p>}
        run={() => client.delete(one, { path })}
      />
    </div>
  )
}

const blank = { id: '', relayer_id: '', pool_id: '', targets: '', selectors: '', forwarders: '' }
const usual = { max_gas: '300000', max_fee: '', budget_per_day: '', per_user: '', origins: '' }

function Create() {
  const { client } = useSession()
  const { values, bind, reset } = useForm({ ...blank, ...usual })
  const create = async () => {
    const isPool = values.pool_id !== ''
    if (isPool === (values.relayer_id !== ''))
      throw new FormError('relayer_id', 'Enter a relayer or a pool: one of both.')
    const { data } = await client.post('/api/v1/sponsorships', {
      body: {
        ...given({ id: values.id, relayer_id: values.relayer_id, pool_id: values.pool_id }),
        targets: values.targets === '' ? [] : [{ address: values.targets, selectors: listOf(values.selectors) }],
        forwarders: listOf(values.forwarders),
        max_gas: Number(values.max_gas),
        max_fee: weiIn('max_fee', values.max_fee),
        budget_per_day: weiIn('budget_per_day', values.budget_per_day),
        ...(values.per_user !== '' && { per_user: { count: Number(values.per_user) } }),
        origins: listOf(values.origins),
      },
    })
    return data
  }
  return (
    <Action
      label="Create a sponsorship"
      tone="primary"
      opened={reset}
      effect={<p>The relayer pays for users’ calls of these functions, within the budgets.</p>}
      run={create}
      done={({ sponsorship, token }) => (
        <>
          <p>Sponsorship {sponsorship.id} is created. Copy the key for your page or app now. It is not shown again:</p>
          <Copyable value={token} whole />
        </>
      )}
    >
      <label>
        ID (optional)
        <input spellCheck={false} {...bind('id')} />
      </label>
      <label>
        Relayer
        <input spellCheck={false} {...bind('relayer_id')} />
      </label>
      <label>
        Or pool
        <input spellCheck={false} {...bind('pool_id')} />
      </label>
      <label>
        Contract
        <input spellCheck={false} {...bind('targets')} />
      </label>
      <label>
        Selectors of its functions, one per line
        <textarea rows={2} spellCheck={false} {...bind('selectors')} />
      </label>
      <label>
        Forwarders (ERC-2771), one per line (optional)
        <textarea rows={2} spellCheck={false} {...bind('forwarders')} />
      </label>
      <label>
        Most gas of one call
        <input required inputMode="numeric" pattern="[0-9]+" {...bind('max_gas')} />
      </label>
      <label>
        Highest fee of one call, in coins
        <input required inputMode="decimal" {...bind('max_fee')} />
      </label>
      <label>
        Budget for 24 hours, in coins
        <input required inputMode="decimal" {...bind('budget_per_day')} />
      </label>
      <label>
        Calls of one user in 24 hours (optional)
        <input inputMode="numeric" pattern="[0-9]+" {...bind('per_user')} />
      </label>
      <label>
        Pages that may call it, one origin per line (https://…)
        <textarea rows={2} spellCheck={false} {...bind('origins')} />
      </label>
    </Action>
  )
}
