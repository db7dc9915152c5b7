import type { Speed, SpeedUpTransactionRequest, TransactionExplanation, TransactionOption } from '../../index.ts'

export type Operation = TransactionOption['operation']

/** What another version would pay beside what the transaction pays now, as the service says it. */
export interface PriceChangeFigures extends TransactionOption {
  /** The highest price of the present version; null: none is signed. */
  now: string | null
  base_fee: string | null
  allowed_max_fee_per_gas: string | null
}

/** Undefined: the transaction cannot be changed so any more. */
export function changeIn(
  { status, options, figures: { max_fee_per_gas, base_fee, allowed_max_fee_per_gas } }: TransactionExplanation,
  operation: Operation,
  speed: Speed,
): PriceChangeFigures | undefined {
  const change = options.find((one) => one.operation === operation && (one.speed === speed || operation !== speedUp))
  // One that is not signed yet has the prices at which it would be.
  const now = status === 'pending' ? null : max_fee_per_gas
  return change && { ...change, now, base_fee, allowed_max_fee_per_gas }
}

const speedUp: Operation = 'speedUpTransaction'

/**
 * Why a change cannot be confirmed. A cancellation of what was never signed needs no price: there is no version that it has to replace.
 */
export function lackOfChange(change: PriceChangeFigures | undefined): string | undefined {
  if (change === undefined) return 'It can no longer be changed.'
  if (change.max_fee_per_gas !== null || (change.operation === 'cancelTransaction' && change.now === null))
    return undefined
  return change.is_mineable === null ? 'No node tells its price now.' : 'Nothing would be signed.'
}

/** The price that the reader has seen is the highest that is signed. */
export const speedUpTo = (
  speed: Speed,
  { max_fee_per_gas }: Pick<TransactionOption, 'max_fee_per_gas'>,
): SpeedUpTransactionRequest => ({ speed, ...(max_fee_per_gas !== null && { max_fee_per_gas }) })

/** The same for a cancellation. One that is never signed has no price. */
export const cancelTo = (
  change: Pick<TransactionOption, 'max_fee_per_gas'> | undefined,
): { max_fee_per_gas?: string } => (change?.max_fee_per_gas == null ? {} : { max_fee_per_gas: change.max_fee_per_gas })
