import { X } from 'lucide-react'
import {
  type ClipboardEvent,
  type ComponentProps,
  Fragment,
  lazy,
  type ReactNode,
  Suspense,
  useId,
  useState,
} from 'react'
import { getAddress } from 'viem'
import type { EntryPart } from '../data/entries.ts'
import type { Bind } from '../data/form.ts'
import { words } from '../data/format.ts'
import { useAddressBook, useNotifications, useRelayers } from '../data/resources.ts'

const TokenAmountField = lazy(async () => ({
  default: (await import('../transactions/token-amount.tsx')).TokenAmountField,
}))

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

/** The addresses that the service has a name for, to choose from in the fields that name this list. */
const KnownAddresses = ({ id }: { id: string }) => (
  <datalist id={id}>
    {[...useAddressBook()].map(([address, { name, kind }]) => (
      <option key={address} value={address}>
        {`${name} (${kind})`}
      </option>
    ))}
  </datalist>
)

/** A whole address in small letters with its checksum (ERC-55), as the pages show it; any other text as it is typed. */
const withChecksum = (text: string): string => (/^0x[0-9a-f]{40}$/.test(text) ? getAddress(text) : text)

const WholeAddress = ({ value }: { value: string }) =>
  /^0x[0-9a-f]{40}$/i.test(value) && <code className="whole-address">{value}</code>

/** An address, which may be typed, or chosen among those that have a name. */
export function AddressField({ value, ...its }: Labeled<'input'>) {
  const list = useId()
  const text = withChecksum(`${value ?? ''}`)
  return (
    <>
      <Field kind="id" className="address" placeholder="0x…" list={list} value={text} {...its} />
      <WholeAddress value={text} />
      <KnownAddresses id={list} />
    </>
  )
}

interface EntriesProps extends ReturnType<Bind<string>> {
  label: string
  /** What one entry is, on the button that adds one. */
  one: string
  /** The last one may have several words. */
  parts: readonly EntryPart[]
  hint?: ReactNode
  required?: boolean
  /** Of amounts of tokens. */
  network?: string | undefined
}

const empty = '-'

/** The parts of a line; `-` is a part that is left out before others. */
const cellsOf = (line: string, count: number): string[] => {
  const words = line.split(' ')
  const cells = [...words.slice(0, count - 1), words.slice(count - 1).join(' ')]
  return cells.map((cell) => (cell === empty ? '' : cell))
}

/** A list of a form, of which each entry has its fields. Its text has a line for each entry; several lines may be pasted. */
export function Entries({ label, one, parts, hint, required, network, name, value, onChange }: EntriesProps) {
  const list = useId()
  const lines = value.split('\n')
  const set = (next: string[]) => onChange({ target: { value: next.join('\n') } })
  const change = (row: number, ...by: string[]) => set(lines.toSpliced(row, 1, ...by))
  const lineWith = (line: string, place: number, cell: string) =>
    parts
      .map((_, index) => (index === place ? cell : (cellsOf(line, parts.length)[index] ?? '')))
      .map((text, index, all) => (text === '' && all.slice(index + 1).some((later) => later !== '') ? empty : text))
      .join(' ')
      .trimEnd()
  const paste = (row: number) => (event: ClipboardEvent) => {
    const pasted = event.clipboardData
      .getData('text')
      .trim()
      .split(/\s*\n\s*/)
    if (pasted.length < 2) return
    event.preventDefault()
    change(row, ...pasted)
  }
  return (
    <fieldset className="entries">
      <legend>{label}</legend>
      {hint !== undefined && <p className="hint">{hint}</p>}
      {lines.map((line, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an entry has no other name
        <div key={row}>
          {parts.map((part, place) => {
            const its = {
              name,
              'aria-label': `${place === 0 ? label : part.label} ${row + 1}`,
              value: cellsOf(line, parts.length)[place] ?? '',
              onChange: ({ target }: { target: { value: string } }) => change(row, lineWith(line, place, target.value)),
            }
            if (part.isAmount)
              return (
                <Suspense key={part.label} fallback={<input disabled aria-label={its['aria-label']} />}>
                  <TokenAmountField
                    {...{ name, 'aria-label': its['aria-label'], per: part.placeholder ?? '' }}
                    title={part.label}
                    token={cellsOf(line, parts.length)[0] ?? ''}
                    network={network}
                    units={its.value}
                    change={(units) => change(row, lineWith(line, place, units))}
                  />
                </Suspense>
              )
            const text = part.isAddress ? withChecksum(its.value) : its.value
            return part.values ? (
              <select key={part.label} {...its}>
                <Options of={part.values} />
              </select>
            ) : (
              <Fragment key={part.label}>
                <input
                  {...its}
                  {...kinds.id}
                  value={text}
                  className={part.isAddress ? 'address' : undefined}
                  placeholder={part.placeholder ?? part.label}
                  title={part.label}
                  list={part.isAddress ? list : undefined}
                  required={required && row === 0 && place === 0}
                  onPaste={paste(row)}
                />
                {part.isAddress && <WholeAddress value={text} />}
              </Fragment>
            )
          })}
          <button
            type="button"
            className="quiet small"
            aria-label={`Remove ${one} ${row + 1}`}
            disabled={lines.length === 1 && line === ''}
            onClick={() => (lines.length === 1 ? set(['']) : change(row))}
          >
            <X className="icon" aria-hidden />
          </button>
        </div>
      ))}
      <button type="button" className="small" onClick={() => set([...lines, ''])}>
        Add another {one}
      </button>
      {parts.some(({ isAddress }) => isAddress) && <KnownAddresses id={list} />}
    </fieldset>
  )
}

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
