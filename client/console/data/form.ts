import { useState } from 'react'
import { weiOf } from './format.ts'

/** The properties of the field of a name. */
export type Bind<Name extends string> = (name: Name) => {
  value: string
  onChange(event: { target: Field }): void
}

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

/** The texts of a form. `bind(name)`: the properties of its field. */
export function useForm<Name extends string>(start: Record<Name, string>) {
  const [values, setValues] = useState(start)
  return {
    values,
    bind: (name: Name) => ({
      value: values[name],
      onChange: ({ target: { value } }: { target: Field }) => setValues((before) => ({ ...before, [name]: value })),
    }),
    reset: () => setValues(start),
  }
}

/** The words or lines of a text. */
export const listOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '')

/** The members that have a text: an empty field is no member. */
export const given = <Body extends Record<string, unknown>>(body: Body): Partial<Body> =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== '' && value !== undefined)) as Partial<Body>

/** An empty text: no limit. */
export function perDay(text: string): { max_value_per_day?: string } {
  if (text.trim() === '') return {}
  const wei = weiOf(text)
  if (wei === undefined) throw new Error(`${text} is no amount`)
  return { max_value_per_day: wei }
}
