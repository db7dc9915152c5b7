import { Gift } from 'lucide-react'
import { Link } from 'wouter'
import type { Sponsorship, UpdateSponsorshipRequest } from '../../index.ts'
import { useForm, weiIn } from '../data/form.ts'
import { amount, count, exactly, short } from '../data/format.ts'
import { useSponsorships, useSymbols } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { time } from '../data/times.ts'
import { Action } from '../parts/action.tsx'
import { Badge } from '../parts/badge.tsx'
import { CreateSponsorship } from '../parts/create-sponsorship.tsx'
import { Loaded } from '../parts/feedback.tsx'
import { Heading } from '../parts/heading.tsx'
import { poolPath, RelayerLink } from '../parts/links.tsx'
import { More } from '../parts/more.tsx'
import { Nothing } from '../parts/nothing.tsx'
import { type Column, Table } from '../parts/table.tsx'

const poll_ms = 5_000
const one = '/api/v1/sponsorships/{sponsorship_id}'

/** Users' calls that relayers pay for, and what their budgets have left. */
export function Sponsorships() {
  const { mayManageAll } = useSession()
  const sponsorships = useSponsorships(poll_ms)
  return (
    <>
      <div className="bar">
        <Heading name="Sponsorships" />
        {mayManageAll && <CreateSponsorship />}
      </div>
      <Loaded query={sponsorships} as="rows">
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
    cell: ({ id }) => id,
  },
  {
    name: 'Status',
    isBeside: true,
    by: ({ paused }) => Number(paused),
    cell: ({ paused }) => <Badge state={paused ? 'paused' : 'active'} />,
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
  const pause = paused ? 'Resume' : 'Pause'
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
      <More
        of={id}
        choices={[
          { text: pause, opens: `${pause} sponsorship ${id}` },
          { text: 'Delete', opens: `Delete sponsorship ${id}`, tone: 'danger' },
        ]}
      />
      <Action
        isInMenu
        label={pause}
        title={`${pause} sponsorship ${id}`}
        told={`Sponsorship ${id} is ${paused ? 'resumed' : 'paused'}.`}
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
        isInMenu
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
