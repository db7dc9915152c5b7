import { useEffect, useRef, useState } from 'react'
import type { Period } from '../data/period.ts'
import { momentOf, typedOf, zoneShortly } from '../data/times.ts'

const hour_ms = 3_600_000
const hours: Record<string, number> = { 'Last hour': 1, 'Last 24 hours': 24, 'Last 7 days': 168, 'Last 30 days': 720 }

const own = 'From … to …'
const half_typed = 'Enter a date and a time.'
const ends_first = 'Choose a time after the start.'
const well = { after: '', before: '' }

/** The fields of a period in a form: `after` and `before`, in the zone that is shown. A usual one sends the form when it is chosen. */
export function PeriodFields({ period }: { period: Period }) {
  const { after = '', before = '' } = period
  /** What was chosen, and the time that it stands for: another one came from elsewhere. */
  const [choice, setChoice] = useState({ kind: '', after: '' })
  const from = useRef<HTMLInputElement>(null)
  const to = useRef<HTMLInputElement>(null)
  const [faults, setFaults] = useState(well)
  /** What is wrong is said under its field, and keeps the form from being sent. */
  function check() {
    if (!from.current || !to.current) return
    const [begin, end] = [from.current, to.current]
    const isReversed = begin.value !== '' && end.value !== '' && end.value <= begin.value
    const its = {
      after: begin.validity.badInput ? half_typed : '',
      before: end.validity.badInput ? half_typed : isReversed ? ends_first : '',
    }
    begin.setCustomValidity(its.after)
    end.setCustomValidity(its.before)
    setFaults(its)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: times from the address have fields of their own
  useEffect(check, [after, before])
  function choose(kind: string) {
    const length = hours[kind]
    const at = length === undefined ? '' : typedOf(new Date(Date.now() - length * hour_ms).toISOString())
    setChoice({ kind, after: kind === own ? typedOf(after) : at })
    if (kind === own || !from.current || !to.current) return
    from.current.value = at
    to.current.value = ''
    check()
    from.current.form?.requestSubmit()
  }
  const isChosen = choice.kind !== '' && choice.after === typedOf(after) && before === ''
  const kind = isChosen ? choice.kind : after === '' && before === '' ? 'Any time' : own
  return (
    <>
      <label className="in-row">
        <span className="hidden">Period</span>
        <select value={kind} onChange={({ target }) => choose(target.value)}>
          {['Any time', ...Object.keys(hours), own].map((one) => (
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
