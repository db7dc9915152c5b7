import { HandCoins } from 'lucide-react'
import { Link } from 'wouter'
import type { Facilitator, Payment } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Address } from '../components/address.tsx'
import { Coins } from '../components/coins.tsx'
import { EmptyState, Loaded } from '../components/feedback.tsx'
import { Menu } from '../components/menu.tsx'
import { Crumbs, Heading, isMissing, Missing } from '../components/page.tsx'
import { ageColumn, type Column, Pages, stateColumn, Table, usePage } from '../components/table.tsx'
import { Copyable, Figures, NetworkLink, TransactionHash, Until } from '../components/values.tsx'
import { words } from '../data/format.ts'
import { useAnswer, useGet } from '../data/get.ts'
import { paths } from '../data/paths.ts'
import { useApiKeys } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { TokenAmount } from '../transactions/token-amount.tsx'
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
            <Menu of={facilitator_id}>
              <Action
                label="Delete"
                thing={`facilitator ${facilitator_id}`}
                tone="danger"
                effect="Its API key is revoked too. Accepted payments are still settled, and stay in the list of transactions."
                run={(client) => client.facilitators.delete(facilitator_id)}
                to={paths.facilitators}
              />
            </Menu>
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
  const { network, pool_id, assets, pay_to, max_fee_per_payment, usage, wait_seconds, api_key_id } = facilitator
  const key = useApiKeys().data?.find(({ id }) => id === api_key_id)
  return (
    <Figures
      of={{
        'Paid to': <Address value={pay_to} network={network} what="Receiver" whole />,
        Pool: <Link to={paths.pool(pool_id)}>{pool_id}</Link>,
        Network: <NetworkLink name={network} />,
        'Fees in 24 h': <Coins wei={usage.used} network={network} />,
        'Budget left in 24 h': (
          <>
            <Coins wei={usage.remaining} network={network} /> of <Coins wei={usage.limit} network={network} />
          </>
        ),
        Resets: usage.resets_at !== null && <Until at={usage.resets_at} />,
        'Fee limit per payment': <Coins wei={max_fee_per_payment} network={network} />,
        'Waits for a block': wait_seconds === 0 ? 'not at all' : `up to ${wait_seconds} s`,
        Tokens: (
          <ul className="plain">
            {assets.map(({ asset, max_amount_per_payment }) => (
              <li key={asset}>
                <Address value={asset} network={network} what="Token" />{' '}
                <span className="hint">
                  at most <TokenAmount token={asset} units={max_amount_per_payment} network={network} /> per payment
                </span>
              </li>
            ))}
          </ul>
        ),
        'API key': key && <Link to={paths.apiKey(api_key_id)}>{key.name}</Link>,
      }}
    />
  )
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
                Payments appear here once a server settles with this facilitator's key. The last 1,000 are kept.
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
    cell: ({ asset, amount }) => <TokenAmount token={asset} units={amount} network={network} />,
  },
  { name: 'Payer', cell: ({ payer }) => <Address value={payer} network={network} what="Payer" /> },
  {
    name: 'Transaction',
    cell: ({ relayer_id, transaction_id, hash }) => (
      <>
        <Link to={paths.transaction({ relayer_id, id: transaction_id })}>of {relayer_id}</Link>
        {hash !== null && <TransactionHash value={hash} network={network} />}
      </>
    ),
  },
  { name: 'Reason', cell: ({ error }) => error && words(error.code) },
  ageColumn('Accepted', ({ created_at }) => created_at),
]
