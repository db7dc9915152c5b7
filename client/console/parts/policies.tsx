import { useId, useState } from 'react'
import type { Relayer, RelayerPoliciesPatch } from '../../index.ts'
import { FormError } from '../data/form.ts'
import { useSymbols } from '../data/overview.ts'
import { type PolicyForm, policy_forms, policy_groups } from '../data/policies.ts'
import { expected, listIn, shownIn, textOf, valueIn } from '../data/policy-values.ts'
import { useSession } from '../data/session.tsx'
import { Action } from './action.tsx'
import { RelayerLink } from './links.tsx'

/** The policies as sentences; each can be changed or removed. */
export function Policies({ relayer }: { relayer: Relayer }) {
  const { policies } = relayer
  const others = Object.entries(policies).filter(([name]) => !policy_forms.some((form) => form.name === name))
  return (
    <>
      {policy_groups.map(([title, names]) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <ul className="policies">
            {policy_forms
              .filter(({ name }) => names.includes(name))
              .sort((a, b) => isSet(relayer, b) - isSet(relayer, a))
              .map((form) => (
                <Policy key={form.name} form={form} relayer={relayer} />
              ))}
          </ul>
        </section>
      ))}
      {others.length > 0 && (
        <>
          <h2>Other policies</h2>
          <pre>{JSON.stringify(Object.fromEntries(others), null, 2)}</pre>
          <p className="hint">Change these with the API operation “Update a relayer”.</p>
        </>
      )}
    </>
  )
}

/** Those that are set come first. */
const isSet = ({ policies }: Relayer, { name }: PolicyForm) => Number(policies[name] !== undefined)

function Policy({ form: { name, title, unit, lines, words, none }, relayer }: { form: PolicyForm; relayer: Relayer }) {
  const { client, may } = useSession()
  const current = relayer.policies[name]
  const shown = current === undefined ? undefined : unit === 'lines' ? textOf(current) : shownIn(unit, current)
  const [changed, setChanged] = useState<string>()
  const symbol = useSymbols()(relayer.network)
  const typed = changed ?? shown ?? ''
  const field = {
    id: useId(),
    name,
    value: typed,
    onChange: ({ target }: { target: { value: string } }) => setChanged(target.value),
  }
  const value = typed.trim() === '' ? null : unit === 'lines' ? listIn(name, typed) : valueIn(unit, typed)
  const body = { policies: { [name]: value } as RelayerPoliciesPatch }
  // What is typed, as long as it is a value.
  const said = value === undefined ? shown : typed.trim()
  return (
    <li className={shown === undefined ? undefined : 'set'}>
      <div>
        <span>{shown === undefined ? none : words(shown, symbol)}</span>
        <code className="hint">{name}</code>
      </div>
      {may('manage') && (
        <Action
          label="Change"
          title={`Change ${title}`}
          told={
            <>
              The {title} of <RelayerLink id={relayer.id} /> is changed.
            </>
          }
          opened={() => setChanged(undefined)}
          effect={
            <p>
              {said ? words(said, symbol) : none} It applies to all transactions of {relayer.id}.
            </p>
          }
          run={() => {
            if (value === undefined) throw new FormError(name, expected[unit](symbol))
            return client.patch('/api/v1/relayers/{relayer_id}', { path: { relayer_id: relayer.id }, body })
          }}
        >
          <label htmlFor={field.id}>
            {title[0]?.toUpperCase()}
            {title.slice(1)}
            {unit === 'yes'
              ? ''
              : unit === 'lines'
                ? `: ${lines} (empty: no limit)`
                : `${unit === 'number' ? '' : ` in ${unit === 'coins' ? symbol : unit}`} (empty: default)`}{' '}
            <code className="hint">{name}</code>
            {unit === 'lines' ? (
              <textarea rows={5} spellCheck={false} {...field} />
            ) : unit === 'yes' ? (
              <select {...field}>
                <option value="">default</option>
                <option>yes</option>
                <option>no</option>
              </select>
            ) : (
              <input inputMode={unit === 'number' ? 'numeric' : 'decimal'} autoComplete="off" {...field} />
            )}
          </label>
        </Action>
      )}
    </li>
  )
}
