import { useState } from 'react'
import type { Relayer, RelayerPolicies, RelayerPoliciesPatch } from '../../index.ts'
import { exactly, weiOf } from '../data/format.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'

/** How a policy is shown and entered. `unit`: the unit of an amount in wei. */
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
    none: 'No limit on the price per unit of gas.',
  },
  {
    name: 'max_fee_multiple',
    unit: 'number',
    words: (value) => `Bumps fees up to ${value} times the market price.`,
    none: 'Bumps fees up to 5 times the market price.',
  },
  {
    name: 'max_fee_per_transaction',
    unit: 'ether',
    words: (value) => `Spends at most ${value} ether on the fee of one transaction.`,
    none: 'No limit on the fee of one transaction.',
  },
  {
    name: 'max_fee_per_day',
    unit: 'ether',
    words: (value) => `Spends at most ${value} ether on fees per day.`,
    none: 'No limit on fees per day.',
  },
  {
    name: 'max_value',
    unit: 'ether',
    words: (value) => `Sends at most ${value} ether per transaction.`,
    none: 'No limit on the value of one transaction.',
  },
  {
    name: 'max_value_per_day',
    unit: 'ether',
    words: (value) => `Sends at most ${value} ether per day.`,
    none: 'No limit on the value per day.',
  },
  {
    name: 'min_balance',
    unit: 'ether',
    words: (value) => `Warns when the balance is below ${value} ether.`,
    none: 'Does not report a low balance.',
  },
  {
    name: 'max_unfinished',
    unit: 'number',
    words: (value) => `Accepts at most ${value} unfinished transactions.`,
    none: 'Accepts the default number of unfinished transactions.',
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
    words: (value) => `${value === 'yes' ? 'Signs' : 'Does not sign'} transactions without sending them.`,
    none: 'Signs transactions without sending them, unless a spending limit is set.',
  },
]

/** The policies as sentences; each can be changed or removed. */
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
          <h2>Allowlists and token limits</h2>
          <pre>{JSON.stringify(Object.fromEntries(others), null, 2)}</pre>
          <p className="hint">Change these with the API operation “Update a relayer”.</p>
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
              {value === undefined ? 'The value is not valid.' : value === null ? none : words(typed.trim())} It applies
              to all transactions of {relayer.id}.
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
              : `${unit === 'number' ? '' : ` in ${unit}`} (empty: default)`}
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

/** Undefined: the input is not valid. */
function valueIn(unit: Form['unit'], text: string): string | number | boolean | undefined {
  if (unit === 'yes') return { yes: true, no: false }[text.trim().toLowerCase()]
  if (unit === 'number') return /^\d{1,15}$/.test(text.trim()) ? Number(text) : undefined
  return weiOf(text, unit === 'gwei' ? 9 : 18)
}
