import { type ComponentProps, type ReactNode, useId, useState } from 'react'
import type { EntryPart } from '../data/entries.ts'
import { words } from '../data/format.ts'
import { useNotifications, useRelayers } from '../data/resources.ts'

/** A control of a form below its label; `hint`: what the reader has to know of it. */
export type Labeled<Control extends 'input' | 'textarea' | 'select'> = ComponentProps<Control> & {
  label: ReactNode
  hint?: ReactNode
}

const Hint = ({ text }: { text: ReactNode }) => text !== undefined && <span className="hint">{text}</span>

/** What is typed: a whole number, an amount, or an ID, an address or another text that is no prose. */
export const kinds = {
  whole: { inputMode: 'numeric', pattern: '[0-9]+' },
  amount: { inputMode: 'decimal' },
  id: { spellCheck: false, autoComplete: 'off' },
} as const

export const Field = ({ label, hint, kind, ...control }: Labeled<'input'> & { kind?: keyof typeof kinds }) => (
  <label>
    {label}
    <input {...(kind && kinds[kind])} {...control} />
    <Hint text={hint} />
  </label>
)

/** Several lines of a text that is no prose. */
export const Lines = ({ label, hint, ...control }: Labeled<'textarea'>) => (
  <label>
    {label}
    <textarea spellCheck={false} {...control} />
    <Hint text={hint} />
  </label>
)

/** Of a node of a network or of a relayer, as `nodesOf` reads it. */
export const nodeParts: readonly EntryPart[] = [
  { label: 'URL', placeholder: 'https://node.example/KEY' },
  { label: 'Weight', placeholder: 'weight (100)' },
]

type SelectProps = Labeled<'select'> & {
  values: readonly (string | readonly [value: string, text: string])[] | undefined
  none?: string
}

/** One of these values, which are shown as they are sent or with a text. `none`: the text of choosing nothing. */
export const Select = ({ label, values = [], none, ...control }: SelectProps) => (
  <label>
    {label}
    <select {...control}>
      {none !== undefined && <option value="">{none}</option>}
      <Options of={values} />
    </select>
  </label>
)

export const Options = ({ of }: { of: readonly (string | readonly [value: string, text: string])[] }) =>
  of
    .map((one) => (typeof one === 'string' ? ([one, one] as const) : one))
    .map(([value, text]) => (
      <option key={value} value={value}>
        {text}
      </option>
    ))

interface ChecksProps<Value extends string> {
  legend: string
  name: string
  values: readonly Value[]
  chosen: Value[]
  set(chosen: Value[]): void
  text?(value: Value): string
}

/** Any of some values, as boxes to tick. `name`: the contract's. */
export function Checks<Value extends string>({ legend, name, values, chosen, set, text = words }: ChecksProps<Value>) {
  const toggle = (value: Value) =>
    set(chosen.includes(value) ? chosen.filter((one) => one !== value) : [...chosen, value])
  return (
    <fieldset>
      <legend>{legend}</legend>
      {values.map((value) => (
        <label key={value} className="inline">
          <input type="checkbox" name={name} checked={chosen.includes(value)} onChange={() => toggle(value)} />{' '}
          {text(value)}
        </label>
      ))}
    </fieldset>
  )
}

const minSearched = 12

/** Any of the things that there are, by ID: those that are chosen come first, and many are narrowed by a text. `name`: the contract's. */
export function Picks({ legend, name, values, chosen, set }: Omit<ChecksProps<string>, 'text'>) {
  const [text, setText] = useState('')
  const [first] = useState(chosen)
  const all = [...new Set([...first, ...chosen, ...values])]
  const found = all.filter((value) => value.toLowerCase().includes(text.trim().toLowerCase()))
  return (
    <div className="picks">
      <Checks legend={legend} name={name} values={found} chosen={chosen} set={set} text={(value) => value} />
      {all.length > minSearched && (
        <input
          type="search"
          aria-label={`Narrow: ${legend}`}
          placeholder="Type a part of an ID"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      )}
    </div>
  )
}

/** The notifications of a relayer. Those that it has are shown to a key, too, that may not list them. */
export function NotificationChecks(its: Pick<ChecksProps<string>, 'name' | 'chosen' | 'set'>) {
  const known = useNotifications().data?.map(({ id }) => id) ?? []
  const values = [...new Set([...known, ...its.chosen])]
  if (values.length === 0) return null
  return <Checks legend="Notifications that receive its events" values={values} text={(id) => id} {...its} />
}

/** The ID of a relayer, which may be typed or chosen. */
export function RelayerField({ value, set }: { value: string; set(relayerId: string): void }) {
  const relayers = useRelayers().data ?? []
  const options = useId()
  return (
    <>
      <Field
        kind="id"
        label="Relayer"
        name="relayer_id"
        list={options}
        required
        placeholder="Choose one"
        value={value}
        onChange={({ target }) => set(target.value)}
      />
      <datalist id={options}>
        {relayers.map(({ id }) => (
          <option key={id} value={id} />
        ))}
      </datalist>
    </>
  )
}

/** The relayers of a network, of which some are chosen. */
export function RelayerPicks({
  network,
  ...its
}: Pick<ChecksProps<string>, 'name' | 'chosen' | 'set'> & { network: string }) {
  const relayers = useRelayers().data?.filter((one) => one.network === network) ?? []
  if (relayers.length === 0 && its.chosen.length === 0)
    return (
      <p className="hint">
        {network === '' ? 'Choose a network: its relayers are listed here.' : `${network} has no relayer.`}
      </p>
    )
  return <Picks legend="Relayers" values={relayers.map(({ id }) => id)} {...its} />
}
