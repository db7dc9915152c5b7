import { useQuery } from '@tanstack/react-query'
import { Fuel } from 'lucide-react'
import { Link } from 'wouter'
import { type FundingState, type Funding as Its, type Pool, type Relayer, RelayerError } from '../../index.ts'
import { amount, gwei, reasonText } from '../data/format.ts'
import { useSymbols } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { age } from '../data/times.ts'
import { Action } from './action.tsx'
import { Badge } from './badge.tsx'
import { Problem } from './callout.tsx'
import { Loaded } from './feedback.tsx'
import { Figure } from './figure.tsx'
import { ChangeFunding, nameOf, of_pool, of_relayer, type Place, type Refilled } from './funding-form.tsx'
import { poolPath, RelayerLink, relayerPath, transactionPath } from './links.tsx'
import { Age, byAge } from './moment.tsx'
import { Nothing } from './nothing.tsx'
import { Table } from './table.tsx'

const poll_ms = 5_000
const fine = ['sufficient', 'refilling']

/** The funding of a relayer or of a pool, null without one, and its changes. */
function useFunding<State>(place: Place, read: (signal: AbortSignal) => Promise<{ data: State }>) {
  return useQuery({
    queryKey: ['funding', place],
    queryFn: ({ signal }) =>
      read(signal).then(
        ({ data }) => data,
        (error) => {
          if (error instanceof RelayerError && error.status === 404) return null
          throw error
        },
      ),
    // Without refills there is nothing to follow.
    refetchInterval: ({ state }) => (state.data ? poll_ms : false),
  })
}

/** Where a relayer gets its funds from, whether it has enough, and its newest refills. */
export function Funding({ relayer: { id: relayer_id, network } }: { relayer: Relayer }) {
  const { client } = useSession()
  const place = { relayer_id }
  const funding = useFunding(place, (signal) => client.get(of_relayer, { path: place, signal }))
  return (
    <Loaded query={funding}>
      {(its) => (
        <>
          <Source place={place} network={network} its={its} pool_id={its?.pool_id ?? null} state={its?.state} />
          {its && <State network={network} its={its} />}
        </>
      )}
    </Loaded>
  )
}

/** Where the relayers of a pool get their funds from, under one limit, and which of them have enough. */
export function PoolFunding({ pool: { id: pool_id, network } }: { pool: Pool }) {
  const { client } = useSession()
  const symbol = useSymbols()(network)
  const place = { pool_id }
  const funding = useFunding(place, (signal) => client.get(of_pool, { path: place, signal }))
  return (
    <Loaded query={funding}>
      {(its) => (
        <>
          <Source place={place} network={network} its={its} pool_id={null} />
          {its && (
            <>
              <Figures network={network} its={its} />
              <ul className="plain">
                {its.relayers.map(({ relayer_id, state, reason, since }) => (
                  <li key={relayer_id}>
                    <Link to={`${relayerPath(relayer_id)}/funding`}>{relayer_id}</Link> <Badge state={state} />{' '}
                    <span className="hint">
                      {reason !== null && reasonText(reason, symbol)}
                      {since !== null && !fine.includes(state) && ` Since ${age(since)}.`}
                    </span>
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
    </Loaded>
  )
}

/** The treasury, and the dialogs that change it. A relayer without one of its own may have its pool's. */
function Source({
  place,
  network,
  its,
  pool_id,
  state,
}: Refilled & { its: { funding: Its } | null; pool_id: string | null; state?: FundingState['state'] | undefined }) {
  const { client, mayManageAll } = useSession()
  const isPool = 'pool_id' in place
  if (its === null)
    return (
      <Nothing
        icon={Fuel}
        title={`No other relayer refills ${nameOf(place)}`}
        action={mayManageAll && <ChangeFunding place={place} network={network} known={undefined} />}
      >
        A relayer with more funds can refill it when its balance gets low, within a limit per day.
      </Nothing>
    )
  return (
    <div className="bar">
      <p>
        {state !== undefined && <Badge state={state} />} <From funding={its.funding} />
        {pool_id !== null && (
          <>
            {' '}
            By the pool <Link to={poolPath(pool_id)}>{pool_id}</Link>.
          </>
        )}
      </p>
      {mayManageAll && (
        <div className="buttons">
          <ChangeFunding place={place} network={network} known={its.funding} />
          {pool_id === null && (
            <Action
              label="End"
              title={`End refills of ${nameOf(place)}`}
              told={`The refills of ${nameOf(place)} are ended.`}
              tone="danger"
              effect={<p>{nameOf(place)} is no longer refilled. A refill that was accepted is still sent.</p>}
              run={() =>
                isPool ? client.delete(of_pool, { path: place }) : client.delete(of_relayer, { path: place })
              }
            />
          )}
        </div>
      )}
    </div>
  )
}

const From = ({ funding: { from, asset } }: { funding: Its }) => (
  <>
    Refilled from <RelayerLink id={from} />
    {asset !== null && ` with the token ${asset}`}.
  </>
)

const shownIn =
  (symbol: string, asset: string | null) =>
  (value: string | null): string =>
    asset === null ? amount(value, symbol) : (value ?? 'unknown')

function Figures({
  network,
  its: { funding, spent_today, left_today },
  more = [],
}: {
  network: string
  its: { funding: Its; spent_today: string; left_today: string }
  more?: [string, string][]
}) {
  const shown = shownIn(useSymbols()(network), funding.asset)
  const figures: [string, string][] = [
    ['Refilled below', shown(funding.min_balance)],
    ['Up to', shown(funding.target_balance)],
    ['Spent in 24 h', shown(spent_today)],
    ['Left of the limit per day', `${shown(left_today)} of ${shown(funding.max_per_day)}`],
    ['Highest price of gas', `${gwei(funding.max_fee_per_gas)} gwei`],
    ...more,
  ]
  return (
    <dl className="figures">
      {figures.map(([name, value]) => (
        <Figure key={name} name={name}>
          {value}
        </Figure>
      ))}
    </dl>
  )
}

function State({ network, its }: { network: string; its: FundingState }) {
  const symbol = useSymbols()(network)
  const { funding, state, reason, since, refills } = its
  const shown = shownIn(symbol, funding.asset)
  // The page shows the balance in coins.
  const more: [string, string][] = funding.asset === null ? [] : [['Balance', shown(its.balance)]]
  return (
    <>
      {!fine.includes(state) && reason !== null && (
        <Problem>
          {reasonText(reason, symbol)}
          {since !== null && ` Since ${age(since)}.`}
        </Problem>
      )}
      {fine.includes(state) && reason !== null && <p className="hint">{reason}</p>}
      <Figures network={network} its={its} more={more} />
      <section aria-labelledby="refills">
        <h2 id="refills">Refills</h2>
        {refills.length === 0 ? (
          <Nothing icon={Fuel} title="No refills yet">
            The first one is sent when the balance is below {shown(funding.min_balance)}.
          </Nothing>
        ) : (
          <Table
            of="refills"
            rows={refills}
            idOf={({ created_at }) => created_at}
            columns={[
              {
                name: 'Created',
                by: ({ created_at }) => byAge(created_at),
                cell: ({ created_at }) => <Age of={created_at} />,
              },
              { name: 'Amount', isNumber: true, cell: (refill) => shown(refill.amount) },
              { name: 'From', by: ({ from }) => from, cell: ({ from }) => <RelayerLink id={from} /> },
              {
                name: 'Status',
                cell: ({ transaction_id, from, is_open }) => (
                  <Link to={transactionPath({ relayer_id: from, id: transaction_id })}>
                    {is_open ? 'under way' : 'ended'}
                  </Link>
                ),
              },
            ]}
          />
        )}
      </section>
    </>
  )
}
