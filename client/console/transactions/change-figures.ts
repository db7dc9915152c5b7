import type { Explanation, Speed, SpeedUpRequest, TransactionChange } from '../../index.ts'

export type Operation = TransactionChange['operation']

/** What another version would pay beside what the transaction pays now, as the service says it. */
export interface PriceChangeFigures extends TransactionChange {
  /** The highest price of the present version. */
  now: string | null
  base_fee: string | null
  price_cap: string | null
}

/** Undefined: the transaction cannot be changed so any more. */
export function changeIn(
  { changes, figures: { price, base_fee, price_cap } }: Explanation,
  operation: Operation,
  speed: Speed,
): PriceChangeFigures | undefined {
  const change = changes.find((one) => one.operation === operation && (one.speed === speed || operation !== speedUp))
  return change && { ...change, now: price, base_fee, price_cap }
}

const speedUp: Operation = 'speedUpTransaction'

/**
 * Why a change cannot be confirmed. A cancellation of what was never signed needs no price: there is no version that it has to replace.
 */
export function lackOfChange(change: PriceChangeFigures | undefined): string | undefined {
  if (change === undefined) return 'It can no longer be changed.'
  if (change.price !== null || (change.operation === 'cancelTransaction' && change.now === null)) return undefined
  return change.is_mineable === null ? 'No node tells its price now.' : 'Nothing would be signed.'
}

/** The price that the reader has seen is the highest that is signed. */
export const speedUpTo = (speed: Speed, { price }: Pick<TransactionChange, 'price'>): SpeedUpRequest => ({
  speed,
  ...(price !== null && { max_fee_per_gas: price }),
})

/** The same for a cancellation. One that is never signed has no price. */
export const cancelTo = (change: Pick<TransactionChange, 'price'> | undefined): { max_fee_per_gas?: string } =>
  change?.price == null ? {} : { max_fee_per_gas: change.price }
