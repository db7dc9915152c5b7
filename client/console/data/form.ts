import { useState } from 'react'
import { weiOf } from './format.ts'

/** An input that cannot be sent. `field`: the name of its field. */
export class FormError extends Error {
  readonly field: string
  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** The properties of the field of a name. */
export type Bind<Name extends string> = (name: Name) => {
  name: string
  value: string
  onChange(event: { target: Field }): void
}

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

/** The texts of a form. `bind(name)`: the properties of its field. A name of the contract shows what the service says of it there. */
export function useForm<Name extends string>(start: Record<Name, string>) {
  const [values, setValues] = useState(start)
  return {
    values,
    bind: (name: Name) => ({
      name,
      value: values[name],
      onChange: ({ target: { value } }: { target: Field }) => setValues((before) => ({ ...before, [name]: value })),
    }),
    reset: () => setValues(start),
  }
}

/** The lines of a text that have words. */
export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The words or lines of a text. */
export const listOf = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '')

/** The members that have a text: an empty field is no member. */
export const given = <Body extends Record<string, unknown>>(body: Body): Partial<Body> =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== '' && value !== undefined)) as Partial<Body>

/** The smallest units of an amount that was entered in the field. */
export function weiIn(field: string, text: string, unit = 'coins', digits = 18): string {
  const wei = weiOf(text, digits)
  if (wei === undefined) throw new FormError(field, `Enter an amount in ${unit}, such as 0.05.`)
  return wei
}

/** The JSON that was entered in the field. */
export function jsonIn(field: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new FormError(field, 'This is no JSON. Enter all of it, from the first bracket to the last.')
  }
}

/** An empty text: no limit. */
export const perDay = (text: string, unit?: string): { max_value_per_day?: string } =>
  text.trim() === '' ? {} : { max_value_per_day: weiIn('max_value_per_day', text, unit) }
