import { FormError, given, listOf, useForm, weiIn } from '../data/form.ts'
import { useSymbolsOfRelayers } from '../data/overview.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { Copyable } from './links.tsx'

const blank = { id: '', relayer_id: '', pool_id: '', targets: '', selectors: '', forwarders: '' }
const usual = { max_gas: '300000', max_fee: '', budget_per_day: '', per_user: '', origins: '' }

/** Creates a sponsorship, and shows its API key once. */
export function CreateSponsorship() {
  const { client } = useSession()
  const { values, bind, reset } = useForm({ ...blank, ...usual })
  const symbol = useSymbolsOfRelayers()(values.relayer_id)
  const create = async () => {
    const isPool = values.pool_id !== ''
    if (isPool === (values.relayer_id !== ''))
      throw new FormError('relayer_id', 'Enter a relayer or a pool: one of both.')
    const { data } = await client.post('/api/v1/sponsorships', {
      body: {
        ...given({ id: values.id, relayer_id: values.relayer_id, pool_id: values.pool_id }),
        targets: values.targets === '' ? [] : [{ address: values.targets, selectors: listOf(values.selectors) }],
        forwarders: listOf(values.forwarders),
        max_gas: Number(values.max_gas),
        max_fee: weiIn('max_fee', values.max_fee, symbol),
        budget_per_day: weiIn('budget_per_day', values.budget_per_day, symbol),
        ...(values.per_user !== '' && { per_user: { count: Number(values.per_user) } }),
        origins: listOf(values.origins),
      },
    })
    return data
  }
  return (
    <Action
      label="Create a sponsorship"
      tone="primary"
      opened={reset}
      effect={<p>The relayer pays for users’ calls of these functions, within the budgets.</p>}
      run={create}
      done={({ sponsorship, token }) => (
        <>
          <p>Sponsorship {sponsorship.id} is created. Copy the key for your page or app now. It is not shown again:</p>
          <Copyable value={token} whole />
        </>
      )}
    >
      <label>
        ID (optional)
        <input spellCheck={false} {...bind('id')} />
      </label>
      <label>
        Relayer
        <input spellCheck={false} placeholder="ID of a relayer" {...bind('relayer_id')} />
      </label>
      <label>
        Or pool
        <input spellCheck={false} placeholder="ID of a pool" {...bind('pool_id')} />
      </label>
      <label>
        Contract
        <input spellCheck={false} placeholder="0x…" {...bind('targets')} />
      </label>
      <label>
        Selectors of its functions, one per line
        <textarea rows={2} spellCheck={false} placeholder="0xa9059cbb" {...bind('selectors')} />
      </label>
      <label>
        Forwarders (ERC-2771), one per line (optional)
        <textarea rows={2} spellCheck={false} placeholder="0x…" {...bind('forwarders')} />
      </label>
      <label>
        Most gas of one call
        <input required inputMode="numeric" pattern="[0-9]+" {...bind('max_gas')} />
      </label>
      <label>
        Highest fee of one call in {symbol}
        <input required inputMode="decimal" {...bind('max_fee')} />
      </label>
      <label>
        Budget for 24 hours in {symbol}
        <input required inputMode="decimal" {...bind('budget_per_day')} />
      </label>
      <label>
        Calls of one user in 24 hours (optional)
        <input inputMode="numeric" pattern="[0-9]+" {...bind('per_user')} />
      </label>
      <label>
        Pages that may call it, one origin per line (optional)
        <textarea rows={2} spellCheck={false} placeholder="https://shop.example" {...bind('origins')} />
      </label>
    </Action>
  )
}
