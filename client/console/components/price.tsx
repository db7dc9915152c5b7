import { exactly, gasPrice } from '../data/format.ts'

/** A price of gas; the exact one is in its title. */
export function Price({ wei }: { wei: string | bigint | null }) {
  if (wei === null) return 'unknown'
  const text = wei.toString()
  return <span title={`${exactly(text, 9)} gwei`}>{gasPrice(text)}</span>
}
