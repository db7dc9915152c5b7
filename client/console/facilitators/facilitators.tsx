import { HandCoins } from 'lucide-react'
import { Link } from 'wouter'
import type { Facilitator } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Address } from '../components/address.tsx'
import { Coins } from '../components/coins.tsx'
import { changedIn, useEdited } from '../components/edited.tsx'
import { AddressField, Entries } from '../components/entries.tsx'
import { Field, Select } from '../components/fields.tsx'
import { NewToken } from '../components/new-token.tsx'
import { TablePage } from '../components/page.tsx'
import { type Column, countColumn, networkColumn } from '../components/table.tsx'
import { linesOf } from '../data/entries.ts'
import { given, useForm, weiIn } from '../data/form.ts'
import { exactly } from '../data/format.ts'
import { paths } from '../data/paths.ts'
import { useFacilitators, usePools, useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'

const pollMs = 5_000

/** Payments of x402 that pools settle, and what their budgets have left. */
export function Facilitators() {
  const { mayManageAll } = useSession()
  return (
    <TablePage
      name="Facilitators"
      of="facilitators"
      icon={HandCoins}
      create="Create a facilitator"
      button={mayManageAll && <CreateFacilitator />}
      about="A facilitator settles x402 payments: a pool sends what payers have signed, and pays for the gas within a budget."
      query={useFacilitators(pollMs)}
      columns={columns}
    />
  )
}

const columns: Column<Facilitator>[] = [
  { name: 'Facilitator', by: ({ id }) => id, cell: ({ id }) => <Link to={paths.facilitator(id)}>{id}</Link> },
  networkColumn(),
  {
    name: 'Pool',
    by: ({ pool_id }) => pool_id,
    cell: ({ pool_id }) => <Link to={paths.pool(pool_id)}>{pool_id}</Link>,
  },
  countColumn('Tokens', ({ assets }) => assets.length),
  { name: 'Paid to', cell: ({ pay_to, network }) => <Address value={pay_to} network={network} what="Receiver" /> },
  {
    name: 'Fees in 24 h',
    isNumber: true,
    cell: ({ usage, network }) => <Coins wei={usage.used} network={network} />,
  },
  {
    name: 'Budget left',
    isNumber: true,
    cell: ({ usage, network }) => <Coins wei={usage.remaining} network={network} />,
  },
]

const tokens = [
  { label: 'Token', placeholder: '0x…', isAddress: true },
  { label: 'Limit per payment', placeholder: 'per payment', isAmount: true },
]

const rulesOf = ({ assets, pay_to, max_fee_per_payment, max_fee_per_day, wait_seconds }: Facilitator) => ({
  assets: assets.map(({ asset, max_amount_per_payment }) => `${asset} ${max_amount_per_payment}`).join('\n'),
  pay_to,
  max_fee_per_payment: exactly(max_fee_per_payment),
  max_fee_per_day: exactly(max_fee_per_day),
  wait_seconds: `${wait_seconds}`,
})

const blank = { assets: '', pay_to: '', max_fee_per_payment: '', max_fee_per_day: '', wait_seconds: '20' }

const bodyOf = (
  { assets, pay_to, max_fee_per_payment, max_fee_per_day, wait_seconds }: typeof blank,
  symbol: string,
) => ({
  assets: linesOf(assets).map((line) => {
    const [asset = '', maxAmount = ''] = line.split(/\s+/)
    return { asset, max_amount_per_payment: maxAmount }
  }),
  pay_to,
  max_fee_per_payment: weiIn('max_fee_per_payment', max_fee_per_payment, symbol),
  max_fee_per_day: weiIn('max_fee_per_day', max_fee_per_day, symbol),
  wait_seconds: Number(wait_seconds),
})

/** The rules of a facilitator, which creating and changing it have. */
function RuleFields({
  bind,
  network,
}: {
  bind: ReturnType<typeof useForm<typeof blank>>['bind']
  network: string | undefined
}) {
  const symbol = useSymbols()(network)
  return (
    <>
      <Entries label="Tokens (EIP-3009)" one="token" parts={tokens} network={network} required {...bind('assets')} />
      <AddressField label="Paid to" required {...bind('pay_to')} />
      <Field kind="amount" label={`Fee limit per payment in ${symbol}`} required {...bind('max_fee_per_payment')} />
      <Field kind="amount" label={`Budget for fees in 24 h, in ${symbol}`} required {...bind('max_fee_per_day')} />
      <Field
        kind="whole"
        label="Seconds that a request waits for its payment to be mined (0 to 60)"
        required
        {...bind('wait_seconds')}
      />
    </>
  )
}

/** Creates a facilitator, and shows its API key once. */
function CreateFacilitator() {
  const pools = usePools().data ?? []
  const rules = useForm(blank)
  const { values, bind, reset } = useForm({ id: '', pool_id: '' })
  const network = pools.find(({ id }) => id === values.pool_id)?.network
  const symbol = useSymbols()(network)
  return (
    <Action
      label="Create a facilitator"
      tone="primary"
      opened={() => {
        reset()
        rules.reset()
      }}
      effect="The relayers of the pool send payments that payers have signed, and pay for the gas."
      run={async (client) =>
        client.facilitators.create({
          ...given({ id: values.id }),
          pool_id: values.pool_id,
          ...bodyOf(rules.values, symbol),
        })
      }
      isOnce
      done={({ facilitator, token }) => (
        <NewToken token={token}>
          Facilitator <Link to={paths.facilitator(facilitator.id)}>{facilitator.id}</Link> is created.
        </NewToken>
      )}
    >
      <Field kind="id" label="ID (optional)" {...bind('id')} />
      <Select
        label="Pool"
        none={pools.length === 0 ? 'There is no pool yet' : 'Choose one'}
        required
        values={pools.map(({ id, network }) => [id, `${id} (${network})`] as const)}
        {...bind('pool_id')}
      />
      <RuleFields bind={rules.bind} network={network} />
    </Action>
  )
}

export function EditFacilitator({ facilitator }: { facilitator: Facilitator }) {
  const symbol = useSymbols()(facilitator.network)
  const { values, bind, reset } = useForm(rulesOf(facilitator))
  const { opened, open, lack, difference } = useEdited(facilitator, reset)
  return (
    <Action
      label="Edit"
      thing={`facilitator ${facilitator.id}`}
      opened={open}
      lack={lack}
      effect="Applies from the next payment on. Accepted payments are still settled, and what is already used counts."
      run={async (client) =>
        client.facilitators.update(opened.id, changedIn(bodyOf(rulesOf(opened), symbol), bodyOf(values, symbol)), {
          revision: opened.revision,
        })
      }
    >
      {difference}
      <RuleFields bind={bind} network={facilitator.network} />
    </Action>
  )
}
