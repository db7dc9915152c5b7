import { useState } from 'react'
import type { Relayer, RelayerPolicies, RelayerPoliciesPatch } from '../../index.ts'
import { exactly, weiOf } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'

/** How a policy is read and typed. `unit`: of an amount in wei. */
interface Form {
  name: keyof RelayerPolicies & keyof RelayerPoliciesPatch
  unit: 'gwei' | 'ether' | 'number' | 'yes'
  words: (value: string) => string
  none: string
}

const forms: Form[] = [
  {
    name: 'gas_price_cap',
    unit: 'gwei',
    words: (value) => `Pays at most ${value} gwei per unit of gas.`,
    none: 'Pays any price per unit of gas.',
  },
  {
    name: 'max_fee_multiple',
    unit: 'number',
    words: (value) => `Raises a price to at most ${value} times the market price.`,
    none: 'Raises a price to at most 5 times the market price.',
  },
  {
    name: 'max_fee_per_transaction',
    unit: 'ether',
    words: (value) => `Spends at most ${value} ether on the fee of a transaction.`,
    none: 'Does not limit the fee of a transaction.',
  },
  {
    name: 'max_fee_per_day',
    unit: 'ether',
    words: (value) => `Spends at most ${value} ether on fees a day.`,
    none: 'Does not limit fees a day.',
  },
  {
    name: 'max_value',
    unit: 'ether',
    words: (value) => `Sends at most ${value} ether with a transaction.`,
    none: 'Does not limit the value of a transaction.',
  },
  {
    name: 'max_value_per_day',
    unit: 'ether',
    words: (value) => `Sends at most ${value} ether a day.`,
    none: 'Does not limit the value a day.',
  },
  {
    name: 'min_balance',
    unit: 'ether',
    words: (value) => `Reports a balance below ${value} ether.`,
    none: 'Reports no low balance.',
  },
  {
    name: 'max_unfinished',
    unit: 'number',
    words: (value) => `Accepts at most ${value} unfinished transactions.`,
    none: 'Accepts the usual number of unfinished transactions.',
  },
  {
    name: 'allow_messages',
    unit: 'yes',
    words: (value) => `${value === 'yes' ? 'Signs' : 'Does not sign'} messages.`,
    none: 'Signs messages.',
  },
  {
    name: 'allow_sign_transaction',
    unit: 'yes',
    words: (value) => `${value === 'yes' ? 'Signs' : 'Does not sign'} transactions that it does not send.`,
    none: 'Signs transactions that it does not send, if no limit forbids it.',
  },
]

/** The policies in words; each can be changed or removed. */
export function Policies({ relayer }: { relayer: Relayer }) {
  const { policies } = relayer
  const others = Object.entries(policies).filter(([name]) => !forms.some((form) => form.name === name))
  return (
    <>
      <ul className="policies">
        {forms.map((form) => (
          <Policy key={form.name} form={form} relayer={relayer} />
        ))}
      </ul>
      {others.length > 0 && (
        <>
          <h2>Receivers, functions and tokens</h2>
          <pre>{JSON.stringify(Object.fromEntries(others), null, 2)}</pre>
          <p className="hint">These are changed with “Update a relayer” of the API.</p>
        </>
      )}
    </>
  )
}

function Policy({ form: { name, unit, words, none }, relayer }: { form: Form; relayer: Relayer }) {
  const { client, may } = useSession()
  const current = relayer.policies[name]
  const shown = current === undefined ? undefined : shownIn(unit, current)
  const [changed, setChanged] = useState<string>()
  const typed = changed ?? shown ?? ''
  const value = typed.trim() === '' ? null : valueIn(unit, typed)
  const body = { policies: { [name]: value } as RelayerPoliciesPatch }
  return (
    <li>
      <div>
        <span>{shown === undefined ? none : words(shown)}</span>
        <code className="hint">{name}</code>
      </div>
      {may('manage') && (
        <Action
          label="Change"
          opened={() => setChanged(undefined)}
          effect={
            <p>
              {value === undefined ? 'This is not a value.' : value === null ? none : words(typed.trim())} It applies to
              all transactions of {relayer.id}.
            </p>
          }
          run={() => {
            if (value === undefined) throw new Error('not a value')
            return client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayer.id }, body })
          }}
        >
          <label>
            {name}
            {unit === 'yes'
              ? ' (yes, no, or empty for the default)'
              : `${unit === 'number' ? '' : ` in ${unit}`} (empty: no limit of its own)`}
            <input
              value={typed}
              inputMode={unit === 'yes' ? 'text' : 'decimal'}
              onChange={(event) => setChanged(event.target.value)}
            />
          </label>
        </Action>
      )}
    </li>
  )
}

function shownIn(unit: Form['unit'], value: unknown): string {
  if (unit === 'yes') return value ? 'yes' : 'no'
  if (unit === 'number') return String(value)
  return exactly(String(value), unit === 'gwei' ? 9 : 18)
}

/** Undefined: not a value. */
function valueIn(unit: Form['unit'], text: string): string | number | boolean | undefined {
  if (unit === 'yes') return { yes: true, no: false }[text.trim().toLowerCase()]
  if (unit === 'number') return /^\d{1,15}$/.test(text.trim()) ? Number(text) : undefined
  return weiOf(text, unit === 'gwei' ? 9 : 18)
}
