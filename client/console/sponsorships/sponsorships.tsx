import { Gift } from 'lucide-react'
import { Link } from 'wouter'
import type { RelayerClient, Sponsorship } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Address } from '../components/address.tsx'
import { Coins } from '../components/coins.tsx'
import { changedIn, useEdited } from '../components/edited.tsx'
import { AddressField, Entries } from '../components/entries.tsx'
import { Field, Select } from '../components/fields.tsx'
import { Menu } from '../components/menu.tsx'
import { NewToken } from '../components/new-token.tsx'
import { TablePage } from '../components/page.tsx'
import { type Column, column, stateColumn } from '../components/table.tsx'
import { RelayerLink } from '../components/values.tsx'
import { listOf } from '../data/entries.ts'
import { given, useForm, weiIn } from '../data/form.ts'
import { counted, exactly } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { usePools, useRelayers, useSponsorships, useSymbols } from '../data/resources.ts'
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
    cell: ({ targets, network }) => (
      <span className="named">
        {targets.length === 0 && 'nothing yet'}
        {targets.map(({ address, selectors }) => (
          <span key={address} title={selectors.join(', ')}>
            <Address value={address} network={network} what="Contract" />{' '}
            <span className="hint">{counted(selectors.length, 'function')}</span>
          </span>
        ))}
      </span>
    ),
  },
  {
    name: 'Used in 24 h',
    isNumber: true,
    cell: ({ usage, network }) => <Coins wei={usage.used} network={network} />,
  },
  {
    name: 'Budget left',
    isNumber: true,
    cell: ({ usage, network }) => (
      <span title={usage.resets_at === null ? undefined : `Resets ${time(usage.resets_at)}`}>
        <Coins wei={usage.remaining} network={network} />
      </span>
    ),
  },
  {
    name: 'Per call',
    isNumber: true,
    cell: ({ max_fee_per_call, network }) => <Coins wei={max_fee_per_call} network={network} />,
  },
  { name: '', cell: (sponsorship) => <SponsorshipActions sponsorship={sponsorship} /> },
]

const budgetsOf = ({ max_fee_per_day, max_fee_per_call }: Sponsorship) => ({
  max_fee_per_day: exactly(max_fee_per_day),
  max_fee_per_call: exactly(max_fee_per_call),
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
    max_fee_per_day: weiIn('max_fee_per_day', texts.max_fee_per_day, symbol),
    max_fee_per_call: weiIn('max_fee_per_call', texts.max_fee_per_call, symbol),
  })
  if (!mayManageAll) return null
  return (
    <div className="buttons">
      <Action
        label="Edit"
        title={`Edit budgets of ${id}`}
        message={`The budgets of ${id} are changed.`}
        opened={open}
        lack={lack}
        effect="Applies from the next call on. What is already used counts."
        run={async (client) =>
          client.sponsorships.update(id, changedIn(bodyOf(budgetsOf(opened)), bodyOf(values)), {
            revision: opened.revision,
          })
        }
      >
        {difference}
        <Field kind="amount" label={`For 24 h, in ${symbol}`} required {...bind('max_fee_per_day')} />
        <Field kind="amount" label={`Per call, in ${symbol}`} required {...bind('max_fee_per_call')} />
      </Action>
      <Menu of={id}>
        <Action
          key={pause}
          label={pause}
          thing={thing}
          effect={
            paused
              ? `Calls of “${id}” are accepted again.`
              : `Calls of “${id}” are refused from now on. Accepted ones are still sent.`
          }
          run={(client) => client.sponsorships.update(id, { paused: !paused })}
        />
        <Action
          label="Delete"
          thing={thing}
          tone="danger"
          effect="Its API key is revoked too, in every page that uses it. Accepted calls are still sent."
          run={(client) => client.sponsorships.delete(id)}
        />
      </Menu>
    </div>
  )
}

const selector = [{ label: 'Selector', placeholder: '0xa9059cbb' }]
const forwarder = [{ label: 'Forwarder', placeholder: '0x…', isAddress: true }]
const origin = [{ label: 'Origin', placeholder: 'https://shop.example' }]
const blank = { id: '', relayer_id: '', targets: '', selectors: '', forwarders: '' }
const usual = { max_gas_per_call: '300000', max_fee_per_call: '', max_fee_per_day: '', user_limits: '', origins: '' }

/** Creates a sponsorship, and shows its API key once. */
function CreateSponsorship() {
  const { values, bind, reset } = useForm({ ...blank, ...usual })
  const relayers = useRelayers().data ?? []
  const pools = usePools().data ?? []
  const [kind, sender = ''] = values.relayer_id.split(' ')
  const symbol = useSymbols()((kind === 'pool_id' ? pools : relayers).find(({ id }) => id === sender)?.network)
  async function create(client: RelayerClient) {
    return client.sponsorships.create({
      ...given({ id: values.id }),
      ...(kind === 'pool_id' ? { pool_id: sender } : { relayer_id: sender }),
      targets: values.targets === '' ? [] : [{ address: values.targets, selectors: listOf(values.selectors) }],
      forwarders: listOf(values.forwarders),
      max_gas_per_call: Number(values.max_gas_per_call),
      max_fee_per_call: weiIn('max_fee_per_call', values.max_fee_per_call, symbol),
      max_fee_per_day: weiIn('max_fee_per_day', values.max_fee_per_day, symbol),
      ...(values.user_limits !== '' && { user_limits: { max_calls_per_day: Number(values.user_limits) } }),
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
      isOnce
      done={({ sponsorship, token }) => (
        <NewToken token={token}>Sponsorship {sponsorship.id} is created, with a key for your page or app.</NewToken>
      )}
    >
      <Field kind="id" label="ID (optional)" {...bind('id')} />
      <Select
        label="Sent by"
        none="Choose a relayer or a pool"
        required
        values={[
          ...relayers.map(({ id }) => [`relayer_id ${id}`, `relayer ${id}`] as const),
          ...pools.map(({ id }) => [`pool_id ${id}`, `pool ${id}`] as const),
        ]}
        {...bind('relayer_id')}
      />
      <AddressField label="Contract" {...bind('targets')} />
      <Entries label="Selectors of its functions" one="selector" parts={selector} {...bind('selectors')} />
      <Entries label="Forwarders (ERC-2771, optional)" one="forwarder" parts={forwarder} {...bind('forwarders')} />
      <Field kind="whole" label="Gas limit per call" required {...bind('max_gas_per_call')} />
      <Field kind="amount" label={`Fee limit per call in ${symbol}`} required {...bind('max_fee_per_call')} />
      <Field kind="amount" label={`Budget for 24 h, in ${symbol}`} required {...bind('max_fee_per_day')} />
      <Field kind="whole" label="Calls per user in 24 h (optional)" {...bind('user_limits')} />
      <Entries label="Pages that may call it (optional)" one="origin" parts={origin} {...bind('origins')} />
    </Action>
  )
}
