import { HandCoins } from 'lucide-react'
import { Link } from 'wouter'
import type { Facilitator, Payment } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { EmptyState, Loaded } from '../components/feedback.tsx'
import { Crumbs, Heading, isMissing, Missing } from '../components/page.tsx'
import { ageColumn, type Column, Pages, stateColumn, Table, usePage } from '../components/table.tsx'
import { Address, Coins, Copyable, Figures, NetworkLink, Until } from '../components/values.tsx'
import { count, short, words } from '../data/format.ts'
import { useAnswer, useGet } from '../data/get.ts'
import { paths } from '../data/paths.ts'
import { useAddressNames, usePools } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { tokenAmount, useToken } from '../transactions/tokens.ts'
import { EditFacilitator } from './facilitators.tsx'

const pollMs = 5_000
const perPage = 50

/** A facilitator: its rules, what its budget has left, and its payments. */
export function FacilitatorPage({ facilitator_id }: { facilitator_id: string }) {
  const { mayManageAll } = useSession()
  const path = { facilitator_id }
  const here = paths.facilitator(facilitator_id)
  const facilitator = useGet('/api/v1/facilitators/{facilitator_id}', { path }, { pollMs })
  const its = facilitator.data
  if (isMissing(facilitator.error))
    return <Missing what={`Facilitator ${facilitator_id}`} to={paths.facilitators} list="the facilitators" />
  return (
    <>
      <Crumbs to={paths.facilitators} list="Facilitators">
        {facilitator_id}
      </Crumbs>
      <div className="bar">
        <Heading name={facilitator_id} opened={its && { kind: 'facilitator', name: facilitator_id, to: here }} />
        {mayManageAll && its && (
          <div className="buttons">
            <EditFacilitator facilitator={its} />
            <Action
              label="Delete"
              thing={`facilitator ${facilitator_id}`}
              tone="danger"
              effect="Its API key is revoked with it. Accepted payments are settled, and stay in the list of transactions."
              run={(client) => client.facilitators.delete(facilitator_id)}
              to={paths.facilitators}
            />
          </div>
        )}
      </div>
      <Loaded query={facilitator} lines={4} as="card">
        {(one) => (
          <>
            <Rules facilitator={one} />
            <h2>Payments</h2>
            <Payments facilitator={one} />
          </>
        )}
      </Loaded>
    </>
  )
}

function Rules({ facilitator }: { facilitator: Facilitator }) {
  const { network, pool_id, assets, pay_to, max_fee, usage, wait_seconds, api_key_id } = facilitator
  const { caller } = useSession()
  const relayer = usePools().data?.find(({ id }) => id === pool_id)?.relayers[0]?.relayer_id
  return (
    <Figures
      of={{
        'Paid to': <Address value={pay_to} network={network} what="Receiver" whole />,
        Pool: <Link to={paths.pool(pool_id)}>{pool_id}</Link>,
        Network: <NetworkLink name={network} />,
        'Fees in 24 hours': <Coins wei={usage.used} network={network} />,
        'Budget left': <Coins wei={usage.remaining} network={network} />,
        Budget: <Coins wei={usage.limit} network={network} />,
        Resets: usage.resets_at !== null && <Until at={usage.resets_at} />,
        'Fee of one payment': (
          <>
            at most <Coins wei={max_fee} network={network} />
          </>
        ),
        'Waits for a block': wait_seconds === 0 ? 'not at all' : `up to ${wait_seconds} s`,
        Tokens: (
          <ul className="plain">
            {assets.map(({ asset, max_amount }) => (
              <li key={asset}>
                <Address value={asset} network={network} what="Token" />{' '}
                <span className="hint">
                  at most <Units relayer_id={relayer} token={asset} units={max_amount} /> in one payment
                </span>
              </li>
            ))}
          </ul>
        ),
        'API key': caller.may_administer && <Link to={paths.apiKey(api_key_id)}>open its key</Link>,
      }}
    />
  )
}

/** An amount of a token that the facilitator takes. */
function Units({ relayer_id, token, units }: { relayer_id: string | undefined; token: string; units: string }) {
  const known = useToken(relayer_id ?? '', token)
  const name = useAddressNames()(token)?.name
  return known || name ? tokenAmount(units, known, name ?? short(token)) : `${count(BigInt(units))} units`
}

function Payments({ facilitator: { id, network } }: { facilitator: Facilitator }) {
  const [page, setPage] = usePage(id)
  const payments = useAnswer(
    '/api/v1/facilitators/{facilitator_id}/payments',
    { path: { facilitator_id: id }, query: { page, per_page: perPage } },
    { pollMs, keepsPrevious: true },
  )
  return (
    <Loaded query={payments} lines={6} as="rows">
      {({ data, pagination: { total_items } }) => (
        <>
          <Table
            of="payments"
            rows={data}
            columns={columnsIn(network)}
            idOf={(payment) => payment.id}
            isPart
            none={
              <EmptyState icon={HandCoins} title="No payments yet">
                A server that has its key asks it to settle: the last 1,000 payments are listed here.
              </EmptyState>
            }
          />
          <Pages of="payments" page={page} per_page={perPage} total={total_items} go={setPage} />
        </>
      )}
    </Loaded>
  )
}

const columnsIn = (network: string): Column<Payment>[] => [
  { name: 'Payment', cell: ({ id }) => <Copyable value={id} /> },
  stateColumn(({ status }) => status),
  {
    name: 'Amount',
    isNumber: true,
    cell: ({ relayer_id, asset, amount }) => <Units relayer_id={relayer_id} token={asset} units={amount} />,
  },
  { name: 'Payer', cell: ({ payer }) => <Address value={payer} network={network} what="Payer" /> },
  {
    name: 'Transaction',
    cell: ({ relayer_id, transaction_id, hash }) => (
      <>
        <Link to={paths.transaction({ relayer_id, id: transaction_id })}>of {relayer_id}</Link>
        {hash !== null && <Copyable value={hash} />}
      </>
    ),
  },
  { name: 'Reason', cell: ({ error_reason }) => error_reason && words(error_reason) },
  ageColumn('Accepted', ({ created_at }) => created_at),
]
