import { amount, count } from '../data/format.ts'

/** The sum of fees, null of which are unknown: those are counted beside it, not as nothing. */
export function feesText(
  fees: (string | null)[],
  symbol: string,
  show: (wei: string, symbol: string) => string = amount,
): string {
  const known = fees.filter((wei) => wei !== null)
  if (known.length === 0) return 'unknown'
  const sum = show(known.reduce((all, wei) => all + BigInt(wei), 0n).toString(), symbol)
  return known.length === fees.length ? sum : `${sum} and ${count(fees.length - known.length)} unknown`
}
