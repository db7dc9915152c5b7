import { useRef, useState } from 'react'
import { momentOf, typedOf, zone } from '../data/format.ts'
import type { Period } from '../data/period.ts'

const hour_ms = 3_600_000
const hours: Record<string, number> = { 'Last hour': 1, 'Last 24 hours': 24, 'Last 7 days': 168, 'Last 30 days': 720 }

const own = 'From … to …'

/** The fields of a period in a form: `after` and `before`, in the zone that is shown. `chosen`: a usual one was chosen. */
export function PeriodFields({ period: { after = '', before = '' }, chosen }: { period: Period; chosen(): void }) {
  /** What was chosen, and the time that it stands for: another one came from elsewhere. */
  const [choice, setChoice] = useState({ kind: '', after: '' })
  const from = useRef<HTMLInputElement>(null)
  const to = useRef<HTMLInputElement>(null)
  function choose(kind: string) {
    const length = hours[kind]
    const at = length === undefined ? '' : typedOf(new Date(Date.now() - length * hour_ms).toISOString())
    setChoice({ kind, after: kind === own ? typedOf(after) : at })
    if (kind === own || !from.current || !to.current) return
    from.current.value = at
    to.current.value = ''
    chosen()
  }
  const isChosen = choice.kind !== '' && choice.after === typedOf(after) && before === ''
  const kind = isChosen ? choice.kind : after === '' && before === '' ? 'Any time' : own
  return (
    <>
      <label className="period">
        <span>Period</span>
        <select value={kind} onChange={({ target }) => choose(target.value)}>
          {['Any time', ...Object.keys(hours), own].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <label hidden={kind !== own}>
        From ({zone()})
        <input key={after} ref={from} type="datetime-local" name="after" defaultValue={typedOf(after)} />
      </label>
      <label hidden={kind !== own}>
        To ({zone()})
        <input key={before} ref={to} type="datetime-local" name="before" defaultValue={typedOf(before)} />
      </label>
    </>
  )
}

/** The period that a form with these fields has. */
export function periodIn(form: HTMLFormElement): Period {
  const its = new FormData(form)
  const [after, before] = ['after', 'before'].map((name) => momentOf(String(its.get(name) ?? '')))
  return { ...(after && { after }), ...(before && { before }) }
}

/** Narrows a list to a period. What is typed counts when the reader leaves the field. */
export function PeriodFilter({ period, choose }: { period: Period; choose(period: Period): void }) {
  const form = useRef<HTMLFormElement>(null)
  const apply = () => form.current && choose(periodIn(form.current))
  return (
    <form
      ref={form}
      className="periods"
      onBlur={({ target }) => target.matches('[type="datetime-local"]') && apply()}
      onSubmit={(event) => {
        event.preventDefault()
        apply()
      }}
    >
      <PeriodFields period={period} chosen={apply} />
      {/* Enter in a field sends the form only where it has a button. */}
      <button type="submit" hidden aria-hidden tabIndex={-1} />
    </form>
  )
}
