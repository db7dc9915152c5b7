import { useState } from 'react'
import type { Relayer, RelayerPolicies, RelayerPoliciesPatch } from '../../index.ts'
import { Action } from '../components/action.tsx'
import { useEdited } from '../components/edited.tsx'
import { Entries } from '../components/entries.tsx'
import { Field, Select } from '../components/fields.tsx'
import { about, RelayerLink } from '../components/values.tsx'
import { linesOf } from '../data/entries.ts'
import { FormError } from '../data/form.ts'
import { exactly, faultOfAmount, weiOf } from '../data/format.ts'
import { useSymbols } from '../data/resources.ts'
import { useSession } from '../data/session.tsx'
import { type PolicyForm, type PolicyName, policyForms } from './policy-forms.ts'

/** The policies as sentences; each can be changed or removed. */
export function Policies({ relayer }: { relayer: Relayer }) {
  const { policies } = relayer
  const others = Object.entries(policies).filter(([name]) => !Object.values(policyForms).some((forms) => name in forms))
  return (
    <>
      {Object.entries(policyForms).map(([title, forms]) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <ul className="policies">
            {(Object.keys(forms) as PolicyName[])
              .sort((a, b) => isSet(relayer, b) - isSet(relayer, a))
              .map((name) => forms[name] && <Policy key={name} name={name} form={forms[name]} relayer={relayer} />)}
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
const isSet = ({ policies }: Relayer, name: PolicyName) => Number(policies[name] !== undefined)

interface PolicyProps {
  name: PolicyName
  form: PolicyForm
  relayer: Relayer
}

function Policy({ name, form: { title, unit, list, words, none, needs }, relayer }: PolicyProps) {
  const { may } = useSession()
  const current = relayer.policies[name]
  const shown = current === undefined ? undefined : unit === 'lines' ? textOf(current) : shownIn(unit, current)
  const [changed, setChanged] = useState<string>()
  /** Of a list, which may be empty: whether it is there. */
  const [isLimited, setLimited] = useState(current !== undefined)
  const { opened, open, lack, difference } = useEdited(relayer, () => {
    setChanged(undefined)
    setLimited(current !== undefined)
  })
  const symbol = useSymbols()(relayer.network)
  const typed = changed ?? shown ?? ''
  const label = `${title[0]?.toUpperCase()}${title.slice(1)}`
  const ofUnit = unit === 'coins' ? ` in ${symbol}` : unit === 'gwei' ? ' in gwei' : ''
  const named = (
    <>
      {label}
      {unit !== 'yes' && !list && `${ofUnit} (empty: default)`} <code className="hint">{name}</code>
    </>
  )
  const field = {
    name,
    value: typed,
    onChange: ({ target }: { target: { value: string } }) => setChanged(target.value),
  }
  const value = list ? (isLimited ? listIn(name, typed) : null) : typed.trim() === '' ? null : valueIn(unit, typed)
  // An empty list allows nothing, where no list is no limit.
  const textIn = (its: string | undefined) =>
    its === undefined
      ? typeof none === 'string'
        ? none
        : none(relayer.policies)
      : its === ''
        ? 'Nothing is allowed: the list is empty.'
        : words(its, symbol)
  const isIdle = needs !== undefined && !relayer.policies[needs]
  const mayBeEmpty = name !== 'allowed_functions' && name !== 'token_limits'
  const isEmpty = !mayBeEmpty && isLimited && typed.trim() === ''
  const body = { policies: { [name]: value } as RelayerPoliciesPatch }
  const said = value === undefined ? shown : value === null ? undefined : typed.trim()
  const isSame = typed === (shown ?? '') && (!list || isLimited === (current !== undefined))
  return (
    <li className={shown === undefined ? undefined : 'set'}>
      <div>
        <span>
          {(shown !== undefined || !isIdle) && textIn(shown)}
          {isIdle && ' Without effect while no authorizations are signed.'}
        </span>
        <code className="hint">{name}</code>
      </div>
      {may('manage') && (
        <Action
          label="Edit"
          title={`Edit ${title}`}
          message={about(`The ${title} of`, <RelayerLink id={relayer.id} />, 'is edited.')}
          opened={open}
          lack={lack ?? (isSame ? 'Nothing is changed.' : isEmpty ? 'Enter at least one.' : undefined)}
          effect={`${textIn(said)} This applies to all transactions of ${relayer.id}.`}
          run={(client) => {
            if (value === undefined) throw new FormError(name, faultOf(unit, typed, symbol))
            return client.relayers.update(relayer.id, body, { revision: opened.revision })
          }}
        >
          {difference}
          {list ? (
            <>
              <Select
                label={named}
                values={[
                  ['no', 'no limit'],
                  ['yes', 'only these'],
                ]}
                value={isLimited ? 'yes' : 'no'}
                onChange={({ target }) => setLimited(target.value === 'yes')}
              />
              {isLimited && (
                <Entries
                  label={mayBeEmpty ? `${label} (empty: none)` : label}
                  network={relayer.network}
                  {...list}
                  {...field}
                />
              )}
            </>
          ) : unit === 'yes' ? (
            <Select label={named} none="default" values={['yes', 'no']} {...field} />
          ) : (
            <Field kind={unit === 'number' ? 'whole' : 'amount'} label={named} {...field} />
          )}
        </Action>
      )}
    </li>
  )
}

function shownIn(unit: PolicyForm['unit'], value: unknown): string {
  if (unit === 'yes') return value ? 'yes' : 'no'
  if (unit === 'number') return String(value)
  return exactly(String(value), unit === 'gwei' ? 9 : 18)
}

/** Of a policy that is a list. */
type Item = string | NonNullable<RelayerPolicies['allowed_functions' | 'token_limits']>[number]

/** A line for each item of a list. */
const textOf = (value: unknown): string => (value as Item[]).map(lineOf).join('\n')

function lineOf(item: Item): string {
  if (typeof item === 'string') return item
  if ('asset' in item) {
    const signatures = item.allow_signatures ? ['signatures'] : []
    return [item.asset, item.max_amount_per_transaction ?? '-', item.max_amount_per_day ?? '-', ...signatures].join(' ')
  }
  return [item.address, ...item.selectors].join(' ')
}

/** The service says what is wrong with an item. */
function listIn(name: PolicyName, text: string): unknown[] {
  const rows = linesOf(text).map((line) => line.split(/[\s,]+/))
  if (name === 'allowed_functions') return rows.map(([address = '', ...selectors]) => ({ address, selectors }))
  if (name !== 'token_limits') return rows.flat()
  return rows.map(([asset = '', one = '-', day = '-', signatures]) => ({
    asset,
    ...(one !== '-' && { max_amount_per_transaction: one }),
    ...(day !== '-' && { max_amount_per_day: day }),
    ...(signatures !== undefined && { allow_signatures: signatures === 'signatures' }),
  }))
}

/** What is said of an input that is not valid. The service says what is wrong with a list. */
function faultOf(unit: PolicyForm['unit'], text: string, symbol: string): string {
  if (unit === 'number') return 'Enter a whole number, such as 10.'
  if (unit === 'yes') return 'Enter yes or no.'
  return (unit === 'gwei' ? faultOfAmount(text, unit, 9) : faultOfAmount(text, symbol)) ?? ''
}

/** Undefined: the input is not valid. */
function valueIn(unit: PolicyForm['unit'], text: string): string | number | boolean | undefined {
  if (unit === 'yes') return { yes: true, no: false }[text.trim().toLowerCase()]
  if (unit === 'number') return /^\d{1,15}$/.test(text.trim()) ? Number(text) : undefined
  return weiOf(text, unit === 'gwei' ? 9 : 18)
}
