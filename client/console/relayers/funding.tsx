import type { UseQueryResult } from '@tanstack/react-query'
import { Fuel } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import {
  type AmountUsage,
  type Funding,
  type FundingState,
  type Pool,
  type Relayer,
  RelayerError,
} from '../../index.ts'
import { Action } from '../components/action.tsx'
import { Address } from '../components/address.tsx'
import { Coins } from '../components/coins.tsx'
import { useEdited } from '../components/edited.tsx'
import { Callout, EmptyState, Loaded, Problem } from '../components/feedback.tsx'
import { Field, Select } from '../components/fields.tsx'
import { ageColumn, type Column, relayerColumn, Table } from '../components/table.tsx'
import { Badge, Figures, RelayerLink, wholeAddress } from '../components/values.tsx'
import { useForm, weiIn } from '../data/form.ts'
import { amount, exactly, gwei, reasonText } from '../data/format.ts'
import { useGet } from '../data/get.ts'
import { paths } from '../data/paths.ts'
import { useRelayers, useStatus, useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { age, span } from '../data/times.ts'
import { TokenAmount } from '../transactions/token-amount.tsx'

/** Without refills there is nothing to follow. */
const options = { pollMs: (answer: unknown, error: unknown) => (answer && !error ? 5_000 : false) }
const fine = ['sufficient', 'refilling']

type Place = { relayer_id: string } | { pool_id: string }
/** A relayer, or the relayers of a pool. */
interface Refilled {
  place: Place
  network: string
}

const nameOf = (place: Place) => ('pool_id' in place ? `each relayer of ${place.pool_id}` : place.relayer_id)

interface LoadedFundingProps<State> {
  isFunded: boolean | undefined
  query: UseQueryResult<State>
  children(state: State | null): ReactNode
}

/** Only a funding that is there is asked for; between two answers it may have been ended. */
function LoadedFunding<State>({ isFunded, query, children }: LoadedFundingProps<State>) {
  if (isFunded === false || (query.error instanceof RelayerError && query.error.status === 404)) return children(null)
  return <Loaded query={query}>{children}</Loaded>
}

/** Where a relayer gets its funds from, whether it has enough, and its newest refills. */
export function RelayerFunding({ relayer: { id: relayerId, network, policies } }: { relayer: Relayer }) {
  const symbol = useSymbols()(network)
  const place = { relayer_id: relayerId }
  const isFunded = useStatus(relayerId, 5_000).data?.is_funded
  const query = useGet(
    '/api/v1/relayers/{relayer_id}/funding',
    { path: place },
    { ...options, isEnabled: isFunded === true },
  )
  return (
    <LoadedFunding isFunded={isFunded} query={query}>
      {(state) => (
        <>
          <Source
            place={place}
            network={network}
            known={state}
            pool_id={state?.pool_id ?? null}
            state={state?.status}
          />
          {state && isLate(state.funding, policies) && (
            <Callout of="warning">
              The policy <code>min_balance</code> stops sending below {amount(policies.min_balance ?? null, symbol)},
              and a refill starts only below {amount(state.funding.min_balance, symbol)}. It stops before it is
              refilled: raise the minimum of the refills.
            </Callout>
          )}
          {state && <State network={network} known={state} />}
        </>
      )}
    </LoadedFunding>
  )
}

/** Whether the relayer stops before a refill starts. */
const isLate = ({ asset, min_balance }: Funding, policies: Relayer['policies']): boolean =>
  asset === 'coin' && BigInt(min_balance) <= BigInt(policies.min_balance ?? 0)

/** Where the relayers of a pool get their funds from, under one limit, and which of them have enough. */
export function PoolFunding({ pool: { id: poolId, network, is_funded } }: { pool: Pool }) {
  const symbol = useSymbols()(network)
  const place = { pool_id: poolId }
  const query = useGet('/api/v1/pools/{pool_id}/funding', { path: place }, { ...options, isEnabled: is_funded })
  return (
    <LoadedFunding isFunded={is_funded} query={query}>
      {(funding) => (
        <>
          <Source place={place} network={network} known={funding} pool_id={null} />
          {funding && (
            <>
              <FundingFigures network={network} known={funding} />
              <ul className="plain">
                {funding.relayers.map(({ relayer_id, status, status_reason, since }) => (
                  <li key={relayer_id} className="stated">
                    <Link to={paths.relayer(relayer_id, 'funding')}>{relayer_id}</Link> <Badge state={status} />
                    <span className="hint">
                      {status_reason !== null && reasonText(status_reason, symbol)}
                      {since !== null && !fine.includes(status) && ` For ${age(since)}.`}
                    </span>
                  </li>
                ))}
              </ul>
            </>
          )}
        </>
      )}
    </LoadedFunding>
  )
}

type SourceProps = Refilled & {
  known: { funding: Funding; revision: string } | null
  pool_id: string | null
  state?: FundingState['status'] | undefined
}

/** The treasury, and the dialogs that change it. A relayer without one of its own may have its pool's. */
function Source({ place, network, known, pool_id, state }: SourceProps) {
  const { mayManageAll } = useSession()
  const name = nameOf(place)
  if (known === null)
    return (
      <EmptyState
        icon={Fuel}
        title={`No other relayer refills ${name}`}
        action={mayManageAll && <ChangeFunding place={place} network={network} known={undefined} />}
      >
        A relayer with more funds can refill it when its balance is low, within a daily limit.
      </EmptyState>
    )
  return (
    <div className="bar">
      <p className="stated">
        {state !== undefined && <Badge state={state} />}
        <span>
          <From network={network} funding={known.funding} />
          {pool_id !== null && (
            <>
              {' '}
              Set by the pool <Link to={paths.pool(pool_id)}>{pool_id}</Link>.
            </>
          )}
        </span>
      </p>
      {mayManageAll && (
        <div className="buttons">
          <ChangeFunding place={place} network={network} known={known} />
          {pool_id === null && (
            <Action
              label="Stop refills"
              title={`Stop refills of ${name}`}
              message={`The refills of ${name} are stopped.`}
              tone="danger"
              effect={`${name} is no longer refilled. A refill that was accepted is still sent.`}
              run={(client) =>
                'pool_id' in place
                  ? client.pools.deleteFunding(place.pool_id)
                  : client.relayers.deleteFunding(place.relayer_id)
              }
            />
          )}
        </div>
      )}
    </div>
  )
}

const From = ({ network, funding: { treasury_id, asset } }: { network: string; funding: Funding }) => (
  <>
    Refilled from <RelayerLink id={treasury_id} />
    {asset !== 'coin' && (
      <>
        {' '}
        with the token <Address value={asset} network={network} what="Token" />
      </>
    )}
    .
  </>
)

/** What is refilled: the coin of the network or a token. */
interface AmountProps {
  of: string | null
  asset: string
  network: string
}

function Amount({ of, asset, network }: AmountProps) {
  if (of === null) return 'unknown'
  return asset === 'coin' ? (
    <Coins wei={of} network={network} />
  ) : (
    <TokenAmount token={asset} units={of} network={network} />
  )
}

interface FiguresProps {
  network: string
  known: { funding: Funding; usage: AmountUsage }
  more?: Record<string, ReactNode>
}

function FundingFigures({ network, known: { funding, usage }, more }: FiguresProps) {
  const unit = { asset: funding.asset, network }
  return (
    <Figures
      of={{
        'Refilled below': <Amount of={funding.min_balance} {...unit} />,
        'Refilled to': <Amount of={funding.target_balance} {...unit} />,
        'Refilled in 24 h': (
          <span title="Each refill counts with the highest fee that it may have.">
            <Amount of={usage.used} {...unit} />
          </span>
        ),
        'Left of the daily limit': (
          <>
            <Amount of={usage.remaining} {...unit} /> of <Amount of={usage.limit} {...unit} />
          </>
        ),
        'Gas price limit': `${gwei(funding.max_fee_per_gas)} gwei`,
        ...more,
      }}
    />
  )
}

function State({ network, known }: { network: string; known: FundingState }) {
  const symbol = useSymbols()(network)
  const { funding, status, status_reason, since, refills } = known
  const unit = { asset: funding.asset, network }
  const columns: Column<FundingState['refills'][number]>[] = [
    ageColumn('Created', ({ created_at }) => created_at),
    { name: 'Amount', isNumber: true, cell: (refill) => <Amount of={refill.amount} {...unit} /> },
    relayerColumn('From', ({ treasury_id }) => treasury_id),
    {
      name: 'Status',
      cell: ({ transaction_id, treasury_id, is_open }) => (
        <Link to={paths.transaction({ relayer_id: treasury_id, id: transaction_id })}>
          {is_open ? 'in progress' : 'done'}
        </Link>
      ),
    },
  ]
  // The page shows the balance in coins.
  const more = {
    ...(funding.asset !== 'coin' && { Balance: <Amount of={known.balance} {...unit} /> }),
    ...(known.runway_seconds !== null && {
      'Empty in': `${span(known.runway_seconds * 1_000)}, at the rate of the last 24 h`,
    }),
  }
  return (
    <>
      {!fine.includes(status) && status_reason !== null && (
        <Problem>
          {reasonText(status_reason, symbol)}
          {since !== null && ` For ${age(since)}.`}
        </Problem>
      )}
      {fine.includes(status) && status_reason !== null && <p className="hint">{status_reason}</p>}
      <FundingFigures network={network} known={known} more={more} />
      <section aria-labelledby="refills">
        <h2 id="refills">Refills</h2>
        <Table
          of="refills"
          rows={refills}
          idOf={({ created_at }) => created_at}
          columns={columns}
          none={
            <EmptyState icon={Fuel} title="No refills yet">
              The first one is sent when the balance is below <Amount of={funding.min_balance} {...unit} />.
            </EmptyState>
          }
        />
      </section>
    </>
  )
}

/** Tokens are set with the API: their amounts have units of their own. */
function ChangeFunding({ place, network, known: state }: Refilled & { known: SourceProps['known'] | undefined }) {
  const symbol = useSymbols()(network)
  const relayers = useRelayers().data ?? []
  const known = state?.funding
  const { values, bind, reset } = useForm({
    treasury_id: known?.treasury_id ?? '',
    min_balance: known ? exactly(known.min_balance) : '',
    target_balance: known ? exactly(known.target_balance) : '',
    max_amount_per_day: known ? exactly(known.max_amount_per_day) : '',
    max_fee_per_gas: known ? exactly(known.max_fee_per_gas, 9) : '',
  })
  const { opened, open, lack, difference } = useEdited({ ...known, revision: state?.revision ?? '' }, reset)
  if (known && known.asset !== 'coin') return null
  const name = nameOf(place)
  const wei = (field: 'min_balance' | 'target_balance' | 'max_amount_per_day') => weiIn(field, values[field], symbol)
  const treasuries = relayers.filter(
    (one) => one.network === network && !('relayer_id' in place && place.relayer_id === one.id),
  )
  return (
    <Action
      label={known ? 'Edit refills' : 'Set up refills'}
      title={`${known ? 'Edit' : 'Set up'} refills of ${name}`}
      message={`The refills of ${name} are ${known ? 'edited' : 'set up'}.`}
      tone={known ? undefined : 'primary'}
      opened={open}
      lack={lack}
      effect={`When ${name} has less than the minimum, the treasury sends what is missing to the target. The limit per day is what a leaked key can cost the treasury.`}
      run={async (client) => {
        const body = {
          treasury_id: values.treasury_id,
          min_balance: wei('min_balance'),
          target_balance: wei('target_balance'),
          max_amount_per_day: wei('max_amount_per_day'),
          max_fee_per_gas: weiIn('max_fee_per_gas', values.max_fee_per_gas, 'gwei', 9),
        }
        const madeFrom = known && { revision: opened.revision }
        return 'pool_id' in place
          ? client.pools.replaceFunding(place.pool_id, body, madeFrom)
          : client.relayers.replaceFunding(place.relayer_id, body, madeFrom)
      }}
    >
      {difference}
      {'relayer_id' in place && (
        <Figures
          isWide
          of={{ 'Refills go to': wholeAddress(relayers.find(({ id }) => id === place.relayer_id)?.address) }}
        />
      )}
      <Select
        label="Treasury"
        none="Choose a relayer of the same chain"
        required
        values={treasuries.map(({ id }) => id)}
        {...bind('treasury_id')}
      />
      <Field kind="amount" label={`Minimum in ${symbol}`} required {...bind('min_balance')} />
      <Field kind="amount" label={`Target in ${symbol}`} required {...bind('target_balance')} />
      <Field kind="amount" label={`Limit per day in ${symbol}`} required {...bind('max_amount_per_day')} />
      <Field kind="amount" label="Gas price limit in gwei" required {...bind('max_fee_per_gas')} />
    </Action>
  )
}
