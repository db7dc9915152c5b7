import { Gift } from 'lucide-react'
import { Link } from 'wouter'
import type { RelayerClient, Sponsorship } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { changedIn, useEdited } from '../components/edited.tsx'
import { Field, Lines } from '../components/fields.tsx'
import { Menu } from '../components/menu.tsx'
import { TablePage } from '../components/page.tsx'
import { type Column, column, stateColumn } from '../components/table.tsx'
import { Copyable, RelayerLink } from '../components/values.tsx'
import { FormError, given, listOf, useForm, weiIn } from '../data/form.ts'
import { amount, count, exactly, short } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { useSponsorships, useSymbols, useSymbolsOfRelayers } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { time } from '../data/times.ts'

const pollMs = 5_000

/** Users' calls that relayers pay for, and what their budgets have left. */
export function Sponsorships() {
  const { mayManageAll } = useSession()
  return (
    <TablePage
      name="Sponsorships"
      of="sponsorships"
      icon={Gift}
      create="Create a sponsorship"
      button={mayManageAll && <CreateSponsorship />}
      about="With a sponsorship, a relayer pays for the calls of users who have no coins, within budgets."
      query={useSponsorships(pollMs)}
      columns={columns}
    />
  )
}

const columns: Column<Sponsorship>[] = [
  column('Sponsorship', ({ id }) => id),
  stateColumn(({ paused }) => (paused ? 'paused' : 'active')),
  {
    name: 'Sent by',
    cell: ({ relayer_id, pool_id }) =>
      relayer_id === null ? (
        <Link to={paths.pool(pool_id as string)}>pool {pool_id}</Link>
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
  { name: '', cell: (sponsorship) => <SponsorshipActions sponsorship={sponsorship} /> },
]

function Coins({ wei, network }: { wei: string | null; network: string }) {
  return amount(wei, useSymbols()(network))
}

const budgetsOf = ({ budget_per_day, max_fee }: Sponsorship) => ({
  budget_per_day: exactly(budget_per_day),
  max_fee: exactly(max_fee),
})

function SponsorshipActions({ sponsorship }: { sponsorship: Sponsorship }) {
  const { mayManageAll } = useSession()
  const symbol = useSymbols()(sponsorship.network)
  const { id, paused } = sponsorship
  const pause = paused ? 'Resume' : 'Pause'
  const thing = `sponsorship ${id}`
  const { values, bind, reset } = useForm(budgetsOf(sponsorship))
  const { opened, open, lack, difference } = useEdited(sponsorship, reset)
  const bodyOf = (texts: typeof values) => ({
    budget_per_day: weiIn('budget_per_day', texts.budget_per_day, symbol),
    max_fee: weiIn('max_fee', texts.max_fee, symbol),
  })
  if (!mayManageAll) return null
  return (
    <div className="buttons">
      <Action
        label="Change budgets"
        title={`Change budgets of ${id}`}
        message={`The budgets of ${id} are changed.`}
        opened={open}
        lack={lack}
        effect="They hold from the next call on. What is used already counts."
        run={async (client) =>
          client.sponsorships.update(id, changedIn(bodyOf(budgetsOf(opened)), bodyOf(values)), {
            revision: opened.revision,
          })
        }
      >
        {difference}
        <Field kind="amount" label={`For 24 hours, in ${symbol}`} required {...bind('budget_per_day')} />
        <Field kind="amount" label={`For one call, in ${symbol}`} required {...bind('max_fee')} />
      </Action>
      <Menu of={id}>
        <Action
          key={pause}
          label={pause}
          thing={thing}
          effect={
            paused
              ? `Calls of “${id}” are accepted again.`
              : `Every call of “${id}” is refused from the next one on. Accepted ones are sent.`
          }
          run={(client) => client.sponsorships.update(id, { paused: !paused })}
        />
        <Action
          label="Delete"
          thing={thing}
          tone="danger"
          effect="Its API key is revoked with it, in every page that has it. Accepted calls are sent."
          run={(client) => client.sponsorships.delete(id)}
        />
      </Menu>
    </div>
  )
}

const blank = { id: '', relayer_id: '', pool_id: '', targets: '', selectors: '', forwarders: '' }
const usual = { max_gas: '300000', max_fee: '', budget_per_day: '', per_user: '', origins: '' }

/** Creates a sponsorship, and shows its API key once. */
function CreateSponsorship() {
  const { values, bind, reset } = useForm({ ...blank, ...usual })
  const symbol = useSymbolsOfRelayers()(values.relayer_id)
  async function create(client: RelayerClient) {
    if ((values.pool_id !== '') === (values.relayer_id !== ''))
      throw new FormError('relayer_id', 'Enter a relayer or a pool: one of both.')
    return client.sponsorships.create({
      ...given({ id: values.id }),
      ...(values.pool_id === '' ? { relayer_id: values.relayer_id } : { pool_id: values.pool_id }),
      targets: values.targets === '' ? [] : [{ address: values.targets, selectors: listOf(values.selectors) }],
      forwarders: listOf(values.forwarders),
      max_gas: Number(values.max_gas),
      max_fee: weiIn('max_fee', values.max_fee, symbol),
      budget_per_day: weiIn('budget_per_day', values.budget_per_day, symbol),
      ...(values.per_user !== '' && { per_user: { count: Number(values.per_user) } }),
      origins: listOf(values.origins),
    })
  }
  return (
    <Action
      label="Create a sponsorship"
      tone="primary"
      opened={reset}
      effect="The relayer pays for users’ calls of these functions, within the budgets."
      run={create}
      done={({ sponsorship, token }) => (
        <>
          <p>Sponsorship {sponsorship.id} is created. Copy the key for your page or app now. It is not shown again:</p>
          <Copyable value={token} whole />
        </>
      )}
    >
      <Field kind="id" label="ID (optional)" {...bind('id')} />
      <Field kind="id" label="Relayer" placeholder="ID of a relayer" {...bind('relayer_id')} />
      <Field kind="id" label="Or pool" placeholder="ID of a pool" {...bind('pool_id')} />
      <Field kind="id" label="Contract" placeholder="0x…" {...bind('targets')} />
      <Lines
        label="Selectors of its functions, one per line"
        rows={2}
        placeholder="0xa9059cbb"
        {...bind('selectors')}
      />
      <Lines
        label="Forwarders (ERC-2771), one per line (optional)"
        rows={2}
        placeholder="0x…"
        {...bind('forwarders')}
      />
      <Field kind="whole" label="Most gas of one call" required {...bind('max_gas')} />
      <Field kind="amount" label={`Highest fee of one call in ${symbol}`} required {...bind('max_fee')} />
      <Field kind="amount" label={`Budget for 24 hours in ${symbol}`} required {...bind('budget_per_day')} />
      <Field kind="whole" label="Calls of one user in 24 hours (optional)" {...bind('per_user')} />
      <Lines
        label="Pages that may call it, one origin per line (optional)"
        rows={2}
        placeholder="https://shop.example"
        {...bind('origins')}
      />
    </Action>
  )
}
