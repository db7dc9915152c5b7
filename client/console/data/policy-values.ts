import { linesOf } from './form.ts'
import { exactly, weiOf } from './format.ts'
import type { PolicyForm } from './policies.ts'

export function shownIn(unit: PolicyForm['unit'], value: unknown): string {
  if (unit === 'yes') return value ? 'yes' : 'no'
  if (unit === 'number') return String(value)
  return exactly(String(value), unit === 'gwei' ? 9 : 18)
}

interface FunctionsOf {
  receiver: string
  selectors: string[]
}
interface LimitOf {
  token: string
  max_amount?: string
  max_amount_per_day?: string
  count_signatures?: boolean
}

/** A line for each item of a list. */
export const textOf = (value: unknown): string => (value as (string | FunctionsOf | LimitOf)[]).map(lineOf).join('\n')

function lineOf(item: string | FunctionsOf | LimitOf): string {
  if (typeof item === 'string') return item
  if ('token' in item) {
    const signatures = item.count_signatures ? ['signatures'] : []
    return [item.token, item.max_amount ?? '-', item.max_amount_per_day ?? '-', ...signatures].join(' ')
  }
  return [item.receiver, ...item.selectors].join(' ')
}

/** The service says what is wrong with an item. */
export function listIn(name: PolicyForm['name'], text: string): (string | FunctionsOf | LimitOf)[] {
  const rows = linesOf(text).map((line) => line.split(/[\s,]+/))
  if (name === 'allowed_functions') return rows.map(([receiver = '', ...selectors]) => ({ receiver, selectors }))
  if (name !== 'token_limits') return rows.flat()
  return rows.map(([token = '', one = '-', day = '-', signatures]) => ({
    token,
    ...(one !== '-' && { max_amount: one }),
    ...(day !== '-' && { max_amount_per_day: day }),
    ...(signatures !== undefined && { count_signatures: signatures === 'signatures' }),
  }))
}

/** What is said of an input that is not valid. The service says what is wrong with a list. */
export const expected: Record<PolicyForm['unit'], (symbol: string) => string> = {
  gwei: () => 'Enter an amount in gwei, such as 20.',
  coins: (symbol) => `Enter an amount in ${symbol}, such as 0.05.`,
  number: () => 'Enter a whole number, such as 10.',
  yes: () => 'Enter yes or no.',
  lines: () => '',
}

/** Undefined: the input is not valid. */
export function valueIn(unit: PolicyForm['unit'], text: string): string | number | boolean | undefined {
  if (unit === 'yes') return { yes: true, no: false }[text.trim().toLowerCase()]
  if (unit === 'number') return /^\d{1,15}$/.test(text.trim()) ? Number(text) : undefined
  return weiOf(text, unit === 'gwei' ? 9 : 18)
}
