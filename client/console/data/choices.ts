import { useLocation } from 'wouter'
import { decoded, encoded } from '../parts/links.tsx'

/**
 * What a reader chose on a page, kept in its address after `here`, so that it can be given to others and survives a reload. `start`: the
 * values that the address leaves out. What else is in the address belongs to another part of the page, and stays.
 */
export function useChoices<Values extends Record<string, string>>(
  here: string,
  find: string | undefined,
  start: Values,
): [Values, (changes: Partial<Values>) => void] {
  const [, go] = useLocation()
  const given = Object.fromEntries(new URLSearchParams(decoded(find ?? '')))
  const known = Object.entries(given).filter(([name]) => name in start)
  const values = { ...start, ...Object.fromEntries(known) }
  return [
    values,
    (changes) => {
      const others = Object.entries({ ...given, ...values, ...changes }).filter(
        ([name, value]) => value !== start[name],
      )
      const text = `${new URLSearchParams(others as [string, string][])}`
      go(text === '' ? here : `${here}/${encoded(text)}`, { replace: true })
    },
  ]
}

/** A value of a fixed list; another one, from an address that somebody typed, is the first. */
export const oneOf = <Value extends string>(values: readonly Value[], text: string): Value =>
  values.find((value) => value === text) ?? (values[0] as Value)
