import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { type FundingState, type Relayer, RelayerError } from '../../index.ts'
import { useForm } from '../data/form.ts'
import { age, amount, exactly, gwei, inCoins, span, weiOf } from '../data/format.ts'
import { useRelayerIds, useSymbols } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { Badge } from './badge.tsx'
import { Loaded, Problem } from './feedback.tsx'
import { RelayerLink, transactionPath } from './links.tsx'

const poll_ms = 5_000
const base = '/api/v1/relayers/{relayer_id}/funding'
const fine = ['sufficient', 'refilling']

/** Where a relayer gets its funds from, whether it has enough, and its newest refills. */
export function Funding({ relayer }: { relayer: Relayer }) {
  const { client, mayManageAll } = useSession()
  const path = { relayer_id: relayer.id }
  const funding = useQuery({
    queryKey: ['funding', relayer.id],
    queryFn: async ({ signal }) =>
      client.get(base, { path, signal }).then(
        ({ data }) => data,
        (error) => {
          if (error instanceof RelayerError && error.status === 404) return null
          throw error
        },
      ),
    // Without refills there is nothing to follow.
    refetchInterval: ({ state }) => (state.data ? poll_ms : false),
  })
  return (
    <Loaded query={funding}>
      {(its) => (
        <>
          <div className="bar">
            <p>{its === null ? 'No other relayer refills it: send funds to its address.' : <From its={its} />}</p>
            {mayManageAll && (
              <div className="buttons">
                <Change relayer={relayer} its={its} />
                {its && (
                  <Action
                    label="End"
                    tone="danger"
                    effect={<p>{relayer.id} is no longer refilled. A refill that was accepted is still sent.</p>}
                    run={() => client.delete(base, { path })}
                  />
                )}
              </div>
            )}
          </div>
          {its && <State relayer={relayer} its={its} />}
        </>
      )}
    </Loaded>
  )
}

const From = ({ its }: { its: FundingState }) => (
  <>
    Refilled from <RelayerLink id={its.funding.from} />
    {its.funding.asset !== null && ` with the token ${its.funding.asset}`}.
  </>
)

function State({ relayer, its }: { relayer: Relayer; its: FundingState }) {
  const symbol = useSymbols()(relayer.network)
  const { funding, state, reason, since, refills, runway_seconds } = its
  const shown = (value: string | null) => (funding.asset === null ? amount(value, symbol) : (value ?? 'unknown'))
  const figures: [string, string][] = [
    ['Balance', shown(its.balance)],
    ['Refilled below', shown(funding.min_balance)],
    ['Up to', shown(funding.target_balance)],
    ['Spent in 24 h', shown(its.spent_today)],
    ['Left of the limit per day', `${shown(its.left_today)} of ${shown(funding.max_per_day)}`],
    ['Highest price of gas', `${gwei(funding.max_fee_per_gas)} gwei`],
    ['Lasts (at the fees of 24 h)', lastsFor(runway_seconds)],
  ]
  return (
    <>
      {!fine.includes(state) && reason !== null && (
        <Problem>
          {inCoins(reason)}
          {since !== null && ` Since ${age(since)}.`}
        </Problem>
      )}
      <p>
        <Badge state={state} /> {fine.includes(state) && reason !== null && reason}
      </p>
      <dl className="figures">
        {figures.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <h2>Refills</h2>
      {refills.length === 0 ? (
        <p>None yet.</p>
      ) : (
        <div className="scroll">
          <table>
            <thead>
              <tr>
                <th>When</th>
                <th className="number">Amount</th>
                <th>From</th>
                <th>State</th>
              </tr>
            </thead>
            <tbody>
              {refills.map(({ transaction_id, created_at, amount: value, from, is_open }) => (
                <tr key={created_at}>
                  <td title={created_at}>{age(created_at)} ago</td>
                  <td className="number">{shown(value)}</td>
                  <td>
                    <RelayerLink id={from} />
                  </td>
                  <td>
                    {transaction_id === null ? (
                      'being accepted'
                    ) : (
                      <Link to={transactionPath({ relayer_id: from, id: transaction_id })}>
                        {is_open ? 'under way' : 'ended'}
                      </Link>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

const year_s = 365 * 86_400
const lastsFor = (seconds: number | null): string =>
  seconds === null ? 'unknown' : seconds > year_s ? 'over a year' : span(seconds * 1_000)

/** Tokens are set with the API: their amounts have units of their own. */
function Change({ relayer, its }: { relayer: Relayer; its: FundingState | null }) {
  const { client } = useSession()
  const symbol = useSymbols()(relayer.network)
  const relayers = useRelayerIds()
  const known = its?.funding
  const { values, bind, reset } = useForm({
    from: known?.from ?? '',
    min: known ? exactly(known.min_balance) : '',
    target: known ? exactly(known.target_balance) : '',
    day: known ? exactly(known.max_per_day) : '',
    price: known ? exactly(known.max_fee_per_gas, 9) : '',
  })
  if (known && known.asset !== null) return null
  const wei = (text: string, digits?: number) => {
    const value = weiOf(text, digits)
    if (value === undefined) throw new Error(`${text} is no amount`)
    return value
  }
  return (
    <Action
      label={known ? 'Change' : 'Set up refills'}
      tone={known ? undefined : 'primary'}
      opened={reset}
      effect={
        <p>
          When {relayer.id} has less than the minimum, the treasury sends what is missing to the target. The limit per
          day is what a burnt key can cost the treasury.
        </p>
      }
      run={() =>
        client.put(base, {
          path: { relayer_id: relayer.id },
          body: {
            from: values.from,
            min_balance: wei(values.min),
            target_balance: wei(values.target),
            max_per_day: wei(values.day),
            max_fee_per_gas: wei(values.price, 9),
          },
        })
      }
    >
      <label>
        Treasury
        <select required {...bind('from')}>
          <option value="">Choose a relayer of the same chain</option>
          {relayers.data
            ?.filter(({ id, network }) => id !== relayer.id && network === relayer.network)
            .map(({ id }) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
        </select>
      </label>
      <label>
        Minimum in {symbol}
        <input required inputMode="decimal" {...bind('min')} />
      </label>
      <label>
        Target in {symbol}
        <input required inputMode="decimal" {...bind('target')} />
      </label>
      <label>
        Limit per day in {symbol}
        <input required inputMode="decimal" {...bind('day')} />
      </label>
      <label>
        Highest price of gas in gwei
        <input required inputMode="decimal" {...bind('price')} />
      </label>
    </Action>
  )
}
