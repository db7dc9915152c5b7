import { useState } from 'react'
import type { PrivateMethod, PrivateRpcUrlInput, RpcUrlInput } from '../../index.ts'
import { linesOf } from './entries.ts'
import { faultOfAmount, weiOf } from './format.ts'

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
  onChange(event: { target: { value: string } }): void
}

type Values = Record<string, string | string[]>
type NameOf<Its extends Values, Value> = { [Name in keyof Its]: Its[Name] extends Value ? Name : never }[keyof Its] &
  string

/**
 * The texts of a form, and its lists of what is ticked. `bind(name)`: the properties of the field of a text; `pick(name)`: those of the boxes
 * of a list. A name of the contract shows what the service says of it there.
 */
export function useForm<Its extends Values>(start: Its) {
  const [values, setValues] = useState(start)
  const set = (name: string, value: Its[string]) => setValues((before) => ({ ...before, [name]: value }))
  return {
    values,
    bind: (name: NameOf<Its, string>) => ({
      name,
      value: values[name] as string,
      onChange: ({ target: { value } }: { target: { value: string } }) => set(name, value as Its[string]),
    }),
    pick: <Name extends NameOf<Its, string[]>>(name: Name) => ({
      name,
      chosen: values[name],
      set: (chosen: Its[Name]) => set(name, chosen),
    }),
    reset: () => setValues(start),
  }
}

/** The members that have a text: an empty field is no member. */
export const given = <Body extends Record<string, unknown>>(body: Body): Partial<Body> =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== '' && value !== undefined)) as Partial<Body>

/** The smallest units of an amount that was entered in the field. */
export function weiIn(field: string, text: string, unit = 'coins', digits = 18): string {
  const fault = faultOfAmount(text, unit, digits)
  if (fault !== undefined) throw new FormError(field, fault)
  return weiOf(text, digits) ?? ''
}

/** The JSON that was entered in the field. */
export function jsonIn(field: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new FormError(field, 'This is no JSON. Enter all of it, from the first bracket to the last.')
  }
}

/** What is chosen of a list from which something has to be. */
export function chosenIn(field: string, chosen: string[]): string[] {
  if (chosen.length === 0) throw new FormError(field, 'Choose at least one.')
  return chosen
}

/** An empty text: no limit. */
export const perDay = (text: string, unit?: string): { max_value_per_day?: string } =>
  text.trim() === '' ? {} : { max_value_per_day: weiIn('max_value_per_day', text, unit) }

const wordsByLine = (text: string) => linesOf(text).map((line) => line.split(/\s+/) as [string, ...string[]])

/** A node by line: its URL, and its weight if one follows. `field`: the one that has the text. */
export const nodesOf = (text: string, field = 'rpc_urls'): RpcUrlInput[] =>
  wordsByLine(text).map(([url, weight, ...more]) => {
    if (weight === undefined) return url
    if (!/^\d+$/.test(weight) || more.length > 0)
      throw new FormError(field, `After ${url}, a weight from 0 to 100 is expected.`)
    return { url, weight: Number(weight) }
  })

/** A private relay by line: its URL, its method and the number of blocks after which it drops a transaction; `-`: left out. */
export const relaysOf = (text: string): PrivateRpcUrlInput[] =>
  wordsByLine(text).map(([url, method = '-', blocks = '-']) => {
    if (!/^(?:-|\d+)$/.test(blocks))
      throw new FormError('private_rpc_urls', `After ${url}, a number of blocks is expected.`)
    return {
      url,
      // The service checks the word, and names those that it knows.
      ...(method !== '-' && { method: method as PrivateMethod }),
      ...(blocks !== '-' && { private_expiry_blocks: Number(blocks) }),
    }
  })
