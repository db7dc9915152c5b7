import { useLocation } from 'wouter'
import { decoded, withText } from './paths.ts'

/** What a page keeps in its address: any text, or one of some values, the first of which stands for an unknown one. */
type Parameter = string | readonly [start: string, ...others: string[]]
type State<Parameters> = {
  [Name in keyof Parameters]: Parameters[Name] extends readonly (infer Value)[] ? Value : string
}

/** The value at first, before all others. */
export const startingWith = <Value extends string>(
  start: Value,
  values: readonly Value[],
): readonly [Value, ...Value[]] => [start, ...values.filter((value) => value !== start)]

/**
 * What a reader chose on a page, kept in its address after `here`, so that it can be given to others and survives a reload. The address
 * leaves out what is as at the start. What else is in the address belongs to another part of the page, and stays.
 */
export function useAddressState<const Parameters extends Record<string, Parameter>>(
  here: string,
  find: string | undefined,
  parameters: Parameters,
): [State<Parameters>, (changes: Partial<State<Parameters>>) => void] {
  const [, go] = useLocation()
  const given = Object.fromEntries(new URLSearchParams(decoded(find ?? '')))
  const values = Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => [name, shownOf(parameter, given[name])]),
  )
  return [
    values as State<Parameters>,
    (changes) => {
      const others = Object.entries<string>({ ...given, ...values, ...(changes as Record<string, string>) }).filter(
        ([name, value]) => value !== startOf(parameters[name]),
      )
      go(withText(here, `${new URLSearchParams(others)}`), { replace: true })
    },
  ]
}

const startOf = (parameter: Parameter | undefined) => (typeof parameter === 'string' ? parameter : parameter?.[0])

function shownOf(parameter: Parameter, text: string | undefined): string {
  if (typeof parameter === 'string') return text ?? parameter
  return parameter.find((value) => value === text) ?? parameter[0]
}
