import { type ComponentProps, type ReactNode, useId } from 'react'
import { words } from '../data/format.ts'
import { useNotifications, useRelayers } from '../data/resources.ts'

/** A control of a form below its label; `hint`: what the reader has to know of it. */
type Labeled<Control extends 'input' | 'textarea' | 'select'> = ComponentProps<Control> & {
  label: ReactNode
  hint?: ReactNode
}

const Hint = ({ text }: { text: ReactNode }) => text !== undefined && <span className="hint">{text}</span>

/** What is typed: a whole number, an amount, or an ID, an address or another text that is no prose. */
const kinds = {
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
