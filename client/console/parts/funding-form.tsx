import type { Funding } from '../../index.ts'
import { useForm, weiIn } from '../data/form.ts'
import { exactly } from '../data/format.ts'
import { useRelayerIds, useSymbols } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { Options } from './options.tsx'

export const of_relayer = '/api/v1/relayers/{relayer_id}/funding'
export const of_pool = '/api/v1/pools/{pool_id}/funding'

export type Place = { relayer_id: string } | { pool_id: string }
/** A relayer, or the relayers of a pool. */
export interface Refilled {
  place: Place
  network: string
}

export const nameOf = (place: Place) => ('pool_id' in place ? `each relayer of ${place.pool_id}` : place.relayer_id)

/** Tokens are set with the API: their amounts have units of their own. */
export function ChangeFunding({ place, network, known }: Refilled & { known: Funding | undefined }) {
  const { client } = useSession()
  const symbol = useSymbols()(network)
  const relayers = useRelayerIds()
  const { values, bind, reset } = useForm({
    from: known?.from ?? '',
    min_balance: known ? exactly(known.min_balance) : '',
    target_balance: known ? exactly(known.target_balance) : '',
    max_per_day: known ? exactly(known.max_per_day) : '',
    max_fee_per_gas: known ? exactly(known.max_fee_per_gas, 9) : '',
  })
  if (known && known.asset !== null) return null
  const wei = (name: 'min_balance' | 'target_balance' | 'max_per_day') => weiIn(name, values[name], symbol)
  return (
    <Action
      label={known ? 'Edit refills' : 'Set up refills'}
      title={`${known ? 'Edit' : 'Set up'} refills of ${nameOf(place)}`}
      told={`The refills of ${nameOf(place)} are ${known ? 'edited' : 'set up'}.`}
      tone={known ? undefined : 'primary'}
      opened={reset}
      effect={
        <p>
          When {nameOf(place)} has less than the minimum, the treasury sends what is missing to the target. The limit
          per day is what a burnt key can cost the treasury.
        </p>
      }
      run={async () => {
        const body = {
          from: values.from,
          min_balance: wei('min_balance'),
          target_balance: wei('target_balance'),
          max_per_day: wei('max_per_day'),
          max_fee_per_gas: weiIn('max_fee_per_gas', values.max_fee_per_gas, 'gwei', 9),
        }
        return 'pool_id' in place
          ? client.put(of_pool, { path: place, body })
          : client.put(of_relayer, { path: place, body })
      }}
    >
      <label>
        Treasury
        <select required {...bind('from')}>
          <option value="">Choose a relayer of the same chain</option>
          <Options
            of={relayers.data
              ?.filter((one) => one.network === network && !('relayer_id' in place && place.relayer_id === one.id))
              .map(({ id }) => id)}
          />
        </select>
      </label>
      <label>
        Minimum in {symbol}
        <input required inputMode="decimal" {...bind('min_balance')} />
      </label>
      <label>
        Target in {symbol}
        <input required inputMode="decimal" {...bind('target_balance')} />
      </label>
      <label>
        Limit per day in {symbol}
        <input required inputMode="decimal" {...bind('max_per_day')} />
      </label>
      <label>
        Highest price of gas in gwei
        <input required inputMode="decimal" {...bind('max_fee_per_gas')} />
      </label>
    </Action>
  )
}
