import { exactly, gwei } from '../data/format.ts'

/** A price of gas; the exact one is in its title. */
export const Price = ({ wei }: { wei: string | null }) => (
  <span title={wei === null ? undefined : `${exactly(wei, 9)} gwei`}>
    {wei === null ? 'unknown' : `${gwei(wei)} gwei`}
  </span>
)
