import { type FormEvent, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { RelayerError } from '../../index.ts'
import { FormError } from '../data/form.ts'
import { Problem } from './callout.tsx'
import { detailText, errorText, placesOf } from './feedback.tsx'

/** What is wrong with an input. `place`: its label, or the group of its boxes, where the form has one. */
interface Fault {
  text: string
  place?: HTMLElement
}

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/** What is wrong with the input of a form: `check` before it is sent, `blame` after the service refused it. */
export function useFaults() {
  const form = useRef<HTMLFormElement>(null)
  const [faults, setFaults] = useState<Fault[]>([])
  /** Shows them, and moves the focus to the first field. */
  function show(its: Fault[]) {
    setFaults(its)
    its
      .find(({ place }) => place)
      ?.place?.querySelector<HTMLElement>('input, select, textarea')
      ?.focus()
    return its.length === 0
  }
  return {
    form,
    faults,
    check: () => show(form.current ? lacksOf(form.current) : []),
    blame: (error: unknown) => void (form.current && show(foundIn(form.current, error))),
    /** A field that is changed has no fault until it is checked again. */
    forgive: ({ target }: FormEvent) =>
      setFaults((before) => before.filter(({ place }) => place && !place.contains(target as Node))),
  }
}

/** The fields that are empty or do not have their form. */
const lacksOf = (form: HTMLFormElement): Fault[] =>
  [...form.querySelectorAll<Field>(':is(input, select, textarea):invalid')].map((field) =>
    faultAt(field, lackOf(field)),
  )

function lackOf({ validity, type, tagName, inputMode }: Field): string {
  if (validity.valueMissing) return tagName === 'SELECT' ? 'Choose one.' : 'This field is required.'
  return `Enter ${expected[type] ?? expected[inputMode]}.`
}

/** By the type of a field, or by the keys of the screen for one with a pattern. */
const expected: Record<string, string> = {
  url: 'a URL, such as https://example.com/events',
  'datetime-local': 'a date and a time',
  decimal: 'an amount, such as 0.05',
  numeric: 'a whole number, such as 12',
}

function foundIn(form: HTMLFormElement, error: unknown): Fault[] {
  const at = (text: string, ...names: string[]): Fault => {
    const fields = names.map((name) => form.querySelector<HTMLElement>(`[name="${CSS.escape(name)}"]`))
    return faultAt(
      fields.find((field) => field !== null),
      text,
    )
  }
  if (error instanceof FormError) return [at(error.message, error.field)]
  if (!(error instanceof RelayerError)) return [{ text: errorText(error) }]
  const faults = error.details.map((detail) => {
    const found = at(detailText(detail, true), ...placesOf(detail).reverse())
    return found.place ? found : { text: detailText(detail) }
  })
  return faults.some(({ place }) => place) ? faults : [{ text: errorText(error) }]
}

function faultAt(field: HTMLElement | undefined, text: string): Fault {
  const place = field?.closest<HTMLElement>('fieldset') ?? field?.closest('label')
  return place ? { text, place } : { text }
}

/** Each fault under its field; the others below. */
export const Faults = ({ faults }: { faults: Fault[] }) =>
  faults.map((fault) => {
    const { text, place } = fault
    const key = `${faults.indexOf(fault)} ${text}`
    return place ? (
      createPortal(
        <span className="fault" role="alert">
          {text}
        </span>,
        place,
        key,
      )
    ) : (
      <Problem key={key}>{text}</Problem>
    )
  })
