import './entries.css'
import { X } from 'lucide-react'
import { type ClipboardEvent, Fragment, lazy, type ReactNode, Suspense, useId } from 'react'
import { getAddress } from 'viem'
import type { EntryPart } from '../data/entries.ts'
import type { Bind } from '../data/form.ts'
import { useAddressBook } from '../data/resources.ts'
import { Field, kinds, type Labeled, Options } from './fields.tsx'

const TokenAmountField = lazy(async () => ({
  default: (await import('../transactions/token-amount.tsx')).TokenAmountField,
}))

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
