import { createPortal } from 'react-dom'
import { RelayerError } from '../../index.ts'
import { FormError } from '../data/form.ts'
import { detailText, errorText, Problem, placesOf } from './feedback.tsx'

/** What is wrong with an input. `label`: of its field, where the form has one. */
interface Fault {
  text: string
  label?: HTMLLabelElement
}

/** Finds the fields that an error is about, and moves the focus to the first of them. */
export function faultsIn(form: HTMLFormElement, error: unknown): Fault[] {
  const labelOf = (...names: string[]) => {
    const fields = names.map((name) => form.querySelector<HTMLElement>(`[name="${CSS.escape(name)}"]`))
    return fields.find((field) => field !== null)?.closest('label')
  }
  const faults = foundIn(error, labelOf)
  faults.find(({ label }) => label)?.label?.control?.focus()
  return faults
}

function foundIn(error: unknown, labelOf: (...names: string[]) => HTMLLabelElement | null | undefined): Fault[] {
  if (error instanceof FormError) {
    const label = labelOf(error.field)
    return [{ text: error.message, ...(label && { label }) }]
  }
  if (!(error instanceof RelayerError)) return [{ text: errorText(error) }]
  const labels = error.details.map((detail) => labelOf(...placesOf(detail).reverse()))
  if (labels.every((label) => !label)) return [{ text: errorText(error) }]
  return error.details.map((detail, index) => {
    const label = labels[index]
    return label ? { text: detailText(detail, true), label } : { text: detailText(detail) }
  })
}

/** Each fault under its field; the others below. */
export const Faults = ({ faults }: { faults: Fault[] }) =>
  faults.map(({ text, label }) =>
    label ? (
      createPortal(
        <span className="fault" role="alert">
          {text}
        </span>,
        label,
        text,
      )
    ) : (
      <Problem key={text}>{text}</Problem>
    ),
  )
