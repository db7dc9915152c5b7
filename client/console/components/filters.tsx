import { Toggle } from '@base-ui/react/toggle'
import { ToggleGroup } from '@base-ui/react/toggle-group'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { count } from '../data/format.ts'
import { momentOf, typedOf, zoneShortly } from '../data/times.ts'
import type { Period } from '../transactions/transaction-filter.ts'

interface FiltersProps {
  children: ReactNode
  apply?(form: HTMLFormElement): void
  more?: ReactNode
  set?: number
}

/**
 * The row above a list that narrows it, the same for every list. Fields with a name count when the reader leaves them, or by Enter: then
 * `apply` gets the form. `more`: fields that are used less often, behind a button that shows how many of them are `set`.
 */
export function Filters({ children, apply, more, set = 0 }: FiltersProps) {
  const [isOpen, open] = useState(false)
  /** What the fields had when they counted last. */
  const counted = useRef('')
  return (
    <form
      className="bar filters"
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault()
        counted.current = textsOf(event.currentTarget)
        apply?.(event.currentTarget)
      }}
      onFocus={({ currentTarget }) => {
        counted.current = textsOf(currentTarget)
      }}
      onBlur={({ currentTarget }) => {
        // Another page that loads hides this one, which ends the focus too.
        if (currentTarget.checkVisibility() && textsOf(currentTarget) !== counted.current) currentTarget.requestSubmit()
      }}
      onChange={({ target, currentTarget }) =>
        (target as Element).matches('select[name]') && currentTarget.requestSubmit()
      }
    >
      {children}
      {more && (
        <button type="button" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
          More filters{set > 0 && ` (${set})`}
        </button>
      )}
      {more && (
        <div className="more-filters" hidden={!isOpen}>
          {more}
        </div>
      )}
      {/* Enter in a field sends the form only where it has a button. */}
      <button type="submit" hidden aria-hidden tabIndex={-1} />
    </form>
  )
}

const textsOf = (form: HTMLFormElement) => JSON.stringify([...new FormData(form)])

interface SearchFieldProps {
  kinds: string
  hint?: string
  value: string
  change(text: string): void
}

/** The text that is searched in a list. `kinds`: what of a row is searched, in words. */
export const SearchField = ({ kinds, hint = kinds, value, change }: SearchFieldProps) => (
  <input
    type="search"
    className="filter"
    aria-label={`Filter by ${kinds}`}
    placeholder={`${hint[0]?.toUpperCase()}${hint.slice(1)}`}
    value={value}
    onChange={(event) => change(event.target.value)}
  />
)

interface LateFieldProps {
  title: string
  name: string
  value: string
  placeholder: string
  isInRow?: boolean
}

/** A text that counts when the reader leaves the field, or by Enter. `value`: the one that counts now. `isInRow`: its title is for screen readers. */
export function LateField({ title, value, isInRow = false, ...its }: LateFieldProps) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  return (
    <label className={isInRow ? 'in-row' : undefined}>
      <span className={isInRow ? 'hidden' : undefined}>{title}</span>
      <input
        {...its}
        maxLength={128}
        spellCheck={false}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
    </label>
  )
}

interface MatchesProps {
  total: number
  of: [one: string, all: string]
  children: ReactNode
}

/** How many rows match, and beside it what can be done with all of them. */
export const Matches = ({ total, of, children }: MatchesProps) => (
  <div className="bar">
    <p className="hint" role="status">
      {count(total)} {total === 1 ? of[0] : `${of[1]}, newest first`}
    </p>
    <div className="buttons">{children}</div>
  </div>
)

const hourMs = 3_600_000
const hours: Record<string, number> = { 'Last hour': 1, 'Last 24 h': 24, 'Last 7 d': 168, 'Last 30 d': 720 }

/** The first moment of a month of the zone that is shown, as it is typed; `ahead`: months after the present one. */
function monthStart(ahead: number): string {
  const [year = 0, month = 0] = typedOf(new Date().toISOString()).split('-', 2).map(Number)
  return `${new Date(Date.UTC(year, month - 1 + ahead, 1)).toISOString().slice(0, 7)}-01T00:00`
}
/** From which month to before which one, counted from the present one. */
const months: Record<string, [from: number, to: number]> = { 'This month': [0, 1], 'Last month': [-1, 0] }

const own = 'From … to …'
const halfTyped = 'Enter a date and a time.'
const endsFirst = 'Choose a time after the start.'
const well = { after: '', before: '' }

/** The fields of a period in a form: `after` and `before`, in the zone that is shown. A usual one sends the form when it is chosen. */
export function PeriodFields({ period }: { period: Period }) {
  const { after = '', before = '' } = period
  /** What was chosen, and the time that it stands for: another one came from elsewhere. */
  const [choice, setChoice] = useState({ kind: '', after: '', before: '' })
  const from = useRef<HTMLInputElement>(null)
  const to = useRef<HTMLInputElement>(null)
  const [faults, setFaults] = useState(well)
  /** What is wrong is said under its field, and keeps the form from being sent. */
  function check() {
    if (!from.current || !to.current) return
    const [begin, end] = [from.current, to.current]
    const isReversed = begin.value !== '' && end.value !== '' && end.value <= begin.value
    const its = {
      after: begin.validity.badInput ? halfTyped : '',
      before: end.validity.badInput ? halfTyped : isReversed ? endsFirst : '',
    }
    begin.setCustomValidity(its.after)
    end.setCustomValidity(its.before)
    setFaults(its)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: times from the address have fields of their own
  useEffect(check, [after, before])
  function choose(kind: string) {
    const [length, month] = [hours[kind], months[kind]]
    const since = length === undefined ? '' : typedOf(new Date(Date.now() - length * hourMs).toISOString())
    const [at, end] = month ? [monthStart(month[0]), monthStart(month[1])] : [since, '']
    setChoice(
      kind === own ? { kind, after: typedOf(after), before: typedOf(before) } : { kind, after: at, before: end },
    )
    if (kind === own || !from.current || !to.current) return
    from.current.value = at
    to.current.value = end
    check()
    from.current.form?.requestSubmit()
  }
  const isChosen = choice.kind !== '' && choice.after === typedOf(after) && choice.before === typedOf(before)
  const kind = isChosen ? choice.kind : after === '' && before === '' ? 'Any time' : own
  return (
    <>
      <label className="in-row">
        <span className="hidden">Period</span>
        <select value={kind} onChange={({ target }) => choose(target.value)}>
          {['Any time', ...Object.keys(hours), ...Object.keys(months), own].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      {(['after', 'before'] as const).map((name) => (
        <label key={name} hidden={kind !== own}>
          {name === 'after' ? 'From' : 'To'} ({zoneShortly(period[name])})
          <input
            key={period[name]}
            ref={name === 'after' ? from : to}
            type="datetime-local"
            name={name}
            defaultValue={typedOf(period[name] ?? '')}
            aria-invalid={faults[name] !== ''}
            onBlur={check}
            onKeyDown={({ key }) => key === 'Enter' && check()}
            // It is said under the field.
            onInvalid={(event) => event.preventDefault()}
          />
          {faults[name] !== '' && (
            <span className="fault" role="alert">
              {faults[name]}
            </span>
          )}
        </label>
      ))}
    </>
  )
}

/** The period that a form with these fields has. */
export function periodIn(form: HTMLFormElement): Period {
  const its = new FormData(form)
  const [after, before] = ['after', 'before'].map((name) => momentOf(String(its.get(name) ?? '')))
  return { ...(after && { after }), ...(before && { before }) }
}

interface SegmentsProps<Value extends string> {
  label: string
  values: readonly Value[]
  /** Undefined: none is chosen. */
  value: NoInfer<Value> | undefined
  choose(value: NoInfer<Value>): void
  texts?: Partial<Record<Value, string>>
}

/** One of a few values, as buttons beside each other. `texts`: what is shown for a value, where it is not the value itself. */
export const Segments = <Value extends string>({ label, values, value, choose, texts = {} }: SegmentsProps<Value>) => (
  <ToggleGroup
    className="choice"
    aria-label={label}
    value={value === undefined ? [] : [value]}
    onValueChange={([next]) => next !== undefined && choose(next as Value)}
  >
    {values.map((one) => (
      <Toggle key={one} value={one}>
        <span>{texts[one] ?? one}</span>
      </Toggle>
    ))}
  </ToggleGroup>
)
